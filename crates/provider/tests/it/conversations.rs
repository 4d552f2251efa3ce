//! Conversations over several turns: with one provider, and with several providers in one
//! file.

use std::fs;

use chat::answer::AnswerWriter;
use chat::document::Document;
use chat::prompt::{self, Part, Prompt, PromptMessage, PromptRole, Signature};
use chat::text::Text;
use chat::tool::{ToolDefinition, ToolUseId};
use proptest::prelude::*;
use provider::{CacheRetention, Decoder, Endpoint, Parameters, Protocol, StreamEvent};
use serde_json::{Value, json};

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

// A request starts with the bytes of the previous request, so that every provider's cache
// hits.

fn words() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a",
        "Grüß\n  dich",
        "\"quoted\"",
        "```\ncode\n```",
        "\\",
        "]}",
    ])
    .prop_map(str::to_owned)
}

fn thinking() -> impl Strategy<Value = Part> {
    // The last one is an OpenAI reasoning item in base64.
    let item =
        "eyJ0eXBlIjoicmVhc29uaW5nIiwiaWQiOiJyIiwic3VtbWFyeSI6W10sImVuY3J5cHRlZF9jb250ZW50IjoieCJ9";
    let value = prop::sample::select(vec!["", "c2ln", item]);
    let provider = prop::sample::select(vec!["anthropic", "openai", "gemini", "deepseek", "other"]);
    (words(), prop::option::of((provider, value)), any::<bool>()).prop_map(
        |(text, signature, redacted)| Part::Thinking {
            text,
            signature: signature.map(|(provider, value)| Signature {
                provider: provider.to_owned(),
                value: value.to_owned(),
            }),
            redacted,
        },
    )
}

/// A model's answer, with call IDs that `turn` makes unique.
fn said() -> impl Strategy<Value = Vec<(Part, bool)>> {
    let call = (
        prop::sample::select(vec!["urn:x", "c.d", "toolu_1"]),
        prop::sample::select(vec!["{}", "{\"a\": 1.0}", "no"]),
    )
        .prop_map(|(id, input)| Part::ToolUse {
            id: ToolUseId::new(id),
            name: "bash".to_owned(),
            input: input.to_owned(),
        });
    let part = prop_oneof![words().prop_map(Part::Text), thinking(), call];
    prop::collection::vec((part, any::<bool>()), 1..5)
}

/// A turn: the model's answer, and the user's text next to the results of its calls.
fn turns() -> impl Strategy<Value = Vec<(Vec<(Part, bool)>, String)>> {
    prop::collection::vec((said(), words()), 2..5)
}

fn user(parts: Vec<Part>) -> PromptMessage {
    PromptMessage {
        role: PromptRole::User,
        parts,
        exact: None,
    }
}

/// Returns the prompt after each turn, starting with the question.
fn prompts(turns: Vec<(Vec<(Part, bool)>, String)>) -> Vec<Prompt> {
    let mut messages = vec![user(vec![Part::Text("Go.".to_owned())])];
    let mut prompts = vec![prompt(&messages)];
    for (turn, (said, words)) in turns.into_iter().enumerate() {
        let mut parts = Vec::new();
        let mut answers = Vec::new();
        for (at, (mut part, is_error)) in said.into_iter().enumerate() {
            if let Part::ToolUse { id, name, .. } = &mut part {
                *id = ToolUseId::new(format!("{id}_{turn}_{at}"));
                answers.push(Part::ToolResult {
                    tool_use_id: id.clone(),
                    name: name.clone(),
                    content: words.clone(),
                    files: Vec::new(),
                    is_error,
                });
            }
            parts.push(part);
        }
        answers.push(Part::Text(words));
        messages.push(PromptMessage {
            role: PromptRole::Assistant,
            parts,
            exact: None,
        });
        messages.push(user(answers));
        prompts.push(prompt(&messages));
    }
    prompts
}

