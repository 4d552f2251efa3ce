//! Decoder for the event stream of `POST /chat/completions`.
//!
//! Lenient: a field that is missing or of another type counts as absent.
//!
//! Calls are assembled from fragments, on which servers disagree: some repeat the name in each,
//! some omit the ID or the index, Ollama gives every complete call the index 0, and others one
//! ID to several calls.

use std::mem;

use serde_json_borrow::Value;

use super::details::{self, Detail};
use crate::content::{self, ContentPart};
use crate::content::{MAX_HELD_BYTES, whole_object};
use crate::event::{Meaning, meaning, word};
use crate::failure::{self, NotJson};
use crate::providers::Returns;
use crate::sse::SseEvent;
use crate::usage::UsageReader;
use crate::{StopReason, StreamEvent, ToolUse};

/// Fields with thinking: DeepSeek and llama.cpp use the first, OpenRouter and vLLM the
/// second. Some servers send two with the same text.
const THINKING: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

/// Decoder state of one streamed answer.
#[derive(Debug, Default)]
pub(crate) struct StreamReader {
    /// True if thinking was returned and not closed yet.
    thinks: bool,
    /// The form in which thinking is sent back; only then is it marked with a signature.
    returns: Returns,
    /// Details that were not written into a signature yet.
    details: Vec<Detail>,
    /// Bytes of all details.
    bytes_thought: usize,
    calls: Calls,
    usage: UsageReader,
    /// Text arrived, so that of a whole message is a repetition.
    streams_text: bool,
    /// The model refused in its text; the finish reason does not report it.
    refused: bool,
    /// Why the answer is complete. Usage still follows it, then `[DONE]`.
    stop: Option<StopReason>,
}

impl StreamReader {
    /// Creates a reader for a provider that wants its thinking returned in this way.
    pub(crate) fn of(returns: Returns) -> Self {
        Self {
            returns,
            ..Self::default()
        }
    }

