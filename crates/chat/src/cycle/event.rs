//! What the cycle is told and what it answers, as data.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Decided;
use crate::approval::{Answers, CallKey, Question, ResolverChain};
use crate::schema::Checks;
use crate::tool::{ToolDefinition, ToolOutcome, ToolUseId};
use crate::write::TextEdit;

/// The part of the options that the cycle goes by.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Who decides about calls.
    pub chain: ResolverChain,
    /// Every tool that can run, by name, offered to the model or not.
    pub tools: BTreeMap<String, ToolDefinition>,
    /// The schemas of the tools, made ready when they are needed.
    pub checks: Checks,
    /// Whether the phases chain by themselves.
    pub autopilot: bool,
    /// Most requests in a row without the user; at least one.
    pub max_turns: u32,
    /// Most calls that run at the same time; 0 means any number.
    pub max_concurrent: usize,
    /// Where the cursor goes when a call that waited gets its result.
    pub cursor_after_result: CursorAfterResult,
    /// Whether a policy may approve calls that were in the file when it was opened
    /// (`trust.unrecognized_calls = "policy"`).
    pub trust_loaded_calls: bool,
    /// Tools that change files: their automatic approval is looked at once more, see
    /// [`crate::approval::GUARD`], and one by hand counts for the file as it was shown.
    pub guarded: BTreeSet<String>,
    /// Tools that read files: their automatic approval is looked at once more, because a
    /// file may be secret.
    pub reading: BTreeSet<String>,
    /// Tools whose every automatic approval is looked at once more: the user allows only
    /// calls of them that read.
    pub inspected: BTreeSet<String>,
    /// Tools that start programs: before an automatic approval counts, it is looked whether
    /// anything holds them.
    pub commands: BTreeSet<String>,
    /// The frontmatter that these options were made with: its text, or why it could
    /// not be read. None when there was none.
    pub frontmatter: Option<Result<String, String>>,
}

/// Where the cursor goes when a call that waited for the user gets its result, and
/// autopilot does not go on.
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

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The text came from a file: opened, reloaded or recovered. `interrupted`
    /// names calls that were running when the host died.
    Loaded {
        /// Ids of calls whose end nobody saw.
        interrupted: Vec<ToolUseId>,
    },
    /// Calls of these ids ran under a host that ended before they did.
    Interrupted(Vec<ToolUseId>),
    /// Calls ended in this way before the text was read, which may lack their results.
    Recovered(Vec<(CallKey, ToolOutcome)>),
    /// The user changed the text.
    Changed,
    /// Ctrl-].
    Advance,
    /// `:Flemma send`: the third phase alone.
    Send,
    /// Alt-Enter on a buffer line.
    Resolve {
        /// The cursor's line, zero-based.
        line: usize,
    },
    /// `:Flemma approve all`: the user approves every call that waits.
    ApproveAll,
    /// `:Flemma reject` on a buffer line.
    Reject {
        /// A line of the call, zero-based.
        line: usize,
        /// The text for the model; empty for no reason.
        reason: String,
    },
    /// The edit of the last step was applied, or it was stale and is to be made anew,
    /// or results are to be written.
    Continue,
    /// Function resolvers answered.
    ResolverAnswered(Answers),
    /// Calls ended, each in its way. As long as others run, what waits for a slot is
    /// started and nothing is written: [`Event::Continue`] writes, and may come for
    /// several ends at once.
    ToolsFinished(Vec<(CallKey, ToolOutcome)>),
    /// The provider issued this call in the answer that is being written.
    Recorded(CallKey),
    /// The open request ended, and its answer is in the document.
    AnswerEnded(AnswerEnd),
    /// Ctrl-C.
    Cancel,
    /// `:Flemma steer`: the user speaks up. Calls that run end by themselves, all
    /// others are skipped, and the text is sent. Where nothing goes on it is a message.
    Steer(String),
    /// `:Flemma queue`: the text is a message of its own, sent when the model is done
    /// with all that came before.
    FollowUp(String),
    /// `:Flemma queue!`: what waits is put into the prompt, and these texts with it;
    /// none of it is sent.
    TakeBack(Vec<String>),
    /// `:Flemma tool:cancel` on a buffer line: the call there, else the oldest.
    CancelTool {
        /// The cursor's line, zero-based.
        line: usize,
    },
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The model said all it wanted to say.
    Complete,
    /// It was cut off, refused or failed; what arrived stays.
    Failed,
    /// It reached a limit of tokens and is cut there; what arrived stays.
    Limited,
    /// The user cancelled it.
    Cancelled,
}

/// Something to do. Effects are performed in order; after an [`Effect::Edit`] the
/// rest waits until the edit is applied, and is dropped when it is stale.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write these decisions into a log, before any of these calls starts.
    Record(Vec<Decided>),
    /// Change the document, then step with [`Event::Continue`].
    Edit(Vec<TextEdit>),
    /// Move the cursor to a line.
    Cursor {
        /// Zero-based.
        line: usize,
        /// Whether to be ready for typing there.
        insert: bool,
        /// Whether this answers a key directly; otherwise only a window that follows
        /// the chat is moved.
        asked: bool,
    },
    /// Ask functions, then step with [`Event::ResolverAnswered`].
    Ask(Vec<Question>),
    /// Start a call.
    Run {
        /// The call.
        call: CallKey,
        /// Its arguments.
        input: Value,
        /// Who approved it: a resolver's name, or an act of the user.
        by: String,
    },
    /// Stop calls; each still ends with [`Event::ToolsFinished`].
    CancelTools(Vec<CallKey>),
    /// Send the document.
    Send,
    /// Stop the open request; it still ends with [`Event::AnswerEnded`].
    CancelRequest,
    /// Tell the user.
    Notify(Notice),
}

/// A message to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub level: Level,
    /// Full sentences.
    pub text: String,
}

/// How much a message matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something did not happen as the user may expect.
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
