//! Parses calls that a model writes in JSON.

use chat::tool::{MALFORMED_CALL, ToolDefinition};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use crate::{ToolUse, surrogates};

/// A call as written between the tags. Models were trained with different field names.
#[derive(Deserialize)]
struct Written<'a> {
    name: String,
    #[serde(borrow, alias = "parameters", alias = "input")]
    arguments: Option<&'a RawValue>,
}

/// Whether a text is a complete JSON object.
pub(super) enum Extent {
    /// Complete.
    Whole,
    /// Possibly incomplete.
    Open,
    /// Invalid, whatever follows.
    Broken,
}

/// Returns whether a call's JSON is complete.
pub(super) fn extent(body: &str) -> Extent {
    // A raw value is only checked, not built, because this runs for every closing tag.
    match serde_json::from_str::<&RawValue>(unfenced(body)) {
        Ok(_) => Extent::Whole,
        Err(error) if error.is_eof() => Extent::Open,
        Err(_) => Extent::Broken,
    }
}

/// Returns the calls in a JSON body: one or a list. `text` is the whole text of an
/// unreadable call.
pub(super) fn in_json(body: &str, text: &str, tools: &[ToolDefinition]) -> Vec<ToolUse> {
    let body = &surrogates::without(unfenced(body));
    let written = if body.starts_with('[') {
        serde_json::from_str::<Vec<Written<'_>>>(body)
    } else {
        serde_json::from_str::<Written<'_>>(body).map(|it| vec![it])
    };
    let read = written.map_err(|error| error.to_string()).and_then(|all| {
        let calls = all.into_iter().map(|it| {
            Ok(ToolUse {
                input: arguments(it.arguments, &it.name, tools)?,
                name: it.name,
                id: String::new(),
            })
        });
        calls.collect::<Result<Vec<_>, String>>()
    });
    read.unwrap_or_else(|why| vec![malformed(&why, text)])
}

/// Returns the replacement for an unreadable call, which ends in an error with the reason.
pub(super) fn malformed(why: &str, text: &str) -> ToolUse {
    ToolUse {
        id: String::new(),
        name: MALFORMED_CALL.to_owned(),
        input: json!({"why": why, "text": text}).to_string(),
    }
}

/// Returns the arguments as written, unless something must be added.
fn arguments(
    raw: Option<&RawValue>,
    name: &str,
    tools: &[ToolDefinition],
) -> Result<String, String> {
    let raw = raw.map_or("{}", RawValue::get);
    // Some models write the object as a string, as in other APIs.
    let text = match serde_json::from_str::<String>(raw) {
        Ok(inner) => inner,
        Err(_) => raw.to_owned(),
    };
    let Ok(mut object) = serde_json::from_str::<Map<String, Value>>(&text) else {
        return Err("its arguments are not a JSON object".to_owned());
    };
    Ok(if add_absent(&mut object, name, tools) {
        Value::Object(object).to_string()
    } else {
        text
    })
}

/// Adds `null` for absent required arguments that may be `null`: models omit them unless
/// the API forces them. Returns true if it added any.
pub(super) fn add_absent(
    object: &mut Map<String, Value>,
    name: &str,
    tools: &[ToolDefinition],
) -> bool {
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        // The call gets an error result, which names the tools.
        return false;
    };
    let schema = &tool.input_schema;
    let wanted = schema["required"].as_array().into_iter().flatten();
    let absent = wanted.filter_map(Value::as_str).filter(|name| {
        let types = &schema["properties"][name]["type"];
        let nullable = types
            .as_array()
            .is_some_and(|it| it.contains(&json!("null")));
        nullable && !object.contains_key(*name)
    });
    let absent: Vec<String> = absent.map(str::to_owned).collect();
    let any = !absent.is_empty();
    object.extend(absent.into_iter().map(|name| (name, Value::Null)));
    any
}

/// Removes the code fence that some models write around a body.
fn unfenced(body: &str) -> &str {
    let body = body.trim();
    let inner = body
        .strip_prefix("```json")
        .or_else(|| body.strip_prefix("```"));
    match inner {
        Some(inner) => inner.strip_suffix("```").unwrap_or(inner).trim(),
        None => body,
    }
}