    /// Reads one event.
    pub(crate) fn accept(
        &mut self,
        event: &SseEvent,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), NotJson> {
        let Ok(json) = serde_json::from_str::<Value<'_>>(&event.text) else {
            return self.accept_foreign(event, events);
        };
        let choice = json.get("choices").get(0);
        if let Some(failed) = failure_in(&json, choice, &event.name) {
            self.fail(failed, events);
            return Ok(());
        }
        self.accept_delta(choice, events);
        if let Some(reason) = word(choice.get("finish_reason")) {
            self.complete(&reason, events);
        }
        // With `include_usage`, the usage comes last, in an event without choices.
        self.usage.read(&json, events);
        if self.calls.bytes_held + self.bytes_thought > MAX_HELD_BYTES {
            // Dropped first, because `abandon` would return calls that are complete.
            self.calls = Calls::default();
            self.abandon(events);
            events.push(StreamEvent::Error(failure::too_large()));
        }
        Ok(())
    }

    /// Bytes buffered until they are complete.
    pub(crate) fn bytes_held(&self) -> usize {
        self.calls.bytes_held + self.bytes_thought
    }

    /// Closes open thinking and calls because the answer failed.
    pub(crate) fn abandon(&mut self, events: &mut Vec<StreamEvent>) {
        // Incomplete details are not a valid signature.
        self.details.clear();
        self.close_thinking(events);
        events.extend(self.calls.take_whole());
    }

    /// Ends the answer if its finish reason has arrived, because `[DONE]` is often missing.
    pub(crate) fn end(&mut self, events: &mut Vec<StreamEvent>) {
        if let Some(stop) = self.stop.take() {
            // Some servers send the rest of the thinking after the finish reason.
            self.close_thinking(events);
            events.push(StreamEvent::Stop(stop));
        }
    }

    fn accept_foreign(
        &mut self,
        event: &SseEvent,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), NotJson> {
        match event.text.trim() {
            "" => {}
            "[DONE]" => {
                // `[DONE]` without a finish reason still ends a complete answer.
                if self.stop.is_none() && self.calls.are_whole() {
                    self.complete("stop", events);
                }
                self.end(events);
            }
            text if event.name == "error" => {
                self.abandon(events);
                events.push(StreamEvent::Error(failure::reported(text)));
            }
            _ => return Err(NotJson),
        }
        Ok(())
    }

    fn accept_delta(&mut self, choice: &Value<'_>, events: &mut Vec<StreamEvent>) {
        let [delta, message] = ["delta", "message"].map(|name| choice.get(name));
        // Some servers send the last event as if it were a whole answer.
        let is_whole = !delta.is_object() && message.is_object();
        let delta = if is_whole { message } else { delta };
        // Then its text repeats that of the deltas.
        if !is_whole || !self.streams_text {
            self.think(delta, events);
            for part in content::parts(delta.get("content")) {
                self.accept_part(part, events);
            }
        }
        // The field of older completions, which some servers still fill.
        let old = choice.get("text").as_str().filter(|text| !text.is_empty());
        if let Some(text) = old.filter(|_| delta.is_null()) {
            self.accept_part(ContentPart::Text(text.to_owned()), events);
        }
        let refusal = content::plain(delta.get("refusal"));
        if !refusal.is_empty() {
            self.accept_part(ContentPart::Refusal(refusal), events);
        }
        let fragments = delta.get("tool_calls");
        let alone = [fragments, delta.get("function_call")];
        let alone = alone.into_iter().filter(|it| it.is_object());
        for fragment in fragments.as_array().into_iter().flatten().chain(alone) {
            self.close_thinking(events);
            self.calls.add(fragment, events);
        }
    }

    fn accept_part(&mut self, part: ContentPart<'_>, events: &mut Vec<StreamEvent>) {
        match part {
            ContentPart::Thinking(text) => {
                self.thinks = true;
                events.push(StreamEvent::Thinking(text));
            }
            ContentPart::Unknown(kind) => events.push(failure::skipped(&kind)),
            ContentPart::Text(text) => {
                self.close_thinking(events);
                self.streams_text = true;
                events.push(StreamEvent::Text(text));
            }
            ContentPart::Refusal(text) => {
                self.close_thinking(events);
                self.refused = true;
                events.push(StreamEvent::Text(text));
            }
            ContentPart::Call(call) => {
                self.close_thinking(events);
                self.calls.add(call, events);
            }
        }
    }

    fn think(&mut self, delta: &Value<'_>, events: &mut Vec<StreamEvent>) {
        let details: Vec<serde_json::Value> = delta
            .get("reasoning_details")
            .as_array()
            .into_iter()
            .flatten()
            .map(Into::into)
            .collect();
        let fields = THINKING.iter().map(|name| content::plain(delta.get(*name)));
        let thought = fields
            .chain(std::iter::once_with(|| {
                details.iter().filter_map(details::text).collect()
            }))
            .find(|text| !text.is_empty());
        // Other servers do not accept the details back, so they need not be kept.
        if self.returns == Returns::Details {
            for piece in &details {
                self.bytes_thought += details::bytes(piece);
                details::add(&mut self.details, piece);
            }
        }
        if let Some(text) = thought {
            self.thinks = true;
            events.push(StreamEvent::Thinking(text));
        }
    }

    /// Returns the calls and stores the reason until the stream ends.
    fn complete(&mut self, reason: &str, events: &mut Vec<StreamEvent>) {
        self.close_thinking(events);
        let has_calls = !self.calls.is_empty();
        let meaning = meaning(reason);
        let calls = match meaning {
            // The token limit may have cut the last call.
            Some(Meaning::TokenLimit | Meaning::ContextFull) => self.calls.take_all_but_last(),
            Some(Meaning::Complete | Meaning::Refused) | None => self.calls.take_all(),
        };
        events.extend(calls);
        let stop = match meaning {
            // Some servers also send "stop" after calls.
            Some(Meaning::Complete) if has_calls => StopReason::ToolUse,
            Some(Meaning::Complete) if self.refused => StopReason::Refusal,
            Some(Meaning::Complete) => StopReason::EndTurn,
            Some(Meaning::TokenLimit) => StopReason::MaxTokens,
            Some(Meaning::ContextFull) => StopReason::ContextFull,
            Some(Meaning::Refused) => StopReason::Refusal,
            None => StopReason::Other(reason.to_owned()),
        };
        // Some servers repeat the reason. A bad one takes precedence, then one that ended
        // calls.
        let is_bad = |stop: &StopReason| !matches!(stop, StopReason::ToolUse | StopReason::EndTurn);
        let replaces = match &self.stop {
            None => true,
            Some(before) => !is_bad(before) && (is_bad(&stop) || has_calls),
        };
        if replaces {
            self.stop = Some(stop);
        }
    }

    fn fail(&mut self, failed: &Value<'_>, events: &mut Vec<StreamEvent>) {
        self.abandon(events);
        events.push(StreamEvent::Error(failure::reported_in(failed)));
    }

    fn close_thinking(&mut self, events: &mut Vec<StreamEvent>) {
        let thinks = mem::take(&mut self.thinks);
        let signature = match self.returns {
            Returns::Never => None,
            // These servers sign nothing. An empty signature marks the thinking as theirs, so
            // that it is sent back to them only.
            Returns::Text => thinks.then(String::new),
            Returns::Details => details::signature(mem::take(&mut self.details)),
        };
        if thinks || signature.is_some() {
            events.push(StreamEvent::ThinkingEnd { signature });
        }
    }
}

