//! JSON Schemas derived from argument types, and parsing of arguments.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::error::ToolError;

/// Keywords that strict mode rejects, or that only repeat Rust's types.
const DROPPED: [&str; 5] = ["$schema", "title", "format", "default", "minimum"];

/// The schema of `T` for strict mode: every property is required, optional properties are
/// nullable, and no others are allowed.
pub(crate) fn strict<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    let Some(object) = schema.as_object_mut() else {
        return schema;
    };
    drop_keywords(object);
    // It comes from the Rust type. The tool's description is sent with the schema.
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

/// An object schema with exactly these properties.
pub(crate) fn object(properties: &Value, required: &[&str]) -> Value {
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

/// Joins the lines of a description, which is wrapped in the source.
fn join_lines(schema: &mut Map<String, Value>) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

/// Parses the arguments of a call.
///
/// # Errors
///
/// [`ToolError::InvalidInput`] with the tool and the reason.
pub(crate) fn arguments<T: DeserializeOwned>(tool: &str, input: Value) -> Result<T, ToolError> {
    serde_json::from_value(input).map_err(|error| {
        ToolError::InvalidInput(format!(
            "The arguments do not fit {tool}: {error}. Nothing was done."
        ))
    })
}

/// An optional count given as a JSON number, clamped to `1..=most`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
pub(crate) fn count(value: Option<f64>, default: usize, most: usize) -> usize {
    // A NaN becomes 0 in the cast, and then 1.
    value.map_or(default, |it| it as usize).clamp(1, most)
}
