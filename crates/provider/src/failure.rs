//! Error messages for failed streams.
//!
//! Knows neither the provider's name nor its key: see `Endpoint::redact`.

use chat::Problem;
use serde_json_borrow::Value;

use crate::error_body::{
    ErrorBody, MAX_EXCERPT_BYTES, error_message, excerpt, message_excerpt, page_excerpt,
};
use crate::event::StreamEvent;
use crate::retry::limits::SpentQuota;
use crate::sse::SseEvent;

/// The fix for every broken answer.
const TRY_AGAIN: &str = "Press Ctrl-] to try again.";

/// The fix for a spent quota.
const SPENT_FIX: &str = "Choose another model with :Flemma switch, or wait until the quota is renewed; the conversation is unchanged.";

/// An event that is not JSON, in violation of the protocol.
#[derive(Debug)]
pub(crate) struct NotJson;

/// Handles an event that is not JSON: returns the error it reports, if any.
///
/// # Errors
///
/// The text is neither an error nor one of the known exceptions.
pub(crate) fn not_json(event: &SseEvent) -> Result<Option<StreamEvent>, NotJson> {
    match event.text.trim() {
        // Gateways add Chat Completions' end mark, and blank events are pings.
        "" | "[DONE]" => Ok(None),
        text if event.name == "error" => Ok(Some(StreamEvent::Error(reported(text)))),
        _ => Err(NotJson),
    }
}

/// Returns the remark about a part of an answer that the decoder does not know.
pub(crate) fn skipped(kind: &str) -> StreamEvent {
    /// Maximum bytes quoted of its name.
    const MAX_KIND_BYTES: usize = 60;
    let kind = excerpt(kind, MAX_KIND_BYTES);
    StreamEvent::Remark(format!(
        "The answer contains a part that Flemma does not know (\"{kind}\"); it was skipped."
    ))
}

/// Returns the error for a stream without an end event.
pub(crate) fn cut() -> Problem {
    Problem::new(
        "The connection ended before the answer was complete; the part that arrived is kept.",
        TRY_AGAIN,
    )
}

/// Returns the error for an error that the server reported inside the stream.
pub(crate) fn reported(message: &str) -> Problem {
    let message = message_excerpt(message);
    Problem::new(
        format!(
            "The provider ended its answer with an error ({message}); the part that arrived is kept."
        ),
        TRY_AGAIN,
    )
}

/// Like [`reported`], for an error in JSON.
pub(crate) fn reported_in(json: &Value<'_>) -> Problem {
    let message = error_message(&json.into());
    reported(&message.unwrap_or_else(|| "without a message".to_owned()))
}

/// Adds to an error that it is about a quota which a short wait does not restore.
pub(crate) fn spent(quota: &SpentQuota, problem: &Problem) -> Problem {
    Problem::new(format!("{} {}", quota.sentence(), problem.what), SPENT_FIX)
}

/// Returns the error for an event that violates the protocol.
pub(crate) fn malformed(text: &str) -> Problem {
    let text = excerpt(text, MAX_EXCERPT_BYTES);
    Problem::new(
        format!(
            "The provider's stream contains an event that is not JSON (\"{text}\"), so the answer ends there."
        ),
        "Press Ctrl-] to try again; if it happens again, check the base URL.",
    )
}

/// Returns the error for a line or calls that exceed the limit.
pub(crate) fn too_large() -> Problem {
    Problem::new(
        "The provider sent a line, a call, or an answer of more than 16 MB, so it was stopped there.",
        TRY_AGAIN,
    )
}

/// Returns the error for an answer that is not an event stream.
pub(crate) fn no_stream(body: &ErrorBody) -> Problem {
    let what = match body {
        ErrorBody::Nothing => "The provider's answer has no content.".to_owned(),
        ErrorBody::Message(message) => {
            format!(
                "The provider answered with an error ({}).",
                message_excerpt(message)
            )
        }
        ErrorBody::Page(text) => format!(
            "The provider answered with {} instead of an event stream.",
            page_excerpt(text)
        ),
        ErrorBody::Text(text) => format!(
            "The provider's answer is not an event stream ({}).",
            excerpt(text, MAX_EXCERPT_BYTES)
        ),
    };
    let fix = match body {
        ErrorBody::Nothing | ErrorBody::Message(_) => {
            "Press Ctrl-] to try again; the conversation is unchanged."
        }
        // A page or another text suggests that the address belongs to another server.
        ErrorBody::Page(_) | ErrorBody::Text(_) => {
            "Check the base URL; the conversation is unchanged."
        }
    };
    Problem::new(what, fix)
}