/// Returns the object that reports an error, if any.
fn failure_in<'a>(json: &'a Value<'a>, choice: &'a Value<'a>, name: &str) -> Option<&'a Value<'a>> {
    let reports = |value: &Value<'_>| !value.get("error").is_null();
    if reports(json) || name == "error" || json.get("object").as_str() == Some("error") {
        return Some(json);
    }
    // OpenRouter reports an upstream's failure inside the choice.
    reports(choice).then_some(choice)
}

/// The calls of an answer so far, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    begun: Vec<Begun>,
    /// Bytes of names, IDs, and arguments so far.
    pub bytes_held: usize,
}

#[derive(Debug)]
struct Begun {
    index: u64,
    call: ToolUse,
}

impl Calls {
    /// Returns true if no call has begun.
    pub(crate) fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// Adds one element of `delta.tool_calls`, or a call that is a part of the content.
    pub(crate) fn add(&mut self, fragment: &Value<'_>, events: &mut Vec<StreamEvent>) {
        let function = fragment.get("function");
        let function = if function.is_object() {
            function
        } else {
            fragment
        };
        let id = first(fragment, ["id", "call_id"])
            .as_str()
            .unwrap_or_default();
        let name = function.get("name").as_str().unwrap_or_default();
        let arguments = arguments_text(first(function, ["arguments", "input"]));
        self.bytes_held += id.len() + name.len() + arguments.len();
        let continued = self.continued(fragment.get("index").as_u64(), id, name);
        let has_second = |at: &usize| has_second_object(&self.begun[*at].call.input, &arguments);
        let again = continued.filter(has_second);
        let at = match (continued, again) {
            // A placeholder, which the arguments themselves replace.
            (Some(at), Some(_)) if is_placeholder(&self.begun[at].call.input, id, name) => {
                self.begun[at].call.input.clear();
                at
            }
            (Some(at), None) => at,
            (None, _) | (_, Some(_)) => self.begin(fragment.get("index").as_u64()),
        };
        // Fragments of a second call with the same ID may leave out its name.
        let first = again.filter(|again| *again != at);
        let first = first.map(|at| self.begun[at].call.clone());
        let call = &mut self.begun[at].call;
        // Only the first fragment has them, or all fragments repeat them.
        fill(&mut call.id, id, first.as_ref().map(|it| &it.id));
        if fill(&mut call.name, name, first.as_ref().map(|it| &it.name)) {
            let name = call.name.clone();
            events.push(StreamEvent::ToolUseStart { name });
        }
        call.input.push_str(&arguments);
    }

