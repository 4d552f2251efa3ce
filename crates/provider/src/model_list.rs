//! Facts about models in a provider's own list of models: the request for it, and what is
//! read from the answer.
//!
//! Pure. A list comes from outside and may say anything, so each field is read on its own,
//! and one that makes no sense is left out. Sources, as of November 2026: Anthropic's "List
//! Models", Gemini's `models.list`, OpenRouter's "Get models", and the `/models` of vLLM
//! (`max_model_len`), Groq (`context_window`), Mistral (`max_context_length`, `deprecation`),
//! and llama.cpp (`meta.n_ctx_train`, tools/server/README.md).

use std::collections::BTreeMap;

use chat::Problem;
use serde_json::{Map, Value, json};

use crate::anthropic::VERSION as ANTHROPIC_VERSION;
use crate::providers::{LOCAL, VERTEX};
use crate::{Endpoint, HeaderValue, Protocol};

/// Facts about the models in a list, by their names. The facts are fields of
/// [`crate::catalogue::Model`].
pub type ModelList = BTreeMap<String, Map<String, Value>>;

/// Maximum number of models that are read. The longest list, OpenRouter's, has some hundred.
const MODELS: usize = 5_000;
/// Maximum bytes of a model's name.
const NAME: usize = 200;
/// Maximum tokens of a model's context; a larger number is an error.
const TOKENS: u64 = 100_000_000;
/// Maximum dollars for a million tokens.
const DOLLARS: f64 = 10_000.0;

/// Reads the facts about one model of a list.
type ReadFacts = fn(&Value) -> Map<String, Value>;

/// A GET request for a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListRequest {
    /// The complete URL.
    pub url: String,
    /// Names in lower case.
    pub headers: Vec<(String, HeaderValue)>,
}

/// Returns the request for a server's list; `None` if its list is known to say nothing about
/// its models.
///
/// # Errors
///
/// The address or the key is invalid.
pub fn request(endpoint: &Endpoint) -> Result<Option<ListRequest>, Problem> {
    let base = endpoint.base()?;
    let (url, key_header, prefix) = match endpoint.protocol {
        Protocol::AnthropicMessages => {
            let base = base.strip_suffix("/v1").unwrap_or(base);
            (format!("{base}/v1/models?limit=1000"), "x-api-key", "")
        }
        // The list of Vertex AI is that of all publishers, without limits.
        Protocol::Gemini if endpoint.provider == VERTEX => return Ok(None),
        Protocol::Gemini => {
            let base = base.strip_suffix("/v1beta").unwrap_or(base);
            let url = format!("{base}/v1beta/models?pageSize=1000");
            (url, "x-goog-api-key", "")
        }
        // OpenAI's list has only names.
        Protocol::Responses => return Ok(None),
        // Flemma's own server has another port each time, and chats name no model of it.
        Protocol::ChatCompletions if endpoint.provider == LOCAL => return Ok(None),
        Protocol::ChatCompletions => (format!("{base}/models"), "authorization", "Bearer "),
    };
    let plain = |name: &str, value: &str| (name.to_owned(), HeaderValue::Plain(value.to_owned()));
    let mut headers = vec![plain("accept", "application/json")];
    if endpoint.protocol == Protocol::AnthropicMessages {
        headers.push(plain("anthropic-version", ANTHROPIC_VERSION));
    }
    let key = endpoint.key_header(prefix)?;
    headers.extend(key.map(|key| (key_header.to_owned(), key)));
    Ok(Some(ListRequest { url, headers }))
}

/// Reads the answer of a server. What is not a list of models is an empty list.
pub fn read(protocol: Protocol, answer: &[u8]) -> ModelList {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let (rows, name, facts): (_, _, ReadFacts) = match protocol {
        Protocol::AnthropicMessages => ("data", "id", of_anthropic),
        Protocol::Gemini => ("models", "name", of_gemini),
        Protocol::ChatCompletions | Protocol::Responses => ("data", "id", of_others),
    };
    let rows = answer[rows].as_array().into_iter().flatten().take(MODELS);
    let named = rows.filter_map(|row| {
        let name = row[name].as_str()?;
        // Gemini lists its models with this prefix.
        let name = name.strip_prefix("models/").unwrap_or(name);
        let facts = facts(row);
        let is_name = !name.is_empty() && name.len() <= NAME && !name.contains(char::is_control);
        (is_name && !facts.is_empty()).then(|| (name.to_owned(), facts))
    });
    named.collect()
}

