//! Tools that a provider would refuse: adapted in both directions, or left out by name.

use proptest::prelude::*;
use provider::{Decoder, LeftOut, StreamEvent, WireTools, left_out};

use super::*;

fn with_schema(name: &str, input_schema: Value) -> ToolDefinition {
    ToolDefinition {
        input_schema,
        ..tool(name, false)
    }
}

fn offering(tools: Vec<ToolDefinition>) -> Prompt {
    Prompt {
        tools,
        ..prompt(vec![user(vec![text("Go.")])])
    }
}

/// The tools in a request: name, description, and schema.
fn sent(protocol: Protocol, prompt: &Prompt) -> Vec<(String, String, Value)> {
    let body = body(protocol, prompt, &parameters());
    let tools = match protocol {
        Protocol::Gemini => &body["tools"][0]["functionDeclarations"],
        _ => &body["tools"],
    };
    let tools = tools.as_array().cloned().unwrap_or_default();
    let spelled = tools.into_iter().map(|tool| {
        let tool = match protocol {
            Protocol::ChatCompletions => tool["function"].clone(),
            _ => tool,
        };
        let schemas = ["input_schema", "parameters", "parametersJsonSchema"];
        let schema = schemas.iter().find_map(|key| tool.get(*key)).unwrap();
        let said = |key: &str| tool[key].as_str().unwrap().to_owned();
        (said("name"), said("description"), schema.clone())
    });
    spelled.collect()
}

fn schema_of(protocol: Protocol, schema: Value) -> Value {
    let prompt = offering(vec![with_schema("t", schema)]);
    assert_eq!(left_out(&prompt, protocol), []);
    sent(protocol, &prompt).remove(0).2
}

#[track_caller]
fn check(protocol: Protocol, given: Value, expected: &Value) {
    assert_eq!(schema_of(protocol, given), *expected, "{protocol:?}");
}

#[track_caller]
fn check_all(given: &Value, expected: &Value) {
    for protocol in PROTOCOLS {
        check(protocol, given.clone(), expected);
    }
}

/// All subschemas of a schema that is sent.
fn subschemas(schema: &Value) -> Vec<serde_json::Map<String, Value>> {
    let mut found = Vec::new();
    chat::schema::for_each(&mut schema.clone(), &mut |map| found.push(map.clone()));
    found
}

/// What the providers document or answer about schemas and names; see `rules` in the crate.
#[track_caller]
fn is_accepted(protocol: Protocol, name: &str, schema: &Value) {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    assert!(
        (1..=64).contains(&name.len()) && name.chars().all(is_of_name),
        "{name}"
    );
    if matches!(protocol, Protocol::Gemini | Protocol::ChatCompletions) {
        assert!(
            name.starts_with(|c: char| c.is_ascii_alphabetic()),
            "{name}"
        );
    }
    assert_eq!(schema["type"], "object", "{schema}");
    assert!(schema["properties"].is_object(), "{schema}");
    for refused in ["anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"] {
        assert_eq!(schema.get(refused), None, "{schema}");
    }
    for map in subschemas(schema) {
        let properties = map.get("properties").and_then(Value::as_object);
        for key in properties.into_iter().flatten().map(|(key, _)| key) {
            let dotted = |c: char| is_of_name(c) || c == '.';
            assert!(
                (1..=64).contains(&key.len()) && key.chars().all(dotted),
                "{key}"
            );
            if protocol == Protocol::Gemini {
                let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                assert!(
                    key.chars().all(is_word) && !key.starts_with(char::is_numeric),
                    "{key}"
                );
            }
        }
        assert!(
            map.get("exclusiveMinimum")
                .is_none_or(|it| !it.is_boolean()),
            "{schema}"
        );
        assert!(map.get("items").is_none_or(|it| !it.is_array()), "{schema}");
        if map.get("type") == Some(&json!("array")) {
            assert!(map.contains_key("items"), "{schema}");
        }
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let name = reference.strip_prefix("#/$defs/").unwrap();
            assert!(schema["$defs"].get(name).is_some(), "{schema}");
        }
    }
}

