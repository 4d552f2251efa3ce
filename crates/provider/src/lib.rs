//! How each provider spells a request and a stream.
//!
//! [`encode`] turns a [`chat::prompt::Prompt`] into an [`HttpRequest`], a
//! [`Decoder`] turns the bytes of the answer into [`StreamEvent`]s, and
//! [`explain`] turns an answer that is no stream into a sentence for the user.
//!
//! Whether a request is made again is in [`Patience`].
//!
//! Pure: no I/O, no clock, no async. It knows neither the buffer nor the tools,
//! sends nothing, waits for nothing, and does not decide what a call may do.

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
pub use retry::{Failure, Patience, Tries, Verdict};
pub use text_tools::TextCalls;
pub use thinking::{Level, Thinking};

use chat::{Problem, prompt::Prompt};

/// Spells `prompt` as one streaming request to `endpoint`.
///
/// The same prompt gives the same bytes, and a prompt with a turn appended gives
/// bytes that begin alike, up to the cache mark of the last user message, so that
/// a provider's prompt cache hits.
///
/// # Errors
///
/// The base URL is no `http://` or `https://` address, no model is named, or the
/// key holds a character that no header can carry.
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