fn of_anthropic(row: &Value) -> Map<String, Value> {
    let is_able = |name: &str| {
        let able = &row["capabilities"][name]["supported"];
        able.is_boolean().then(|| able.clone())
    };
    let lifecycle = row["lifecycle"].as_str();
    let lifecycle = lifecycle.filter(|it| matches!(*it, "active" | "deprecated" | "retired"));
    present([
        ("context", tokens(&row["max_input_tokens"])),
        ("output", tokens(&row["max_tokens"])),
        ("lifecycle", lifecycle.map(Value::from)),
        ("retires_at", date(&row["retires_at"])),
        ("images", is_able("image_input")),
        ("pdf", is_able("pdf_input")),
    ])
}

fn of_gemini(row: &Value) -> Map<String, Value> {
    present([
        ("context", tokens(&row["inputTokenLimit"])),
        ("output", tokens(&row["outputTokenLimit"])),
    ])
}

fn of_others(row: &Value) -> Map<String, Value> {
    let first = |paths: &[&str]| {
        let mut values = paths.iter().filter_map(|it| row.pointer(it));
        values.find_map(tokens)
    };
    let contexts = [
        "/top_provider/context_length",
        "/context_length",
        "/context_window",
        "/max_model_len",
        "/max_context_length",
        "/meta/n_ctx_train",
    ];
    let outputs = [
        "/top_provider/max_completion_tokens",
        "/max_completion_tokens",
    ];
    let inputs = row["architecture"]["input_modalities"].as_array();
    let takes_images = inputs.map(|it| it.iter().any(|it| it == "image").into());
    present([
        ("context", first(&contexts)),
        ("output", first(&outputs)),
        ("retires_at", date(&row["deprecation"])),
        ("images", takes_images),
        ("price", price(&row["pricing"])),
    ])
}

/// Returns the prices of OpenRouter: dollars per token, as text.
fn price(pricing: &Value) -> Option<Value> {
    let dollars = |name: &str| {
        let text = pricing[name].as_str()?;
        let price = text.parse::<f64>().ok()? * 1e6;
        // Binary fractions of a tiny number are off at the end.
        let price = (price * 1e6).round() / 1e6;
        (0.0..=DOLLARS).contains(&price).then_some(price)
    };
    let mut prices = json!({"input": dollars("prompt")?, "output": dollars("completion")?});
    let others = [
        ("cache_read", "input_cache_read"),
        ("cache_write", "input_cache_write"),
    ];
    for (field, name) in others {
        if let Some(price) = dollars(name) {
            prices[field] = price.into();
        }
    }
    Some(prices)
}

fn tokens(value: &Value) -> Option<Value> {
    let count = value.as_u64()?;
    (1..=TOKENS).contains(&count).then(|| count.into())
}

/// Returns the date of a point in time in RFC 3339.
fn date(value: &Value) -> Option<Value> {
    let date = value.as_str()?.get(..10)?;
    let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    is_date.then(|| date.into())
}

