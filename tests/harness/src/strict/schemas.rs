//! Rules about the names and schemas of tools.

use serde_json::Value as Json;

use super::{Checked, list, refuse};

/// Returns true if `name` has 1 to `longest` of these characters: ASCII letters, digits, and `others`.
pub(super) fn fits(name: &str, longest: usize, others: &str) -> bool {
    let is_known = |it: char| it.is_ascii_alphanumeric() || others.contains(it);
    !name.is_empty() && name.len() <= longest && name.chars().all(is_known)
}

/// Checks the definitions of Anthropic's tools ("Define tools", and messages of the API).
pub(super) fn anthropic(tools: &Json) -> Checked {
    let mut names: Vec<&str> = Vec::new();
    for (at, tool) in list(tools).iter().enumerate() {
        let name = super::text(&tool["name"]);
        if !fits(name, 64, "_-") {
            return refuse(format!(
                "tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
            ));
        }
        if names.contains(&name) {
            return refuse("tools: Tool names must be unique.");
        }
        names.push(name);
        let schema = &tool["input_schema"];
        if schema["type"] != "object" {
            return refuse(format!(
                "tools.{at}.custom.input_schema.type: Input should be 'object'"
            ));
        }
        if has_choice(schema) {
            return refuse(format!(
                "tools.{at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
            ));
        }
        if let Some(key) = properties(schema)
            .into_iter()
            .find(|key| !fits(key, 64, "_.-"))
        {
            return refuse(format!(
                "tools.{at}.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$' (found {key:?})"
            ));
        }
        if is_old_draft(schema) {
            return refuse(format!(
                "tools.{at}.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12)."
            ));
        }
    }
    Ok(())
}

/// Checks the definition of a function of OpenAI. `at` is where it is in the request.
pub(super) fn openai(at: &str, name: &str, schema: &Json) -> Checked {
    if !fits(name, 64, "_-") {
        return refuse(format!(
            "Invalid '{at}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        ));
    }
    if schema.is_null() {
        return Ok(());
    }
    let others = ["enum", "not"].iter().any(|key| schema.get(key).is_some());
    if schema["type"] != "object" || has_choice(schema) || others {
        return refuse(format!(
            "Invalid schema for function '{name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
        ));
    }
    if schema.get("properties").is_none() {
        return refuse(format!(
            "Invalid schema for function '{name}': In context=(), object schema missing properties."
        ));
    }
    Ok(())
}

/// Checks the names of Gemini's functions ("Function calling").
pub(super) fn gemini(tools: &Json) -> Checked {
    for (at, tool) in list(tools).iter().enumerate() {
        for (index, function) in list(&tool["functionDeclarations"]).iter().enumerate() {
            let name = super::text(&function["name"]);
            let begins = name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
            if !begins || !fits(name, 64, "_.:-") {
                return refuse(format!(
                    "Invalid value at tools[{at}].function_declarations[{index}].name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
                ));
            }
        }
    }
    Ok(())
}

/// Returns true if the top of a schema is a choice between schemas.
fn has_choice(schema: &Json) -> bool {
    let words = ["anyOf", "oneOf", "allOf"];
    words.iter().any(|word| schema.get(word).is_some())
}

/// The names of all properties, at any depth.
fn properties(schema: &Json) -> Vec<&str> {
    let mut found = Vec::new();
    let Some(fields) = schema.as_object() else {
        return list(schema).iter().flat_map(properties).collect();
    };
    for (key, value) in fields {
        if let ("properties", Some(inner)) = (key.as_str(), value.as_object()) {
            found.extend(inner.keys().map(String::as_str));
            found.extend(inner.values().flat_map(properties));
        } else {
            found.extend(properties(value));
        }
    }
    found
}

/// Returns true if a schema uses forms of drafts before 2020-12.
fn is_old_draft(schema: &Json) -> bool {
    let Some(fields) = schema.as_object() else {
        return list(schema).iter().any(is_old_draft);
    };
    let is_true_or_false = |key: &str| fields.get(key).is_some_and(Json::is_boolean);
    let has_tuple = fields.get("items").is_some_and(Json::is_array);
    is_true_or_false("exclusiveMinimum")
        || is_true_or_false("exclusiveMaximum")
        || has_tuple
        || fields.values().any(is_old_draft)
}
