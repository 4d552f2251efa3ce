//! Encodes a scripted answer as events of Anthropic's Messages API, according to its documentation
//! ("Streaming messages"): `message_start`; `content_block_start`, deltas, and `content_block_stop`
//! for each block; `message_delta` and `message_stop`. An answer to a request for a summary is one
//! block, which arrives whole, and is counted apart ("Compaction on demand").

use serde_json::{Value as Json, json};

use crate::answer::{Answer, Step};
use crate::delivery::Piece;

/// Number of characters of arguments in one `input_json_delta`.
const FRAGMENT: usize = 12;

/// The whole stream of an answer.
pub(crate) fn spell(answer: &Answer) -> Vec<Piece> {
    let mut stream = Stream::default();
    let mut message = json!({
        "id": "msg_01", "type": "message", "role": "assistant", "model": "scripted",
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": answer.usage.0, "output_tokens": 1},
    });
    if let Some(transformations) = &answer.transformations {
        message["input_transformations"] = transformations.clone();
    }
    if answer.signature.is_some() {
        message["usage"] = json!({"input_tokens": 0, "output_tokens": 0});
    }
    stream.event(&json!({"type": "message_start", "message": message}));
    stream.event(&json!({"type": "ping"}));
    if let Some(signature) = &answer.signature {
        stream.summary(answer, signature);
        return stream.pieces;
    }
    for step in &answer.steps {
        stream.step(step);
    }
    stream.close_text();
    let usual = if answer.calls_a_tool() {
        "tool_use"
    } else {
        "end_turn"
    };
    let reason = answer.stop.as_deref().unwrap_or(usual);
    let mut usage = json!({"output_tokens": answer.usage.1});
    if answer.searches_made() > 0 {
        let searches = answer.searches_made();
        usage["server_tool_use"] = json!({"web_search_requests": searches});
    }
    stream.event(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": usage,
    }));
    stream.event(&json!({"type": "message_stop"}));
    stream.pieces
}

/// The block of a step that the service runs or cites, as it is sent back.
pub(crate) fn server_block(step: &Step) -> Option<Json> {
    match step {
        Step::ServerToolUse { id, name, input } => {
            Some(json!({"type": "server_tool_use", "id": id, "name": name, "input": input}))
        }
        Step::ServerToolResult { id, name, content } => Some(json!({
            "type": format!("{name}_tool_result"), "tool_use_id": id, "content": content,
        })),
        Step::Cited { text, citations } => {
            Some(json!({"type": "text", "text": text, "citations": citations}))
        }
        _ => None,
    }
}

#[derive(Default)]
struct Stream {
    pieces: Vec<Piece>,
    /// Index of the open block, or of the next one.
    index: usize,
    text_is_open: bool,
}

impl Stream {
    fn event(&mut self, event: &Json) {
        let name = event["type"].as_str().unwrap_or_default();
        self.pieces
            .push(Piece::Event(format!("event: {name}\ndata: {event}\n\n")));
    }

    fn step(&mut self, step: &Step) {
        if let Some(piece) = Piece::of(step) {
            self.pieces.push(piece);
            return;
        }
        if !matches!(step, Step::Text(_)) {
            self.close_text();
        }
        match step {
            Step::Text(text) => self.text(text),
            Step::Thinking { text, signature } => self.thinking(text, signature.as_deref()),
            Step::RedactedThinking(content) => {
                self.open(&json!({"type": "redacted_thinking", "data": content}));
                self.close();
            }
            Step::ToolUse {
                id,
                name,
                arguments,
            } => self.tool_use("tool_use", id, name, arguments),
            Step::ServerToolUse { id, name, input } => {
                self.tool_use("server_tool_use", id, name, &input.to_string());
            }
            Step::ServerToolResult { .. } => {
                if let Some(block) = server_block(step) {
                    self.open(&block);
                    self.close();
                }
            }
            Step::Cited { text, citations } => {
                self.open(&json!({"type": "text", "text": "", "citations": []}));
                for citation in citations {
                    self.delta(&json!({"type": "citations_delta", "citation": citation}));
                }
                self.delta(&json!({"type": "text_delta", "text": text}));
                self.close();
            }
            Step::EndOfText | Step::Bytes(_) | Step::Gate(_) | Step::Stall => {}
        }
    }

    fn summary(&mut self, answer: &Answer, signature: &str) {
        self.pieces
            .extend(answer.steps.iter().filter_map(Piece::of));
        let usual = if answer.calls_a_tool() {
            "tool_use"
        } else {
            "end_turn"
        };
        let mut reason = answer.stop.as_deref().unwrap_or(usual);
        if answer.is_summary() {
            let content = answer.whole_text();
            self.open(&json!({"type": "compaction", "content": content, "signature": signature}));
            self.close();
            reason = "compaction";
        }
        let (input, output) = answer.usage;
        let counted = json!({"type": "compaction", "input_tokens": input, "output_tokens": output});
        self.event(&json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 0, "iterations": [counted]},
        }));
        self.event(&json!({"type": "message_stop"}));
    }

    fn text(&mut self, text: &str) {
        if !self.text_is_open {
            self.open(&json!({"type": "text", "text": ""}));
            self.text_is_open = true;
        }
        self.delta(&json!({"type": "text_delta", "text": text}));
    }

    fn close_text(&mut self) {
        if self.text_is_open {
            self.text_is_open = false;
            self.close();
        }
    }

    fn thinking(&mut self, text: &str, signature: Option<&str>) {
        self.open(&json!({"type": "thinking", "thinking": "", "signature": ""}));
        if !text.is_empty() {
            self.delta(&json!({"type": "thinking_delta", "thinking": text}));
        }
        if let Some(signature) = signature {
            self.delta(&json!({"type": "signature_delta", "signature": signature}));
        }
        self.close();
    }

    fn tool_use(&mut self, kind: &str, id: &str, name: &str, arguments: &str) {
        self.open(&json!({"type": kind, "id": id, "name": name, "input": {}}));
        self.delta(&json!({"type": "input_json_delta", "partial_json": ""}));
        for fragment in fragments(arguments) {
            self.delta(&json!({"type": "input_json_delta", "partial_json": fragment}));
        }
        self.close();
    }

    fn open(&mut self, block: &Json) {
        self.event(&json!({
            "type": "content_block_start", "index": self.index, "content_block": block,
        }));
    }

    fn delta(&mut self, delta: &Json) {
        self.event(&json!({
            "type": "content_block_delta", "index": self.index, "delta": delta,
        }));
    }

    fn close(&mut self) {
        self.event(&json!({"type": "content_block_stop", "index": self.index}));
        self.index += 1;
    }
}

/// Splits arguments into pieces of a few characters.
pub(crate) fn fragments(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces = characters.chunks(FRAGMENT);
    pieces.map(|piece| piece.iter().collect()).collect()
}
