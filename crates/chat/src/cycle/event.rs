//! Inputs and outputs of the cycle: events, effects, and the options it uses.
//!
//! [`Decided`] is a decision about a call, logged once, when it is made. Knows neither the log
//! nor what a call does afterwards.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::approval::{Answers, CallKey, Question, ResolverChain};
use crate::schema::Checks;
use crate::summary::Summary;
use crate::tool::{ToolDefinition, ToolOutcome, ToolUseId};
use crate::write::TextEdit;

/// The options that the cycle uses.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The resolvers that decide about calls.
    pub chain: ResolverChain,
    /// Every tool that can run, by name, offered to the model or not.
    pub tools: BTreeMap<String, ToolDefinition>,
    /// Compiled schemas of the tools, compiled on first use.
    pub checks: Checks,
    /// True if one phase starts the next automatically.
    pub autopilot: bool,
    /// Maximum number of consecutive requests without the user; at least one.
    pub max_turns: u32,
    /// Maximum price of consecutive requests without the user, in US dollars. A request
    /// that exceeds it is the last.
    pub max_cost: Option<f64>,
    /// Maximum number of concurrent calls; 0 means unlimited.
    pub max_concurrent: usize,
    /// The place to which the cursor goes when a reviewed call gets its result.
    pub cursor_after_result: CursorAfterResult,
    /// True if a policy may approve calls that were loaded from a file
    /// (`trust.unrecognized_calls = "policy"`).
    pub trust_loaded_calls: bool,
    /// Tools that change files. An automatic approval needs [`crate::approval::GUARD`]'s
    /// consent; a manual one applies to the file as it was shown.
    pub guarded: BTreeSet<String>,
    /// True if calls that change files wait for a review although a policy approves them.
    pub reviews: bool,
    /// Tools that read files. An automatic approval needs the guard's consent because a
    /// file may be secret.
    pub reading: BTreeSet<String>,
    /// Tools of which the user allows only calls that read. Every automatic approval needs
    /// the guard's consent.
    pub inspected: BTreeSet<String>,
    /// Tools that start programs. An automatic approval requires that a sandbox confines
    /// them.
    pub commands: BTreeSet<String>,
    /// The frontmatter these options were computed from: its text, or why it could not be
    /// read. `None` without frontmatter.
    pub frontmatter: Option<Result<String, String>>,
}

/// The place to which the cursor goes when a reviewed call gets its result and autopilot stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CursorAfterResult {
    /// To the result.
    #[default]
    Result,
    /// Nowhere.
    Stay,
    /// Behind the message that holds the result.
    Next,
}

/// Something that happened in the editor, a tool, or a request.
#[derive(Debug, Clone, PartialEq)]
pub enum CycleEvent {
    /// The text came from a file: opened, reloaded, or recovered.
    Loaded {
        /// IDs of calls whose end was not recorded.
        interrupted: Vec<ToolUseId>,
    },
    /// Calls with these IDs were still running when their host ended.
    Interrupted(Vec<ToolUseId>),
    /// Calls that ended before the text was read; the text may lack their results.
    Recovered(Vec<(CallKey, ToolOutcome)>),
    /// The user changed the text.
    Changed,
    /// Ctrl-].
    Advance,
    /// `:Flemma send`: runs only the third phase.
    Send,
    /// Alt-Enter on a buffer line.
    Resolve {
        /// The cursor's line, zero-based.
        line: usize,
    },
    /// The user approved or rejected a pending call in a review.
    Review {
        /// The call. Its line may have changed during the review.
        call: CallKey,
        /// The text for the model if the user rejected it; empty for no reason.
        refused: Option<String>,
    },
    /// A rule approves a pending call for what its trial showed.
    Tried {
        /// The call.
        call: CallKey,
    },
    /// `:Flemma approve all`: approves every pending call.
    ApproveAll,
    /// `:Flemma reject` on a buffer line.
    Reject {
        /// A line of the call, zero-based.
        line: usize,
        /// The text for the model; empty for no reason.
        reason: String,
    },
    /// The last edit was applied or was stale, or results are ready to be written.
    Continue,
    /// Function resolvers answered.
    ResolverAnswered(Answers),
    /// Calls ended. While others run, this only fills free slots; [`CycleEvent::Continue`]
    /// writes the results, possibly of several calls at once.
    ToolsFinished(Vec<(CallKey, ToolOutcome)>),
    /// A call that a rule let run in the read-only view failed because of the view. It waits for
    /// the user.
    Hindered {
        /// The call.
        call: CallKey,
        /// The reason, to follow "asks:".
        why: &'static str,
    },
    /// The provider issued this call in the current answer.
    Recorded(CallKey),
    /// The open request ended, and its answer is in the document.
    AnswerEnded(AnswerEnd),
    /// Ctrl-C.
    Cancel,
    /// `:Flemma steer`: sends the text as soon as the running calls end, and skips all
    /// others. If the chat is idle, it is an ordinary message.
    Steer(String),
    /// `:Flemma queue`: sends the text as a separate message when the model is done.
    FollowUp(String),
    /// `:Flemma ask`: adds the text to the prompt, and sends it if nothing else is going on.
    Ask {
        /// The text that the user selected, and the question.
        text: String,
        /// True if it has a question, so that it is sent.
        send: bool,
    },
    /// `:Flemma compact`: has the model write a summary, with what the user wants from it. Its request
    /// ends with [`CycleEvent::AnswerEnded`], as if it was cancelled, because the chat gets no answer.
    Compact(String),
    /// Puts a summary into the text.
    Summarize {
        /// The summary.
        summary: Summary,
        /// True if the conversation is sent then, for which the summary was made.
        sends: bool,
    },
    /// No summary could be made before the request, so it goes on without one.
    Unsummarized,
    /// `:Flemma queue!`: moves queued messages and these texts into the prompt without
    /// sending them.
    TakeBack(Vec<String>),
    /// `:Flemma tool:cancel` on a buffer line: the call there, else the oldest.
    CancelTool {
        /// The cursor's line, zero-based.
        line: usize,
    },
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The model completed its answer.
    Complete,
    /// The answer was cut off, refused, or failed; the received part stays.
    Failed,
    /// The answer reached its token limit; the received part stays.
    Limited,
    /// The user cancelled it.
    Cancelled,
}

