//! Reads the body of an error response: the message of a JSON error, or the beginning of a
//! page.
//!
//! The text is foreign: it is shortened and stripped of control characters. Knows neither
//! key nor status.
//!
//! A proxy or router may send a web page instead of an answer; its text is extracted, whatever
//! the page contains.

use serde_json::Value;

use crate::surrogates;

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

/// Elements without readable content.
const HIDDEN: [&str; 3] = ["script", "style", "template"];

/// Returns the page's title, or else its text.
pub(crate) fn words(page: &str) -> String {
    let title = element(page, "title").map(text);
    title
        .filter(|title| !title.trim().is_empty())
        .unwrap_or_else(|| text(page))
}

/// Returns the content of the first element with this name.
fn element<'p>(page: &'p str, name: &str) -> Option<&'p str> {
    let start = find(page, &format!("<{name}"))?;
    let inside = &page[start + page[start..].find('>')? + 1..];
    Some(&inside[..find(inside, "</")?])
}

/// Returns the text outside tags, with a blank for each tag.
fn text(page: &str) -> String {
    let mut words = String::new();
    let mut rest = page;
    while let Some(open) = rest.find('<') {
        words.push_str(&rest[..open]);
        words.push(' ');
        let tag = &rest[open..];
        rest = HIDDEN
            .iter()
            .find_map(|name| behind(tag, name))
            .or_else(|| tag.find('>').map(|close| &tag[close + 1..]))
            .unwrap_or_default();
    }
    words.push_str(rest);
    plain(&words)
}

/// Returns the text after an element with this name that starts here; empty if it does not
/// end.
fn behind<'p>(tag: &'p str, name: &str) -> Option<&'p str> {
    // Compare only the start: searching the rest at every tag would be quadratic.
    let start = tag.as_bytes().get(1..=name.len())?;
    if !start.eq_ignore_ascii_case(name.as_bytes()) {
        return None;
    }
    let end = find(tag, &format!("</{name}"));
    Some(end.map_or("", |end| {
        tag[end..]
            .find('>')
            .map_or("", |close| &tag[end + close + 1..])
    }))
}

/// Finds ASCII text, ignoring case.
fn find(page: &str, text: &str) -> Option<usize> {
    let (page, text) = (page.as_bytes(), text.as_bytes());
    page.windows(text.len())
        .position(|it| it.eq_ignore_ascii_case(text))
}

fn plain(words: &str) -> String {
    let named = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        // Last, so that `&amp;lt;` is decoded only once.
        ("&amp;", "&"),
    ];
    named.iter().fold(words.to_owned(), |words, (name, sign)| {
        words.replace(name, sign)
    })
}

#[cfg(test)]
mod tests {
    use super::{words, *};

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

    #[track_caller]
    fn check(page: &str, expected: &str) {
        let said = words(page);
        let said: Vec<&str> = said.split_whitespace().collect();
        assert_eq!(said.join(" "), expected, "{page}");
    }

    #[test]
    fn a_page_is_described_by_its_title() {
        check(
            "<html><HEAD><Title lang=en>502 Bad Gateway</TITLE></head><body><h1>502</h1>nginx",
            "502 Bad Gateway",
        );
    }

    #[test]
    fn a_page_without_a_title_is_described_by_its_text() {
        check("<html>\r\n<h1>Bad Gateway</h1>\n", "Bad Gateway");
        check(
            "<html><title> </title><style>p { color: <b> }</style><script>x()</script>\
             <p>Log in &amp; <b>try</b> again&nbsp;&lt;soon&gt;",
            "Log in & try again <soon>",
        );
        check("no page at all", "no page at all");
    }

    #[test]
    fn a_long_page_takes_linear_time() {
        // With a search per tag these 300,000 tags take minutes.
        let page = format!("<html>{}done", "<b>".repeat(300_000));
        check(&page, "done");
    }

    #[test]
    fn a_broken_page_is_read_as_far_as_possible() {
        check("<html><p>One<script>two", "One");
        check("<html><p>One</script", "One");
        check("<title>One", "One");
        check("<title", "");
        check("<", "");
        check("<ä><ß>ü</ß", "ü");
    }
}
