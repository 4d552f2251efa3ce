//! Explains error responses, and answers that are not event streams, to the user.
//!
//! Knows statuses and error bodies. Does not decide about retries.

use chat::Problem;

use crate::error_body::{
    ErrorBody, MAX_EXCERPT_BYTES, error_text, excerpt, message_excerpt, page_excerpt,
};
use crate::refusal::BOUND;
use crate::retry::{is_limit, limits};
use crate::{Endpoint, Protocol, failure};

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

/// The fix for a request that is too large in bytes.
const SHORTEN: &str =
    "Remove files or large results from the chat, or make them smaller, and press Ctrl-] again.";

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
    let text = String::from_utf8_lossy(body);
    let body = ErrorBody::read(body);
    let reason = Reason::new(status, content_type, &body);
    let problem = match body.page() {
        // A provider's answer is JSON. A page comes from a gateway or a proxy, which knows
        // neither keys nor models. A wrong address has a page, too.
        Some(page) if status >= 400 && status != 404 => {
            gateway(endpoint, status, page, retry_after)
        }
        _ => answered(endpoint, status, &body, &reason, retry_after, &text),
    };
    let quota = limits::spent_quota(&text).filter(|_| is_limit(status));
    let problem = match quota {
        Some(quota) => failure::spent(&quota, &problem),
        None => problem,
    };
    endpoint.redact(&problem)
}

/// Explains the answer of a provider.
fn answered(
    endpoint: &Endpoint,
    status: u16,
    body: &ErrorBody,
    reason: &Reason,
    retry_after: Option<&str>,
    text: &str,
) -> Problem {
    let who = name(endpoint);
    match status {
        200..=299 => no_stream(&who, reason),
        401 => refused_key(endpoint, &who, reason),
        // A proxy, a firewall, or a rule about countries and models answers so, too.
        403 if is_about_key(endpoint, body) => refused_key(endpoint, &who, reason),
        403 => Problem::new(
            format!(
                "The server at {} did not allow the request {reason}.",
                endpoint.shown_base()
            ),
            "Check the proxy and the network, and whether your account may use the model, then press Ctrl-] again; \
             the conversation is unchanged.",
        ),
        // Servers report this by any of these statuses.
        400 | 413 | 422 if is_too_long(body) => Problem::new(
            format!(
                "The conversation is too long for the model {reason}; nothing was cut from it."
            ),
            "Delete earlier turns or large results, or choose a model with a larger context window.",
        ),
        400 if is_bound(body) => refused_thinking(&who, reason),
        413 => Problem::new(
            format!("{who} refused the request as too large {reason}."),
            SHORTEN,
        ),
        404 => not_found(endpoint, &who, reason),
        // Redirects are not followed, because the key must not reach another address.
        300..=399 => Problem::new(
            format!("{who} redirects to another address {reason}, which does not get your key."),
            "Correct the base URL and press Ctrl-] again; the conversation is unchanged.",
        ),
        429 => limited(&who, reason, &again(retry_after, text)),
        500..=599 => failed(&who, reason, &again(retry_after, text)),
        _ => Problem::new(
            format!("{who} refused the request {reason}."),
            "Correct what it names and press Ctrl-] again; the conversation is unchanged.",
        ),
    }
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

/// Explains a gateway's page as what it is.
fn gateway(endpoint: &Endpoint, status: u16, page: &str, retry_after: Option<&str>) -> Problem {
    let fix = match status {
        413 => SHORTEN.to_owned(),
        429 | 500..=599 => again(retry_after, ""),
        _ => "Check the base URL, the network, and the proxy, then press Ctrl-] again; the conversation is unchanged.".to_owned(),
    };
    let base = endpoint.shown_base();
    let page = page_excerpt(page);
    Problem::new(
        format!(
            "The server at {base} answered {status} with {page}. Such pages come from a gateway or a proxy."
        ),
        fix,
    )
}

/// Names the provider at the start of a sentence.
pub(crate) fn name(endpoint: &Endpoint) -> String {
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
        if source.starts_with('$') {
            // The environment of the host program is that of Neovim when it started.
            format!(
                "Set {source} (in Neovim by :let), run :Flemma restart, and press Ctrl-] again; the conversation is unchanged."
            )
        } else {
            format!("Set {source} and press Ctrl-] again; the conversation is unchanged.")
        },
    )
}

/// Returns true if the answer says that the key is the reason.
fn is_about_key(endpoint: &Endpoint, body: &ErrorBody) -> bool {
    let ErrorBody::Message(message) = body else {
        return false;
    };
    let message = message.to_ascii_lowercase();
    let words = [
        "key",
        "credential",
        "token",
        "unregistered",
        "authenti",
        "permission_denied",
    ];
    endpoint.api_key.is_none() || words.iter().any(|it| message.contains(it))
}

fn refused_thinking(who: &str, reason: &Reason) -> Problem {
    Problem::new(
        format!(
            "Something before the model's earlier thinking has changed since it was sent, so {who} refuses that thinking {reason}."
        ),
        "Press Ctrl-] to send the chat without it; the conversation is unchanged.",
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

fn limited(who: &str, reason: &Reason, again: &str) -> Problem {
    Problem::new(
        format!("{who} accepts no more requests for now {reason}."),
        again,
    )
}

fn failed(who: &str, reason: &Reason, again: &str) -> Problem {
    Problem::new(format!("{who} failed or is overloaded {reason}."), again)
}

/// The fix for a temporary failure. `text` is the body, which may say when to ask again.
fn again(retry_after: Option<&str>, text: &str) -> String {
    let said = limits::wait_in(text, 0).map(|wait| format!("in {} s", limits::seconds(wait)));
    let when = match retry_after.map(str::trim).filter(|value| !value.is_empty()) {
        Some(seconds) if seconds.parse::<f64>().is_ok() => format!("in {seconds} s"),
        Some(date) => format!("after {}", excerpt(date, 40)),
        None => said.unwrap_or_else(|| "in a moment".to_owned()),
    };
    format!("Press Ctrl-] again {when}; the conversation is unchanged.")
}

/// Returns true if thinking is refused because its conversation has changed.
fn is_bound(body: &ErrorBody) -> bool {
    error_text(body).to_lowercase().contains(BOUND)
}

fn is_too_long(body: &ErrorBody) -> bool {
    match body {
        ErrorBody::Message(text) | ErrorBody::Text(text) => {
            let text = text.to_ascii_lowercase();
            // Google puts the number between these words.
            let counts_tokens = text.contains("input token count") && text.contains("exceeds");
            counts_tokens || TOO_LONG.iter().any(|phrase| text.contains(phrase))
        }
        ErrorBody::Nothing | ErrorBody::Page(_) => false,
    }
}
