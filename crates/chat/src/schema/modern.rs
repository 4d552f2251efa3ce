//! Converts a schema of any draft to JSON Schema 2020-12.
//!
//! Nothing that a valid schema says is lost. Keywords with a value of the wrong form, which
//! every draft forbids, are left out. All references lead to `$defs`.

use serde_json::{Map, Value, json};

use super::target;

/// Maximum number of subschemas in a converted schema. References to places inside each other
/// copy them.
const MOST: usize = 20_000;

/// Keywords that name a schema, a draft, or a place for references.
const DROPPED: [&str; 10] = [
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
    "$comment",
    "$defs",
    "definitions",
    "additionalItems",
];

/// The spellings of a reference in different drafts.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The form of a keyword's value.
#[derive(Clone, Copy)]
enum Form {
    Schema,
    /// Schemas by name.
    Named,
    /// A list of schemas, not empty.
    Listed,
    Type,
    Number,
    Count,
    Flag,
    Text,
    Strings,
    /// Lists of strings by name.
    NamedStrings,
    List,
    Any,
}

/// Returns the form of the value that draft 2020-12 prescribes for a keyword.
fn form(keyword: &str) -> Form {
    match keyword {
        "not"
        | "if"
        | "then"
        | "else"
        | "items"
        | "contains"
        | "additionalProperties"
        | "propertyNames"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "contentSchema" => Form::Schema,
        "properties" | "patternProperties" | "dependentSchemas" => Form::Named,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => Form::Listed,
        "type" => Form::Type,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            Form::Number
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minContains" | "maxContains"
        | "minProperties" | "maxProperties" => Form::Count,
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => Form::Flag,
        "title" | "description" | "format" | "pattern" | "contentEncoding" | "contentMediaType" => {
            Form::Text
        }
        "required" => Form::Strings,
        "dependentRequired" => Form::NamedStrings,
        "enum" | "examples" => Form::List,
        _ => Form::Any,
    }
}

