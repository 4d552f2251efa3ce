//! Encodes a scripted answer as events of OpenAI's Responses API, according to its documentation:
//! `response.created`; `output_item.added`, deltas, and `output_item.done` for each item;
//! `response.completed`.

use serde_json::{Value as Json, json};

use crate::answer::{Answer, Step};
use crate::anthropic::fragments;
use crate::delivery::Piece;

/// The whole stream of an answer. Thinking becomes a reasoning item whose encrypted content is the
/// signature. A scripted stop reason becomes the reason for an incomplete response.
pub(crate) fn spell(answer: &Answer) -> Vec<Piece> {
    let mut stream = Stream {
        serial: answer.serial,
        ..Stream::default()
    };
    let begun =
        json!({"id": "resp_01", "object": "response", "status": "in_progress", "output": []});
    stream.event(json!({"type": "response.created", "response": begun}));
    for step in &answer.steps {
        stream.step(step);
    }
    stream.close_text();
    let (input, output) = answer.usage;
    let (kind, details) = match &answer.stop {
        Some(reason) => ("incomplete", json!({"reason": reason})),
        None => ("completed", Json::Null),
    };
    stream.event(json!({
        "type": format!("response.{kind}"),
        "response": {
            "id": "resp_01", "object": "response", "status": kind, "incomplete_details": details,
            "usage": {
                "input_tokens": input, "output_tokens": output, "total_tokens": input + output,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 0},
            },
        },
    }));
    stream.pieces
}

#[derive(Default)]
struct Stream {
    pieces: Vec<Piece>,
    /// Number of the answer.
    serial: usize,
    /// Index of the open item, or of the next one.
    index: usize,
    /// The text of the open message.
    text: Option<String>,
    /// Its annotations.
    notes: Vec<Json>,
    /// The id and the query of the open search.
    searched: Option<(String, Json)>,
}

impl Stream {
    fn event(&mut self, mut event: Json) {
        event["sequence_number"] = json!(self.pieces.len());
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
            Step::Text(text) => self.say(text),
            Step::Thinking { text, signature } => self.think(text, signature.as_deref()),
            Step::ToolUse {
                id,
                name,
                arguments,
            } => self.tool_use(id, name, arguments),
            Step::RedactedThinking(_) => panic!("the Responses API has no redacted thinking"),
            Step::ServerToolUse { id, input, .. } => {
                let begun = json!({"type": "web_search_call", "id": id, "status": "in_progress"});
                self.open(&begun);
                self.searched = Some((id.clone(), input["query"].clone()));
            }
            Step::ServerToolResult { content, .. } => {
                if let Some((id, query)) = self.searched.take() {
                    self.close(&search_call(&id, &query, content));
                }
            }
            Step::Cited { text, citations } => {
                self.say(text);
                let notes = citations.iter().map(url_citation);
                self.notes.extend(notes);
                self.close_text();
            }
            Step::EndOfText | Step::Bytes(_) | Step::Gate(_) | Step::Stall => {}
        }
    }

    fn say(&mut self, text: &str) {
        if self.text.is_none() {
            let item = json!({"type": "message", "id": self.id("msg"), "role": "assistant", "content": []});
            self.open(&item);
        }
        self.text.get_or_insert_default().push_str(text);
        self.event(json!({
            "type": "response.output_text.delta", "output_index": self.index,
            "item_id": self.id("msg"), "content_index": 0, "delta": text,
        }));
    }

    fn close_text(&mut self) {
        if let Some(text) = self.text.take() {
            let notes = std::mem::take(&mut self.notes);
            let content = json!([{"type": "output_text", "text": text, "annotations": notes}]);
            self.close(&json!({
                "type": "message", "id": self.id("msg"), "status": "completed",
                "role": "assistant", "content": content,
            }));
        }
    }

    fn think(&mut self, text: &str, encrypted: Option<&str>) {
        let id = self.id("rs");
        self.open(&json!({"type": "reasoning", "id": id, "summary": []}));
        if !text.is_empty() {
            self.event(json!({
                "type": "response.reasoning_summary_text.delta", "output_index": self.index,
                "item_id": id, "summary_index": 0, "delta": text,
            }));
        }
        self.close(&reasoning(&id, text, encrypted));
    }

    fn tool_use(&mut self, id: &str, name: &str, arguments: &str) {
        let item = json!({
            "type": "function_call", "id": self.id("fc"), "call_id": id, "name": name,
            "arguments": "", "status": "in_progress",
        });
        self.open(&item);
        for fragment in fragments(arguments) {
            self.event(json!({
                "type": "response.function_call_arguments.delta", "output_index": self.index,
                "item_id": self.id("fc"), "delta": fragment,
            }));
        }
        let mut done = item;
        done["arguments"] = json!(arguments);
        done["status"] = json!("completed");
        self.close(&done);
    }

    fn id(&self, kind: &str) -> String {
        item_id(kind, self.serial, self.index)
    }

    fn open(&mut self, item: &Json) {
        self.event(json!({
            "type": "response.output_item.added", "output_index": self.index, "item": item,
        }));
    }

    fn close(&mut self, item: &Json) {
        self.event(json!({
            "type": "response.output_item.done", "output_index": self.index, "item": item,
        }));
        self.index += 1;
    }
}

/// A search that found the pages of `content`.
pub(crate) fn search_call(id: &str, query: &Json, content: &Json) -> Json {
    let pages = content.as_array().into_iter().flatten();
    let sources: Vec<Json> = pages
        .map(|it| json!({"type": "url", "url": it["url"]}))
        .collect();
    let action = json!({"type": "search", "query": query, "sources": sources});
    json!({"type": "web_search_call", "id": id, "status": "completed", "action": action})
}

/// An annotation of a text.
pub(crate) fn url_citation(citation: &Json) -> Json {
    json!({
        "type": "url_citation", "start_index": 0, "end_index": 1,
        "title": citation["title"], "url": citation["url"],
    })
}

/// The id of an item: its kind, the number of the answer, and its index there.
pub(crate) fn item_id(kind: &str, serial: usize, index: usize) -> String {
    match serial {
        0 => format!("{kind}_{index}"),
        serial => format!("{kind}_{serial}_{index}"),
    }
}

/// A reasoning item with a summary; without one if the text is empty.
pub(crate) fn reasoning(id: &str, text: &str, encrypted: Option<&str>) -> Json {
    let summary = match text {
        "" => json!([]),
        text => json!([{"type": "summary_text", "text": text}]),
    };
    json!({"type": "reasoning", "id": id, "encrypted_content": encrypted, "summary": summary})
}
