//! Encodes requests and decodes streams for each provider.
//!
//! [`encode`] turns a [`chat::prompt::Prompt`] into an [`HttpRequest`], a [`Decoder`] turns
//! the bytes of the answer into [`StreamEvent`]s, and [`explain`] describes an answer that
//! is not a stream. [`Patience`] decides about retries.
//!
//! Pure: no I/O, no clock, no async. Knows neither the buffer nor the tools, sends nothing,
//! and does not decide what a call may do.

mod anthropic;
mod arguments;
mod attachment;
pub mod catalogue;
mod chat_completions;
mod decoder;
mod endpoint;
mod error_body;
mod event;
mod explain;
mod failure;
mod fields;
mod gemini;
mod ids;
mod page;
mod parameters;
pub mod providers;
mod responses;
mod retry;
mod sse;
mod surrogates;
mod text_tools;
mod thinking;
mod whole;

pub use attachment::not_taken;
pub use decoder::Decoder;
pub use endpoint::{Endpoint, HeaderValue, HttpRequest, Protocol, Secret};
pub use event::{StopReason, StreamEvent, ToolUse, Usage};
pub use explain::explain;
pub use parameters::{CacheRetention, Parameters};
pub use retry::{Failure, Patience, RetryDecision, Tries};
pub use text_tools::TextCalls;
pub use thinking::{Thinking, ThinkingLevel};

use chat::{Problem, prompt::Prompt};

/// Encodes `prompt` as one streaming request to `endpoint`.
///
/// The same prompt gives the same bytes. Appending a turn keeps the preceding bytes up to
/// the cache mark of the last user message, so that the provider's prompt cache hits.
///
/// # Errors
///
/// The base URL is not an `http://` or `https://` address, no model is set, or the key
/// contains a character that is invalid in a header.
pub fn encode(
    prompt: &Prompt,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Result<HttpRequest, Problem> {
    let prompt = attachment::as_seen(prompt, &parameters.about);
    if parameters.text_tools {
        return spell(&text_tools::in_words(&prompt), endpoint, parameters);
    }
    spell(&prompt, endpoint, parameters)
}

fn spell(
    prompt: &Prompt,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Result<HttpRequest, Problem> {
    match endpoint.protocol {
        Protocol::AnthropicMessages => anthropic::encode(prompt, endpoint, parameters),
        Protocol::ChatCompletions => chat_completions::encode(prompt, endpoint, parameters),
        Protocol::Gemini => gemini::encode(prompt, endpoint, parameters),
        Protocol::Responses => responses::encode(prompt, endpoint, parameters),
    }
}
