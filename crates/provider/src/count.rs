//! The endpoints that count the tokens of a request without answering it.
//!
//! Pure. A server that has no such endpoint answers with an error, and the caller estimates.

use serde_json::{Map, Value, json};

use crate::providers::VERTEX;
use crate::{Endpoint, HttpRequest, Protocol};

/// The fields of a request that Anthropic counts. Source: platform.claude.com, "Count tokens in a
/// Message", November 2026.
const ANTHROPIC: &[&str] = &[
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
];
/// The fields of a request that OpenAI counts. Source: developers.openai.com, "Get input token
/// counts", November 2026.
const RESPONSES: &[&str] = &["model", "input", "instructions", "tools", "reasoning"];
/// The fields that Vertex AI counts. The Gemini API takes the whole request. Source:
/// ai.google.dev/api/tokens, and Vertex AI's `CountTokensRequest`, November 2026.
const VERTEX_FIELDS: &[&str] = &["contents", "systemInstruction", "tools", "generationConfig"];

/// Returns the request that counts the tokens of `request`; `None` if the protocol has none.
pub fn count_request(request: &HttpRequest, endpoint: &Endpoint) -> Option<HttpRequest> {
    let fields = serde_json::from_slice::<Map<String, Value>>(&request.body).ok()?;
    let only = |names: &[&str]| {
        let fields = fields.clone().into_iter();
        let counted = fields.filter(|(name, _)| names.contains(&&**name));
        Value::Object(counted.collect())
    };
    let (url, body) = match endpoint.protocol {
        Protocol::AnthropicMessages => (format!("{}/count_tokens", request.url), only(ANTHROPIC)),
        Protocol::Responses => (format!("{}/input_tokens", request.url), only(RESPONSES)),
        Protocol::Gemini => {
            let (model, _) = request.url.rsplit_once(":streamGenerateContent")?;
            let body = if endpoint.provider == VERTEX {
                only(VERTEX_FIELDS)
            } else {
                let (_, name) = model.rsplit_once("/models/")?;
                let mut whole = fields.clone();
                whole.insert("model".to_owned(), format!("models/{name}").into());
                json!({"generateContentRequest": whole})
            };
            (format!("{model}:countTokens"), body)
        }
        Protocol::ChatCompletions => return None,
    };
    let mut headers = request.headers.clone();
    headers.retain(|(name, _)| name != "accept");
    Some(HttpRequest::new(
        url,
        headers,
        body.to_string().into_bytes(),
    ))
}

/// Reads the number of tokens from the answer to a [`count_request`].
pub fn read_count(protocol: Protocol, answer: &[u8]) -> Option<u64> {
    let name = match protocol {
        Protocol::AnthropicMessages | Protocol::Responses => "input_tokens",
        Protocol::Gemini => "totalTokens",
        Protocol::ChatCompletions => return None,
    };
    let answer: Value = serde_json::from_slice(answer).ok()?;
    answer.get(name)?.as_u64()
}