/// Schemas as servers really have them.
fn odd_schemas() -> Vec<(&'static str, Value)> {
    let long = "n".repeat(74);
    vec![
        ("no_properties", json!({"type": "object"})),
        ("empty", json!({})),
        (
            "closed",
            json!({"type": "object", "additionalProperties": false}),
        ),
        (
            "nothing_required",
            json!({"type": ["object", "null"], "required": []}),
        ),
        (
            "any_of",
            json!({"type": "object", "anyOf": [
            {"properties": {"id": {"type": "string"}}, "required": ["id"]},
            {"properties": {"url": {"type": "string"}}, "required": ["url"]}]}),
        ),
        (
            "one_of",
            json!({"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "a": {"type": "string"}}, "required": ["kind", "a"]},
            {"type": "object", "properties": {"kind": {"const": "b"}, "b": {"type": "number"}}, "required": ["kind"]}]}),
        ),
        (
            "all_of",
            json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "allOf": [
            {"if": {"properties": {"q": {"const": "x"}}}, "then": {"required": ["reason"]}}]}),
        ),
        (
            "not",
            json!({"type": "object", "properties": {"a": {}}, "not": {"required": ["a"]}}),
        ),
        (
            "root_reference",
            json!({"$ref": "#/definitions/A", "definitions": {"A": {"type": "object", "properties": {"x": {"type": "array"}}}}}),
        ),
        (
            "dollars",
            json!({"type": "object", "properties": {"$top": {"type": "integer"}, "$filter": {"type": "string"}}}),
        ),
        (
            "brackets",
            json!({"type": "object", "properties": {"filter[id]": {}, "filter(id)": {}, "filter_id_": {}}, "required": ["filter[id]"]}),
        ),
        (
            "deep_keys",
            json!({"type": "object", "properties": {"body": {"type": "object", "properties": {
            "@a.kind.type": {"type": "string"}, "per day": {"type": "integer"}, "größe": {"type": "number"}, "": {}}}}}),
        ),
        (
            "long_key",
            json!({"type": "object", "properties": {long: {"type": "string"}}}),
        ),
        (
            "digits",
            json!({"type": "object", "properties": {"2fa": {"type": "string"}, "user-id": {"type": "string"}}}),
        ),
        (
            "draft_4",
            json!({"type": "object", "properties": {"n": {"type": "number", "minimum": 0, "exclusiveMinimum": true}},
            "$schema": "http://json-schema.org/draft-04/schema#", "id": "x"}),
        ),
        (
            "tuple",
            json!({"type": "object", "properties": {"range": {"type": "array", "items": [{"type": "integer"}, {"type": "integer"}], "additionalItems": false}}}),
        ),
        (
            "definitions",
            json!({"type": "object", "definitions": {"p": {"type": "object", "properties": {"x": {"type": "number"}}}},
            "properties": {"at": {"$ref": "#/definitions/p"}, "to": {"$ref": "#/properties/at"}}}),
        ),
        (
            "tree",
            json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "required": ["root"],
            "$defs": {"node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}, "required": ["children"]}}}),
        ),
        (
            "itself",
            json!({"type": "object", "properties": {"next": {"$ref": "#"}}}),
        ),
        (
            "anchors",
            json!({"type": "object", "$defs": {"a": {"$anchor": "a", "type": "string"}}, "properties": {"a": {"$ref": "#a"}}}),
        ),
    ]
}

#[test]
fn odd_schemas_are_adapted_to_every_provider() {
    let tools = odd_schemas().into_iter();
    let tools: Vec<_> = tools
        .map(|(name, schema)| with_schema(name, schema))
        .collect();
    for protocol in PROTOCOLS {
        let prompt = offering(tools.clone());
        assert_eq!(left_out(&prompt, protocol), []);
        let sent = sent(protocol, &prompt);
        assert_eq!(sent.len(), tools.len());
        for (name, _, schema) in &sent {
            is_accepted(protocol, name, schema);
        }
    }
}

