//! An answer that was streamed, written into the file, and read again goes back to its
//! provider exactly as it came.

use chat::{answer::AnswerWriter, document::Document, prompt, text::Text};
use proptest::prelude::*;
use provider::{Decoder, StreamEvent};
use serde_json::{Value, json};

use super::*;

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