/// Something for the host to do. Effects are performed in order. After an [`Effect::Edit`],
/// the rest waits until the edit is applied and is dropped if it is stale.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Log these decisions before any of these calls starts.
    Record(Vec<Decided>),
    /// Change the document, then step with [`CycleEvent::Continue`].
    Edit(Vec<TextEdit>),
    /// Move the cursor to a line.
    Cursor {
        /// Zero-based.
        line: usize,
        /// True if Insert mode begins there.
        insert: bool,
        /// True if this is the direct response to a key. Otherwise only windows that follow
        /// the chat move.
        asked: bool,
    },
    /// Ask functions, then step with [`CycleEvent::ResolverAnswered`].
    Ask(Vec<Question>),
    /// Start a call.
    Run {
        /// The call.
        call: CallKey,
        /// Its arguments.
        input: Value,
        /// Name of the resolver that approved it, or the user's act.
        by: String,
    },
    /// Stop calls; each still ends with [`CycleEvent::ToolsFinished`].
    CancelTools(Vec<CallKey>),
    /// Send the document.
    Send,
    /// Have the model write a summary, with what the user wants from it.
    Summarize(String),
    /// Stop the open request; it still ends with [`CycleEvent::AnswerEnded`].
    CancelRequest,
    /// Tell the user which calls wait, because a key found nothing else to do.
    TellWaiting {
        /// The pending calls, in order.
        calls: Vec<CallKey>,
        /// The message that the user typed below them, which is not sent before they are decided.
        words: Option<String>,
    },
    /// Show a message to the user.
    Notify(Notice),
}

/// A message to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Severity.
    pub level: Level,
    /// Full sentences.
    pub text: String,
}

/// Severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Information.
    Info,
    /// Something did not happen that the user may expect.
    Warning,
    /// Something went wrong.
    Error,
}

impl Effect {
    pub(super) fn warn(text: impl Into<String>) -> Self {
        Effect::Notify(Notice {
            level: Level::Warning,
            text: text.into(),
        })
    }

    pub(super) fn inform(text: impl Into<String>) -> Self {
        Effect::Notify(Notice {
            level: Level::Info,
            text: text.into(),
        })
    }
}

/// Kind of a decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// The call may run once.
    Approved,
    /// The call waits for the user.
    Waits,
    /// A policy denied the call.
    Denied,
    /// The user rejected the call.
    Rejected,
    /// The user wrote the result by hand.
    Answered,
    /// The call can't run at all, for example because of invalid arguments.
    Unfit,
    /// The user cancelled the call while or before it ran.
    Cancelled,
}

/// A decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The call.
    pub call: CallKey,
    /// The decision.
    pub ruling: Ruling,
    /// Name of the resolver, or the user's act.
    pub by: String,
    /// The reason, unless `by` implies it; never foreign text.
    pub reason: Option<&'static str>,
}

impl Decided {
    /// A call cancelled by the user.
    pub(super) fn cancelled(call: &CallKey) -> Self {
        Self {
            call: call.clone(),
            ruling: Ruling::Cancelled,
            by: "user: cancel".to_owned(),
            reason: None,
        }
    }
}

/// `by` if no resolver has an opinion.
pub const DEFAULT: &str = "default";

/// `by` of decisions that no resolver may make.
pub(super) const CYCLE: &str = "flemma";

/// `by` of decisions found in the chat's text, whose author is unknown.
pub(super) const CHAT: &str = "written in the chat";

/// `by` of a status typed into the document.
pub(super) const TYPED: &str = "user: typed";

/// `by` of an approval by key on the call.
pub(super) const POINTED_AT: &str = "user: Alt-Enter";

/// `by` of an approval in a review, where the user may have changed what the call does.
pub const REVIEWED: &str = "user: review";

/// `by` of an approval of all pending calls.
pub(super) const APPROVED_ALL: &str = "user: approve all";

/// `by` of a rejection by key or command.
pub(super) const REFUSED: &str = "user: reject";

/// Returns true if the user approved, rather than a rule; `by` as in [`Decided::by`].
pub fn is_by_hand(by: &str) -> bool {
    [TYPED, POINTED_AT, REVIEWED, APPROVED_ALL].contains(&by)
}

/// Decisions of a step, without repetitions.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    fresh: Vec<Decided>,
    /// The last decision about each call of this batch. A stale edit is planned again,
    /// which must not log its decision twice.
    last: BTreeMap<CallKey, (Ruling, String)>,
}

impl Ledger {
    /// Records a decision unless it equals the last one about its call.
    pub(super) fn note(&mut self, decided: Decided) {
        let word = (decided.ruling, decided.by.clone());
        let known = self.last.insert(decided.call.clone(), word.clone());
        if known.as_ref() != Some(&word) {
            self.fresh.push(decided);
        }
    }

    /// Starts a batch: forgets all calls except those still in progress.
    pub(super) fn begin(&mut self, goes_on: impl Fn(&CallKey) -> bool) {
        // A call in progress may be noted again when it starts.
        self.last.retain(|call, _| goes_on(call));
    }

    /// Takes the decisions recorded since the last call.
    pub(super) fn take(&mut self) -> Vec<Decided> {
        std::mem::take(&mut self.fresh)
    }
}
