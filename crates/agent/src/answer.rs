//! An answer that arrives: what of it goes into a document, the calls in it, and how it
//! ended.
//!
//! Knows no connection, and not where the document is.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use chat::answer::AnswerWriter;
use chat::approval::CallKey;
use chat::document::Document;
use chat::tool::ToolUseId;
use chat::{Problem, json, write};
use provider::{StopReason, StreamEvent, ToolUse};

/// The answer to one request, taken in event by event.
#[derive(Debug, Default)]
pub struct Answer {
    writer: AnswerWriter,
    /// Whose signatures stand at its thinking.
    provider: String,
    calls: usize,
    ids: Ids,
}

/// The ids of the calls in a document, and in an answer so far. Digests of them: a long
/// chat has thousands, and the ids themselves would take as many pieces of memory.
#[derive(Debug, Default, Clone)]
pub struct Ids(HashSet<u64>);

impl Ids {
    /// Those of a document. Takes a while in a long one.
    pub fn of(document: &Document<'_>) -> Self {
        let ids = document.calls().map(|call| digest(call.id.as_str()));
        Self(ids.collect())
    }
}

/// What an event of an answer says, beyond text that [`Answer::text`] gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A call, with the id that it has in the document.
    Call(ToolUse),
    /// The answer is complete.
    Complete,
    /// It reached a limit of tokens and is cut there: none of its calls may run.
    Limited(Problem),
    /// It broke off or cannot be taken as an answer: none of its calls may run.
    Failed(Problem),
}

impl Answer {
    /// An answer to what this document says.
    pub fn to(document: &Document<'_>) -> Self {
        let mut answer = Self::default();
        answer.set_ids(Ids::of(document));
        answer
    }

    /// Says which ids the document has. To be told before the first call of the answer.
    pub fn set_ids(&mut self, ids: Ids) {
        self.ids = ids;
    }

    /// Says who answers, for the signatures of its thinking.
    pub fn set_provider(&mut self, name: &str) {
        name.clone_into(&mut self.provider);
    }

    /// Takes an event in.
    pub fn take(&mut self, event: StreamEvent) -> Option<Said> {
        match event {
            StreamEvent::Text(text) => self.writer.text(&text),
            StreamEvent::Thinking(text) => self.writer.thinking(&text),
            StreamEvent::ThinkingEnd { signature } => {
                let signature = signature.as_deref();
                let signature = signature.map(|value| (self.provider.as_str(), value));
                self.writer.end_thinking(signature);
            }
            StreamEvent::RedactedThinking(opaque) => self.writer.redacted_thinking(&opaque),
            StreamEvent::ToolUse(mut call) => {
                self.make_distinct(&mut call);
                self.calls += 1;
                self.writer.tool_use(&call.name, &call.id, &call.input);
                return Some(Said::Call(call));
            }
            StreamEvent::Stop(reason) => return Some(self.stopped(reason)),
            StreamEvent::Error(problem) => return Some(Said::Failed(problem)),
            StreamEvent::ToolUseStart { .. } | StreamEvent::Usage(_) => {}
        }
        None
    }

    /// The text that can be put behind the answer's marker line, and behind what was
    /// given before.
    pub fn text(&mut self) -> String {
        self.writer.take()
    }

    /// How many characters of thinking have arrived that were not written yet.
    pub fn thinking_len(&self) -> usize {
        self.writer.thinking_len()
    }

    /// What arrived stays, with the reason why there is no more. An answer without a
    /// word stays empty.
    pub fn break_off(&mut self, reason: &str) {
        if !self.writer.is_empty() {
            self.writer.finish(Some(reason));
        }
    }

    /// Gives a call another id when the document has one of that id: servers that send
    /// none number the calls of each answer anew, and one approval must never be
    /// taken for two calls. Should two digests ever be alike by chance, it gets another
    /// id for nothing.
    fn make_distinct(&mut self, call: &mut ToolUse) {
        let given = call.id.clone();
        let mut count = 1;
        while !self.ids.0.insert(digest(&write::writable(&call.id))) {
            count += 1;
            call.id = format!("{given}_{count}");
        }
    }

    /// Decides what the provider's reason to stop makes of the answer.
    ///
    /// Only the documented good endings let the calls of an answer run.
    fn stopped(&mut self, reason: StopReason) -> Said {
        match reason {
            StopReason::MaxTokens => Said::Limited(self.token_limit()),
            StopReason::EndTurn | StopReason::ToolUse if self.writer.is_empty() => {
                Said::Failed(Problem::new(
                    "The model sent an empty answer.",
                    "Press Ctrl-] to ask again; the conversation is unchanged.",
                ))
            }
            StopReason::EndTurn | StopReason::ToolUse => {
                self.writer.finish(None);
                Said::Complete
            }
            StopReason::ContextFull => Said::Failed(Problem::new(
                "Question and answer fill the model's context window, so the answer ends there and none of its calls runs.",
                "Delete earlier turns or large results, or choose a model with a larger context window.",
            )),
            StopReason::Refusal => Said::Failed(Problem::new(
                "The model declined to go on.",
                "Reword your message and press Ctrl-].",
            )),
            StopReason::Other(word) => Said::Failed(ended_early(&word, self.calls > 0)),
        }
    }

    fn token_limit(&self) -> Problem {
        if self.calls > 0 {
            return Problem::new(
                "The answer reached its token limit in the middle of its calls, so none of them runs.",
                "Raise parameters.max_tokens, or press Ctrl-] to let the model go on.",
            );
        }
        Problem::new(
            "The answer reached its token limit and is cut there.",
            "Raise parameters.max_tokens, or press Ctrl-] to let the model go on.",
        )
    }
}

/// Describes an end for a reason that no documentation calls a good one.
fn ended_early(word: &str, has_calls: bool) -> Problem {
    let calls = if has_calls {
        ", so none of its calls runs"
    } else {
        ""
    };
    Problem::new(
        format!("The provider ended the answer early ({word}){calls}."),
        "Press Ctrl-] to let the model go on.",
    )
}

/// Eight bytes for an id.
fn digest(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// A call that a provider issued, as it will stand in the document; `None` when its
/// arguments are no JSON object.
pub fn key(call: &ToolUse) -> Option<CallKey> {
    let input = json::parse_object(&call.input).ok()?;
    Some(CallKey {
        id: ToolUseId::new(write::writable(&call.id)),
        name: write::writable(&call.name),
        input: json::canonical(&input),
    })
}
