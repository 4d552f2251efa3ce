//! Recognizes schemas that all providers accept as they are, which most tools have.

use serde_json::{Map, Value};

use super::names::is_accepted_key;
use super::rules::Keys;

/// Types without parts.
const SIMPLE: [&str; 5] = ["string", "number", "integer", "boolean", "null"];

/// Returns true if nothing in a schema needs to be adapted. Schemas with rare keywords are never
/// usual.
pub(super) fn is_usual(schema: &Value, keys: Keys) -> bool {
    schema.as_object().is_some_and(|map| {
        map.get("type").is_some_and(|kind| kind == "object")
            && map.contains_key("properties")
            && !map.contains_key("enum")
            && is_usual_inside(map, keys)
    })
}

fn is_usual_inside(map: &Map<String, Value>, keys: Keys) -> bool {
    map.iter().all(|(keyword, value)| match keyword.as_str() {
        "type" => match value.as_str() {
            Some("array") => map.contains_key("items"),
            Some("object") => true,
            Some(kind) => SIMPLE.contains(&kind),
            None => false,
        },
        "description" | "title" | "format" => value.is_string(),
        "enum" => value.is_array(),
        "default" => true,
        "minimum" | "maximum" => value.is_number(),
        "items" => is_usual_part(value, keys),
        "additionalProperties" => value == &Value::Bool(false) || is_usual_part(value, keys),
        "properties" => value.as_object().is_some_and(|named| {
            named
                .iter()
                .all(|(name, it)| is_accepted_key(name, keys) && is_usual_part(it, keys))
        }),
        "required" => value.as_array().is_some_and(|names| {
            let is_name = |name: &Value| name.as_str().is_some_and(|it| is_accepted_key(it, keys));
            // Each name once.
            names.iter().all(is_name)
                && (1..names.len()).all(|at| !names[..at].contains(&names[at]))
        }),
        _ => false,
    })
}

fn is_usual_part(value: &Value, keys: Keys) -> bool {
    value
        .as_object()
        .is_some_and(|map| is_usual_inside(map, keys))
}
