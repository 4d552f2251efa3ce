//! Decoder for the event stream of `POST /responses`.
//!
//! Lenient: a field that is missing or of another type counts as absent, and unknown events
//! are skipped, unknown items with a remark.
//!
//! Calls are assembled from events, and servers disagree on how an event names its item: OpenAI
//! sends `output_index` and `item_id`, llama.cpp only an `item_id` that is the call's ID, and
//! others nothing.
//!
//! The signature of a reasoning item in the document is the item as JSON in base64: the API
//! accepts it back only as a whole, with its ID and encrypted content. An item without encrypted content gets no signature,
//! because the provider stores nothing and would not recognize it.

use std::collections::HashSet;
use std::mem;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};
use serde_json_borrow::Value;

use crate::content::{self, ContentPart, MAX_HELD_BYTES, whole_object};
use crate::error_body::error_message;
use crate::event::{Meaning, meaning, word};
use crate::failure::{self, NotJson, not_json};
use crate::sse::SseEvent;
use crate::usage::UsageReader;
use crate::{StopReason, StreamEvent, ToolUse, surrogates};

use super::web::{self, ExactReader};

/// Decoder state of one streamed answer.
#[derive(Debug, Default)]
pub(crate) struct StreamReader {
    calls: Calls,
    /// The last call, if its item is done without complete arguments. It may have none, or
    /// the token limit may have cut it; only the end of the answer shows which.
    held: Option<ToolUse>,
    thinking: Thinking,
    /// Text arrived in deltas, so an item's full text is a repetition.
    streams_text: bool,
    /// Output and content index of the last part, if it is text.
    text_part: Option<(Option<u64>, Option<u64>)>,
    /// A message was seen whole, so that of the whole answer at the end is a repetition.
    has_message: bool,
    /// Reasoning was seen, so that of the whole answer at the end is a repetition.
    has_reasoning: bool,
    /// IDs of the calls that are done; those of the whole answer at the end repeat them.
    done: HashSet<String>,
    usage: UsageReader,
    called: bool,
    /// The model refused in its text; the end of the answer does not report it.
    refused: bool,
    bytes_held: usize,
    /// The answer in the API's own form.
    exact: ExactReader,
}

/// State of streamed thinking.
#[derive(Debug, Default)]
struct Thinking {
    /// Thinking was returned and not closed.
    open: bool,
    /// Thinking arrived in deltas, so an item's full text is a repetition.
    streamed: bool,
    /// Kind of the text that is shown if a server sends both.
    kind: String,
    /// Index of the last paragraph.
    part: Option<u64>,
}

