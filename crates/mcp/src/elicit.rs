//! Converts a server's questions to the user between the protocol's types and ours. Pure.
//!
//! A server's text is shown but never acted on: it is cleaned, and only the flat schemas of
//! the specification are supported.

use serde_json::{Map, Value, json};
use tools::{Choice, Field, FieldKind, Form, FormContent, FormReply};

use crate::definition::clean;

/// Maximum size of a question in bytes.
const SAID: usize = 2000;
/// Maximum size of a field's text in bytes.
const ABOUT: usize = 300;
/// Maximum length of an address in bytes: users can't check a longer one.
const ADDRESS: usize = 2000;
/// Maximum number of fields.
const FIELDS: usize = 30;
/// Maximum number of choices of a field.
const CHOICES: usize = 200;

/// Converts the parameters of `elicitation/create` to a form.
///
/// # Errors
///
/// The question is not supported; a phrase.
pub fn form(server: &str, params: &Value) -> Result<Form, String> {
    let wanted = match params["mode"].as_str() {
        Some("url") => FormContent::Visit(address(&params["url"])?),
        // Versions before 2025-11-25 have only forms, without a mode.
        None | Some("form") => FormContent::Fields(fields(&params["requestedSchema"])?),
        Some(other) => {
            return Err(format!(
                "its question has the unknown mode {:?}",
                line(other, ABOUT)
            ));
        }
    };
    Ok(Form {
        by: format!("The MCP server \"{server}\""),
        message: clean(text(params, "message"), SAID).trim().to_owned(),
        wanted,
    })
}

/// Returns a short summary of a question.
pub fn summary(params: &Value) -> String {
    line(text(params, "message"), ABOUT)
}

/// Converts the user's reply to the protocol's result.
pub fn result(reply: FormReply, params: &Value) -> Value {
    match reply {
        // The user answers on the page, so nothing is sent back here.
        FormReply::Accepted(_) if params["mode"] == "url" => json!({"action": "accept"}),
        FormReply::Accepted(content) => json!({"action": "accept", "content": content}),
        // The protocol has no action for a client without a user.
        FormReply::Declined | FormReply::Unavailable => json!({"action": "decline"}),
        FormReply::Cancelled => json!({"action": "cancel"}),
    }
}

fn address(url: &Value) -> Result<String, String> {
    let url = url.as_str().unwrap_or_default();
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    // Control characters and lookalikes could make the user visit another address than they
    // see.
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_web || !is_plain || url.len() > ADDRESS {
        return Err("its address is not a valid http or https URL".to_owned());
    }
    Ok(url.to_owned())
}

fn fields(schema: &Value) -> Result<Vec<Field>, String> {
    let properties = schema["properties"].as_object();
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    // The specification allows only flat schemas, so that every client can show a form.
    let fields = properties.into_iter().flatten().map(|(name, property)| {
        let kind = kind(property)
            .ok_or_else(|| format!("the field {:?} is not a flat value", line(name, ABOUT)))?;
        Ok(Field {
            name: name.clone(),
            title: line(text(property, "title"), ABOUT),
            about: line(text(property, "description"), ABOUT),
            default: property
                .get("default")
                .cloned()
                .filter(|it| takes(&kind, it)),
            required: required.contains(&name.as_str()),
            kind,
        })
    });
    let fields: Vec<Field> = fields.collect::<Result<_, String>>()?;
    match fields.len() {
        count if count > FIELDS => Err(format!("it asks for {count} values at once")),
        _ => Ok(fields),
    }
}

fn kind(property: &Value) -> Option<FieldKind> {
    match text(property, "type") {
        "boolean" => Some(FieldKind::YesNo),
        "string" => match choices(property) {
            // A choice of nothing could not be answered.
            Some(choices) => (!choices.is_empty()).then_some(FieldKind::One(choices)),
            None => Some(FieldKind::Text {
                least: property["minLength"].as_u64().unwrap_or_default(),
                most: property["maxLength"].as_u64(),
                format: property["format"].as_str().map(|it| line(it, ABOUT)),
            }),
        },
        kind @ ("number" | "integer") => Some(FieldKind::Number {
            whole: kind == "integer",
            least: property["minimum"].as_f64(),
            most: property["maximum"].as_f64(),
        }),
        "array" => Some(FieldKind::Some {
            choices: choices(&property["items"]).filter(|it| !it.is_empty())?,
            least: property["minItems"].as_u64().unwrap_or_default(),
            most: property["maxItems"].as_u64(),
        }),
        _ => None,
    }
}

