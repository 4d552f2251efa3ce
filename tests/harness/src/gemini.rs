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
    let mut chunks: Vec<Json> = Vec::new();
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
            Step::ServerToolUse { .. } | Step::ServerToolResult { .. } => match server_part(step) {
                Some(part) => part,
                None => continue,
            },
            Step::Cited { text, citations } => {
                chunks.extend(
                    citations
                        .iter()
                        .map(|it| json!({"web": {"title": it["title"], "uri": it["url"]}})),
                );
                json!({"text": text})
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
    let mut end = event(answer, last.as_slice(), Some(reason));
    if !chunks.is_empty() {
        end["candidates"][0]["groundingMetadata"] = json!({"groundingChunks": chunks});
    }
    pieces.push(piece(&end));
    pieces
}

/// The part of a step that Google's own tool takes, as it is sent back.
pub(crate) fn server_part(step: &Step) -> Option<Json> {
    match step {
        Step::ServerToolUse { id, input, .. } => Some(json!({"toolCall": {
            "id": id, "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": [input["query"]]},
        }, "thoughtSignature": format!("call-{id}==")})),
        Step::ServerToolResult { id, content, .. } => Some(json!({"toolResponse": {
            "id": id, "toolType": "GOOGLE_SEARCH_WEB", "response": {"pages": content},
        }, "thoughtSignature": format!("response-{id}==")})),
        _ => None,
    }
}

fn chunk(answer: &Answer, parts: &[Json], finish: Option<&str>) -> Piece {
    piece(&event(answer, parts, finish))
}

fn piece(event: &Json) -> Piece {
    Piece::Event(format!("data: {event}\r\n\r\n"))
}

fn event(answer: &Answer, parts: &[Json], finish: Option<&str>) -> Json {
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
    event
}
