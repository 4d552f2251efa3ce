//! Turns the event stream of an answer into document text and calls.
//!
//! Knows neither the connection nor the document's location.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use chat::answer::{AnswerWriter, ThinkingStart};
use chat::approval::CallKey;
use chat::document::Document;
use chat::server_tools::{ExactAnswer, ExactBlock};
use chat::tool::ToolUseId;
use chat::{Problem, json, write};
use provider::{StopReason, StreamEvent, ToolUse};

/// Builds the answer to one request, event by event.
#[derive(Debug, Default)]
pub struct AnswerBuilder {
    writer: AnswerWriter,
    /// Provider that signs the thinking.
    provider: String,
    calls: usize,
    ids: Ids,
    /// The answer in the provider's own form, if it must go back so.
    exact: Vec<ExactBlock>,
}

/// IDs of the calls in a document and in the current answer, stored as digests: a long chat
/// has thousands of them.
#[derive(Debug, Default, Clone)]
pub struct Ids(HashSet<u64>);

impl Ids {
    /// Collects the IDs of a document. Slow for a long one.
    pub fn of(document: &Document<'_>) -> Self {
        let ids = document.calls().map(|call| digest(call.id.as_str()));
        Self(ids.collect())
    }
}

/// Outcome of a stream event, beyond the text returned by [`AnswerBuilder::text`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerEvent {
    /// A complete call with its ID in the document.
    Call(ToolUse),
    /// A text of the answer was thinking, whose opening line must be inserted where it
    /// begins.
    TextWasThinking(ThinkingStart),
    /// A sentence for the user, which is not part of the document.
    Remark(String),
    /// The answer is complete. With it, the answer in the provider's own form, if it must go back so.
    Complete(Option<ExactAnswer>),
    /// The answer reached its token limit: none of its calls may run.
    Limited(Problem),
    /// The answer failed: none of its calls may run.
    Failed(Problem),
}

impl AnswerBuilder {
    /// Creates a builder for an answer to this document.
    pub fn to(document: &Document<'_>) -> Self {
        let mut answer = Self::default();
        answer.set_ids(Ids::of(document));
        answer
    }

    /// Sets the IDs used in the document. Call this before the first call of the answer.
    pub fn set_ids(&mut self, ids: Ids) {
        self.ids = ids;
    }

    /// Sets the provider that signs the thinking.
    pub fn set_provider(&mut self, name: &str) {
        name.clone_into(&mut self.provider);
    }

    /// Handles an event.
    pub fn take(&mut self, event: StreamEvent) -> Option<AnswerEvent> {
        match event {
            StreamEvent::Text(text) => self.writer.text(&text),
            StreamEvent::TextEnd => self.writer.end_text(),
            StreamEvent::TextWasThinking => {
                let start = self.writer.text_was_thinking();
                return start.map(AnswerEvent::TextWasThinking);
            }
            StreamEvent::Remark(text) => return Some(AnswerEvent::Remark(text)),
            StreamEvent::Thinking(text) => self.writer.thinking(&text),
            StreamEvent::ThinkingEnd { signature } => {
                let signature = signature.as_deref();
                let signature = signature.map(|value| (self.provider.as_str(), value));
                self.writer.end_thinking(signature);
            }
            StreamEvent::RedactedThinking(opaque) => self.writer.redacted_thinking(&opaque),
            StreamEvent::Summary(summary) => self.writer.text(&summary.content),
            StreamEvent::ToolUse(mut call) => {
                // Before it is written, because results and approvals find a call by its ID.
                self.make_distinct(&mut call);
                self.calls += 1;
                self.writer.tool_use(&call.name, &call.id, &call.input);
                return Some(AnswerEvent::Call(call));
            }
            StreamEvent::ServerTool(used) => self.writer.server_tool(&used),
            StreamEvent::Exact(blocks) => self.exact.extend(blocks),
            StreamEvent::Stop(reason) => return Some(self.stopped(reason)),
            StreamEvent::Error(problem) => return Some(AnswerEvent::Failed(problem)),
            // A call is written once it is complete, so that a broken one can't run.
            StreamEvent::ToolUseStart { .. }
            | StreamEvent::ServerToolStart { .. }
            | StreamEvent::Paused
            | StreamEvent::Usage(_)
            | StreamEvent::ThinkingRefused => {}
        }
        None
    }

