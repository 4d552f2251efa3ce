//! Encodes a scripted answer as chunks of Gemini's `streamGenerateContent?alt=sse`, according to its
//! documentation: candidates whose parts are texts, thoughts, and whole calls; usage in each chunk,
//! and the finish reason in the last one.

use serde_json::{Value as Json, json};

use crate::answer::{Answer, Step};
use crate::delivery::Piece;

/// The whole stream of an answer. A signature of thinking is part of the next part.
pub(crate) fn spell(answer: &Answer) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut next: Option<&str> = None;
    for step in &answer.steps {
        let mut part = match step {
            Step::Text(text) => json!({"text": text}),
            Step::Thinking { text, signature } => {
                next = signature.as_deref();
                if !text.is_empty() {
                    let thought = json!({"text": text, "thought": true});
                    pieces.push(chunk(answer, &[thought], None));
                }
                continue;
            }
            Step::ToolUse {
                id,
                name,
                arguments,
            } => {
                let arguments: Json = serde_json::from_str(arguments).unwrap_or_default();
                json!({"functionCall": {"id": id, "name": name, "args": arguments}})
            }
            Step::EndOfText => continue,
            Step::ServerToolUse { .. } | Step::ServerToolResult { .. } | Step::Cited { .. } => {
                panic!("server tools of Gemini are not scripted")
            }
            Step::RedactedThinking(_) => panic!("Gemini has no redacted thinking"),
            Step::Bytes(_) | Step::Gate(_) | Step::Stall => {
                pieces.extend(Piece::of(step));
                continue;
            }
        };
        if let Some(signature) = next.take() {
            part["thoughtSignature"] = json!(signature);
        }
        pieces.push(chunk(answer, &[part], None));
    }
    let last = next.map(|signature| json!({"text": "", "thoughtSignature": signature}));
    let reason = answer.stop.as_deref().unwrap_or("STOP");
    pieces.push(chunk(answer, last.as_slice(), Some(reason)));
    pieces
}

fn chunk(answer: &Answer, parts: &[Json], finish: Option<&str>) -> Piece {
    let (input, output) = answer.usage;
    let mut event = json!({
        "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": input, "candidatesTokenCount": output,
            "totalTokenCount": input + output,
        },
        "modelVersion": "scripted",
        "responseId": "r1",
    });
    if let Some(reason) = finish {
        event["candidates"][0]["finishReason"] = json!(reason);
    }
    Piece::Event(format!("data: {event}\r\n\r\n"))
}