    fn begin(&mut self, index: Option<u64>) -> usize {
        // `take_all` sorts by index; without one, the order of arrival counts.
        let index = index.unwrap_or(self.begun.len() as u64);
        let call = ToolUse {
            id: String::new(),
            name: String::new(),
            input: String::new(),
        };
        self.begun.push(Begun { index, call });
        self.begun.len() - 1
    }

    /// Returns the position of the call that a fragment continues; `None` if it begins one.
    fn continued(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let has_id = |begun: &Begun| !id.is_empty() && begun.call.id == id;
        let at = match index {
            // The last one with this index: a complete call may be followed by another with
            // it.
            Some(index) => {
                let has_index = |begun: &Begun| begun.index == index;
                let both = |begun: &Begun| has_index(begun) && has_id(begun);
                let mut all = self.begun.iter();
                let both = all.clone().rposition(both);
                both.or_else(|| all.rposition(has_index))?
            }
            None if id.is_empty() => self.begun.len().checked_sub(1)?,
            None => self.begun.iter().rposition(has_id)?,
        };
        let call = &self.begun[at].call;
        let has_other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
        let has_other_name = !name.is_empty() && !call.name.is_empty() && call.name != name;
        (!has_other_id && !has_other_name).then_some(at)
    }

    /// Returns all calls, because the answer is complete.
    pub(crate) fn take_all(&mut self) -> Vec<StreamEvent> {
        // The sort must be stable, because all of Ollama's calls have the index 0.
        self.begun.sort_by_key(|begun| begun.index);
        self.begun
            .drain(..)
            .map(|begun| StreamEvent::ToolUse(begun.call))
            .collect()
    }

    /// Returns all calls but the last one, which the token limit may have cut.
    pub(crate) fn take_all_but_last(&mut self) -> Vec<StreamEvent> {
        self.begun.pop();
        self.take_all()
    }

    /// Returns the calls that were followed by another and have complete arguments, because
    /// the answer failed.
    pub(crate) fn take_whole(&mut self) -> Vec<StreamEvent> {
        self.begun.pop();
        self.begun
            .retain(|begun| whole_object(&begun.call.input).is_some());
        self.take_all()
    }

    /// Returns true if the arguments of every call are complete or absent.
    pub(crate) fn are_whole(&self) -> bool {
        let is_whole = |input: &str| input.trim().is_empty() || whole_object(input).is_some();
        self.begun.iter().all(|begun| is_whole(&begun.call.input))
    }
}

/// Sets a field that is still empty, to `said` or else to that of an earlier call. Returns
/// true if it set it.
fn fill(field: &mut String, said: &str, earlier: Option<&String>) -> bool {
    let said = match said {
        "" => earlier.map_or("", String::as_str),
        said => said,
    };
    let is_new = field.is_empty() && !said.is_empty();
    if is_new {
        said.clone_into(field);
    }
    is_new
}

/// Returns true if the arguments so far are complete and `more` begins others, which are
/// therefore those of a second call.
fn has_second_object(arguments: &str, more: &str) -> bool {
    more.trim_start().starts_with('{') && whole_object(arguments).is_some()
}

/// Returns true if `arguments` may be an empty object that a server sends before the real
/// arguments, and the next fragment continues the same call.
fn is_placeholder(arguments: &str, id: &str, name: &str) -> bool {
    arguments.trim() == content::NONE && id.is_empty() && name.is_empty()
}

/// Returns the first of two fields that is present.
fn first<'a>(value: &'a Value<'a>, names: [&'static str; 2]) -> &'a Value<'a> {
    let [first, second] = names.map(|name| value.get(name));
    if first.is_null() { second } else { first }
}

/// Returns the arguments as text. They are a string, but some servers send the object
/// itself.
fn arguments_text(arguments: &Value<'_>) -> String {
    match arguments {
        Value::Str(text) => text.to_string(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