    /// Takes the new text, to be appended to the document.
    pub fn text(&mut self) -> String {
        self.writer.take()
    }

    /// Number of characters of thinking received and not written yet.
    pub fn thinking_len(&self) -> usize {
        self.writer.thinking_len()
    }

    /// Ends the answer early with a reason. An empty answer stays empty.
    pub fn break_off(&mut self, reason: &str) {
        if !self.writer.is_empty() {
            self.writer.finish(Some(reason));
        }
    }

    /// Makes the ID of a call unique in the document. Servers that send no IDs number the
    /// calls of each answer from 1, and an approval must never apply to two calls. If two
    /// digests collide, a call is renamed needlessly.
    fn make_distinct(&mut self, call: &mut ToolUse) {
        let given = call.id.clone();
        let mut count = 1;
        // The document may spell an ID differently, and two spellings must not collide there.
        while !self.ids.0.insert(digest(&write::writable(&call.id))) {
            count += 1;
            call.id = format!("{given}_{count}");
        }
    }

    /// Maps the provider's stop reason to an outcome.
    ///
    /// Calls may run only after a stop reason that is documented as normal.
    fn stopped(&mut self, reason: StopReason) -> AnswerEvent {
        match reason {
            StopReason::MaxTokens => AnswerEvent::Limited(self.token_limit()),
            // An empty message would remain, which some providers reject.
            StopReason::EndTurn | StopReason::ToolUse if self.writer.is_empty() => {
                AnswerEvent::Failed(Problem::new(
                    "The model sent an empty answer.",
                    "Press Ctrl-] to ask again; the conversation is unchanged.",
                ))
            }
            StopReason::EndTurn | StopReason::ToolUse => {
                self.writer.finish(None);
                let blocks = std::mem::take(&mut self.exact);
                AnswerEvent::Complete((!blocks.is_empty()).then(|| ExactAnswer {
                    provider: self.provider.clone(),
                    blocks,
                }))
            }
            StopReason::ContextFull => AnswerEvent::Failed(Problem::new(
                "The conversation fills the model's context window, so the answer ends here and none of its calls runs.",
                "Delete earlier turns or large results, or choose a model with a larger context window.",
            )),
            StopReason::Refusal => AnswerEvent::Failed(Problem::new(
                "The model declined to continue.",
                "Reword your message and press Ctrl-].",
            )),
            StopReason::Other(word) => AnswerEvent::Failed(ended_early(&word, self.calls > 0)),
        }
    }

    fn token_limit(&self) -> Problem {
        if self.calls > 0 {
            return Problem::new(
                "The answer reached its token limit in the middle of its calls, so none of them runs.",
                "Raise parameters.max_tokens, or press Ctrl-] to let the model continue.",
            );
        }
        Problem::new(
            "The answer reached its token limit and is cut there.",
            "Raise parameters.max_tokens, or press Ctrl-] to let the model continue.",
        )
    }
}

/// Describes an undocumented stop reason.
fn ended_early(word: &str, has_calls: bool) -> Problem {
    let calls = if has_calls {
        ", so none of its calls runs"
    } else {
        ""
    };
    Problem::new(
        format!("The provider ended the answer early ({word}){calls}."),
        "Press Ctrl-] to let the model continue.",
    )
}

/// Returns a 64-bit digest of an ID.
fn digest(id: &str) -> u64 {
    // Unlike `RandomState`, `new` has fixed keys, so digests can be compared.
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// Returns the identity that a provider's call will have in the document; `None` if its
/// arguments are not a JSON object.
pub fn key(call: &ToolUse) -> Option<CallKey> {
    let input = json::parse_object(&call.input).ok()?;
    Some(CallKey {
        id: ToolUseId::new(write::writable(&call.id)),
        name: write::writable(&call.name),
        input: json::canonical(&input),
    })
}
