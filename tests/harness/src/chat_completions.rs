//! Encodes a scripted answer as chunks of the Chat Completions API, according to its documentation:
//! `chat.completion.chunk` objects whose deltas contain content, `reasoning_content` (as sent by
//! llama.cpp and others), and fragments of tool calls; then the finish reason, usage, and `[DONE]`.

use serde_json::{Value as Json, json};

use crate::answer::{Answer, Step};
use crate::anthropic::fragments;
use crate::delivery::Piece;

/// The whole stream of an answer.
pub(crate) fn spell(answer: &Answer) -> Vec<Piece> {
    let mut pieces = vec![delta(&json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for step in &answer.steps {
        match step {
            Step::Text(text) => pieces.push(delta(&json!({"content": text}))),
            Step::Thinking { text, .. } => {
                pieces.push(delta(&json!({"reasoning_content": text})));
            }
            Step::ToolUse {
                id,
                name,
                arguments,
            } => {
                pieces.extend(tool_call(calls, id, name, arguments));
                calls += 1;
            }
            Step::RedactedThinking(_) => panic!("Chat Completions has no redacted thinking"),
            Step::ServerToolUse { .. } | Step::ServerToolResult { .. } | Step::Cited { .. } => {
                panic!("Chat Completions has no server tools")
            }
            Step::EndOfText => {}
            Step::Bytes(_) | Step::Gate(_) | Step::Stall => pieces.extend(Piece::of(step)),
        }
    }
    let usual = if answer.calls_a_tool() {
        "tool_calls"
    } else {
        "stop"
    };
    let reason = answer.stop.as_deref().unwrap_or(usual);
    pieces.push(chunk(
        &json!([{"index": 0, "delta": {}, "finish_reason": reason}]),
        &Json::Null,
    ));
    let (input, output) = answer.usage;
    let usage = json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
    });
    pieces.push(chunk(&json!([]), &usage));
    pieces.push(Piece::Event("data: [DONE]\n\n".to_owned()));
    pieces
}

fn chunk(choices: &Json, usage: &Json) -> Piece {
    let event = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000,
        "model": "scripted", "choices": choices, "usage": usage,
    });
    Piece::Event(format!("data: {event}\n\n"))
}

fn delta(delta: &Json) -> Piece {
    chunk(
        &json!([{"index": 0, "delta": delta, "finish_reason": null}]),
        &Json::Null,
    )
}

/// The fragments of a call: the first has its name, the others have its arguments.
fn tool_call(index: usize, id: &str, name: &str, arguments: &str) -> Vec<Piece> {
    let first = json!({
        "index": index, "id": id, "type": "function",
        "function": {"name": name, "arguments": ""},
    });
    let rest = fragments(arguments)
        .into_iter()
        .map(|fragment| json!({"index": index, "function": {"arguments": fragment}}));
    std::iter::once(first)
        .chain(rest)
        .map(|call| delta(&json!({"tool_calls": [call]})))
        .collect()
}
