//! Decoder for the event stream of `streamGenerateContent?alt=sse`.
//!
//! Lenient: a field that is missing or of another type counts as absent, and unknown parts
//! are skipped with a remark.

use chat::Problem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json_borrow::Value;

use crate::content::MAX_HELD_BYTES;
use crate::error_body::message_excerpt;
use crate::event::{Meaning, meaning, word};
use crate::failure::{self, NotJson};
use crate::sse::SseEvent;
use crate::usage::UsageReader;
use crate::{StopReason, StreamEvent, ToolUse};

use super::web::ExactReader;

/// Fields that say something about a part, but are not its content.
const ABOUT: [&str; 7] = [
    "text",
    "thought",
    "thoughtSignature",
    "thought_signature",
    "functionCall",
    "function_call",
    "partMetadata",
];

/// Decoder state of one streamed answer.
#[derive(Debug, Default)]
pub(crate) struct StreamReader {
    /// Kind of the last event returned.
    last: Last,
    called: bool,
    usage: UsageReader,
    /// Why the answer is complete. Usage may follow.
    stop: Option<StopReason>,
    /// The answer in the API's own form.
    exact: ExactReader,
    /// Bytes of events with parts so far.
    bytes_held: usize,
}

/// Kind of the last event returned, as far as signatures are concerned.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Nothing, or a call: a signature belongs to the next part.
    #[default]
    Whole,
    /// Thinking that is not closed yet.
    Thinking,
    /// Text that may continue.
    Text,
    /// A signature that does not belong to the next part.
    OwnSignature,
}

/// The raw arguments of an event's calls.
#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow)]
    candidates: Vec<RawCandidate<'a>>,
}

#[derive(Deserialize)]
struct RawCandidate<'a> {
    #[serde(borrow)]
    content: RawContent<'a>,
}

#[derive(Deserialize)]
struct RawContent<'a> {
    #[serde(borrow)]
    parts: Vec<RawPart<'a>>,
}

#[derive(Deserialize)]
struct RawPart<'a> {
    #[serde(borrow, rename = "functionCall", alias = "function_call")]
    call: Option<RawCall<'a>>,
}

#[derive(Deserialize)]
struct RawCall<'a> {
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

