//! Expands environment variables in server configurations. Pure.

use serde_json::{Map, Value};

/// Replaces `${NAME}` and `${NAME:-default}` with environment variables.
pub(super) fn expand(
    value: Value,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(expand_text(&text, variable)?),
        Value::Array(list) => {
            let expanded: Result<_, _> = list.into_iter().map(|it| expand(it, variable)).collect();
            Value::Array(expanded?)
        }
        Value::Object(map) => {
            let mut expanded = Map::new();
            for (name, value) in map {
                expanded.insert(name, expand(value, variable)?);
            }
            Value::Object(expanded)
        }
        other => other,
    })
}

fn expand_text(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(end) = rest[start..].find('}').map(|end| start + end) else {
            // An unclosed `${` is ordinary text.
            break;
        };
        expanded.push_str(&rest[..start]);
        let (name, otherwise) = match rest[start + 2..end].split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (&rest[start + 2..end], None),
        };
        // A missing variable is an error, because an empty one would start another command.
        let value = variable(name).or_else(|| otherwise.map(str::to_owned));
        expanded.push_str(&value.ok_or_else(|| format!("the variable {name} is not set"))?);
        // The value is not expanded again, because it may contain `${` itself.
        rest = &rest[end + 1..];
    }
    Ok(expanded + rest)
}
