//! Explains error responses, and answers that are not event streams, to the user.
//!
//! Knows statuses and error bodies. Does not decide about retries.

use chat::Problem;

use crate::{
    Endpoint, Protocol,
    error_body::{ErrorBody, MAX_EXCERPT_BYTES, excerpt, message_excerpt, page_excerpt},
};

/// Phrases that servers use if a conversation is too long for the model, in lower case.
const TOO_LONG: [&str; 10] = [
    "too long",
    "exceeds context window",
    "exceeds the context window",
    "exceed context limit",
    "maximum context length",
    "context length exceeded",
    "context_length_exceeded",
    "exceeds the available context size",
    "too many tokens",
    "token limit exceeded",
];

/// Explains a response that is not a successful event stream.
///
/// `retry_after` is the value of that header, in seconds or as a date. The result never
/// contains the key, even if the server echoed it.
pub fn explain(
    endpoint: &Endpoint,
    status: u16,
    content_type: Option<&str>,
    retry_after: Option<&str>,
    body: &[u8],
) -> Problem {
    let body = ErrorBody::read(body);
    let reason = Reason::new(status, content_type, &body);
    let who = name(endpoint);
    let problem = match status {
        200..=299 => no_stream(&who, &reason),
        401 | 403 => refused_key(endpoint, &who, &reason),
        // Servers report this by any of these statuses.
        400 | 413 | 422 if is_too_long(status, &body) => Problem::new(
            format!(
                "The conversation is too long for the model {reason}; nothing was cut from it."
            ),
            "Delete earlier turns or large results, or choose a model with a larger context window.",
        ),
        404 => not_found(endpoint, &who, &reason),
        // Redirects are not followed, because the key must not reach another address.
        300..=399 => Problem::new(
            format!("{who} redirects to another address {reason}, which does not get your key."),
            "Correct the base URL and press Ctrl-] again; the conversation is unchanged.",
        ),
        429 => limited(&who, &reason, retry_after),
        500..=599 => failed(&who, &reason, retry_after),
        _ => Problem::new(
            format!("{who} refused the request {reason}."),
            "Correct what it names and press Ctrl-] again; the conversation is unchanged.",
        ),
    };
    endpoint.redact(problem)
}

/// Text in parentheses: the status and the server's message.
struct Reason(String);

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({})", self.0)
    }
}

impl Reason {
    fn new(status: u16, content_type: Option<&str>, body: &ErrorBody) -> Self {
        let is_html = content_type.is_some_and(|kind| kind.to_ascii_lowercase().contains("html"));
        Self(match body {
            ErrorBody::Nothing => format!("{status}, without a message"),
            ErrorBody::Message(text) => format!("{status}, {}", message_excerpt(text)),
            ErrorBody::Text(text) if !is_html => {
                format!("{status}, {}", excerpt(text, MAX_EXCERPT_BYTES))
            }
            ErrorBody::Text(text) | ErrorBody::Page(text) => {
                format!("{status}, {}", page_excerpt(text))
            }
        })
    }
}

/// Names the provider at the start of a sentence.
fn name(endpoint: &Endpoint) -> String {
    match endpoint.provider.as_str() {
        "anthropic" => "Anthropic".to_owned(),
        "openai" => "OpenAI".to_owned(),
        "gemini" => "The Gemini API".to_owned(),
        "vertex" => "Vertex AI".to_owned(),
        "openai_compatible" => format!("The server at {}", endpoint.shown_base()),
        other => other.to_owned(),
    }
}

fn no_stream(who: &str, reason: &Reason) -> Problem {
    Problem::new(
        format!(
            "{who} answered with something other than an event stream {reason}, so there is no answer."
        ),
        "Check the base URL and press Ctrl-] again; the conversation is unchanged.",
    )
}

fn refused_key(endpoint: &Endpoint, who: &str, reason: &Reason) -> Problem {
    let what = match endpoint.api_key {
        Some(_) => format!("{who} refused the key {reason}."),
        None => format!("{who} requires a key, but none is set {reason}."),
    };
    let source = &endpoint.key_source;
    Problem::new(
        what,
        format!("Set {source} and press Ctrl-] again; the conversation is unchanged."),
    )
}

fn not_found(endpoint: &Endpoint, who: &str, reason: &Reason) -> Problem {
    let base = endpoint.shown_base();
    let ending = match endpoint.protocol {
        // These base URLs contain no version.
        Protocol::AnthropicMessages | Protocol::Gemini => "",
        _ if base.trim_end_matches('/').ends_with("/v1") => "",
        Protocol::ChatCompletions | Protocol::Responses => " (it usually ends in /v1)",
    };
    Problem::new(
        format!("{who} does not know this model or address {reason}."),
        format!(
            "Check the model's name and the base URL {base}{ending}, then press Ctrl-] again; the conversation is unchanged."
        ),
    )
}

fn limited(who: &str, reason: &Reason, retry_after: Option<&str>) -> Problem {
    Problem::new(
        format!("{who} accepts no more requests for now {reason}."),
        again(retry_after),
    )
}

fn failed(who: &str, reason: &Reason, retry_after: Option<&str>) -> Problem {
    Problem::new(
        format!("{who} failed or is overloaded {reason}."),
        again(retry_after),
    )
}

/// The fix for a temporary failure.
fn again(retry_after: Option<&str>) -> String {
    let when = match retry_after.map(str::trim).filter(|value| !value.is_empty()) {
        Some(seconds) if seconds.parse::<f64>().is_ok() => format!("in {seconds} s"),
        Some(date) => format!("after {}", excerpt(date, 40)),
        None => "in a moment".to_owned(),
    };
    format!("Press Ctrl-] again {when}; the conversation is unchanged.")
}

fn is_too_long(status: u16, body: &ErrorBody) -> bool {
    match body {
        ErrorBody::Message(text) | ErrorBody::Text(text) => {
            let text = text.to_ascii_lowercase();
            // Google puts the number between these words.
            let counts_tokens = text.contains("input token count") && text.contains("exceeds");
            counts_tokens || TOO_LONG.iter().any(|phrase| text.contains(phrase))
        }
        // A proxy that gives no reason rejected a large body.
        ErrorBody::Nothing | ErrorBody::Page(_) => status == 413,
    }
}