#[test]
fn an_ordinary_schema_is_sent_as_it_is() {
    let ordinary = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "a path", "minLength": 1},
            "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "lines": {"type": "array", "items": {"type": ["integer", "null"]}},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    for protocol in PROTOCOLS {
        let sent = schema_of(protocol, ordinary.clone());
        // Byte for byte, because a provider's cache compares bytes.
        assert_eq!(sent.to_string(), ordinary.to_string(), "{protocol:?}");
    }
}

#[test]
fn alternatives_at_the_top_become_one_object_and_stay_in_the_description() {
    let prompt = offering(vec![with_schema(
        "get",
        json!({
            "type": "object",
            "properties": {"verbose": {"type": "boolean"}},
            "anyOf": [
                {"properties": {"id": {"type": "string"}}, "required": ["id"]},
                {"properties": {"url": {"type": "string"}}, "required": ["url"]},
            ],
        }),
    )]);
    for protocol in PROTOCOLS {
        let (_, description, schema) = sent(protocol, &prompt).remove(0);
        assert_eq!(
            schema,
            json!({"type": "object", "properties": {
                "verbose": {"type": "boolean"}, "id": {"type": "string"}, "url": {"type": "string"},
            }})
        );
        let (said, alternatives) = description.split_once("\n\n").unwrap();
        assert_eq!(said, "Runs get.");
        let alternatives =
            alternatives.strip_prefix("The arguments must also match this JSON Schema: ");
        let alternatives: Value = serde_json::from_str(alternatives.unwrap()).unwrap();
        assert_eq!(alternatives["anyOf"][1]["required"], json!(["url"]));
    }
}

#[test]
fn what_all_alternatives_say_stays_in_the_schema() {
    let variant = |kind: &str, own: &str| {
        json!({
            "type": "object", "required": ["kind", own], "additionalProperties": false,
            "properties": {"kind": {"const": kind}, own: {"type": "string"}, "at": {"type": own}},
        })
    };
    check(
        Protocol::AnthropicMessages,
        json!({"oneOf": [variant("a", "string"), {"$ref": "#/$defs/b"}, {"type": "null"}],
            "$defs": {"b": variant("b", "integer")}}),
        &json!({
            "type": "object",
            "properties": {
                "kind": {"enum": ["a", "b"]},
                "string": {"type": "string"},
                "at": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "integer": {"type": "string"},
            },
            "required": ["kind"],
            "additionalProperties": false,
            "$defs": {"b": variant("b", "integer")},
        }),
    );
}

#[test]
fn everything_that_all_of_says_applies() {
    check_all(
        &json!({
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
            ],
        }),
        &json!({
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        }),
    );
}

#[test]
fn references_stay_only_where_a_schema_refers_to_itself() {
    let schema = json!({
        "type": "object",
        "properties": {
            "at": {"$ref": "#/definitions/p", "description": "where"},
            "tree": {"$ref": "#/definitions/node"},
        },
        "required": ["at", "tree"],
        "definitions": {
            "p": {"type": "object", "description": "a point", "properties": {"x": {"const": "c"}}},
            "node": {"type": "object", "properties": {"child": {"$ref": "#/definitions/node"}}},
        },
    });
    for protocol in [Protocol::Gemini, Protocol::ChatCompletions] {
        check(
            protocol,
            schema.clone(),
            &json!({
                "type": "object",
                "properties": {
                    "at": {"type": "object", "description": "where", "properties": {"x": {"enum": ["c"]}}},
                    "tree": {"$ref": "#/$defs/node"},
                },
                "required": ["at"],
                "$defs": {
                    "node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}}},
                },
            }),
        );
    }
    let kept = schema_of(Protocol::AnthropicMessages, schema);
    assert_eq!(kept["properties"]["at"]["$ref"], "#/$defs/p");
    assert_eq!(kept["required"], json!(["at", "tree"]));
}

