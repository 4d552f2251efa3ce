//! Encodes requests and decodes streams for each provider.
//!
//! [`encode`] turns a [`chat::prompt::Prompt`] into an [`HttpRequest`], a [`Decoder`] turns
//! the bytes of the answer into [`StreamEvent`]s, and [`explain`] describes an answer that
//! is not a stream. [`Patience`] decides about retries.
//!
//! Pure: no I/O, no clock, no async. Knows neither the buffer nor the tools, sends nothing,
//! and does not decide what a call may do.

mod anthropic;
mod attachment;
pub mod catalogue;
mod chat_completions;
mod content;
mod count;
mod decoder;
mod endpoint;
mod error_body;
mod event;
mod explain;
mod failure;
mod gemini;
mod ids;
mod later;
mod limits;
pub mod model_list;
mod parameters;
pub mod providers;
mod refusal;
mod refused;
mod responses;
mod retry;
mod sse;
mod surrogates;
mod tag_spellings;
mod text_tools;
mod thinking;
mod thinking_tags;
mod unmet;
mod usage;
mod web;
mod wire_tools;

pub use attachment::not_taken;
pub use count::{count_request, read_count};
pub use decoder::Decoder;
pub use endpoint::{Endpoint, HeaderValue, Protocol, Secret};
pub use event::{StopReason, StreamEvent, ToolUse, Usage};
pub use explain::explain;
pub use later::takes_later_tools;
pub use parameters::{CacheRetention, Parameters, WebTools};
pub use refusal::{ServerRefusal, refusal};
pub use refused::{Feature, RefusedParameter, Without};
pub use retry::{Failure, Patience, RetryDecision, Tries};
pub use text_tools::TextCalls;
pub use thinking::{Thinking, ThinkingLevel};
pub use unmet::{Unmet, unmet};
pub use web::{may_pause, search_price};
pub use wire_tools::{LeftOut, WireTools, left_out};

use chat::{Problem, prompt::Prompt};

/// A POST request, ready to be sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttpRequest {
    /// The complete URL.
    pub url: String,
    /// Names in lower case.
    pub headers: Vec<(String, HeaderValue)>,
    /// JSON in UTF-8.
    pub body: Vec<u8>,
    /// The tools that have other names in the body, for the [`Decoder`].
    pub tools: WireTools,
    /// The names of the images and PDFs in the body, and their bytes in Base64.
    pub files: Vec<(String, usize)>,
}

impl HttpRequest {
    /// Creates a request without tools and files.
    pub(crate) fn new(url: String, headers: Vec<(String, HeaderValue)>, body: Vec<u8>) -> Self {
        Self {
            url,
            headers,
            body,
            ..Self::default()
        }
    }
}

/// Encodes `prompt` as one streaming request to `endpoint`.
///
/// Tools are adapted to what the provider accepts; those of [`left_out`] are not offered.
///
/// The same prompt gives the same bytes. Appending a turn keeps the preceding bytes up to
/// the cache mark of the last user message, so that the provider's prompt cache hits.
///
/// # Errors
///
/// The base URL is not an `http://` or `https://` address, no model is set, the key contains
/// a character that is invalid in a header, or a file or the request is larger than the server
/// accepts.
pub fn encode(
    prompt: &Prompt,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Result<HttpRequest, Problem> {
    if parameters.summarize.is_some() && !takes_compaction(endpoint, parameters) {
        let what = format!("{} writes no summaries.", endpoint.shown_base());
        return Err(Problem::new(what, ""));
    }
    let prompt = attachment::as_seen(prompt, endpoint.protocol, parameters);
    limits::check_files(&prompt, endpoint)?;
    let prompt = later::placed(prompt, endpoint, parameters);
    let mut request = if parameters.text_tools {
        spell(&text_tools::in_words(&prompt), endpoint, parameters)?
    } else {
        let adapted = wire_tools::adapt(&prompt, endpoint.protocol);
        HttpRequest {
            tools: adapted.tools,
            ..spell(&adapted.prompt, endpoint, parameters)?
        }
    };
    let known = providers::servers::refused(endpoint, &parameters.model);
    for refused in known.iter().chain(&parameters.refused) {
        refused.apply(&mut request.body);
    }
    request.files = limits::sent_files(&prompt, endpoint);
    limits::check_request(&request, endpoint)?;
    Ok(request)
}

/// Returns true if the server summarizes conversations on demand, as far as it is known.
pub fn takes_compaction(endpoint: &Endpoint, parameters: &Parameters) -> bool {
    let is_known = parameters.about.compaction == Some(true) && !parameters.text_tools;
    let is_ours = endpoint.protocol == Protocol::AnthropicMessages;
    is_ours && is_known && !parameters.without.compaction
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
