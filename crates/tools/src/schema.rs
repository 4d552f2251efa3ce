//! Argument types and their JSON Schema, one definition for both.
//!
//! Knows strict mode's rules, not a single tool's arguments.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::error::ToolError;

/// Keywords that strict mode does not take, or that only repeat Rust's types.
const DROPPED: [&str; 5] = ["$schema", "title", "format", "default", "minimum"];

/// The schema of `T` for strict mode: every property is required, optional ones
/// are nullable, nothing else is allowed.
///
/// Source: "Strict mode for tool schemas" in the tools specification.
pub(crate) fn strict<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    let Some(object) = schema.as_object_mut() else {
        return schema;
    };
    drop_keywords(object);
    object.remove("description");
    let mut names = Vec::new();
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for (name, property) in properties {
            names.push(name.clone());
            if let Value::Object(property) = property {
                drop_keywords(property);
                join_lines(property);
            }
        }
    }
    object.insert("required".to_owned(), json!(names));
    object.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// An object with these properties and no other.
pub(crate) fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn drop_keywords(schema: &mut Map<String, Value>) {
    for keyword in DROPPED {
        schema.remove(keyword);
    }
}

/// A description is wrapped where its comment is; to the model it is one line.
fn join_lines(schema: &mut Map<String, Value>) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

/// Reads a call's arguments.
///
/// # Errors
///
/// [`ToolError::InvalidInput`] names the tool and what does not fit.
pub(crate) fn arguments<T: DeserializeOwned>(tool: &str, input: Value) -> Result<T, ToolError> {
    serde_json::from_value(input).map_err(|error| {
        ToolError::InvalidInput(format!(
            "The arguments do not fit {tool}: {error}. Nothing was done."
        ))
    })
}