#[test]
fn a_type_beside_alternatives_is_moved_into_them() {
    check(
        Protocol::ChatCompletions,
        json!({"type": "object", "properties": {"a": {
            "type": "string", "anyOf": [{"minLength": 1}, {"type": "null"}],
        }}}),
        &json!({"type": "object", "properties": {"a": {
            "anyOf": [{"minLength": 1, "type": "string"}, {"type": "null"}],
        }}}),
    );
}

#[test]
fn what_cannot_be_adapted_is_left_out_with_its_name_and_the_reason() {
    let odd = [
        (
            json!({"type": "string"}),
            "its arguments have the type \"string\" instead of \"object\"",
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "array"}]}),
            "none of the alternatives in its schema is an object",
        ),
        (
            json!({"properties": {"a": {"$ref": "https://h/s.json"}}}),
            "its schema refers to \"https://h/s.json\", which it does not contain",
        ),
        (json!({"$ref": "#"}), "its schema refers only to itself"),
        (json!(false), "its schema allows no arguments"),
    ];
    for (schema, reason) in odd {
        let prompt = offering(vec![with_schema("odd", schema), tool("bash", false)]);
        for protocol in PROTOCOLS {
            let expected = LeftOut {
                name: "odd".to_owned(),
                reason: reason.to_owned(),
            };
            assert_eq!(left_out(&prompt, protocol), [expected]);
            let names: Vec<_> = sent(protocol, &prompt).into_iter().map(|it| it.0).collect();
            assert_eq!(names, ["bash"]);
        }
    }
}

#[test]
fn of_a_thousand_tools_those_that_are_refused_are_left_out() {
    let tools = (0..1000).map(|n| match n % 100 {
        7 => with_schema(&format!("odd_{n}"), json!({"type": "array"})),
        _ => with_schema(&format!("tool_{n}"), odd_schemas().remove(n % 20).1),
    });
    let prompt = offering(tools.collect());
    for protocol in PROTOCOLS {
        assert_eq!(left_out(&prompt, protocol).len(), 10);
        assert_eq!(sent(protocol, &prompt).len(), 990);
    }
}

fn names(protocol: Protocol, names: &[&str]) -> Vec<String> {
    let tools = names.iter().map(|name| tool(name, false));
    let sent = sent(protocol, &offering(tools.collect()));
    sent.into_iter().map(|it| it.0).collect()
}

#[test]
fn every_name_is_accepted_and_different() {
    let odd = [
        "7zip__list",
        "-x__list",
        "_x__list",
        "a.b",
        "a b",
        "a_b",
        "a/b",
        "größe",
        "",
        "日本",
        &"n".repeat(65),
        &"n".repeat(66),
        "tool_7zip__list",
    ];
    for protocol in PROTOCOLS {
        let sent = names(protocol, &odd);
        let different: std::collections::BTreeSet<_> = sent.iter().collect();
        assert_eq!(different.len(), odd.len(), "{sent:?}");
        for name in &sent {
            is_accepted(protocol, name, &json!({"type": "object", "properties": {}}));
        }
    }
    // What a provider accepts stays as it is.
    assert_eq!(
        names(Protocol::AnthropicMessages, &["7zip__list"]),
        ["7zip__list"]
    );
}

#[test]
fn another_tool_changes_no_name() {
    for protocol in PROTOCOLS {
        let alone = names(protocol, &["a b"]).remove(0);
        for others in [["a b", "a.b", "a_b"], ["A", "a b", "a/b"]] {
            let sent = names(protocol, &others);
            assert!(sent.contains(&alone), "{sent:?} {alone}");
        }
        // Even a tool that has this very name.
        let sent = names(protocol, &["a b", &alone]);
        assert_ne!(sent[0], sent[1]);
    }
}

