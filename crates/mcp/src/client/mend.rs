//! Repairs messages of servers that deviate from JSON-RPC. Pure.
//!
//! The SDK skips messages that it can't parse. The call that such a message answers would
//! then wait for its time limit.

use serde_json::{Map, Value, json};

/// JSON-RPC's code for an error of the server.
const INTERNAL: i64 = -32603;
/// Maximum bytes quoted of a malformed error.
const QUOTED: usize = 200;

/// Result of checking a line.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// Valid as it is.
    Whole,
    /// Repaired text.
    Mended(String),
    /// Not a message: the server writes its log to standard output.
    Foreign,
    /// An unreadable message; the reason as a phrase.
    Unreadable(String),
}

/// Checks a line without its line end.
pub(super) fn line(bytes: &[u8]) -> Line {
    // Some programs write a byte order mark before their first message.
    if let Some(rest) = bytes.strip_prefix("\u{feff}".as_bytes()) {
        return match line(rest) {
            Line::Whole => Line::Mended(String::from_utf8_lossy(rest).into_owned()),
            line => line,
        };
    }
    match serde_json::from_slice(bytes) {
        Ok(value) => response(value).map_or(Line::Whole, Line::Mended),
        Err(_) => {
            // Half a surrogate pair is valid JSON, but not a valid string in Rust.
            let text = crate::surrogates::without(&String::from_utf8_lossy(bytes));
            match serde_json::from_str(&text) {
                Ok(value) => Line::Mended(response(value).unwrap_or(text)),
                // It begins like a message, so a call may wait for it.
                Err(error) if text.trim_start().starts_with(['{', '[']) => {
                    Line::Unreadable(explain(&error))
                }
                Err(_) => Line::Foreign,
            }
        }
    }
}

fn explain(error: &serde_json::Error) -> String {
    let said = error.to_string();
    if said.starts_with("recursion limit") {
        "nested more than 127 deep".to_owned()
    } else {
        format!("that is not JSON ({said})")
    }
}

/// Returns an answer in the form the SDK expects; `None` if it already has that form.
fn response(value: Value) -> Option<String> {
    let Value::Object(mut message) = value else {
        return None;
    };
    // Requests and notifications pass as they are.
    if message.contains_key("method") || !message.contains_key("id") {
        return None;
    }
    let before = message.clone();
    // The SDK requires this member, which some servers leave out.
    message.insert("jsonrpc".to_owned(), json!("2.0"));
    // JSON-RPC forbids `"error": null` together with a result, but some servers send it.
    let error = message.remove("error").filter(|it| !it.is_null());
    let error = match (error, message.get("result")) {
        (Some(error), _) => Some(well_formed(&error)),
        // The schema requires an object, and the SDK skips anything else.
        (None, Some(Value::Object(_))) => None,
        (None, Some(_)) => Some(failure(INTERNAL, "its result is not an object")),
        (None, None) => Some(failure(
            INTERNAL,
            "its answer has neither a result nor an error",
        )),
    };
    if let Some(error) = error {
        message.remove("result");
        message.insert("error".to_owned(), error);
    }
    (message != before).then(|| Value::Object(message).to_string())
}

/// Returns an error with an integer code and a text message.
fn well_formed(error: &Value) -> Value {
    // The SDK's codes have 32 bits.
    let code = error["code"]
        .as_i64()
        .filter(|it| i32::try_from(*it).is_ok());
    match (code, error["message"].as_str()) {
        (Some(_), Some(_)) => error.clone(),
        (code, message) => {
            let message =
                message.map_or_else(|| crate::clean(&error.to_string(), QUOTED), str::to_owned);
            failure(code.unwrap_or(INTERNAL), &message)
        }
    }
}

fn failure(code: i64, message: &str) -> Value {
    let fields = [
        ("code".to_owned(), json!(code)),
        ("message".to_owned(), json!(message)),
    ];
    Value::Object(Map::from_iter(fields))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;

    #[track_caller]
    fn mended(bytes: &[u8]) -> Value {
        match line(bytes) {
            Line::Mended(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn readable_messages_pass_unchanged() {
        for message in [
            ANSWER,
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"no","data":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"text":"\ud83d\ude00 \\ud83d"}}"#,
        ] {
            assert_eq!(line(message.as_bytes()), Line::Whole, "{message}");
        }
    }

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        for (json, text) in [
            (r"\ud83d", "\u{fffd}"),
            (r"\uDE00", "\u{fffd}"),
            (r"\ude00\ud83d", "\u{fffd}\u{fffd}"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
            (r"a\ud83d\n\u00e4", "a\u{fffd}\nä"),
            (r"\\ud83d\ud83d", "\\ud83d\u{fffd}"),
            (r"\\\ud83d", "\\\u{fffd}"),
            (r"\ud83d\\ude00", "\u{fffd}\\ude00"),
            ("ä\\ud83dä", "ä\u{fffd}ä"),
        ] {
            let message = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":"{json}"}}}}"#);
            assert_eq!(mended(message.as_bytes())["result"]["text"], text, "{json}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_removed() {
        let marked = |text: &str| mended(format!("\u{feff}{text}").as_bytes());
        let expected: Value = serde_json::from_str(ANSWER).unwrap();
        assert_eq!(marked(ANSWER), expected);
        assert_eq!(marked(r#"{"id":1,"result":{"content":[]}}"#), expected);
    }

    #[test]
    fn invalid_utf_8_becomes_replacement_characters() {
        let bytes = [
            &ANSWER.as_bytes()[..ANSWER.len() - 2],
            b",\"t\":\"\xff\xc3\"}}",
        ]
        .concat();
        assert_eq!(mended(&bytes)["result"]["t"], "\u{fffd}\u{fffd}");
    }

    #[test]
    fn an_answer_without_a_result_becomes_an_error() {
        for answer in [
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":5}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":"broken"}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"E1"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":12345678901,"message":"x"},"result":{}}"#,
        ] {
            let mended = mended(answer.as_bytes());
            assert_eq!(mended["error"]["code"], INTERNAL, "{answer}");
            assert!(mended["error"]["message"].is_string(), "{answer}");
            assert_eq!(mended.get("result"), None, "{answer}");
        }
        let null = r#"{"id":1,"result":{"content":[]},"error":null}"#;
        let expected: Value = serde_json::from_str(ANSWER).unwrap();
        assert_eq!(mended(null.as_bytes()), expected);
    }

    #[test]
    fn broken_messages_differ_from_log_lines() {
        for broken in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"n":1e999}}"#,
            r#"  {"jsonrpc":"2.0","id":1,"resu"#,
            "[",
        ] {
            let line = line(broken.as_bytes());
            assert!(matches!(line, Line::Unreadable(_)), "{broken}: {line:?}");
        }
        for log in ["this is not JSON", "", "Listening on {port}", "\u{feff}hi"] {
            assert_eq!(line(log.as_bytes()), Line::Foreign, "{log}");
        }
    }
}
