//! Converts keywords without subschemas to draft 2020-12.

use serde_json::{Map, Value, json};

use super::Form;

/// The types of the standard.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// Returns the value of a keyword without subschemas, or `None` if it has the wrong form.
pub(super) fn plain(form: Form, value: &Value) -> Option<Value> {
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
pub(super) fn require_marked(old: &Map<String, Value>, new: &mut Map<String, Value>) {
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
pub(super) fn exclude_limits(old: &Map<String, Value>, new: &mut Map<String, Value>) {
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
pub(super) fn allow_null(old: &Map<String, Value>, new: &mut Map<String, Value>) {
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
