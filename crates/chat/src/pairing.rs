//! Which result answers which call.
//!
//! A call is answered in the `@You:` message right after its assistant message
//! and nowhere else, so an id that an earlier turn used means nothing here.

use crate::diagnostic::{Diagnostic, Fix};
use crate::document::{Block, Document, Message, ResultKind, Role, Status, ToolResult, ToolUse};

/// An assistant message with calls, and the answers to them.
#[derive(Debug)]
pub struct Turn<'d> {
    /// Index of the assistant message.
    pub assistant: usize,
    /// Index of the `@You:` message right after it, if there is one.
    pub answers: Option<usize>,
    /// The calls in order, never empty.
    pub calls: Vec<Call<'d>>,
    /// Why the answer was cut off, if it was.
    pub aborted: Option<&'d str>,
    /// Results in `answers` that answer no call.
    pub orphans: Vec<&'d ToolResult>,
}

/// A call and its answer.
#[derive(Debug, Clone, Copy)]
pub struct Call<'d> {
    /// The call.
    pub tool_use: &'d ToolUse,
    /// Its placeholder or result.
    pub result: Option<&'d ToolResult>,
    /// Whether another call of the same message has the same id.
    pub duplicate: bool,
}

impl<'d> Call<'d> {
    fn new(tool_use: &'d ToolUse) -> Self {
        Self {
            tool_use,
            result: None,
            duplicate: false,
        }
    }

    /// The status, when a placeholder stands for the answer.
    pub fn status(&self) -> Option<Status> {
        match self.result?.kind {
            ResultKind::Placeholder(status) => Some(status),
            ResultKind::Final { .. } => None,
        }
    }

    /// Whether a real result stands there.
    pub fn is_answered(&self) -> bool {
        self.result
            .is_some_and(|result| matches!(result.kind, ResultKind::Final { .. }))
    }
}

impl<'t> Document<'t> {
    /// Every turn with calls, in order; from the end with `rev()`.
    pub fn turns(&self) -> impl DoubleEndedIterator<Item = Turn<'_>> {
        (0..self.messages.len()).filter_map(|at| self.turn(at))
    }

    /// The turns with a call that has no result yet, in order. There are few of
    /// them, however long the chat is.
    pub fn unanswered_turns(&self) -> impl Iterator<Item = Turn<'_>> {
        self.unanswered.iter().filter_map(|at| self.turn(*at))
    }

    /// The turn whose answer or results cover a line.
    pub fn turn_at(&self, line: usize) -> Option<Turn<'_>> {
        let at = self.message_at(line)?;
        self.turn(at).or_else(|| self.turn(at.checked_sub(1)?))
    }

    /// The turn of an assistant message, if it has calls.
    pub fn turn(&self, assistant: usize) -> Option<Turn<'_>> {
        let message = self
            .messages
            .get(assistant)
            .filter(|it| it.role == Role::Assistant)?;
        let mut calls: Vec<Call<'_>> = self.calls_of(message).map(Call::new).collect();
        if calls.is_empty() {
            return None;
        }
        let answers = Some(assistant + 1).filter(|at| {
            self.messages
                .get(*at)
                .is_some_and(|next| next.role == Role::You)
        });
        let results = answers
            .into_iter()
            .flat_map(|at| self.results_of(&self.messages[at]));
        let orphans = pair(&mut calls, results.collect());
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

    fn calls_of(&self, message: &Message) -> impl Iterator<Item = &ToolUse> {
        let blocks = self.blocks_of(message).iter();
        blocks.filter_map(|block| match block {
            Block::ToolUse(call) => Some(call),
            _ => None,
        })
    }

    fn results_of(&self, message: &Message) -> impl Iterator<Item = &ToolResult> {
        let blocks = self.blocks_of(message).iter();
        blocks.filter_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Whether the calls of an answer and the results behind it go together one by one,
    /// as nearly all of a long chat do. Seen without a [`Turn`], which takes memory.
    fn is_settled(&self, answer: &Message, next: Option<&Message>) -> bool {
        let next = next.filter(|next| next.role == Role::You);
        let mut results = next.into_iter().flat_map(|next| self.results_of(next));
        let goes_with = |(at, call): (usize, &ToolUse)| {
            let is_other = |other: &ToolUse| other.id != call.id;
            at < FEW
                && self.calls_of(answer).take(at).all(is_other)
                && results.next().is_some_and(|result| {
                    let is_final = matches!(result.kind, ResultKind::Final { .. });
                    is_final && result.tool_use_id == call.id
                })
        };
        self.calls_of(answer).enumerate().all(goes_with) && results.next().is_none()
    }
}

