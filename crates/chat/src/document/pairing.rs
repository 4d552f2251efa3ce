//! Pairs results with calls.
//!
//! A call is answered only in the `@You:` message right after its assistant message, so IDs
//! used in earlier turns don't matter.

use std::collections::HashMap;

use super::fixes;
use super::{Block, Document, Message, ResultKind, Role, Status, ToolResultBlock, ToolUseBlock};
use crate::diagnostic::Diagnostic;
use crate::tool::ToolUseId;

/// An assistant message with calls, and the answers to them.
#[derive(Debug)]
pub struct Turn<'d> {
    /// Index of the assistant message.
    pub assistant: usize,
    /// Index of the `@You:` message right after it, if any.
    pub answers: Option<usize>,
    /// The calls in order, never empty.
    pub calls: Vec<PairedCall<'d>>,
    /// Why the answer was cut off, if it was.
    pub aborted: Option<&'d str>,
    /// Results in `answers` that answer no call.
    pub orphans: Vec<&'d ToolResultBlock>,
}

/// A call and its answer.
#[derive(Debug, Clone, Copy)]
pub struct PairedCall<'d> {
    /// The call.
    pub tool_use: &'d ToolUseBlock,
    /// Its placeholder or result.
    pub result: Option<&'d ToolResultBlock>,
    /// Whether another call of the same message has the same ID.
    pub duplicate: bool,
}

impl<'d> PairedCall<'d> {
    fn new(tool_use: &'d ToolUseBlock) -> Self {
        Self {
            tool_use,
            result: None,
            duplicate: false,
        }
    }

    /// Returns the status, if the result is a placeholder.
    pub fn status(&self) -> Option<Status> {
        match self.result?.kind {
            ResultKind::Placeholder(status) => Some(status),
            ResultKind::Final { .. } => None,
        }
    }

    /// Returns true if there is a real result.
    pub fn is_answered(&self) -> bool {
        self.result
            .is_some_and(|result| matches!(result.kind, ResultKind::Final { .. }))
    }
}

impl<'t> Document<'t> {
    /// Returns all turns with calls, in order.
    pub fn turns(&self) -> impl DoubleEndedIterator<Item = Turn<'_>> {
        (0..self.messages.len()).filter_map(|at| self.turn(at))
    }

    /// Returns the turns with unanswered calls, in order. There are few, however long the
    /// chat is.
    pub fn unanswered_turns(&self) -> impl Iterator<Item = Turn<'_>> {
        self.unanswered.iter().filter_map(|at| self.turn(*at))
    }

    /// Returns the turn whose answer or results cover a line.
    pub fn turn_at(&self, line: usize) -> Option<Turn<'_>> {
        let at = self.message_at(line)?;
        // On a result, the turn is that of the message above.
        self.turn(at).or_else(|| self.turn(at.checked_sub(1)?))
    }

    /// Returns the turn of an assistant message, if it has calls.
    pub fn turn(&self, assistant: usize) -> Option<Turn<'_>> {
        let message = self
            .messages
            .get(assistant)
            .filter(|it| it.role == Role::Assistant)?;
        let mut calls: Vec<PairedCall<'_>> = self.calls_of(message).map(PairedCall::new).collect();
        if calls.is_empty() {
            return None;
        }
        // Results elsewhere answer nothing: an ID may be used again in a later turn.
        let answers = Some(assistant + 1).filter(|at| {
            self.messages
                .get(*at)
                .is_some_and(|next| next.role == Role::You)
        });
        let results = answers
            .into_iter()
            .flat_map(|at| self.results_of(&self.messages[at]));
        let orphans = pair(&mut calls, results);
        let aborted = self
            .blocks_of(message)
            .iter()
            .find_map(|block| match block {
                Block::Aborted(aborted) => Some(aborted.reason.as_str()),
                _ => None,
            });
        Some(Turn {
            assistant,
            answers,
            calls,
            aborted,
            orphans,
        })
    }

    fn calls_of(&self, message: &Message) -> impl Iterator<Item = &ToolUseBlock> {
        let blocks = self.blocks_of(message).iter();
        blocks.filter_map(|block| match block {
            Block::ToolUse(call) => Some(call),
            _ => None,
        })
    }

    fn results_of(&self, message: &Message) -> impl Iterator<Item = &ToolResultBlock> {
        let blocks = self.blocks_of(message).iter();
        blocks.filter_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        })
    }
}