/// Returns `schema` in draft 2020-12, with the definitions that it uses in `$defs`.
///
/// # Errors
///
/// The schema refers to something that it does not contain, or it is too large; a phrase.
pub fn modern(schema: &Value) -> Result<Value, String> {
    let mut converter = Converter {
        root: schema,
        targets: Vec::new(),
        count: 0,
    };
    let mut converted = converter.schema(schema)?;
    let mut definitions = Map::new();
    // Definitions may refer to others, which are appended meanwhile.
    while let Some((place, name)) = converter.targets.get(definitions.len()).cloned() {
        definitions.insert(name, converter.schema(place)?);
    }
    if let (false, Value::Object(map)) = (definitions.is_empty(), &mut converted) {
        map.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Ok(converted)
}

/// Calls `visit` for each subschema of a converted schema that is an object, the inner ones
/// first and the schema itself last.
pub fn for_each(schema: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(map) = schema else {
        return;
    };
    for (keyword, value) in map.iter_mut() {
        match (form(keyword), value) {
            (Form::Schema, inner) => for_each(inner, visit),
            (Form::Named, Value::Object(inner)) => {
                inner.values_mut().for_each(|it| for_each(it, visit));
            }
            (Form::Listed, Value::Array(inner)) => {
                inner.iter_mut().for_each(|it| for_each(it, visit));
            }
            (Form::Any, Value::Object(inner)) if keyword == "$defs" => {
                inner.values_mut().for_each(|it| for_each(it, visit));
            }
            _ => {}
        }
    }
    visit(map);
}

struct Converter<'s> {
    root: &'s Value,
    /// Places that references lead to, with their names in `$defs`.
    targets: Vec<(&'s Value, String)>,
    count: usize,
}

impl<'s> Converter<'s> {
    fn schema(&mut self, schema: &'s Value) -> Result<Value, String> {
        self.count += 1;
        if self.count > MOST {
            return Err("its schema is too large once its references are followed".to_owned());
        }
        let Value::Object(old) = schema else {
            // `true` allows everything, as does what is not a schema at all.
            return Ok(match schema {
                Value::Bool(false) => json!(false),
                _ => json!({}),
            });
        };
        let mut new = Map::new();
        for (keyword, value) in old {
            self.keyword(keyword, value, &mut new)?;
        }
        self.tuple(old, &mut new)?;
        self.dependencies(old, &mut new)?;
        require_marked(old, &mut new);
        exclude_limits(old, &mut new);
        allow_null(old, &mut new);
        Ok(Value::Object(new))
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &'s Value,
        new: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let converted = match (form(keyword), value) {
            _ if REFERENCES.contains(&keyword) => {
                let name = self.reference(value)?;
                new.insert("$ref".to_owned(), json!(format!("#/$defs/{name}")));
                return Ok(());
            }
            // `id` names a schema in draft 4; in later drafts it means nothing.
            _ if DROPPED.contains(&keyword) || keyword == "id" => None,
            // A list of schemas for the first items; see `tuple`.
            (Form::Schema, Value::Array(_)) => None,
            (Form::Schema, schema) => Some(self.schema(schema)?),
            (Form::Named, Value::Object(map)) => Some(self.named(map)?),
            // Languages with one type for lists and tables write an empty table like this.
            (Form::Named, Value::Array(list)) if list.is_empty() => Some(json!({})),
            (Form::Listed, Value::Array(list)) if !list.is_empty() => Some(self.listed(list)?),
            (Form::Named | Form::Listed, _) => None,
            (form, value) => plain(form, value),
        };
        if let Some(value) = converted {
            new.insert(keyword.to_owned(), value);
        }
        Ok(())
    }

    fn named(&mut self, map: &'s Map<String, Value>) -> Result<Value, String> {
        let converted = map
            .iter()
            .map(|(name, schema)| Ok((name.clone(), self.schema(schema)?)));
        Ok(Value::Object(converted.collect::<Result<_, String>>()?))
    }

    fn listed(&mut self, list: &'s [Value]) -> Result<Value, String> {
        let converted = list.iter().map(|schema| self.schema(schema));
        Ok(Value::Array(converted.collect::<Result<_, String>>()?))
    }

    /// Returns the name in `$defs` of what a reference leads to.
    fn reference(&mut self, value: &Value) -> Result<String, String> {
        let reference = value.as_str().unwrap_or_default();
        let place = target(self.root, reference);
        let place = place.ok_or_else(|| {
            format!("its schema refers to \"{reference}\", which it does not contain")
        })?;
        // By address: equal definitions may have different names.
        let known = self.targets.iter().find(|it| std::ptr::eq(it.0, place));
        if let Some((_, name)) = known {
            return Ok(name.clone());
        }
        let name = self.free_name(reference);
        self.targets.push((place, name.clone()));
        Ok(name)
    }

    /// Returns an unused name from the last word of a reference.
    fn free_name(&self, reference: &str) -> String {
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let word: String = last.chars().take(40).map(plain).collect();
        let word = if word.is_empty() {
            "arguments".to_owned()
        } else {
            word
        };
        let is_used = |name: &String| self.targets.iter().any(|(_, used)| used == name);
        let numbered = (2..).map(|n| format!("{word}_{n}"));
        std::iter::once(word.clone())
            .chain(numbered)
            .find(|name| !is_used(name))
            // The range is infinite, so a free name is always found.
            .unwrap_or(word)
    }

    /// Before draft 2020-12, `items` may be a list, and `additionalItems` follow it.
    fn tuple(
        &mut self,
        old: &'s Map<String, Value>,
        new: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let Some(Value::Array(first)) = old.get("items") else {
            return Ok(());
        };
        if !first.is_empty() {
            new.insert("prefixItems".to_owned(), self.listed(first)?);
        }
        if let Some(rest) = old.get("additionalItems") {
            new.insert("items".to_owned(), self.schema(rest)?);
        }
        Ok(())
    }

    /// Before draft 2019-09, `dependencies` has names and schemas.
    fn dependencies(
        &mut self,
        old: &'s Map<String, Value>,
        new: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let Some(Value::Object(dependencies)) = old.get("dependencies") else {
            return Ok(());
        };
        new.remove("dependencies");
        for (name, dependency) in dependencies {
            let (keyword, value) = match dependency {
                Value::Array(_) => ("dependentRequired", dependency.clone()),
                Value::String(one) => ("dependentRequired", json!([one])),
                schema => ("dependentSchemas", self.schema(schema)?),
            };
            let table = new.entry(keyword).or_insert_with(|| json!({}));
            if let Value::Object(table) = table {
                table.insert(name.clone(), value);
            }
        }
        Ok(())
    }
}

/// The types of the standard.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// Returns the value of a keyword without subschemas, or `None` if it has the wrong form.
fn plain(form: Form, value: &Value) -> Option<Value> {
    let fits = match form {
        Form::Type => return types(value),
        Form::Count => return count(value),
        Form::Strings => return strings(value),
        Form::NamedStrings => return named_strings(value),
        Form::Number => value.is_number(),
        Form::Flag => value.is_boolean(),
        Form::Text => value.is_string(),
        Form::List => value.is_array(),
        Form::Schema | Form::Named | Form::Listed | Form::Any => true,
    };
    fits.then(|| value.clone())
}

/// Returns the known types in lower case, as OpenAPI's dialects do not write them.
fn types(value: &Value) -> Option<Value> {
    let known = |value: &Value| {
        let lower = value.as_str()?.to_ascii_lowercase();
        TYPES.contains(&&*lower).then_some(Value::String(lower))
    };
    let Value::Array(list) = value else {
        return known(value);
    };
    let mut types: Vec<Value> = Vec::new();
    for kind in list {
        let kind = known(kind)?;
        if !types.contains(&kind) {
            types.push(kind);
        }
    }
    (!types.is_empty()).then_some(Value::Array(types))
}

/// Returns a count as an integer; `2.0` is one, too.
fn count(value: &Value) -> Option<Value> {
    let float = value
        .as_f64()
        .filter(|it| *it >= 0.0 && it.fract() == 0.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates"
    )]
    let integer = value.as_u64().unwrap_or(float as u64);
    Some(json!(integer))
}