impl StreamReader {
    /// Reads one event.
    pub(crate) fn accept(
        &mut self,
        event: &SseEvent,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), NotJson> {
        let Ok(json) = serde_json::from_str::<Value<'_>>(&event.text) else {
            let error = not_json(event)?;
            if error.is_some() {
                self.abandon(events);
            }
            events.extend(error);
            // Gateways end with Chat Completions' mark, some of them with nothing else.
            if event.text.trim() == "[DONE]" && self.has_content() {
                self.stop(&Value::Null, "", events);
            }
            return Ok(());
        };
        self.dispatch(&json, event, events);
        self.usage.read(&json, events);
        if self.bytes_held > MAX_HELD_BYTES {
            self.abandon(events);
            events.push(StreamEvent::Error(failure::too_large()));
        }
        Ok(())
    }

    fn dispatch(&mut self, json: &Value<'_>, event: &SseEvent, events: &mut Vec<StreamEvent>) {
        let kind = json.get("type").as_str().unwrap_or(&event.name);
        match kind.strip_prefix("response.").unwrap_or(kind) {
            "output_text.delta" | "text.delta" => self.say(json, events),
            "refusal.delta" => {
                self.refused = true;
                self.say(json, events);
            }
            part if part.starts_with("reasoning") && part.ends_with(".delta") => {
                self.think(part, json, events);
            }
            "output_item.added" => self.begin_item(json, event.text.len(), events),
            "function_call_arguments.delta" => {
                let more = json.get("delta").as_str().unwrap_or_default();
                self.bytes_held += more.len();
                self.calls.extend(json, more);
            }
            "function_call_arguments.done" => {
                if let Some(whole) = json.get("arguments").as_str() {
                    self.calls.complete(json, whole);
                }
            }
            "output_item.done" => self.end_item(json, event.text.len(), events),
            "completed" | "done" | "incomplete" => self.stop(json.get("response"), kind, events),
            "failed" | "cancelled" | "canceled" => self.fail(json.get("response"), events),
            "error" => self.fail(json, events),
            // Gateways send errors without a type.
            _ if !json.get("error").is_null() => self.fail(json, events),
            _ => {}
        }
    }

    /// Bytes buffered until they are complete.
    pub(crate) fn bytes_held(&self) -> usize {
        self.bytes_held
    }

    /// Closes open items because the answer failed.
    ///
    /// A call counts only if its item is done and its arguments are complete.
    pub(crate) fn abandon(&mut self, events: &mut Vec<StreamEvent>) {
        self.close_thinking(None, events);
        self.held = None;
    }

    /// Returns true if the answer has content, and no call is being written.
    fn has_content(&self) -> bool {
        let has_call = self.held.is_some() || !self.done.is_empty();
        (self.streams_text || self.has_message || has_call) && self.calls.is_empty()
    }

    fn say(&mut self, json: &Value<'_>, events: &mut Vec<StreamEvent>) {
        let text = content::plain(json.get("delta"));
        if !text.is_empty() {
            self.release_held(events);
            self.close_thinking(None, events);
            let index = |name: &str| json.get(name).as_u64();
            let part = (index("output_index"), index("content_index"));
            if self.text_part.replace(part).is_some_and(|it| it != part) {
                events.push(StreamEvent::TextEnd);
            }
            self.streams_text = true;
            events.push(StreamEvent::Text(text));
        }
    }

    fn think(&mut self, kind: &str, json: &Value<'_>, events: &mut Vec<StreamEvent>) {
        let text = content::plain(json.get("delta"));
        if text.is_empty() {
            return;
        }
        self.release_held(events);
        self.text_part = None;
        let thinking = &mut self.thinking;
        // Some servers send both the summary and the full text; show only the first kind.
        if thinking.open && thinking.kind != kind {
            return;
        }
        let part = json
            .get("summary_index")
            .as_u64()
            .or(json.get("content_index").as_u64());
        let is_next = thinking.open && part.is_some() && thinking.part != part;
        kind.clone_into(&mut thinking.kind);
        thinking.part = part;
        thinking.open = true;
        thinking.streamed = true;
        // Each part is a paragraph.
        events.push(StreamEvent::Thinking(if is_next {
            format!("\n\n{text}")
        } else {
            text
        }));
    }

    fn begin_item(&mut self, json: &Value<'_>, bytes: usize, events: &mut Vec<StreamEvent>) {
        self.release_held(events);
        if json.get("item").get("type").as_str() == Some(web::CALL) {
            self.close_thinking(None, events);
            self.text_part = None;
            events.push(StreamEvent::ServerToolStart {
                name: "web_search".to_owned(),
                asked: web::asked(&json.get("item").get("action").into()),
            });
            return;
        }
        // The deltas of other items show them.
        if json.get("item").get("type").as_str() != Some("function_call") {
            return;
        }
        self.close_thinking(None, events);
        self.bytes_held += bytes;
        let name = self.calls.begin(json).name.clone();
        events.push(StreamEvent::ToolUseStart { name });
    }

    fn end_item(&mut self, json: &Value<'_>, bytes: usize, events: &mut Vec<StreamEvent>) {
        self.release_held(events);
        self.bytes_held += bytes;
        let item = json.get("item");
        match item.get("type").as_str().unwrap_or_default() {
            "function_call" => self.end_call(json, events),
            "reasoning" => self.end_reasoning(item, events),
            // A server that streams no deltas sends the text with the finished item only.
            "message" if !self.streams_text => {
                self.has_message = true;
                self.say_whole(item, events);
            }
            web::CALL => {
                self.close_thinking(None, events);
                self.text_part = None;
            }
            "message" | "" => {}
            kind => events.push(failure::skipped(kind)),
        }
        self.exact.take(&item.into(), events);
    }

    fn end_call(&mut self, json: &Value<'_>, events: &mut Vec<StreamEvent>) {
        self.close_thinking(None, events);
        self.text_part = None;
        let (call, had_begun) = self.calls.end(json);
        self.done.insert(call.id.clone());
        if !had_begun {
            let name = call.name.clone();
            events.push(StreamEvent::ToolUseStart { name });
        }
        // A call that the token limit cut is also done, but has this status.
        if json.get("item").get("status").as_str() != Some("incomplete") {
            let is_whole = whole_object(&call.input).is_some();
            self.held = Some(call);
            if is_whole {
                self.release_held(events);
            }
        }
    }

    fn end_reasoning(&mut self, item: &Value<'_>, events: &mut Vec<StreamEvent>) {
        self.has_reasoning = true;
        let text = reasoning_text(&item.into());
        // Thinking that was not streamed is in the finished item only.
        if !self.thinking.streamed && !text.is_empty() {
            self.thinking.open = true;
            events.push(StreamEvent::Thinking(text));
        }
        self.close_thinking(reasoning_signature(&item.into()), events);
    }

    /// Returns a whole part of a message.
    fn say_part(&mut self, text: String, events: &mut Vec<StreamEvent>) {
        self.close_thinking(None, events);
        if self.text_part.replace((None, None)).is_some() {
            events.push(StreamEvent::TextEnd);
        }
        events.push(StreamEvent::Text(text));
    }

    /// Returns the text of a message sent without deltas.
    fn say_whole(&mut self, item: &Value<'_>, events: &mut Vec<StreamEvent>) {
        for part in content::parts(item.get("content")) {
            match part {
                ContentPart::Text(text) => self.say_part(text, events),
                ContentPart::Refusal(text) => {
                    self.refused = true;
                    self.say_part(text, events);
                }
                ContentPart::Thinking(text) => {
                    self.thinking.open = true;
                    events.push(StreamEvent::Thinking(text));
                }
                // This protocol has items for calls.
                ContentPart::Call(_) => events.push(failure::skipped("call in a message")),
                ContentPart::Unknown(kind) => events.push(failure::skipped(&kind)),
            }
        }
    }

    /// Returns the items of the final response of which no events arrived: some servers send
    /// nothing else, others leave out some.
    fn add_missing(&mut self, response: &Value<'_>, events: &mut Vec<StreamEvent>) {
        let has_message = self.streams_text || self.has_message;
        let has_reasoning = self.has_reasoning || has_message;
        for item in response.get("output").as_array().into_iter().flatten() {
            let is_repeated = match item.get("type").as_str().unwrap_or_default() {
                "function_call" => {
                    let id = item.get("call_id").as_str().unwrap_or_default();
                    self.done.contains(id) || self.calls.has(id)
                }
                "reasoning" => has_reasoning,
                "message" => has_message,
                _ => false,
            };
            if !is_repeated {
                let alone = Value::Object(vec![("item", item.clone())].into());
                // The response was one line, whose size is limited already.
                self.end_item(&alone, 0, events);
            }
        }
    }

    fn stop(&mut self, response: &Value<'_>, kind: &str, events: &mut Vec<StreamEvent>) {
        self.add_missing(response, events);
        self.close_thinking(None, events);
        let cut = cut(response, kind);
        // An incomplete answer may have cut the last call's arguments.
        if cut.is_some() {
            self.held
                .take_if(|call| whole_object(&call.input).is_none());
        }
        self.release_held(events);
        if cut.is_none() {
            self.exact.finish(events);
        }
        events.push(StreamEvent::Stop(match cut.as_deref() {
            Some(cut) => match meaning(cut) {
                Some(Meaning::TokenLimit) => StopReason::MaxTokens,
                Some(Meaning::ContextFull) => StopReason::ContextFull,
                Some(Meaning::Refused) => StopReason::Refusal,
                // The status says that the answer is incomplete, whatever the reason says.
                Some(Meaning::Complete) | None => StopReason::Other(cut.to_owned()),
            },
            None if self.called => StopReason::ToolUse,
            None if self.refused => StopReason::Refusal,
            None => StopReason::EndTurn,
        }));
    }

    fn fail(&mut self, failed: &Value<'_>, events: &mut Vec<StreamEvent>) {
        self.abandon(events);
        let code = failed
            .get("error")
            .get("code")
            .as_str()
            .or(failed.get("code").as_str());
        let message = error_message(&failed.into())
            .or(code.map(str::to_owned))
            .unwrap_or_else(|| "without a message".to_owned());
        events.push(StreamEvent::Error(failure::reported(&message)));
    }

    fn release_held(&mut self, events: &mut Vec<StreamEvent>) {
        if let Some(call) = self.held.take() {
            self.called = true;
            events.push(StreamEvent::ToolUse(call));
        }
    }

    fn close_thinking(&mut self, signature: Option<String>, events: &mut Vec<StreamEvent>) {
        // The next reasoning item counts its parts from 0 again.
        self.thinking.part = None;
        if mem::take(&mut self.thinking.open) || signature.is_some() {
            events.push(StreamEvent::ThinkingEnd { signature });
        }
    }
}