/// Gives each call its result, in order for each ID, and returns the remaining results.
fn pair<'d>(
    calls: &mut [PairedCall<'d>],
    results: impl Iterator<Item = &'d ToolResultBlock>,
) -> Vec<&'d ToolResultBlock> {
    // Unanswered calls by ID, the last one first.
    let mut waiting: HashMap<&ToolUseId, Vec<usize>> = HashMap::new();
    // Reversed, so that `pop` returns the first call of an ID.
    for (at, call) in calls.iter().enumerate().rev() {
        waiting.entry(&call.tool_use.id).or_default().push(at);
    }
    for of_one_id in waiting.values().filter(|it| it.len() > 1) {
        for at in of_one_id {
            calls[*at].duplicate = true;
        }
    }
    let mut orphans = Vec::new();
    for result in results {
        let of_its_id = waiting.get_mut(&result.tool_use_id);
        match of_its_id.and_then(Vec::pop) {
            Some(at) => calls[at].result = Some(result),
            None => orphans.push(result),
        }
    }
    orphans
}

/// Returns the assistant messages with unanswered calls and the pairing diagnostics, from
/// the message `first` on.
pub(super) fn look(document: &Document<'_>, first: usize) -> (Vec<usize>, Vec<Diagnostic>) {
    let (mut unanswered, mut found) = (Vec::new(), Vec::new());
    let last = document.messages.len().saturating_sub(1);
    // The message whose results were checked together with the preceding calls.
    let mut seen = None;
    for (at, message) in document.messages.iter().enumerate().skip(first) {
        if message.role != Role::Assistant {
            // Results that follow no assistant message with calls.
            let unasked = document.results_of(message).filter(|_| seen != Some(at));
            found.extend(unasked.map(|result| orphan(document, result)));
        } else if let Some(turn) = document.turn(at) {
            seen = turn.answers;
            if !turn.calls.iter().all(PairedCall::is_answered) {
                unanswered.push(at);
            }
            // Calls at the end may still get their results.
            let older = turn.answers.unwrap_or(at) < last;
            let calls = turn.calls.iter();
            let answers = turn.answers.filter(|_| older);
            let answers = answers.and_then(|at| document.messages.get(at));
            found.extend(calls.filter_map(|call| call_problem(document, call, older, answers)));
            let orphans = turn.orphans.iter();
            found.extend(orphans.map(|result| orphan(document, result)));
        }
    }
    (unanswered, found)
}

fn call_problem(
    document: &Document<'_>,
    call: &PairedCall<'_>,
    older: bool,
    answers: Option<&Message>,
) -> Option<Diagnostic> {
    let header = call.tool_use.lines.start..call.tool_use.lines.start + 1;
    let id = &call.tool_use.id;
    if call.duplicate {
        let message = format!("Two calls of this answer have the id \"{id}\", so neither is run.");
        return Some(Diagnostic::error(header, message).with_fix(fixes::unique(call.tool_use)));
    }
    if call.result.is_none() && older {
        let message = format!("The call \"{id}\" has no result in the @You: message after it.");
        let mut problem = Diagnostic::warning(header, message);
        problem.fix = answers.and_then(|it| fixes::with_result(document, call.tool_use, it));
        return Some(problem);
    }
    // An answered call is never run, so its arguments don't matter.
    if call.is_answered() {
        return None;
    }
    let error = document.input(call.tool_use).err()?;
    let message = format!(
        "The arguments of \"{id}\" cannot be read: {error}. The call gets an error result."
    );
    let mut problem = Diagnostic::error(header, message);
    problem.fix = fixes::readable(document, call.tool_use);
    Some(problem)
}

fn orphan(document: &Document<'_>, result: &ToolResultBlock) -> Diagnostic {
    let header = result.lines.start..result.lines.start + 1;
    let message = format!(
        "No call of the answer before has the id \"{}\" (or it already has a result), so this result is not sent.",
        result.tool_use_id
    );
    Diagnostic::warning(header, message).with_fix(fixes::without_result(document, result))
}
