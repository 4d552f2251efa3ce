//! Requests of every kind, to be checked by the types of the providers' own SDKs.
//!
//! If `FLEMMA_WIRE_CORPUS` is a folder, each request is written there under the name of its
//! API; `make test-wire` does so and checks them. Otherwise the test only checks that each
//! can be encoded.

use base64::{Engine, engine::general_purpose::STANDARD};
use provider::{ThinkingLevel, catalogue};

use super::*;

/// Provider, models, and the folder of the API. Of the named servers, only those are listed
/// that get no fields beyond OpenAI's own.
const DESTINATIONS: [(&str, Protocol, &[&str], &str); 6] = [
    (
        "anthropic",
        Protocol::AnthropicMessages,
        &[
            "claude-sonnet-4-6",
            "claude-sonnet-4-5",
            "claude-opus-4-7",
            "claude-fable-5-2",
            "claude-opus-5-5",
            "claude-sonnet-5-5",
            "claude-haiku-5-5",
            "m",
        ],
        "messages",
    ),
    (
        "openai",
        Protocol::Responses,
        &[
            "gpt-5.4",
            "gpt-5",
            "gpt-5.6-sol",
            "gpt-6.1-sol",
            "gpt-4.1",
            "o3",
            "m",
        ],
        "responses",
    ),
    (
        "openai_compatible",
        Protocol::ChatCompletions,
        &["m"],
        "chat_completions",
    ),
    (
        "ollama",
        Protocol::ChatCompletions,
        &["m"],
        "chat_completions",
    ),
    (
        "gemini",
        Protocol::Gemini,
        &[
            "gemini-2.5-pro",
            "gemini-2.5-flash",
            "gemini-3.1-pro-preview",
            "gemini-3.8-pro",
            "gemini-3.8-flash",
            "m",
        ],
        "gemini",
    ),
    ("vertex", Protocol::Gemini, &["gemini-2.5-pro"], "gemini"),
];

/// Returns a prompt with everything that a conversation may contain: files, thinking of
/// every provider, parallel and consecutive calls, an error, an empty result, unusual IDs.
fn everything() -> Prompt {
    let item = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"T"}],"encrypted_content":"gAA="}"#;
    let reasoning = STANDARD.encode(item);
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["path", "limit"],
        "properties": {"path": {"type": "string"}, "limit": {"type": ["integer", "null"]}},
    });
    let mut strict = tool("read", true);
    strict.input_schema = schema;
    Prompt {
        system: Some("Be brief.\n\n  Indented.".to_owned()),
        messages: vec![
            user(vec![
                text("See"),
                image("image/png"),
                pdf(),
                text_file(),
                image("image/tiff"),
            ]),
            assistant(vec![
                thinking("T1", Some(("anthropic", "c2ln"))),
                thinking("", Some(("openai", &reasoning))),
                thinking("T3", None),
                thinking("", Some(("gemini", "c2ln"))),
                Part::Thinking {
                    text: "b3BhcXVl".to_owned(),
                    signature: None,
                    redacted: true,
                },
                text("I look."),
                call("urn:x:1", "read", r#"{"path": "a", "limit": 1e3}"#),
                call("call_2", "bash", "{}"),
            ]),
            user(vec![
                result("urn:x:1", "", false),
                result("call_2", "no such file\n", true),
                text("Go on."),
            ]),
            assistant(vec![thinking("", Some(("openai", &reasoning)))]),
            user(vec![text("Again.")]),
            assistant(vec![call("call_3", "bash", "not json")]),
            user(vec![result("call_3", "a", false)]),
        ],
        tools: vec![strict, tool("bash", false)],
    }
}

fn prompts() -> [(&'static str, Prompt); 3] {
    [
        ("everything", everything()),
        ("conversation", prompt(conversation())),
        ("question", prompt(vec![user(vec![text("Hi")])])),
    ]
}

fn all_parameters(provider: &str, model: &str) -> Vec<Parameters> {
    let thinking = [
        None,
        Some(Thinking::Off),
        Some(Thinking::Level(ThinkingLevel::Minimal)),
        Some(Thinking::Level(ThinkingLevel::Max)),
        Some(Thinking::Budget(3000)),
    ];
    let caches = [
        CacheRetention::None,
        CacheRetention::Short,
        CacheRetention::Long,
    ];
    let limits = [None, Some(4000)];
    let of = |thinking, cache, max_tokens: Option<u32>| Parameters {
        model: model.to_owned(),
        about: Box::new(catalogue::model(provider, model, None)),
        thinking,
        cache,
        max_tokens,
        temperature: max_tokens.map(|_| 0.5),
        cache_key: Some("0123456789abcdef".to_owned()),
        ..Parameters::default()
    };
    let mut all = Vec::new();
    for thinking in thinking {
        for cache in caches {
            all.extend(limits.map(|limit| of(thinking, cache, limit)));
        }
    }
    all
}

#[test]
fn every_kind_of_request_can_be_encoded() {
    let folder = std::env::var_os("FLEMMA_WIRE_CORPUS").map(std::path::PathBuf::from);
    let mut made = 0;
    for (provider, protocol, models, api) in DESTINATIONS {
        let endpoint = Endpoint {
            provider: provider.to_owned(),
            ..endpoint(protocol)
        };
        let below = folder.as_ref().map(|folder| folder.join(api));
        below
            .iter()
            .for_each(|folder| std::fs::create_dir_all(folder).unwrap());
        for model in models {
            for (at, parameters) in all_parameters(provider, model).iter().enumerate() {
                for (name, prompt) in prompts() {
                    let request = encode(&prompt, &endpoint, parameters).unwrap();
                    made += 1;
                    if let Some(folder) = &below {
                        let file = folder.join(format!("{provider}-{model}-{name}-{at:02}.json"));
                        std::fs::write(file, request.body).unwrap();
                    }
                }
            }
        }
    }
    assert_eq!(made, 24 * 30 * 3);
}
