//! Validates a message before the SDK sees it, and returns JSON-RPC errors. Pure.
//!
//! The SDK reports invalid parameters as an unknown method, and does not answer invalid
//! JSON at all.

use serde_json::{Value, json};

/// JSON-RPC error code: parse error.
const PARSE: i64 = -32700;
/// JSON-RPC error code: invalid request.
const INVALID: i64 = -32600;
/// JSON-RPC error code: invalid parameters.
const PARAMS: i64 = -32602;

/// Parses and validates a message.
///
/// # Errors
///
/// The error answer. A message that cannot be read gets one even if it may be a notification.
pub(super) fn read(bytes: &[u8]) -> Result<Value, Value> {
    // Invalid UTF-8 inside a string must not make the whole message unreadable.
    let text = String::from_utf8_lossy(bytes);
    let message: Value = match serde_json::from_str(&text) {
        Ok(message) => message,
        // Programs that cut strings in JavaScript send lone surrogates.
        Err(error) => serde_json::from_str(&crate::surrogates::without(&text))
            .map_err(|_| failure(&Value::Null, PARSE, &format!("Parse error: {error}")))?,
    };
    match problem(&message) {
        None => Ok(message),
        Some((code, why)) => Err(failure(id(&message), code, &why)),
    }
}

/// Returns the HTTP status of an error answer.
pub(super) fn status(answer: &Value) -> u16 {
    // With invalid parameters it is still a well-formed request.
    if answer["error"]["code"] == PARAMS {
        200
    } else {
        400
    }
}

/// Returns the answer to a valid message that the SDK can't parse; `None` if no answer is
/// expected.
pub(super) fn unreadable(message: &Value) -> Option<Value> {
    let is_request = message.get("id").is_some() && message.get("method").is_some();
    is_request.then(|| failure(id(message), PARAMS, "Invalid params"))
}

fn problem(message: &Value) -> Option<(i64, String)> {
    let invalid = |why: &str| Some((INVALID, format!("Invalid request: {why}")));
    let Some(fields) = message.as_object() else {
        return invalid("a message must be an object");
    };
    if fields.get("jsonrpc") != Some(&json!("2.0")) {
        return invalid("\"jsonrpc\" must be \"2.0\"");
    }
    // MCP forbids `null`, which JSON-RPC allows.
    let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
    if fields.get("id").is_some_and(|id| !is_id(id)) {
        return invalid("\"id\" must be a string or a whole number");
    }
    let Some(method) = fields.get("method") else {
        let is_answer = fields.contains_key("result") || fields.contains_key("error");
        return if is_answer {
            None
        } else {
            invalid("\"method\" is missing")
        };
    };
    let Some(method) = method.as_str() else {
        return invalid("\"method\" must be a string");
    };
    // A notification gets no answer.
    fields.get("id")?;
    let why = wrong_params(method, fields.get("params").unwrap_or(&Value::Null))?;
    Some((PARAMS, format!("Invalid params: {why}")))
}

/// A parameter of a method: name, validity check, and expected type.
type Field = (&'static str, fn(&Value) -> bool, &'static str);

/// Returns what is wrong with the parameters of a method we know.
fn wrong_params(method: &str, params: &Value) -> Option<String> {
    let needs = |fields: &[Field]| {
        if !params.is_object() {
            return Some(format!("\"{method}\" needs an object \"params\""));
        }
        let wrong = fields.iter().find(|(name, fits, _)| !fits(&params[*name]));
        wrong.map(|(name, _, kind)| format!("\"{name}\" must be {kind}"))
    };
    match method {
        "tools/call" => needs(&[
            ("name", Value::is_string, "a string"),
            ("arguments", is_object_or_absent, "an object"),
        ]),
        "initialize" => needs(&[
            ("protocolVersion", Value::is_string, "a string"),
            ("capabilities", Value::is_object, "an object"),
            (
                "clientInfo",
                is_implementation,
                "an object with \"name\" and \"version\"",
            ),
        ]),
        "tools/list" if !params.is_null() => needs(&[("cursor", is_text_or_absent, "a string")]),
        _ if is_object_or_absent(params) => None,
        _ => Some("\"params\" must be an object".to_owned()),
    }
}

fn is_object_or_absent(value: &Value) -> bool {
    value.is_object() || value.is_null()
}

fn is_text_or_absent(value: &Value) -> bool {
    value.is_string() || value.is_null()
}

fn is_implementation(value: &Value) -> bool {
    value["name"].is_string() && value["version"].is_string()
}

fn id(message: &Value) -> &Value {
    message.get("id").unwrap_or(&Value::Null)
}

fn failure(id: &Value, code: i64, message: &str) -> Value {
    let id = if id.is_string() || id.is_number() {
        id
    } else {
        &Value::Null
    };
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, id: &Value, code: i64) {
        let answer = read(message.as_bytes()).unwrap_err();
        assert_eq!(answer["id"], *id, "{message}");
        assert_eq!(answer["error"]["code"], code, "{message}: {answer}");
    }

    #[test]
    fn invalid_json_is_a_parse_error() {
        for text in ["{", "", "hello", "{\"jsonrpc\":\"2.0\",}", "\u{0}"] {
            check(text, &Value::Null, PARSE);
        }
    }

    #[test]
    fn json_other_than_a_message_is_an_invalid_request() {
        for (text, id) in [
            ("[]", json!(null)),
            ("5", json!(null)),
            ("{}", json!(null)),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, json!(1)),
            (r#"{"jsonrpc":"2.0","id":1}"#, json!(1)),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, json!(1)),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, json!(null)),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                json!(null),
            ),
        ] {
            check(text, &id, INVALID);
        }
    }

    #[test]
    fn missing_or_mistyped_parameters_are_invalid() {
        for rest in [
            r#""method":"tools/call""#,
            r#""method":"tools/call","params":{}"#,
            r#""method":"tools/call","params":{"name":7}"#,
            r#""method":"tools/call","params":{"name":"a","arguments":[]}"#,
            r#""method":"initialize""#,
            r#""method":"initialize","params":{"protocolVersion":"2025-06-18"}"#,
            r#""method":"tools/list","params":[]"#,
            r#""method":"tools/list","params":{"cursor":1}"#,
            r#""method":"ping","params":"x""#,
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":"a",{rest}}}"#);
            check(&text, &json!("a"), PARAMS);
        }
    }

    #[test]
    fn valid_messages_are_accepted() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud83d"}}"#,
        ] {
            assert!(read(text.as_bytes()).is_ok(), "{text}");
        }
    }
}