/// Returns why an answer is incomplete, in the provider's terms.
fn cut(response: &Value<'_>, kind: &str) -> Option<String> {
    let reason = word(response.get("incomplete_details").get("reason"));
    let status = word(response.get("status")).unwrap_or_default();
    let by_status = match status.as_str() {
        // Nearly always the token limit is the reason if none is given.
        "incomplete" => Some("max_output_tokens".to_owned()),
        _ if kind.ends_with("incomplete") => Some("max_output_tokens".to_owned()),
        // Some servers repeat the status of the first event.
        "completed" | "in_progress" | "queued" | "" => None,
        other => Some(other.to_owned()),
    };
    reason.or(by_status)
}

/// The calls that have begun but are not done, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    begun: Vec<Begun>,
}

#[derive(Debug)]
struct Begun {
    index: Option<u64>,
    item_id: String,
    call: ToolUse,
}

impl Calls {
    /// Returns true if no call is being written.
    pub(crate) fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// Returns true if a call with this ID is being written.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.begun.iter().any(|begun| begun.call.id == id)
    }

    /// Starts the call of an `output_item.added` event.
    pub(crate) fn begin(&mut self, event: &Value<'_>) -> &ToolUse {
        let item = event.get("item");
        self.begun.push(Begun {
            index: event.get("output_index").as_u64(),
            item_id: text_of(item.get("id")),
            call: ToolUse {
                id: text_of(item.get("call_id")),
                name: text_of(item.get("name")),
                input: arguments_of(item),
            },
        });
        &self.begun[self.begun.len() - 1].call
    }

    /// Appends arguments to the call of an event. Without a match, that is the last one.
    pub(crate) fn extend(&mut self, event: &Value<'_>, more: &str) {
        let at = self.place(event, event.get("item_id").as_str());
        if let Some(begun) = at.or(self.begun.len().checked_sub(1)) {
            self.begun[begun].call.input.push_str(more);
        }
    }

    /// Sets the complete arguments of the call of an event.
    pub(crate) fn complete(&mut self, event: &Value<'_>, arguments: &str) {
        let at = self.place(event, event.get("item_id").as_str());
        if let Some(begun) = at.or(self.begun.len().checked_sub(1)) {
            arguments.clone_into(&mut self.begun[begun].call.input);
        }
    }

    /// Returns the call of an `output_item.done` event, and whether it had begun before.
    pub(crate) fn end(&mut self, event: &Value<'_>) -> (ToolUse, bool) {
        let item = event.get("item");
        let at = self
            .place(event, item.get("id").as_str())
            .or_else(|| self.named(item.get("call_id").as_str()?));
        let begun = at.map(|at| self.begun.remove(at).call);
        let had_begun = begun.is_some();
        let mut call = begun.unwrap_or_else(|| ToolUse {
            id: String::new(),
            name: String::new(),
            input: String::new(),
        });
        // The final item is authoritative, but some servers omit fields of it.
        for (field, said) in [
            (&mut call.id, text_of(item.get("call_id"))),
            (&mut call.name, text_of(item.get("name"))),
            (&mut call.input, arguments_of(item)),
        ] {
            if !said.is_empty() {
                *field = said;
            }
        }
        (call, had_begun)
    }

    /// Returns the position of the call that an event belongs to: by the item's ID, because
    /// some servers give all items the same index, and then by the index.
    fn place(&self, event: &Value<'_>, item_id: Option<&str>) -> Option<usize> {
        let index = event.get("output_index").as_u64();
        let has_index = |begun: &Begun| index.is_some() && begun.index == index;
        let by_index = || self.begun.iter().rposition(has_index);
        item_id.and_then(|id| self.named(id)).or_else(by_index)
    }

    fn named(&self, id: &str) -> Option<usize> {
        let is = |begun: &Begun| {
            let call = begun.call.id.as_str();
            // Some servers make the item's ID from the call's with this prefix.
            begun.item_id == id || call == id || id.strip_prefix("fc_") == Some(call)
        };
        (!id.is_empty())
            .then(|| self.begun.iter().rposition(is))
            .flatten()
    }
}