/// Returns the strings of a list, each once.
fn strings(value: &Value) -> Option<Value> {
    let mut strings: Vec<&str> = Vec::new();
    for text in value.as_array()?.iter().filter_map(Value::as_str) {
        if !strings.contains(&text) {
            strings.push(text);
        }
    }
    Some(json!(strings))
}

fn named_strings(value: &Value) -> Option<Value> {
    let lists = value.as_object()?.iter();
    let lists = lists.filter_map(|(name, list)| Some((name.clone(), strings(list)?)));
    Some(Value::Object(lists.collect()))
}

/// Draft 3 and OpenAPI mark a required property in its own schema.
fn require_marked(old: &Map<String, Value>, new: &mut Map<String, Value>) {
    let properties = old.get("properties").and_then(Value::as_object);
    let marked = properties
        .into_iter()
        .flatten()
        .filter(|(_, schema)| schema.get("required") == Some(&Value::Bool(true)));
    for (name, _) in marked {
        let required = new.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(names) = required
            && !names.iter().any(|it| it == name)
        {
            names.push(json!(name));
        }
    }
}

/// In draft 4, `exclusiveMinimum` says that `minimum` itself is excluded.
fn exclude_limits(old: &Map<String, Value>, new: &mut Map<String, Value>) {
    for (limit, exclusive) in [
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ] {
        if old.get(exclusive) == Some(&Value::Bool(true))
            && let Some(value) = new.remove(limit)
        {
            new.insert(exclusive.to_owned(), value);
        }
    }
    if let Some(divisor) = old.get("divisibleBy").filter(|it| it.is_number()) {
        new.remove("divisibleBy");
        new.insert("multipleOf".to_owned(), divisor.clone());
    }
    // The standard allows positive divisors only.
    if new
        .get("multipleOf")
        .and_then(Value::as_f64)
        .is_some_and(|it| it <= 0.0)
    {
        new.remove("multipleOf");
    }
}

/// OpenAPI 3.0 says `nullable` instead of a type.
fn allow_null(old: &Map<String, Value>, new: &mut Map<String, Value>) {
    if new.remove("nullable").is_none() || old.get("nullable") != Some(&Value::Bool(true)) {
        return;
    }
    match new.get_mut("type") {
        Some(Value::Array(kinds)) if !kinds.iter().any(|it| it == "null") => {
            kinds.push(json!("null"));
        }
        Some(kind @ Value::String(_)) if kind != "null" => *kind = json!([kind.clone(), "null"]),
        _ => {}
    }
    if let Some(Value::Array(values)) = new.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    let alternatives = ["anyOf", "oneOf"]
        .into_iter()
        .find(|it| new.contains_key(*it));
    if let Some(Value::Array(list)) = alternatives.and_then(|it| new.get_mut(it)) {
        list.push(json!({"type": "null"}));
    } else if let Some(reference) = new.remove("$ref") {
        let either = json!([{"$ref": reference}, {"type": "null"}]);
        new.insert("anyOf".to_owned(), either);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
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
}