/// Gives each call its result, the first of an id to the first of that id, and
/// returns the results that are left, in order. Sorting both by id keeps this
/// quick for any number of calls; the usual few are compared with each other.
fn pair<'d>(calls: &mut [Call<'d>], mut results: Vec<&'d ToolResult>) -> Vec<&'d ToolResult> {
    if calls.len() <= FEW && results.len() <= FEW {
        return pair_few(calls, results);
    }
    let mut order: Vec<usize> = (0..calls.len()).collect();
    order.sort_by_key(|at| calls[*at].tool_use.id.as_str());
    results.sort_by_key(|result| result.tool_use_id.as_str());
    let mut orphans = Vec::new();
    let mut results = results.into_iter().peekable();
    for (position, at) in order.iter().enumerate() {
        let id = &calls[*at].tool_use.id;
        let same = |other: Option<&usize>| other.is_some_and(|at| calls[*at].tool_use.id == *id);
        let before = position.checked_sub(1).and_then(|at| order.get(at));
        let duplicate = same(before) || same(order.get(position + 1));
        while let Some(orphan) = results.next_if(|result| result.tool_use_id < *id) {
            orphans.push(orphan);
        }
        let result = results.next_if(|result| result.tool_use_id == *id);
        calls[*at].duplicate = duplicate;
        calls[*at].result = result;
    }
    orphans.extend(results);
    orphans.sort_by_key(|result| result.lines.start);
    orphans
}

/// Up to so many a comparison of each with each is the quickest.
const FEW: usize = 8;

fn pair_few<'d>(calls: &mut [Call<'d>], mut results: Vec<&'d ToolResult>) -> Vec<&'d ToolResult> {
    for at in 0..calls.len() {
        let id = &calls[at].tool_use.id;
        let mut others = calls.iter().enumerate().filter(|(other, _)| *other != at);
        let duplicate = others.any(|(_, other)| other.tool_use.id == *id);
        let result = results.iter().position(|result| result.tool_use_id == *id);
        calls[at].result = result.map(|found| results.remove(found));
        calls[at].duplicate = duplicate;
    }
    results
}

/// The assistant messages with unanswered calls, and what is wrong with the
/// pairing, both from the message `first` on; its answers are not before it.
pub(crate) fn look(document: &Document<'_>, first: usize) -> (Vec<usize>, Vec<Diagnostic>) {
    let (mut unanswered, mut found) = (Vec::new(), Vec::new());
    let last = document.messages.len().saturating_sub(1);
    // The message whose results were looked at together with the calls before it.
    let mut seen = None;
    for (at, message) in document.messages.iter().enumerate().skip(first) {
        if message.role != Role::Assistant {
            let unasked = document.results_of(message).filter(|_| seen != Some(at));
            found.extend(unasked.map(orphan));
        } else if document.is_settled(message, document.messages.get(at + 1)) {
            seen = Some(at + 1);
        } else if let Some(turn) = document.turn(at) {
            seen = turn.answers;
            if !turn.calls.iter().all(Call::is_answered) {
                unanswered.push(at);
            }
            let older = turn.answers.unwrap_or(at) < last;
            let calls = turn.calls.iter();
            found.extend(calls.filter_map(|call| call_problem(document, call, older)));
            found.extend(turn.orphans.iter().map(|result| orphan(result)));
        }
    }
    (unanswered, found)
}

fn call_problem(document: &Document<'_>, call: &Call<'_>, older: bool) -> Option<Diagnostic> {
    let header = call.tool_use.lines.start..call.tool_use.lines.start + 1;
    let id = &call.tool_use.id;
    if call.duplicate {
        let message = format!("Two calls of this answer have the id \"{id}\", so neither is run.");
        return Some(Diagnostic::error(header.clone(), message).with_fix(Fix {
            title: "Give this call an id of its own".to_owned(),
            lines: header.clone(),
            replacement: vec![format!(
                "**Tool Use:** `{}` (`{id}_{}`)",
                call.tool_use.name,
                header.start + 1
            )],
        }));
    }
    if call.result.is_none() && older {
        let message = format!("The call \"{id}\" has no result in the @You: message after it.");
        return Some(Diagnostic::warning(header, message));
    }
    if call.is_answered() {
        return None;
    }
    let error = document.input(call.tool_use).err()?;
    Some(Diagnostic::error(
        header,
        format!(
            "The arguments of \"{id}\" cannot be read: {error}. The call gets an error result."
        ),
    ))
}

fn orphan(result: &ToolResult) -> Diagnostic {
    let header = result.lines.start..result.lines.start + 1;
    let message = format!(
        "No call of the answer before has the id \"{}\" (or it has a result already); this result is not sent.",
        result.tool_use_id
    );
    Diagnostic::warning(header, message)
}