impl StreamReader {
    /// Reads one event.
    pub(crate) fn accept(
        &mut self,
        event: &SseEvent,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), NotJson> {
        let text = event.text.trim();
        // Gateways add Chat Completions' end mark, and blank events keep alive.
        if matches!(text, "" | "[DONE]") {
            return Ok(());
        }
        let json: Value<'_> = serde_json::from_str(text).map_err(|_| NotJson)?;
        // Google sends some errors as an array of one object.
        let failed = if json.is_array() { json.get(0) } else { &json };
        if !failed.get("error").is_null() {
            self.fail(failure::reported_in(failed), events);
            return Ok(());
        }
        // Google's gateway for coding assistants wraps each event.
        let wrapped = json.get("response");
        let json = if wrapped.is_object() { wrapped } else { &json };
        let candidate = json.get("candidates").get(0);
        let parts = candidate.get("content").get("parts").as_array();
        let calls = |part: &Value<'_>| call_of(part).is_object();
        // Only calls need their arguments' exact bytes, so parse most events once.
        let raw = parts.filter(|parts| parts.iter().any(calls));
        let raw = raw.and_then(|_| serde_json::from_str::<Raw<'_>>(text).ok());
        for (at, part) in parts.into_iter().flatten().enumerate() {
            self.part(part, arguments(raw.as_ref(), at, part), events);
        }
        self.bytes_held += parts.map_or(0, |_| text.len());
        self.exact.read(candidate);
        self.usage.read(json, events);
        if let Some(reason) = json.get("promptFeedback").get("blockReason").as_str() {
            self.fail(blocked_prompt(reason), events);
        } else if let Some(reason) = word(candidate.get("finishReason")) {
            self.finish(&reason, candidate.get("finishMessage").as_str(), events);
        }
        if self.bytes_held > MAX_HELD_BYTES {
            self.fail(failure::too_large(), events);
        }
        Ok(())
    }

    /// Closes open thinking because the answer failed.
    pub(crate) fn abandon(&mut self, events: &mut Vec<StreamEvent>) {
        if self.last == Last::Thinking {
            self.close(None, events);
        }
    }

    /// Ends the answer if its finish reason has arrived.
    pub(crate) fn end(&mut self, events: &mut Vec<StreamEvent>) {
        if let Some(stop) = self.stop.take() {
            self.abandon(events);
            // An answer that is cut off goes back as text.
            if matches!(stop, StopReason::EndTurn | StopReason::ToolUse) {
                self.exact.finish(events);
            }
            events.push(StreamEvent::Stop(stop));
        }
    }

    fn part(&mut self, part: &Value<'_>, arguments: Option<String>, events: &mut Vec<StreamEvent>) {
        // An empty signature must not replace another.
        let signature = ["thoughtSignature", "thought_signature"].map(|name| part.get(name));
        let signature = signature.iter().find_map(|it| it.as_str());
        let signature = signature.filter(|signature| !signature.is_empty());
        let is_call = arguments.is_some();
        if self.exact.take(part, is_call, signature, events) {
            return;
        }
        if let Some(input) = arguments {
            self.sign_next(signature, events);
            self.call(call_of(part), input, events);
            return;
        }
        let fields = part.as_object().into_iter().flat_map(|part| part.iter());
        let unknown = fields.filter(|(name, value)| !ABOUT.contains(name) && !value.is_null());
        events.extend(unknown.map(|(name, _)| failure::skipped(name)));
        // Servers compatible with Google may send a bare string.
        let text = part
            .as_str()
            .or(part.get("text").as_str())
            .unwrap_or_default();
        if part.get("thought").as_bool() == Some(true) {
            self.think(text, signature, events);
        } else if text.is_empty() {
            if signature.is_some() {
                self.close(signature, events);
                self.last = Last::OwnSignature;
            }
        } else if self.last == Last::Text {
            // The continuation of a text that began without a signature.
            events.push(StreamEvent::Text(text.to_owned()));
            if signature.is_some() {
                self.close(signature, events);
                self.last = Last::OwnSignature;
            }
        } else {
            self.sign_next(signature, events);
            events.push(StreamEvent::Text(text.to_owned()));
            self.last = Last::Text;
        }
    }

    fn think(&mut self, text: &str, signature: Option<&str>, events: &mut Vec<StreamEvent>) {
        if !text.is_empty() {
            events.push(StreamEvent::Thinking(text.to_owned()));
            self.last = Last::Thinking;
        }
        if signature.is_some() {
            self.close(signature, events);
            self.last = Last::OwnSignature;
        }
    }

    fn call(&mut self, call: &Value<'_>, input: String, events: &mut Vec<StreamEvent>) {
        let text_of = |value: &Value<'_>| value.as_str().unwrap_or_default().to_owned();
        // Sent whole in one part, so the start event comes at the same time.
        let name = text_of(call.get("name"));
        events.push(StreamEvent::ToolUseStart { name: name.clone() });
        let id = text_of(call.get("id"));
        events.push(StreamEvent::ToolUse(ToolUse { id, name, input }));
        self.called = true;
        self.last = Last::Whole;
    }

    /// Writes the signature of the next part.
    fn sign_next(&mut self, signature: Option<&str>, events: &mut Vec<StreamEvent>) {
        match (self.last, signature) {
            (_, Some(_)) | (Last::Thinking, None) => self.close(signature, events),
            // The empty signature marks that the next part has none; otherwise encoding would
            // attach the previous one to it.
            (Last::OwnSignature, None) => self.close(Some(""), events),
            (Last::Whole | Last::Text, None) => {}
        }
    }

    fn close(&mut self, signature: Option<&str>, events: &mut Vec<StreamEvent>) {
        let signature = signature.map(str::to_owned);
        events.push(StreamEvent::ThinkingEnd { signature });
        self.last = Last::Whole;
    }

    fn finish(&mut self, reason: &str, message: Option<&str>, events: &mut Vec<StreamEvent>) {
        self.stop = Some(match reason {
            // Protobuf's zero value, which means that the field is not set.
            "FINISH_REASON_UNSPECIFIED" => return,
            _ => match meaning(reason) {
                // Google also sends STOP after calls.
                Some(Meaning::Complete) if self.called => StopReason::ToolUse,
                Some(Meaning::Complete) => StopReason::EndTurn,
                Some(Meaning::TokenLimit) => StopReason::MaxTokens,
                Some(Meaning::ContextFull) => StopReason::ContextFull,
                Some(Meaning::Refused) | None => {
                    return self.fail(broken_off(reason, message), events);
                }
            },
        });
    }

    fn fail(&mut self, problem: Problem, events: &mut Vec<StreamEvent>) {
        self.abandon(events);
        events.push(StreamEvent::Error(problem));
    }
}

/// Returns the call of a part. Some proxies write the names in snake case.
fn call_of<'a>(part: &'a Value<'a>) -> &'a Value<'a> {
    let [camel, snake] = ["functionCall", "function_call"].map(|name| part.get(name));
    if camel.is_null() { snake } else { camel }
}

/// Returns the arguments of a part's call; `None` for other parts.
fn arguments(raw: Option<&Raw<'_>>, at: usize, part: &Value<'_>) -> Option<String> {
    let call = call_of(part).as_object()?;
    // Both parses see the same list, so positions agree.
    let part = raw.and_then(|raw| raw.candidates.first()?.content.parts.get(at));
    let sent = part.and_then(|part| part.call.as_ref()?.args);
    let sent = sent.map(|args| args.get().to_owned());
    let text = sent.or_else(|| call.get("args").map(ToString::to_string));
    // A call of a tool without parameters has no arguments, or `null`.
    Some(text.filter(|text| text != "null").unwrap_or_default())
}

fn blocked_prompt(reason: &str) -> Problem {
    Problem::new(
        format!(
            "The provider blocked the conversation ({}) and did not answer.",
            message_excerpt(reason)
        ),
        "Reword your message and press Ctrl-]; the conversation is unchanged.",
    )
}

/// Explains why an answer ended early; `reason` is the provider's term.
fn broken_off(reason: &str, message: Option<&str>) -> Problem {
    let shown = match message {
        Some(message) => message_excerpt(&format!("{reason}: {message}")),
        None => message_excerpt(reason),
    };
    let (what, fix) = match reason {
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MALFORMED_RESPONSE" => (
            format!("The model wrote a call that the provider could not parse ({shown})."),
            "Press Ctrl-] to ask again.",
        ),
        "MISSING_THOUGHT_SIGNATURE" => (
            format!("The signature of an earlier answer is missing ({shown})."),
            "Restore the <thinking …/> line above the call that you changed, or send from an earlier turn.",
        ),
        _ => (
            format!("The provider stopped the answer ({shown}); the part that arrived is kept."),
            "Reword your message and press Ctrl-].",
        ),
    };
    Problem::new(what, fix)
}