fn present<const N: usize>(fields: [(&str, Option<Value>); N]) -> Map<String, Value> {
    let known = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    known.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn list(protocol: Protocol, answer: &Value) -> Value {
        let read = read(protocol, answer.to_string().as_bytes());
        serde_json::to_value(read).unwrap()
    }

    #[test]
    fn each_kind_of_list_is_read() {
        let anthropic = json!({"data": [{
            "id": "claude-next", "type": "model", "max_input_tokens": 2_000_000,
            "max_tokens": 256_000, "lifecycle": "deprecated",
            "retires_at": "2027-01-22T00:00:00Z",
            "capabilities": {"image_input": {"supported": true}, "pdf_input": {"supported": false}},
        }]});
        assert_eq!(
            list(Protocol::AnthropicMessages, &anthropic),
            json!({"claude-next": {
                "context": 2_000_000, "output": 256_000, "lifecycle": "deprecated",
                "retires_at": "2027-01-22", "images": true, "pdf": false,
            }})
        );
        let gemini = json!({"models": [{
            "name": "models/gemini-9", "inputTokenLimit": 5, "outputTokenLimit": 2,
        }]});
        assert_eq!(
            list(Protocol::Gemini, &gemini),
            json!({"gemini-9": {"context": 5, "output": 2}})
        );
        let others = json!({"data": [
            {
                "id": "a/b", "context_length": 200_000,
                "architecture": {"input_modalities": ["text"]},
                "top_provider": {"context_length": 131_072, "max_completion_tokens": null},
                "pricing": {"prompt": "0.0000002", "completion": "0.0000008", "input_cache_read": "0.00000005"},
            },
            {"id": "groq", "context_window": 8, "max_completion_tokens": 4},
            {"id": "vllm", "max_model_len": 7},
            {"id": "mistral", "max_context_length": 6, "deprecation": "2027-04-30T12:00:00Z"},
            {"id": "llama", "meta": {"n_ctx_train": 4096, "vocab_type": 2}},
        ]});
        assert_eq!(
            list(Protocol::ChatCompletions, &others),
            json!({
                "a/b": {
                    "context": 131_072, "images": false,
                    "price": {"input": 0.2, "output": 0.8, "cache_read": 0.05},
                },
                "groq": {"context": 8, "output": 4},
                "vllm": {"context": 7},
                "mistral": {"context": 6, "retires_at": "2027-04-30"},
                "llama": {"context": 4096},
            })
        );
    }

    #[test]
    fn wrong_data_is_left_out_field_by_field() {
        for wrong in [
            json!(-1),
            json!(0),
            json!(1e300),
            json!(1.5),
            json!("1000"),
            json!(null),
            json!({}),
            json!(u64::MAX),
        ] {
            let answer =
                json!({"data": [{"id": "a", "context_length": wrong, "max_completion_tokens": 3}]});
            assert_eq!(
                list(Protocol::ChatCompletions, &answer),
                json!({"a": {"output": 3}}),
                "{wrong}"
            );
        }
        for wrong in ["-1", "x", "", "1e300", "NaN", "inf"] {
            let pricing = json!({"prompt": wrong, "completion": "0.000001"});
            let answer = json!({"data": [{"id": "a", "context_length": 5, "pricing": pricing}]});
            assert_eq!(
                list(Protocol::ChatCompletions, &answer),
                json!({"a": {"context": 5}}),
                "{wrong}"
            );
        }
        let answer = json!({"data": [{
            "id": "a", "max_tokens": 3, "lifecycle": "gone", "retires_at": "soon, I think",
            "capabilities": {"image_input": "yes"},
        }]});
        let read = list(Protocol::AnthropicMessages, &answer);
        assert_eq!(read, json!({"a": {"output": 3}}));
    }

    #[test]
    fn what_is_no_list_is_empty() {
        let names = [
            json!(""),
            json!("a\u{1b}[2J"),
            json!("x".repeat(NAME + 1)),
            json!(5),
        ];
        let named = names.map(|name| json!({"data": [{"id": name, "context_length": 5}]}));
        let shapes = [
            json!([]),
            json!(5),
            json!({"data": {"id": "a"}}),
            json!({"data": [[], 5]}),
        ];
        for answer in named.iter().chain(&shapes) {
            assert_eq!(
                list(Protocol::ChatCompletions, answer),
                json!({}),
                "{answer}"
            );
        }
        assert_eq!(read(Protocol::Gemini, b"<html>"), ModelList::new());
        assert_eq!(read(Protocol::Gemini, &[0xff; 9]), ModelList::new());
    }

    #[test]
    fn the_request_has_the_key_where_the_provider_expects_it() {
        let asked = |provider: &str, protocol, base_url: &str| {
            let endpoint = Endpoint {
                provider: provider.to_owned(),
                protocol,
                base_url: base_url.to_owned(),
                api_key: Some(crate::Secret::new("key-1")),
                key_source: String::new(),
                ca_file: None,
            };
            let request = request(&endpoint).unwrap()?;
            let (name, value) = request.headers.last().unwrap();
            Some(format!("{} {name}: {}", request.url, value.expose()))
        };
        let chat = Protocol::ChatCompletions;
        for (provider, protocol, base_url, expected) in [
            (
                "anthropic",
                Protocol::AnthropicMessages,
                "https://a/v1",
                Some("https://a/v1/models?limit=1000 x-api-key: key-1"),
            ),
            (
                "gemini",
                Protocol::Gemini,
                "https://g/",
                Some("https://g/v1beta/models?pageSize=1000 x-goog-api-key: key-1"),
            ),
            (
                "openrouter",
                chat,
                "https://o/api/v1",
                Some("https://o/api/v1/models authorization: Bearer key-1"),
            ),
            (VERTEX, Protocol::Gemini, "https://v", None),
            ("openai", Protocol::Responses, "https://o/v1", None),
            (LOCAL, chat, "http://127.0.0.1:5/v1", None),
        ] {
            assert_eq!(asked(provider, protocol, base_url).as_deref(), expected);
        }
    }
}
