//! Prompts and their requests.
#![allow(clippy::unwrap_used)]

mod anthropic;
mod chat_completions;
mod corpus;
mod count;
mod gemini;
mod large;
mod later;
mod odd_tools;
mod responses;

use chat::{
    prompt::{Attachment, Content, Part, Prompt, PromptMessage, PromptRole, Signature},
    tool::{ToolDefinition, ToolUseId},
};
use provider::{
    CacheRetention, Endpoint, HttpRequest, Parameters, Protocol, Secret, Thinking,
    catalogue::Model, encode, not_taken,
};
use serde_json::{Value, json};

const PROTOCOLS: [Protocol; 4] = [
    Protocol::AnthropicMessages,
    Protocol::ChatCompletions,
    Protocol::Gemini,
    Protocol::Responses,
];

fn user(parts: Vec<Part>) -> PromptMessage {
    PromptMessage {
        role: PromptRole::User,
        parts,
        exact: None,
    }
}

fn assistant(parts: Vec<Part>) -> PromptMessage {
    PromptMessage {
        role: PromptRole::Assistant,
        parts,
        exact: None,
    }
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn thinking(text: &str, signature: Option<(&str, &str)>) -> Part {
    let signature = signature.map(|(provider, value)| Signature {
        provider: provider.to_owned(),
        value: value.to_owned(),
    });
    Part::Thinking {
        text: text.to_owned(),
        signature,
        redacted: false,
    }
}

fn call(id: &str, name: &str, input: &str) -> Part {
    Part::ToolUse {
        id: ToolUseId::new(id),
        name: name.to_owned(),
        input: input.to_owned(),
    }
}

fn result(id: &str, content: &str, is_error: bool) -> Part {
    let (name, content) = ("bash".to_owned(), content.to_owned());
    Part::ToolResult {
        tool_use_id: ToolUseId::new(id),
        name,
        content,
        files: Vec::new(),
        is_error,
    }
}

/// A result with these files.
fn result_with(id: &str, content: &str, shown: Vec<Part>) -> Part {
    let mut result = result(id, content, false);
    if let Part::ToolResult { files, .. } = &mut result {
        files.extend(shown.into_iter().filter_map(|part| match part {
            Part::File(file) => Some(file),
            _ => None,
        }));
    }
    result
}

/// A conversation whose only call has a result with an image and a PDF.
fn shows_files() -> Prompt {
    prompt(vec![
        user(vec![text("Look.")]),
        assistant(vec![call("a", "bash", "{}")]),
        user(vec![result_with(
            "a",
            "[a.png]",
            vec![image("image/png"), pdf()],
        )]),
    ])
}

fn file(name: &str, content: Content) -> Part {
    Part::File(Attachment {
        name: name.to_owned(),
        language: String::new(),
        content,
    })
}

fn image(mime: &str) -> Part {
    let (mime, base64) = (mime.to_owned(), "aGk=".to_owned());
    file("@./a.png", Content::Image { mime, base64 })
}

fn pdf() -> Part {
    let base64 = "aGk=".to_owned();
    file("@./b.pdf", Content::Pdf { base64 })
}

fn text_file() -> Part {
    file("@./c.txt", Content::Text("c\n".to_owned()))
}

/// Returns the messages of the request for a user message of these parts.
fn messages_of(protocol: Protocol, parts: Vec<Part>) -> Value {
    let parameters = Parameters {
        cache: CacheRetention::Short,
        ..parameters()
    };
    let request = request(protocol, &prompt(vec![user(parts)]), &parameters);
    serde_json::from_slice::<Value>(&request.body).unwrap()["messages"].take()
}

fn tool(name: &str, strict: bool) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: format!("Runs {name}."),
        input_schema: json!({"type": "object", "properties": {}}),
        strict,
        keywords: Vec::new(),
    }
}

fn prompt(messages: Vec<PromptMessage>) -> Prompt {
    Prompt {
        system: None,
        messages,
        tools: Vec::new(),
    }
}

fn endpoint(protocol: Protocol) -> Endpoint {
    let (provider, base_url) = match protocol {
        Protocol::AnthropicMessages => ("anthropic", "https://api.anthropic.com/"),
        Protocol::ChatCompletions => ("openai_compatible", "http://127.0.0.1:8080/v1"),
        Protocol::Gemini => ("gemini", "https://generativelanguage.googleapis.com"),
        Protocol::Responses => ("openai", "https://api.openai.com/v1"),
    };
    Endpoint {
        provider: provider.to_owned(),
        protocol,
        base_url: base_url.to_owned(),
        api_key: Some(Secret::new("sk-1")),
        key_source: "$KEY".to_owned(),
        ca_file: None,
    }
}