/// Returns the choices of a field: with titles, with a parallel list of names, or bare.
fn choices(property: &Value) -> Option<Vec<Choice>> {
    // A choice of one value has `oneOf`, and a choice of several has `anyOf`.
    let titled = property["oneOf"]
        .as_array()
        .or(property["anyOf"].as_array());
    let bare = property["enum"].as_array();
    let choices: Vec<Choice> = if let Some(titled) = titled {
        let choice = |it: &Value| choice(it["const"].as_str()?, it["title"].as_str());
        titled.iter().take(CHOICES).filter_map(choice).collect()
    } else {
        // Version 2025-06-18 had the titles in `enumNames`.
        let name = |at: usize| property["enumNames"][at].as_str();
        let values = bare?.iter().take(CHOICES).enumerate();
        values
            .filter_map(|(at, it)| choice(it.as_str()?, name(at)))
            .collect()
    };
    Some(choices)
}

fn choice(value: &str, title: Option<&str>) -> Option<Choice> {
    Some(Choice {
        value: value.to_owned(),
        title: line(title.unwrap_or(value), ABOUT),
    })
}

/// Returns true if a default is a valid value of the field.
fn takes(kind: &FieldKind, value: &Value) -> bool {
    let is_there = |choices: &[Choice], value: &Value| {
        choices.iter().any(|it| value.as_str() == Some(&it.value))
    };
    match kind {
        // The user would accept hidden text in a default without seeing it.
        FieldKind::Text { .. } => value.as_str().is_some_and(|it| clean(it, SAID) == it),
        FieldKind::Number { whole: true, .. } => value.is_i64(),
        FieldKind::Number { .. } => value.is_number(),
        FieldKind::YesNo => value.is_boolean(),
        FieldKind::One(choices) => is_there(choices, value),
        FieldKind::Some { choices, .. } => value
            .as_array()
            .is_some_and(|all| all.iter().all(|it| is_there(choices, it))),
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// Joins a server's text to one cleaned line.
fn line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    clean(&words.join(" "), most)
}

/// Returns the default values of the fields.
pub fn defaults(form: &Form) -> Map<String, Value> {
    let FormContent::Fields(fields) = &form.wanted else {
        return Map::new();
    };
    let known = fields
        .iter()
        .filter_map(|it| Some((it.name.clone(), it.default.clone()?)));
    known.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn all_flat_fields_of_the_specification_are_supported() {
        let schema = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "title": "Your\nname", "minLength": 2},
            "age": {"type": "integer", "minimum": 0, "maximum": 150, "default": 30},
            "score": {"type": "number", "default": "high"},
            "agreed": {"type": "boolean", "default": true},
            "bare": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red"]},
            "titled": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}], "default": "x"},
            "several": {"type": "array", "items": {"anyOf": [{"const": "r", "title": "Red"}]}, "default": ["r"]},
        }});
        let asked = json!({"message": "Who\u{202e}?", "requestedSchema": schema});
        let form = form("docs", &asked).unwrap();
        assert_eq!(
            (form.by.as_str(), form.message.as_str()),
            ("The MCP server \"docs\"", "Who?")
        );
        assert_eq!(
            Value::Object(defaults(&form)),
            json!({"age": 30, "agreed": true, "several": ["r"]})
        );
        let FormContent::Fields(fields) = form.wanted else {
            panic!("{form:?}");
        };
        let said: Vec<_> = fields
            .iter()
            .map(|it| format!("{}: {}", it.label(), it.form()))
            .collect();
        assert_eq!(
            said,
            [
                "Your name: text",
                "age: a whole number from 0 to 150, or nothing",
                "score: a number, or nothing",
                "agreed: yes or no, or nothing",
                "bare: one of Red, g, or nothing",
                "titled: one of Red, or nothing",
                "several: some of Red, or nothing",
            ]
        );
    }

    #[test]
    fn nested_fields_and_other_addresses_are_rejected() {
        let nested = json!({"requestedSchema": {"properties": {"a": {"type": "object"}}}});
        assert_eq!(
            form("docs", &nested),
            Err("the field \"a\" is not a flat value".to_owned())
        );
        for url in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "https://a.example/\u{202e}b",
            "http://a\nb",
        ] {
            let asked = json!({"mode": "url", "url": url, "message": "Go"});
            assert!(form("docs", &asked).is_err(), "{url}");
        }
    }

    #[test]
    fn an_unanswered_question_is_declined_or_cancelled() {
        assert_eq!(
            result(FormReply::Unavailable, &Value::Null),
            json!({"action": "decline"})
        );
        assert_eq!(
            result(FormReply::Cancelled, &Value::Null),
            json!({"action": "cancel"})
        );
        let given = Map::from_iter([("a".to_owned(), json!(1))]);
        assert_eq!(
            result(FormReply::Accepted(given.clone()), &Value::Null),
            json!({"action": "accept", "content": {"a": 1}})
        );
        assert_eq!(
            result(FormReply::Accepted(given), &json!({"mode": "url"})),
            json!({"action": "accept"})
        );
    }
}
