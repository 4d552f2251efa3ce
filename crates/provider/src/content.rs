//! Reads content that may be a string, one part, or a list of parts.
//!
//! Servers put text, thinking, and references into the same field: Mistral's reasoning
//! models send lists, gateways to Anthropic send its blocks. A part without text that can
//! be shown is named, so that it is not dropped in silence.
//!
//! The arguments of a call are JSON text, which is sent byte for byte as received and not
//! checked against the tool's schema.

use serde_json::value::RawValue;
use serde_json_borrow::Value;

/// One part of a content field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ContentPart<'a> {
    /// Text of the answer, never empty.
    Text(String),
    /// Thinking, never empty.
    Thinking(String),
    /// Text with which the model declines, never empty.
    Refusal(String),
    /// A complete call.
    Call(&'a Value<'a>),
    /// A part of another type, with the type's name.
    Unknown(String),
}

/// Types of parts with text.
const TEXT: [&str; 5] = ["text", "output_text", "input_text", "text_delta", "message"];

/// Types of parts with thinking.
const THINKING: [&str; 8] = [
    "thinking",
    "thinking_delta",
    "reasoning",
    "reasoning_text",
    "reasoning_content",
    "reasoning.text",
    "reasoning.summary",
    "summary_text",
];

/// Types of parts that are calls.
const CALLS: [&str; 3] = ["tool_use", "tool_call", "function_call"];

/// Fields that contain the text of a part, or parts with it.
const TEXT_FIELDS: [&str; 7] = [
    "text",
    "thinking",
    "reasoning",
    "reasoning_content",
    "summary",
    "content",
    "value",
];

/// Maximum nesting of parts, more than any server sends.
const MAX_DEPTH: usize = 8;

/// Returns the parts of a content field in their order.
pub(crate) fn parts<'a>(content: &'a Value<'a>) -> Vec<ContentPart<'a>> {
    let mut found = Vec::new();
    match content {
        Value::Array(list) => list.iter().for_each(|part| add(part, &mut found)),
        other => add(other, &mut found),
    }
    found
}

/// Returns the text of a field, whatever its parts are called.
pub(crate) fn plain(content: &Value<'_>) -> String {
    let mut text = String::new();
    collect(content, MAX_DEPTH, &mut text);
    text
}

fn add<'a>(part: &'a Value<'a>, found: &mut Vec<ContentPart<'a>>) {
    if let Some(text) = part.as_str() {
        if !text.is_empty() {
            found.push(ContentPart::Text(text.to_owned()));
        }
        return;
    }
    if !part.is_object() {
        // Many servers send `null` for no content.
        if !part.is_null() {
            found.push(ContentPart::Unknown(
                part.to_string().chars().take(40).collect(),
            ));
        }
        return;
    }
    let kind = kind_of(part);
    if CALLS.contains(&kind) {
        return found.push(ContentPart::Call(part));
    }
    let make = match kind {
        kind if TEXT.contains(&kind) => ContentPart::Text,
        kind if THINKING.contains(&kind) => ContentPart::Thinking,
        "refusal" => ContentPart::Refusal,
        kind => return found.push(ContentPart::Unknown(kind.to_owned())),
    };
    let text = match kind {
        "refusal" => plain(part.get("refusal")) + &plain(part),
        _ => plain(part),
    };
    if !text.is_empty() {
        found.push(make(text));
    }
}

/// Returns the type of a part, which some servers leave out.
fn kind_of<'a>(part: &'a Value<'a>) -> &'a str {
    match part.get("type").as_str().unwrap_or_default() {
        "" if !part.get("thinking").is_null() => "thinking",
        "" if !part.get("text").is_null() => "text",
        "" => "without a type",
        kind => kind,
    }
}

fn collect(content: &Value<'_>, depth: usize, text: &mut String) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    match content {
        Value::Str(piece) => text.push_str(piece),
        Value::Array(list) => list.iter().for_each(|it| collect(it, depth, text)),
        Value::Object(_) => {
            // Only the first field: some servers repeat the text in a second one.
            let mut fields = TEXT_FIELDS.iter().map(|name| content.get(*name));
            if let Some(inner) = fields.find(|field| !field.is_null()) {
                collect(inner, depth, text);
            }
        }
        _ => {}
    }
}

/// Replacement for missing or invalid arguments.
pub(crate) const NONE: &str = "{}";

/// Maximum bytes of calls and signatures buffered per answer (16 MiB), the limit of a line:
/// a peer must not be able to exhaust memory in small pieces either.
pub(crate) const MAX_HELD_BYTES: usize = 16 * 1024 * 1024;

/// Returns `text`, trimmed, if it is a complete JSON object.
///
/// No proper prefix of an object is one, so this also shows whether a call's arguments are
/// complete.
pub(crate) fn whole_object(text: &str) -> Option<&RawValue> {
    serde_json::from_str::<&RawValue>(text)
        .ok()
        .filter(|raw| raw.get().starts_with('{'))
}

/// Replaces an object that was encoded as a JSON string by the object itself.
pub(crate) fn unwrap_arguments(text: &mut String) {
    // Only such a string begins with a quotation mark, so the check costs nothing.
    if !text.trim_start().starts_with('"') {
        return;
    }
    let inner = serde_json::from_str::<String>(text).unwrap_or_default();
    if whole_object(&inner).is_some() {
        *text = inner;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expected: &str) {
        let json: Value<'_> = serde_json::from_str(content).unwrap();
        let shown = parts(&json).into_iter().map(|part| match part {
            ContentPart::Text(text) => text,
            ContentPart::Thinking(text) => format!("({text})"),
            ContentPart::Refusal(text) => format!("!{text}"),
            ContentPart::Call(call) => format!("[{}]", call.get("name")),
            ContentPart::Unknown(kind) => format!("?{kind}"),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{content}");
    }

    #[test]
    fn a_string_is_text() {
        check(r#""Hi.""#, "Hi.");
        check(r#""""#, "");
        check("null", "");
    }

    #[test]
    fn a_list_keeps_text_and_thinking_apart_and_in_order() {
        check(
            r#"[{"type":"thinking","thinking":[{"type":"text","text":"Se"},{"type":"text","text":"ven."}],"closed":true},
                "It is ", {"type":"text","text":"49"}, {"type":"output_text","text":"."}]"#,
            "(Seven.) It is  49 .",
        );
        check(r#"[{"type":"thinking","thinking":"Hm."}]"#, "(Hm.)");
        check(
            r#"[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]}]"#,
            "(Hm.)",
        );
        check(
            r#"[{"type":"text","text":{"value":"Hi.","annotations":[]}}]"#,
            "Hi.",
        );
        check(r#"[{"text":"Hi."},{"thinking":"Hm."}]"#, "Hi. (Hm.)");
        check(r#"{"type":"text","text":"Hi."}"#, "Hi.");
        check(r#"[{"type":"refusal","refusal":"No."}]"#, "!No.");
    }

    #[test]
    fn calls_and_unknown_parts_are_named() {
        check(
            r#"[{"type":"tool_use","id":"a","name":"read","input":{}}]"#,
            r#"["read"]"#,
        );
        check(
            r#"[{"type":"reference","reference_ids":[1]},{"image":1},7]"#,
            "?reference ?without a type ?7",
        );
    }

    #[test]
    fn deep_nesting_is_cut() {
        let deep = format!(
            r#"{{"type":"text","text":{}"a"{}}}"#,
            "[".repeat(50),
            "]".repeat(50)
        );
        check(&deep, "");
    }
}