fn text_of(value: &Value<'_>) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the arguments of an item as text. Some servers send the object itself.
fn arguments_of(item: &Value<'_>) -> String {
    match item.get("arguments") {
        whole @ Value::Object(_) => whole.to_string(),
        text => text_of(text),
    }
}

/// Fields that are sent back, in this order.
const FIELDS: [&str; 5] = ["type", "id", "summary", "content", "encrypted_content"];

/// Returns the signature of an item from a stream.
pub(crate) fn reasoning_signature(item: &Json) -> Option<String> {
    let item = returnable(item)?;
    let json = Json::Object(item).to_string();
    Some(STANDARD.encode(surrogates::mend(&json).as_bytes()))
}

/// Returns the item of a signature.
pub(crate) fn reasoning_item(signature: &str) -> Option<Map<String, Json>> {
    let json = STANDARD.decode(signature.trim()).ok()?;
    returnable(&serde_json::from_slice(&json).ok()?)
}

/// Returns the visible thinking of an item that came without deltas.
pub(crate) fn reasoning_text(item: &Json) -> String {
    let parts = |name: &str| item[name].as_array().cloned().unwrap_or_default();
    let shown = |parts: Vec<Json>| -> Vec<String> {
        let texts = parts.iter().filter_map(|part| part["text"].as_str());
        texts.map(str::to_owned).collect()
    };
    let summary = shown(parts("summary"));
    let texts = if summary.is_empty() {
        shown(parts("content"))
    } else {
        summary
    };
    texts.join("\n\n")
}

/// Returns an item of reasoning as the API takes it; `None` if it does not.
pub(super) fn returnable(item: &Json) -> Option<Map<String, Json>> {
    let is_text = |name: &str| item[name].as_str().is_some_and(|text| !text.is_empty());
    if item["type"] != "reasoning" || !is_text("id") || !is_text("encrypted_content") {
        return None;
    }
    let mut kept = Map::new();
    for name in FIELDS {
        match (name, &item[name]) {
            ("summary", Json::Array(parts)) => {
                drop(kept.insert(name.to_owned(), parts.clone().into()))
            }
            // The API requires a summary, even an empty one.
            ("summary", _) => drop(kept.insert(name.to_owned(), Json::Array(Vec::new()))),
            ("content", Json::Array(parts)) if !parts.is_empty() => {
                kept.insert(name.to_owned(), parts.clone().into());
            }
            ("content", _) => {}
            (_, value) => drop(kept.insert(name.to_owned(), value.clone())),
        }
    }
    Some(kept)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_item_is_restored_except_for_its_stream_fields() {
        let shown = json!({
            "id": "rs_1", "type": "reasoning", "status": "completed", "content": [],
            "encrypted_content": "gAAA=", "summary": [{"type": "summary_text", "text": "Hm."}],
        });

        let kept = reasoning_item(&reasoning_signature(&shown).unwrap()).unwrap();

        assert_eq!(
            Json::Object(kept).to_string(),
            r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"gAAA="}"#
        );
        assert_eq!(reasoning_text(&shown), "Hm.");
    }

    #[test]
    fn unreturnable_items_have_no_signature() {
        assert_eq!(
            reasoning_signature(&json!({"type": "reasoning", "id": "rs_1"})),
            None
        );
        assert_eq!(reasoning_item("EqQB"), None);
        assert_eq!(reasoning_item("ä"), None);
        let message = STANDARD.encode(r#"{"type":"message","id":"m","encrypted_content":"x"}"#);
        assert_eq!(reasoning_item(&message), None);
    }
}
