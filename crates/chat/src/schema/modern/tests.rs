#![allow(clippy::unwrap_used)]
use super::*;

#[track_caller]
fn check(old: &Value, new: &Value) {
    assert_eq!(modern(old).unwrap(), *new);
    // What is modern already stays as it is.
    assert_eq!(modern(new).unwrap(), *new);
    jsonschema::draft202012::meta::validate(new).unwrap();
}

#[test]
fn draft_4_is_converted() {
    check(
        &json!({
            "$schema": "http://json-schema.org/draft-04/schema#", "id": "x", "type": "object",
            "properties": {
                "id": {"type": "string"},
                "n": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
                "m": {"type": "number", "maximum": 9, "exclusiveMaximum": false},
                "all": {"allOf": [{"exclusiveMaximum": true, "maximum": 3}]},
            },
            "dependencies": {"n": ["m"], "m": {"required": ["n"]}},
        }),
        &json!({
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "n": {"type": "number", "exclusiveMinimum": 0},
                "m": {"type": "number", "maximum": 9},
                "all": {"allOf": [{"exclusiveMaximum": 3}]},
            },
            "dependentRequired": {"n": ["m"]},
            "dependentSchemas": {"m": {"required": ["n"]}},
        }),
    );
}

#[test]
fn tuples_are_converted_wherever_they_are() {
    check(
        &json!({
            "type": "object",
            "properties": {
                "range": {"type": "array", "items": [{"type": "integer"}, true], "additionalItems": false},
                "none": {"type": "array", "items": []},
                "open": {"type": "array", "items": [{"items": [{"type": "null"}]}]},
            },
        }),
        &json!({
            "type": "object",
            "properties": {
                "range": {"type": "array", "prefixItems": [{"type": "integer"}, {}], "items": false},
                "none": {"type": "array"},
                "open": {"type": "array", "prefixItems": [{"prefixItems": [{"type": "null"}]}]},
            },
        }),
    );
}

#[test]
fn references_lead_to_definitions_that_are_used() {
    check(
        &json!({
            "type": "object",
            "definitions": {
                "p": {"properties": {"x": {"type": "number"}, "next": {"$ref": "#/definitions/p"}}},
                "unused": {"type": "string"},
            },
            "properties": {
                "at": {"$ref": "#/definitions/p", "description": "where"},
                "headers": {"type": "object"},
                "more": {"$ref": "#/properties/headers"},
            },
        }),
        &json!({
            "type": "object",
            "properties": {
                "at": {"$ref": "#/$defs/p", "description": "where"},
                "headers": {"type": "object"},
                "more": {"$ref": "#/$defs/headers"},
            },
            "$defs": {
                "p": {"properties": {"x": {"type": "number"}, "next": {"$ref": "#/$defs/p"}}},
                "headers": {"type": "object"},
            },
        }),
    );
}

#[test]
fn a_schema_may_refer_to_itself() {
    check(
        &json!({"type": "object", "properties": {"child": {"$ref": "#"}}}),
        &json!({
            "type": "object",
            "properties": {"child": {"$ref": "#/$defs/arguments"}},
            "$defs": {"arguments": {
                "type": "object", "properties": {"child": {"$ref": "#/$defs/arguments"}},
            }},
        }),
    );
}

#[test]
fn a_reference_to_something_else_is_an_error() {
    for reference in ["#/$defs/gone", "other.json#/a", "https://h/schema"] {
        let why = modern(&json!({"properties": {"a": {"$ref": reference}}})).unwrap_err();
        assert!(why.contains(&format!("\"{reference}\"")), "{why}");
    }
}

#[test]
fn definitions_that_multiply_are_an_error() {
    // Each property refers to the place before it, which contains all places before.
    let mut inner = json!({"type": "string"});
    let mut pointer = String::from("#");
    let mut properties = Map::new();
    for n in 0..300 {
        inner = json!({"properties": {"a": inner}});
        pointer.push_str("/properties/a");
        properties.insert(format!("p{n}"), json!({"$ref": pointer}));
    }
    properties.insert("a".to_owned(), inner);
    let schema = json!({"properties": properties});
    assert!(modern(&schema).unwrap_err().contains("too large"));
}

#[test]
fn openapi_is_converted() {
    check(
        &json!({
            "type": "OBJECT",
            "properties": {
                "a": {"type": "string", "nullable": true, "enum": ["x"], "required": true},
                "b": {"nullable": true, "oneOf": [{"type": "string"}]},
                "c": {"$ref": "#/definitions/c", "nullable": true},
                "d": {"type": "string", "nullable": false},
            },
            "definitions": {"c": {"type": "integer"}},
        }),
        &json!({
            "type": "object",
            "properties": {
                "a": {"type": ["string", "null"], "enum": ["x", null]},
                "b": {"oneOf": [{"type": "string"}, {"type": "null"}]},
                "c": {"anyOf": [{"$ref": "#/$defs/c"}, {"type": "null"}]},
                "d": {"type": "string"},
            },
            "required": ["a"],
            "$defs": {"c": {"type": "integer"}},
        }),
    );
}

#[test]
fn keywords_of_the_wrong_form_are_left_out() {
    check(
        &json!({
            "type": "object",
            "properties": {
                "a": {"type": "any", "minLength": "3", "maxLength": 4.0, "description": null},
                "b": {"type": ["string", "date"], "enum": "x", "anyOf": [], "pattern": 1},
                "c": {"properties": [], "required": ["x", "x", 1], "multipleOf": 0},
            },
            "required": "a",
        }),
        &json!({
            "type": "object",
            "properties": {
                "a": {"maxLength": 4},
                "b": {},
                "c": {"properties": {}, "required": ["x"]},
            },
        }),
    );
}