#[test]
fn calls_and_results_have_the_names_of_the_tools_that_are_offered() {
    let said = Prompt {
        tools: vec![tool("7 zip", false)],
        ..prompt(vec![
            user(vec![text("Go.")]),
            assistant(vec![
                call("toolu_1", "7 zip", "{}"),
                call("toolu_2", "gone away", "{}"),
            ]),
            user(vec![
                Part::ToolResult {
                    tool_use_id: ToolUseId::new("toolu_1"),
                    name: "7 zip".to_owned(),
                    content: "a".to_owned(),
                    files: Vec::new(),
                    is_error: false,
                },
                result("toolu_2", "no", true),
            ]),
        ])
    };
    for protocol in PROTOCOLS {
        let name = sent(protocol, &said).remove(0).0;
        let raw = String::from_utf8(request(protocol, &said, &parameters()).body).unwrap();
        let named = format!("\"name\":\"{name}\"");
        // Only Gemini's results have names.
        let count = if protocol == Protocol::Gemini { 3 } else { 2 };
        assert_eq!(raw.matches(&named).count(), count, "{raw}");
        assert!(
            !raw.contains("7 zip\"") && !raw.contains("gone away"),
            "{raw}"
        );
    }
}

/// An answer of Gemini with one call, decoded for a request.
fn called(tools: WireTools, name: &str, arguments: &str) -> (String, String) {
    let part = format!(r#"{{"functionCall":{{"name":"{name}","args":{arguments}}}}}"#);
    let event = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"role\":\"model\",\"parts\":[{part}]}},\"finishReason\":\"STOP\"}}]}}\n\n"
    );
    let mut decoder = Decoder::of(&endpoint(Protocol::Gemini)).with_tools(tools);
    let mut events = decoder.push(event.as_bytes());
    events.extend(decoder.finish());
    let started = events.iter().find_map(|event| match event {
        StreamEvent::ToolUseStart { name } => Some(name.clone()),
        _ => None,
    });
    let found = events.iter().find_map(|event| match event {
        StreamEvent::ToolUse(call) => Some((call.name.clone(), call.input.clone())),
        _ => None,
    });
    let found = found.unwrap();
    assert!(started.is_none_or(|started| started == found.0));
    found
}

#[test]
fn a_call_gets_the_tools_own_names_back() {
    let schema = json!({
        "type": "object",
        "properties": {
            "$top": {"type": "integer"},
            "filter[id]": {"type": "string"},
            "body": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            "free": {"type": "object"},
        },
        "$defs": {"item": {"type": "object", "properties": {"per day": {"type": "number"}}}},
    });
    let own = r#"{ "$top": 12345678901234567890, "filter[id]":"a", "body": [{"per day": 1.0}], "free": {"_top": "x"} }"#;
    let with_history = Prompt {
        tools: vec![with_schema("7 zip", schema)],
        ..prompt(vec![
            user(vec![text("Go.")]),
            assistant(vec![call("c", "7 zip", own)]),
            user(vec![result("c", "", false)]),
        ])
    };
    let request = request(Protocol::Gemini, &with_history, &parameters());
    let wire = sent(Protocol::Gemini, &with_history).remove(0).0;
    let raw = String::from_utf8(request.body).unwrap();
    let on_wire = r#"{ "_top": 12345678901234567890, "filter_id_":"a", "body": [{"per_day": 1.0}], "free": {"_top": "x"} }"#;
    assert!(raw.contains(on_wire), "{raw}");

    let (name, input) = called(request.tools.clone(), &wire, on_wire);
    assert_eq!((name.as_str(), input.as_str()), ("7 zip", own));
    // A model may know the tool's own names from its description.
    let (name, input) = called(request.tools, "7 zip", own);
    assert_eq!((name.as_str(), input.as_str()), ("7 zip", own));
}

#[test]
fn a_strict_tool_whose_schema_changes_is_not_sent_as_strict() {
    let strict = |schema| ToolDefinition {
        strict: true,
        ..with_schema("t", schema)
    };
    for (schema, is_strict) in [
        (json!({"type": "object", "properties": {}}), true),
        (json!({"type": "object"}), false),
    ] {
        let prompt = offering(vec![strict(schema)]);
        let body = body(Protocol::Responses, &prompt, &parameters());
        assert_eq!(body["tools"][0]["strict"], is_strict);
    }
}

