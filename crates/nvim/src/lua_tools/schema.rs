//! JSON schemas from Lua tables, whose keys are unordered and whose empty objects look like
//! empty lists.

use serde_json::{Map, Value, json};
use session::lua_calls;

/// Keywords whose value is an object.
const OBJECTS: [&str; 6] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependentRequired",
    "$defs",
    "definitions",
];
/// Keywords whose value is a schema.
const SCHEMAS: [&str; 8] = [
    "items",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
];

/// Returns the schema of a tool's arguments, with sorted keys, so that each request has the
/// same bytes.
///
/// # Errors
///
/// It is not a schema of an object. The message completes "because …".
pub fn arguments(given: &Value) -> Result<Value, String> {
    let mut schema = with_objects(&lua_calls::sorted(given));
    let Some(object) = schema.as_object_mut() else {
        return Err("its input_schema is not a table of keywords".to_owned());
    };
    match object.get("type") {
        // Providers reject arguments without a type.
        None => drop(object.insert("type".to_owned(), json!("object"))),
        Some(Value::String(kind)) if kind == "object" => {}
        Some(other) => {
            return Err(format!(
                "its input_schema has the type {other}; arguments are an \"object\""
            ));
        }
    }
    object
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    // Empty arguments need not fit the schema. Only an error about the schema itself matters.
    match chat::schema::fit(&schema, json!({})) {
        Err(why) if why.starts_with("the tool's schema is broken") => {
            Err(why.replacen("the tool's schema is broken", "its input_schema is none", 1))
        }
        _ => Ok(schema),
    }
}

/// Returns a description with the schema of the results.
pub fn description(text: &str, output: Option<&Value>) -> String {
    match output {
        Some(schema) => {
            let schema = with_objects(&lua_calls::sorted(schema));
            format!("{text}\n\nReturns (JSON Schema): {schema}")
        }
        None => text.to_owned(),
    }
}

/// Replaces empty lists by empty objects where a schema needs an object.
fn with_objects(schema: &Value) -> Value {
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    let map = match schema {
        Value::Object(map) => map,
        // An empty Lua table arrives as a list, but a schema is an object.
        other if is_empty(other) => return Value::Object(Map::new()),
        other => return other.clone(),
    };
    let pairs = map.iter().map(|(name, value)| {
        let value = match value {
            value if OBJECTS.contains(&name.as_str()) => named(value),
            // Before draft 2020-12, `items` may also be a list of schemas.
            value if SCHEMAS.contains(&name.as_str()) && !is_list(value) => with_objects(value),
            Value::Array(items)
                if ["anyOf", "allOf", "oneOf", "prefixItems"].contains(&name.as_str()) =>
            {
                Value::Array(items.iter().map(with_objects).collect())
            }
            other => other.clone(),
        };
        (name.clone(), value)
    });
    Value::Object(pairs.collect())
}

fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty())
}

/// The same for a table of schemas by name.
fn named(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(name, it)| (name.clone(), with_objects(it)));
            Value::Object(pairs.collect())
        }
        // An empty table again.
        Value::Array(items) if items.is_empty() => Value::Object(Map::new()),
        other => other.clone(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_is_an_object_where_the_schema_wants_one() {
        let given = json!({"type": "object", "properties": []});
        assert_eq!(
            arguments(&given).unwrap(),
            json!({"properties": {}, "type": "object"})
        );
        let nested =
            json!({"properties": {"a": [], "b": {"type": "array", "items": []}}, "required": []});
        assert_eq!(
            arguments(&nested).unwrap().to_string(),
            r#"{"properties":{"a":{},"b":{"items":{},"type":"array"}},"required":[],"type":"object"}"#
        );
        assert_eq!(
            arguments(&json!([])).unwrap(),
            json!({"type": "object", "properties": {}})
        );
    }

    #[test]
    fn a_schema_that_is_not_one_of_an_object_is_refused() {
        for (given, why) in [
            (
                json!({"type": "string"}),
                "its input_schema has the type \"string\"",
            ),
            (json!([1]), "its input_schema is not a table of keywords"),
            (
                json!({"properties": {"a": {"type": "strin"}}}),
                "its input_schema is none",
            ),
        ] {
            let said = arguments(&given).unwrap_err();
            assert!(said.starts_with(why), "{said}");
        }
    }

    #[test]
    fn the_same_schema_is_the_same_text_in_whatever_order_it_came() {
        let one = json!({"properties": {"b": {"type": "string", "enum": ["z", "a"]}, "a": {}}, "type": "object"});
        let other = json!({"type": "object", "properties": {"a": {}, "b": {"enum": ["z", "a"], "type": "string"}}});
        assert_eq!(
            arguments(&one).unwrap().to_string(),
            arguments(&other).unwrap().to_string()
        );
    }

    #[test]
    fn the_schema_of_the_results_is_below_the_description() {
        assert_eq!(
            description("Adds.", Some(&json!({"type": "number"}))),
            "Adds.\n\nReturns (JSON Schema): {\"type\":\"number\"}"
        );
    }
}
