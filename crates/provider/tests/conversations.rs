//! Conversations over several turns: with one provider, and with several providers in one
//! file.
#![allow(clippy::unwrap_used)]

#[path = "conversations/prefix.rs"]
mod prefix;
#[path = "conversations/round_trip.rs"]
mod round_trip;
#[path = "conversations/switching.rs"]
mod switching;

use provider::{CacheRetention, Endpoint, Parameters, Protocol};

/// The providers to converse with, and their protocols.
const PROVIDERS: [(&str, Protocol); 5] = [
    ("anthropic", Protocol::AnthropicMessages),
    ("openai", Protocol::Responses),
    ("gemini", Protocol::Gemini),
    ("deepseek", Protocol::ChatCompletions),
    ("openai_compatible", Protocol::ChatCompletions),
];

fn endpoint(provider: &str, protocol: Protocol) -> Endpoint {
    Endpoint {
        provider: provider.to_owned(),
        protocol,
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        api_key: None,
        key_source: String::new(),
        ca_file: None,
    }
}

fn body(prompt: &chat::prompt::Prompt, provider: &str, protocol: Protocol) -> String {
    let parameters = Parameters {
        model: "m".to_owned(),
        cache: CacheRetention::Short,
        ..Parameters::default()
    };
    let request = provider::encode(prompt, &endpoint(provider, protocol), &parameters);
    String::from_utf8(request.unwrap().body).unwrap()
}