#[test]
fn an_error_that_names_a_position_names_the_tool() {
    let refused = [
        (
            Protocol::AnthropicMessages,
            "tools.1.custom.input_schema: invalid",
            "tools.1",
        ),
        (
            Protocol::Responses,
            "Invalid 'tools[1].parameters'.",
            "tools[1]",
        ),
        (
            Protocol::ChatCompletions,
            "tools[1].function.parameters is odd",
            "tools[1].function",
        ),
        (
            Protocol::Gemini,
            "* GenerateContentRequest.tools[0].function_declarations[1].name: odd",
            "tools[0].function_declarations[1]",
        ),
    ];
    let prompt = offering(vec![
        tool("a", false),
        tool("größe", false),
        tool("z", false),
    ]);
    for (protocol, message, place) in refused {
        let problem = chat::Problem::new(format!("It refused the request (400, {message})."), "");
        let problem = request(protocol, &prompt, &parameters()).explain(400, problem);
        let named = format!("{place} is the tool \"größe\".");
        assert!(problem.what.ends_with(&named), "{problem}");
    }
}

#[test]
fn an_error_without_a_position_of_the_request_stays_as_it_is() {
    let prompt = offering(vec![tool("a", false)]);
    for (status, what) in [
        (400, "The field tools.9 is odd, and so is messages.x."),
        (500, "tools.0 crashed."),
        (400, "The tools are odd."),
    ] {
        let problem = chat::Problem::new(what, "");
        let request = request(Protocol::AnthropicMessages, &prompt, &parameters());
        assert_eq!(request.explain(status, problem).what, what);
    }
}

/// Names of properties, of which providers refuse some.
fn any_name() -> impl Strategy<Value = String> {
    let names = [
        "a",
        "b",
        "$a",
        "a b",
        "_a",
        "1",
        "",
        "id",
        "$ref",
        "properties",
        "ä",
    ];
    proptest::sample::select(names.to_vec()).prop_map(str::to_owned)
}

/// Schemas in which all that this module knows occurs in all places, also where it is wrong.
fn any_schema() -> impl Strategy<Value = Value> {
    let references = [
        "#",
        "#/$defs/a",
        "#/definitions/b",
        "#/properties/a",
        "#/gone",
    ];
    let leaf = prop_oneof![
        Just(json!({})),
        any::<bool>().prop_map(Value::Bool),
        Just(json!({"type": "string", "nullable": true})),
        Just(json!({"type": "array"})),
        Just(json!({"const": "c"})),
        Just(json!({"enum": ["d", 1]})),
        Just(json!({"minimum": 1, "exclusiveMinimum": true, "type": "number"})),
        Just(json!(["not", "a schema"])),
        proptest::sample::select(references.to_vec()).prop_map(|it| json!({"$ref": it})),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array);
        let names = proptest::collection::vec(any_name(), 0..3);
        let named = proptest::collection::vec((any_name(), inner.clone()), 0..4);
        let named = named.prop_map(|pairs| Value::Object(pairs.into_iter().collect()));
        let keyword = prop_oneof![
            (
                proptest::sample::select(vec![
                    "properties",
                    "$defs",
                    "definitions",
                    "dependencies",
                    "patternProperties",
                    "dependentSchemas"
                ]),
                named
            ),
            (
                proptest::sample::select(vec!["anyOf", "oneOf", "allOf", "items", "prefixItems"]),
                list
            ),
            (
                proptest::sample::select(vec![
                    "items",
                    "not",
                    "additionalProperties",
                    "if",
                    "then",
                    "dependentRequired"
                ]),
                inner
            ),
            (
                proptest::sample::select(vec!["required", "propertyOrdering", "examples"]),
                names.prop_map(|it| json!(it))
            ),
            (
                Just("type"),
                proptest::sample::select(vec![
                    json!("object"),
                    json!("array"),
                    json!(["object", "null"]),
                    json!("any")
                ])
            ),
        ];
        proptest::collection::vec(keyword, 0..5).prop_map(|keywords| {
            let keywords = keywords
                .into_iter()
                .map(|(keyword, it)| (keyword.to_owned(), it));
            Value::Object(keywords.collect())
        })
    })
}