fn parameters() -> Parameters {
    Parameters {
        model: "m".to_owned(),
        cache: CacheRetention::None,
        ..Parameters::default()
    }
}

fn request(protocol: Protocol, prompt: &Prompt, parameters: &Parameters) -> HttpRequest {
    encode(prompt, &endpoint(protocol), parameters).unwrap()
}

fn body(protocol: Protocol, prompt: &Prompt, parameters: &Parameters) -> Value {
    serde_json::from_slice(&request(protocol, prompt, parameters).body).unwrap()
}

fn raw_body(protocol: Protocol, prompt: &Prompt) -> String {
    String::from_utf8(request(protocol, prompt, &parameters()).body).unwrap()
}

fn headers(request: &HttpRequest) -> Vec<(&str, &str)> {
    request
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose()))
        .collect()
}

/// A question, a call with its result, an answer, and another question.
fn conversation() -> Vec<PromptMessage> {
    vec![
        user(vec![text("List the files.\n\n    indented")]),
        assistant(vec![
            text("I look."),
            call("call_1", "bash", r#"{"z": 1.0, "a": "ls"}"#),
        ]),
        user(vec![result("call_1", "a.rs", false), text("And then?")]),
    ]
}

#[test]
fn an_appended_turn_changes_no_earlier_byte() {
    for protocol in PROTOCOLS {
        let before = raw_body(protocol, &prompt(conversation()));
        let mut longer = conversation();
        longer.push(assistant(vec![text("Done."), call("a.b", "bash", "{}")]));
        longer.push(user(vec![result("a.b", "", true)]));
        let after = raw_body(protocol, &prompt(longer));

        let shared = before.strip_suffix("]}").unwrap();
        assert!(after.starts_with(shared), "{before}\n{after}");
    }
}

#[test]
fn a_cached_prefix_differs_only_in_its_mark() {
    let cached = Parameters {
        cache: CacheRetention::Short,
        ..parameters()
    };
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let spell = |messages| {
        let request = request(Protocol::AnthropicMessages, &prompt(messages), &cached);
        String::from_utf8(request.body).unwrap().replace(mark, "")
    };
    let mut longer = conversation();
    longer.push(assistant(vec![text("Done.")]));
    longer.push(user(vec![text("Thanks.")]));

    assert!(spell(longer).starts_with(spell(conversation()).strip_suffix("]}").unwrap()));
}

#[test]
fn arguments_are_sent_as_written_in_the_document() {
    let input = "{\n  \"z\": 1.0,\n  \"a\": \"\\u00e9\",\n  \"n\": 12345678901234567890123\n}";
    let messages = vec![
        assistant(vec![call("c", "bash", input)]),
        user(vec![text("Go on.")]),
    ];

    let anthropic = raw_body(Protocol::AnthropicMessages, &prompt(messages.clone()));
    let chat = body(Protocol::ChatCompletions, &prompt(messages), &parameters());

    assert!(
        anthropic.contains(&format!(r#""input":{input}"#)),
        "{anthropic}"
    );
    assert_eq!(
        chat["messages"][0]["tool_calls"][0]["function"]["arguments"],
        input
    );
}

#[test]
fn invalid_arguments_are_sent_as_an_empty_object() {
    for input in ["", "{\"a\":", "[1]", "null", "{} {}"] {
        let messages = vec![
            assistant(vec![call("c", "bash", input)]),
            user(vec![text("Go on.")]),
        ];

        let anthropic = body(
            Protocol::AnthropicMessages,
            &prompt(messages.clone()),
            &parameters(),
        );
        let chat = body(Protocol::ChatCompletions, &prompt(messages), &parameters());

        assert_eq!(anthropic["messages"][0]["content"][0]["input"], json!({}));
        assert_eq!(
            chat["messages"][0]["tool_calls"][0]["function"]["arguments"],
            "{}"
        );
    }
}

#[test]
fn a_request_needs_a_model() {
    let none = Parameters {
        model: " ".to_owned(),
        ..parameters()
    };
    for protocol in PROTOCOLS {
        let problem = encode(&prompt(conversation()), &endpoint(protocol), &none).unwrap_err();

        assert!(problem.what.starts_with("No model is set"), "{problem}");
    }
}
