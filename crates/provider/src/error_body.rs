//! Reads the body of an error response: the message of a JSON error, or the beginning of a
//! page.
//!
//! The text is foreign: it is shortened and stripped of control characters. Knows neither
//! key nor status.

use serde_json::Value;

use crate::{page::words, surrogates};

/// Maximum bytes quoted of a page or other foreign text.
pub(crate) const MAX_EXCERPT_BYTES: usize = 200;
/// Maximum bytes quoted of a server's error message, whose end is often the useful part.
const MAX_MESSAGE_BYTES: usize = 600;

/// A response body that is not an event stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ErrorBody {
    /// Blank.
    Nothing,
    /// JSON with an error message.
    Message(String),
    /// HTML.
    Page(String),
    /// Anything else, such as plain text or other JSON.
    Text(String),
}

impl ErrorBody {
    /// Reads a body.
    pub(crate) fn read(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Self::Nothing;
        }
        // A lone surrogate would make the JSON invalid and hide the message.
        if let Some(message) = serde_json::from_str(&surrogates::without(text))
            .ok()
            .as_ref()
            .and_then(error_message)
        {
            return Self::Message(message);
        }
        if is_html(text) {
            Self::Page(text.to_owned())
        } else {
            Self::Text(text.to_owned())
        }
    }

    /// Returns the HTML of a page.
    pub(crate) fn page(&self) -> Option<&str> {
        match self {
            Self::Page(text) => Some(text),
            Self::Nothing | Self::Message(_) | Self::Text(_) => None,
        }
    }
}

/// Returns all of the text of a body.
pub(crate) fn error_text(body: &ErrorBody) -> &str {
    match body {
        ErrorBody::Nothing => "",
        ErrorBody::Message(text) | ErrorBody::Page(text) | ErrorBody::Text(text) => text,
    }
}

fn is_html(text: &str) -> bool {
    let start: String = text
        .chars()
        .take(15)
        // Only the start of the page decides, which may be large.
        .collect::<String>()
        .to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html") || start.starts_with("<head")
}

/// Returns the message of an error object, in any of the usual places.
pub(crate) fn error_message(json: &Value) -> Option<String> {
    // Google sends an array with one error.
    let json = json.get(0).unwrap_or(json);
    let places = [
        &json["error"]["message"],
        // Ollama sends the message as a plain string.
        &json["error"],
        &json["message"],
        &json["errors"][0]["message"],
        // FastAPI's form, used by many Python servers.
        &json["detail"],
        // Some servers send only the kind of error.
        &json["error"]["type"],
    ];
    let found = places
        .iter()
        .find_map(|place| place.as_str().filter(|text| !text.trim().is_empty()));
    found.map(str::to_owned)
}

/// Quotes a page inside a sentence.
pub(crate) fn page_excerpt(page: &str) -> String {
    let words = excerpt(&words(page), MAX_EXCERPT_BYTES);
    if words.is_empty() {
        "a web page without text".to_owned()
    } else {
        format!("a web page that says \"{words}\"")
    }
}

/// Quotes a server's message inside a sentence.
pub(crate) fn message_excerpt(text: &str) -> String {
    excerpt(text, MAX_MESSAGE_BYTES)
        .trim_end_matches('.')
        .to_owned()
}

/// Returns at most `max_bytes` of `text` on one line, without control and bidirectional
/// characters.
pub(crate) fn excerpt(text: &str, max_bytes: usize) -> String {
    let mut kept = String::new();
    for word in text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
    {
        if !kept.is_empty() {
            kept.push(' ');
        }
        // Controls of text direction could make the message read differently than it is.
        kept.extend(word.chars().filter(|&c| !is_bidi_control(c)));
        if kept.len() > max_bytes {
            let boundary = (0..=max_bytes).rev().find(|&at| kept.is_char_boundary(at));
            kept.truncate(boundary.unwrap_or_default());
            kept.push('…');
            break;
        }
    }
    kept
}

fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_message(body: &str, message: &str) {
        assert_eq!(
            ErrorBody::read(body.as_bytes()),
            ErrorBody::Message(message.to_owned())
        );
    }

    #[test]
    fn error_messages_are_found_in_all_usual_places() {
        check_message(
            r#"{"type": "error", "error": {"type": "a", "message": "b"}}"#,
            "b",
        );
        check_message(r#"{"error": "b"}"#, "b");
        check_message(r#"{"message": "b"}"#, "b");
        check_message(r#"{"errors": [{"message": "b"}]}"#, "b");
        check_message(r#"[{"error": {"message": "b"}}]"#, "b");
        check_message(r#"{"detail": "b"}"#, "b");
        check_message(
            r#"{"error": {"type": "overloaded_error", "message": ""}}"#,
            "overloaded_error",
        );
        check_message("{\n  \"error\": {\n    \"message\": \"b\"\n  }\n}\n", "b");
    }

    #[test]
    fn an_excerpt_is_one_line_without_control_characters() {
        assert_eq!(
            excerpt("<p>\r\n\tA\u{1b}[31m\u{7}b\0\u{202e}c\n", 200),
            "<p> A [31m b c"
        );
    }

    #[test]
    fn an_excerpt_is_cut_between_characters() {
        assert_eq!(excerpt("ääää", 3), "ä…");
    }

    #[test]
    fn pages_differ_from_plain_text() {
        assert!(matches!(
            ErrorBody::read(b"\n<!DOCTYPE html><html>"),
            ErrorBody::Page(_)
        ));
        assert!(matches!(
            ErrorBody::read(b"404 page not found"),
            ErrorBody::Text(_)
        ));
        assert_eq!(ErrorBody::read(b" \n"), ErrorBody::Nothing);
    }
}