/// Schemas of the kind that most tools have, and a few that are almost like them.
fn common_schema() -> impl Strategy<Value = Value> {
    let kinds = [
        "string", "integer", "null", "array", "object", "any", "String",
    ];
    let leaf = (
        proptest::sample::select(kinds.to_vec()),
        proptest::sample::select(vec![
            json!({}),
            json!({"description": "d", "default": null}),
            json!({"enum": ["a", 1]}),
            json!({"minimum": 0, "maximum": 2.0}),
            json!({"title": 1}),
            json!({"format": "date", "nullable": true}),
        ]),
    );
    let leaf = leaf.prop_map(|(kind, mut schema)| {
        schema["type"] = json!(kind);
        schema
    });
    let leaf = prop_oneof![8 => leaf, 1 => any::<bool>().prop_map(Value::Bool)];
    let inner = leaf.prop_recursive(3, 20, 4, |inner| {
        let named = proptest::collection::vec((any_name(), inner.clone()), 0..4);
        let required = proptest::collection::vec(any_name(), 0..3);
        let object = (named, required).prop_map(|(named, required)| {
            let named = Value::Object(named.into_iter().collect());
            json!({"type": "object", "properties": named, "required": required})
        });
        let list = inner
            .clone()
            .prop_map(|it| json!({"type": "array", "items": it}));
        let table = inner.prop_map(|it| json!({"type": "object", "additionalProperties": it}));
        prop_oneof![3 => object, 1 => list, 1 => table]
    });
    let named = proptest::collection::vec((any_name(), inner), 0..4);
    (named, any::<bool>()).prop_map(|(named, is_closed)| {
        let named = Value::Object(named.into_iter().collect());
        let mut schema = json!({"type": "object", "properties": named});
        if is_closed {
            schema["additionalProperties"] = json!(false);
        }
        schema
    })
}

proptest! {
    #[test]
    fn a_schema_that_is_recognized_as_usual_is_sent_like_any_other(schema in common_schema()) {
        // A comment is never sent, and not usual.
        let mut commented = schema.clone();
        commented["$comment"] = json!("c");
        for protocol in PROTOCOLS {
            let sent = |schema: &Value| schema_of(protocol, schema.clone());
            prop_assert_eq!(sent(&schema).to_string(), sent(&commented).to_string());
        }
    }

    #[test]
    fn any_schema_is_adapted_or_left_out(schema in any_schema(), name in any_name()) {
        let prompt = offering(vec![with_schema(&name, schema)]);
        for protocol in PROTOCOLS {
            if left_out(&prompt, protocol).is_empty() {

                    let (name, _, schema) = sent(protocol, &prompt).remove(0);
                    is_accepted(protocol, &name, &schema);

} else {
prop_assert!(sent(protocol, &prompt).is_empty())
}
        }
    }

    #[test]
    fn arguments_come_back_as_they_were(name in any_name(), text in "[ab \"\\\\\n]{0,9}", number in any::<i64>()) {
        let schema = json!({"type": "object", "properties": {
            &name: {"type": "array", "items": {"$ref": "#"}}, "own": {},
        }});
        let free = json!({&name: text, "_a": 1, "a_b": 2}).to_string();
        let own = json!({&name: [{ &name: [number] }], "own": 1}).to_string();
        let own = own.replace("\"own\":1", &format!("\"own\" : {free}"));
        let said = Prompt {
            tools: vec![with_schema("t", schema)],
            ..prompt(vec![user(vec![text_part()]), assistant(vec![call("c", "t", &own)]), user(vec![result("c", "", false)])])
        };
        let request = request(Protocol::Gemini, &said, &parameters());
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let wire = body["contents"][1]["parts"][0]["functionCall"]["args"].to_string();
        let (_, back) = called(request.tools, "t", &wire);
        prop_assert_eq!(
            serde_json::from_str::<Value>(&back).unwrap(),
            serde_json::from_str::<Value>(&own).unwrap()
        );
    }
}

fn text_part() -> Part {
    text("Go.")
}