fn prompt(messages: &[PromptMessage]) -> Prompt {
    let tool = |name: &str| ToolDefinition {
        name: name.to_owned(),
        description: "Runs.".to_owned(),
        input_schema: json!({"type": "object", "properties": {}}),
        strict: false,
        keywords: Vec::new(),
    };
    Prompt {
        system: Some("Be brief.".to_owned()),
        messages: messages.to_vec(),
        tools: vec![tool("read"), tool("bash")],
    }
}

/// Returns a body up to the end of the last message, without the marks that move from turn
/// to turn, which a cache ignores.
fn stable(prompt: &Prompt, provider: &str, protocol: Protocol) -> String {
    let body = body(prompt, provider, protocol);
    body.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

proptest! {
    #[test]
    fn a_request_starts_with_the_bytes_of_the_previous_one(turns in turns()) {
        let prompts = prompts(turns);
        for (provider, protocol) in PROVIDERS {
            for pair in prompts.windows(2) {
                let before = stable(&pair[0], provider, protocol);
                let after = stable(&pair[1], provider, protocol);
                let shared = before.strip_suffix("]}").unwrap();
                prop_assert!(after.starts_with(shared), "{provider}\n{before}\n{after}");
            }
        }
    }
}

// What each provider gets of a file in which every provider has answered.
//
// The answers are the recorded streams, written into the chat as the host does.

/// Provider, its stream, and the part of its thinking that only it may get.
const TURNS: [(&str, &str, &[&str]); 5] = [
    (
        "anthropic",
        "anthropic/interleaved_thinking",
        &["First.", "s1", "s2"],
    ),
    (
        "openai",
        "responses/several_reasoning_items",
        &["gAAAAAB0", "gAAAAAB2", "gAAAAAB3"],
    ),
    (
        "gemini",
        "gemini/thinking_and_parallel_calls",
        &["AbC+/1==", "DeF=="],
    ),
    (
        "deepseek",
        "chat_completions/reasoning_before_a_call",
        &["Look."],
    ),
    ("openai_compatible", "chat_completions/ids_missing", &[]),
];

/// Returns the file after all of [`TURNS`]. Each call is answered by hand, one of them with
/// an error.
fn file() -> String {
    let mut file = "@You:\nGo.\n".to_owned();
    for (provider, stream, _) in TURNS {
        let protocol = PROVIDERS.iter().find(|it| it.0 == provider).unwrap().1;
        let (answer, ids) = answer(provider, protocol, stream);
        file.push_str("\n@Assistant:");
        file.push_str(&answer);
        file.push_str("\n\n@You:\n");
        for (at, id) in ids.iter().enumerate() {
            let mark = if at == 0 { " (error)" } else { "" };
            file.push_str(&format!(
                "**Tool Result:** `{id}`{mark}\n\n```\nno such file\n```\n\n"
            ));
        }
        file.push_str("Go on.\n");
    }
    file
}

/// Returns an answer as written to the file, and the IDs of its calls.
fn answer(provider: &str, protocol: Protocol, stream: &str) -> (String, Vec<String>) {
    let path = format!("{}/tests/streams/{stream}.sse", env!("CARGO_MANIFEST_DIR"));
    let mut decoder = Decoder::of(&endpoint(provider, protocol));
    let mut writer = AnswerWriter::new();
    let mut ids = Vec::new();
    for event in decoder.push(&fs::read(path).unwrap()) {
        match event {
            StreamEvent::Text(text) => writer.text(&text),
            StreamEvent::TextEnd => writer.end_text(),
            StreamEvent::Thinking(text) => writer.thinking(&text),
            StreamEvent::ThinkingEnd { signature } => {
                writer.end_thinking(signature.as_deref().map(|value| (provider, value)));
            }
            StreamEvent::ToolUse(call) => {
                writer.tool_use(&call.name, &call.id, &call.input);
                ids.push(call.id);
            }
            _ => {}
        }
    }
    writer.finish(None);
    (writer.take(), ids)
}

/// Returns true if a body contains the secret, plain or in a base64 item.
fn holds(body: &str, secret: &str) -> bool {
    body.contains(&format!("\"{secret}\"")) || body.contains(&format!("{secret}\\n"))
}

#[test]
fn each_provider_gets_every_turn_and_only_its_own_thinking() {
    let file = file();
    let text = Text::from_bytes(file.as_str());
    let document = Document::parse(&text);
    let prompt = prompt::build(&document, &[]);
    let calls = file.matches("**Tool Use:**").count();
    assert!(calls >= 6, "{file}");
    for (name, protocol) in PROVIDERS {
        let body = body(&prompt, name, protocol);
        for (provider, _, secrets) in TURNS {
            for secret in secrets {
                assert_eq!(
                    holds(&body, secret),
                    provider == name,
                    "{secret} of {provider} to {name}: {body}"
                );
            }
        }
        assert_eq!(
            body.matches("no such file").count(),
            calls,
            "{name}: {body}"
        );
        assert_eq!(
            body.matches("Go on.").count(),
            TURNS.len(),
            "{name}: {body}"
        );
    }
}

#[test]
fn what_is_not_sent_stays_in_the_file() {
    let file = file();
    let text = Text::from_bytes(file.as_str());
    assert_eq!(Document::parse(&text).print(), file.as_bytes());
    for (provider, _, secrets) in TURNS {
        let marked = format!("<thinking {provider}:signature=\"");
        assert_eq!(
            file.contains(&marked),
            !secrets.is_empty(),
            "{provider}: {file}"
        );
    }
}

// An answer that was streamed, written into the file, and read again goes back to its
// provider exactly as it came.

/// A part of an answer, independent of the provider.
#[derive(Debug, Clone)]
enum Sent {
    Text(&'static str),
    /// Thinking whose signature is made of its position. Most providers hide the text.
    Thinking(&'static str),
    Redacted,
    Call,
}

fn sent() -> impl Strategy<Value = Sent> {
    let words = || {
        prop::sample::select(vec![
            "Now the\nsecond file.",
            "\n\nA paragraph.\n",
            "```\nclosed\n```",
            "```lua\nopen",
            "~~~~\nopen\n```\n",
            "```\nclosed by more\n````",
            "@You:\n**Tool Use:** `bash` (`x`)",
            "<!-- flemma:part -->",
            "</thinking>",
            " spaced ",
            "Grüße 🙂",
        ])
    };
    prop_oneof![
        3 => words().prop_map(Sent::Text),
        1 => words().prop_map(Sent::Thinking),
        2 => Just(Sent::Thinking("")),
        1 => Just(Sent::Redacted),
        3 => Just(Sent::Call),
    ]
}

/// Returns the content that Anthropic's API streams for these parts.
fn content_blocks(parts: &[Sent]) -> Vec<Value> {
    let block = |(at, part): (usize, &Sent)| match part {
        Sent::Text(text) => json!({"type": "text", "text": text}),
        Sent::Thinking(text) => {
            json!({"type": "thinking", "thinking": text, "signature": format!("c2ln{at}==")})
        }
        Sent::Redacted => json!({"type": "redacted_thinking", "data": format!("ZGF0{at}")}),
        Sent::Call => json!({
            "type": "tool_use", "id": format!("toolu_{at}"), "name": "bash",
            "input": {"z": at, "a": "ls"},
        }),
    };
    parts.iter().enumerate().map(block).collect()
}

fn anthropic_stream(blocks: &[Value]) -> Vec<u8> {
    let mut events = vec![json!({"type": "message_start", "message": {"content": []}})];
    for (index, block) in blocks.iter().enumerate() {
        let mut start = block.clone();
        let mut deltas = Vec::new();
        match block["type"].as_str().unwrap() {
            "text" => {
                start["text"] = "".into();
                deltas.push(json!({"type": "text_delta", "text": block["text"]}));
            }
            "thinking" => {
                start["thinking"] = "".into();
                start["signature"] = "".into();
                deltas.push(json!({"type": "thinking_delta", "thinking": block["thinking"]}));
                deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
            }
            "tool_use" => {
                start["input"] = json!({});
                let input = block["input"].to_string();
                deltas.push(json!({"type": "input_json_delta", "partial_json": input}));
            }
            _ => {}
        }
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
    events.push(json!({"type": "message_stop"}));
    stream(&events)
}

/// Returns the output items that OpenAI's API streams for these parts. Adjacent texts
/// become parts of one message now and then.
fn output_items(parts: &[Sent]) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        match part {
            Sent::Text(text) => {
                let part = json!({"type": "output_text", "text": text, "annotations": []});
                match items.last_mut().filter(|it| it["type"] == "message") {
                    Some(message) if at % 2 == 0 => {
                        message["content"].as_array_mut().unwrap().push(part);
                    }
                    _ => items.push(json!({"type": "message", "content": [part]})),
                }
            }
            Sent::Thinking(text) => {
                let part = json!({"type": "summary_text", "text": text});
                let summary: Vec<Value> = (!text.is_empty()).then_some(part).into_iter().collect();
                items.push(json!({
                    "type": "reasoning", "id": format!("rs_{at}"), "summary": summary,
                    "encrypted_content": format!("gAAA{at}="),
                }));
            }
            // OpenAI has no other form of hidden thinking.
            Sent::Redacted => items.push(json!({
                "type": "reasoning", "id": format!("rs_{at}"), "summary": [],
                "encrypted_content": format!("gAAA{at}="),
            })),
            Sent::Call => items.push(json!({
                "type": "function_call", "call_id": format!("call_{at}"), "name": "bash",
                "arguments": "{\"a\": \"ls\"}",
            })),
        }
    }
    items
}

fn responses_stream(items: &[Value]) -> Vec<u8> {
    let mut events = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let at = |kind: &str| json!({"type": format!("response.{kind}"), "output_index": index});
        let mut added = at("output_item.added");
        added["item"] = item.clone();
        if item["type"] == "function_call" {
            added["item"]["arguments"] = "".into();
        }
        events.push(added);
        let delta = |kind: &str, name: &str, place: usize, text: &Value| {
            let mut event = at(kind);
            event[name] = place.into();
            event["delta"] = text.clone();
            event
        };
        let parts = |name: &str| item[name].as_array().cloned().unwrap_or_default();
        for (place, part) in parts("content").iter().enumerate() {
            events.push(delta(
                "output_text.delta",
                "content_index",
                place,
                &part["text"],
            ));
        }
        for (place, part) in parts("summary").iter().enumerate() {
            events.push(delta(
                "reasoning_summary_text.delta",
                "summary_index",
                place,
                &part["text"],
            ));
        }
        let mut done = at("output_item.done");
        done["item"] = item.clone();
        events.push(done);
    }
    events.push(json!({"type": "response.completed", "response": {"status": "completed"}}));
    stream(&events)
}

fn stream(events: &[Value]) -> Vec<u8> {
    let line = |event: &Value| format!("data: {event}\n\n");
    events.iter().map(line).collect::<String>().into_bytes()
}

/// Returns the request after an answer that arrived as `bytes`, whose calls were answered.
fn next_request(provider: &str, protocol: Protocol, bytes: &[u8]) -> Value {
    let mut decoder = Decoder::of(&endpoint(provider, protocol));
    let mut writer = AnswerWriter::new();
    let mut answers = String::new();
    for event in decoder.push(bytes) {
        match event {
            StreamEvent::Text(text) => writer.text(&text),
            StreamEvent::TextEnd => writer.end_text(),
            StreamEvent::Thinking(text) => writer.thinking(&text),
            StreamEvent::ThinkingEnd { signature } => {
                writer.end_thinking(signature.as_deref().map(|value| (provider, value)));
            }
            StreamEvent::RedactedThinking(data) => writer.redacted_thinking(&data),
            StreamEvent::ToolUse(call) => {
                writer.tool_use(&call.name, &call.id, &call.input);
                answers += &format!("**Tool Result:** `{}`\n\n```\nok\n```\n\n", call.id);
            }
            StreamEvent::Error(problem) => panic!("{problem}"),
            _ => {}
        }
    }
    writer.finish(None);
    let file = format!(
        "@You:\nGo.\n\n@Assistant:{}\n\n@You:\n{answers}Go on.\n",
        writer.take()
    );
    let text = Text::from_bytes(file.as_str());
    let prompt = prompt::build(&Document::parse(&text), &[]);
    serde_json::from_str(&body(&prompt, provider, protocol)).unwrap()
}

fn check_anthropic(parts: &[Sent]) {
    let blocks = content_blocks(parts);
    let stream = anthropic_stream(&blocks);
    let mut sent = next_request("anthropic", Protocol::AnthropicMessages, &stream);
    assert_eq!(sent["messages"][1]["content"].take(), json!(blocks));
}

fn check_responses(parts: &[Sent]) {
    let items = output_items(parts);
    let sent = next_request("openai", Protocol::Responses, &responses_stream(&items));
    // Each text of a message is a message of its own when it goes back.
    let texts = |item: &Value| -> Vec<Value> {
        let parts = item["content"].as_array().unwrap();
        parts.iter().map(|part| part["text"].clone()).collect()
    };
    let shape = |item: &Value| match item["type"].as_str() {
        Some("message") => texts(item),
        Some("reasoning") => vec![item["encrypted_content"].clone()],
        Some("function_call") => vec![item["call_id"].clone()],
        _ => Vec::new(),
    };
    let mut expected: Vec<Value> = items.iter().flat_map(shape).collect();
    // The API rejects reasoning that nothing follows.
    let is_said = |part: &Sent| matches!(part, Sent::Text(_) | Sent::Call);
    let last_said = parts.iter().rposition(is_said).map_or(0, |at| at + 1);
    expected.truncate(last_said);
    let input = sent["input"].as_array().unwrap();
    let got: Vec<Value> = input.iter().flat_map(shape).collect();
    assert_eq!(got, expected, "{input:#?}");
}

proptest! {
    #[test]
    fn an_answer_goes_back_as_it_came(parts in prop::collection::vec(sent(), 1..9)) {
        check_anthropic(&parts);
        // Outside of Anthropic's protocol, the tag ends thinking.
        let has_tag = |part: &Sent| matches!(part, Sent::Text("</thinking>"));
        let parts: Vec<Sent> = parts.into_iter().filter(|it| !has_tag(it)).collect();
        check_responses(&parts);
    }
}

#[test]
fn parallel_calls_keep_the_thinking_between_them() {
    use Sent::{Call, Redacted, Text, Thinking};
    for parts in [
        vec![Thinking("First a."), Call, Thinking("Then b."), Call],
        vec![Thinking(""), Call, Call, Thinking(""), Call],
        vec![Text("I look."), Thinking("Hm."), Call],
        vec![Text("One."), Text("Two."), Text("Three.")],
        vec![Redacted, Thinking(""), Redacted, Text("So.")],
        vec![Call, Text("Meanwhile."), Call],
    ] {
        check_anthropic(&parts);
        check_responses(&parts);
    }
}

#[test]
fn an_answer_may_have_a_thousand_thinking_blocks() {
    let parts: Vec<Sent> = (0..1000)
        .flat_map(|at| [Sent::Thinking(["", "Next."][at % 2]), Sent::Call])
        .collect();
    check_anthropic(&parts);
    check_responses(&parts);
}
