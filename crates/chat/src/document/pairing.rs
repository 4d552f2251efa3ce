//! Pairs results with calls.
//!
//! A call is answered only in the `@You:` message right after its assistant message, so IDs
//! used in earlier turns don't matter.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    Block, Diagnostic, Document, Message, Parsed, ResultKind, Role, Status, ToolResultBlock,
    ToolUseBlock,
};
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
}

/// A call and its answer.
#[derive(Debug, Clone, Copy)]
pub struct PairedCall<'d> {
    /// The call.
    pub tool_use: &'d ToolUseBlock,
    /// Its placeholder or result.
    pub result: Option<&'d ToolResultBlock>,
    /// True if another call of the same message has the same ID.
    pub duplicate: bool,
}

impl PairedCall<'_> {
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
        let calls: Vec<PairedCall<'_>> = { self.pairs_of(message).iter() }
            .filter_map(|pair| self.paired_call(pair))
            .collect();
        if calls.is_empty() {
            return None;
        }
        let answers = answers_to(self, assistant);
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
        })
    }

    fn pairs_of(&self, message: &Message) -> &[Pair] {
        let at = |block: usize| self.pairs.partition_point(|it| it.call < block);
        &self.pairs[at(message.blocks.start)..at(message.blocks.end)]
    }

    fn paired_call(&self, pair: &Pair) -> Option<PairedCall<'_>> {
        let Block::ToolUse(tool_use) = self.blocks.get(pair.call)? else {
            return None;
        };
        let result = pair.result.and_then(|at| self.blocks.get(at));
        Some(PairedCall {
            tool_use,
            result: result.and_then(|it| match it {
                Block::ToolResult(result) => Some(result),
                _ => None,
            }),
            duplicate: pair.duplicate,
        })
    }
}

/// A call and its result, as indexes of blocks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pair {
    call: usize,
    result: Option<usize>,
    /// True if another call of the same message has the same ID.
    duplicate: bool,
}

/// Pairs the calls of all messages from `first` on. Done once for each text, because much asks
/// for the result of a call.
pub(super) fn pair_from(parsed: &mut Parsed, first: usize) {
    let start = { parsed.messages.get(first) }.map_or(parsed.blocks.len(), |it| it.blocks.start);
    let known = parsed.pairs.partition_point(|it| it.call < start);
    parsed.pairs.truncate(known);
    for at in first..parsed.messages.len() {
        if parsed.messages[at].role == Role::Assistant {
            let pairs = pair(parsed, at);
            parsed.pairs.extend(pairs);
        }
    }
}

/// Returns the index of the message whose results answer an assistant message. Results elsewhere
/// answer nothing: an ID may be used again in a later turn.
fn answers_to(parsed: &Parsed, assistant: usize) -> Option<usize> {
    let next = parsed.messages.get(assistant + 1)?;
    (next.role == Role::You).then_some(assistant + 1)
}

/// Gives each call of an assistant message its result, in order for each ID.
fn pair(parsed: &Parsed, assistant: usize) -> Vec<Pair> {
    let blocks = |message: &Message| message.blocks.clone().zip(parsed.blocks_of(message));
    // Unanswered calls by ID.
    let mut waiting: HashMap<&ToolUseId, VecDeque<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for (call, block) in blocks(&parsed.messages[assistant]) {
        if let Block::ToolUse(it) = block {
            waiting.entry(&it.id).or_default().push_back(pairs.len());
            pairs.push(Pair {
                call,
                result: None,
                duplicate: false,
            });
        }
    }
    for of_one_id in waiting.values().filter(|it| it.len() > 1) {
        for at in of_one_id {
            pairs[*at].duplicate = true;
        }
    }
    let answers = answers_to(parsed, assistant).map(|at| &parsed.messages[at]);
    for (result, block) in answers.into_iter().flat_map(blocks) {
        if let Block::ToolResult(it) = block
            && let Some(call) = { waiting.get_mut(&it.tool_use_id) }.and_then(VecDeque::pop_front)
        {
            pairs[call].result = Some(result);
        }
    }
    pairs
}

/// Returns the assistant messages with unanswered calls and the pairing diagnostics, from
/// the message `first` on.
pub(super) fn look(document: &Document<'_>, first: usize) -> (Vec<usize>, Vec<Diagnostic>) {
    let (mut unanswered, mut found) = (Vec::new(), Vec::new());
    let last = document.messages.len().saturating_sub(1);
    let read = document.messages.iter().enumerate().skip(first);
    for turn in read.filter_map(|(at, _)| document.turn(at)) {
        if !turn.calls.iter().all(PairedCall::is_answered) {
            unanswered.push(turn.assistant);
        }
        // Calls at the end may still get their results.
        let older = turn.answers.unwrap_or(turn.assistant) < last;
        let calls = turn.calls.iter();
        let answers = turn.answers.filter(|_| older);
        let answers = answers.and_then(|at| document.messages.get(at));
        found.extend(calls.filter_map(|call| call_problem(document, call, older, answers)));
    }
    let start = { document.messages.get(first) }.map_or(0, |it| it.blocks.start);
    // An answer and its results are read together.
    let pairs = document
        .pairs
        .iter()
        .rev()
        .take_while(|it| it.call >= start);
    let answering: HashSet<usize> = pairs.filter_map(|it| it.result).collect();
    let read = document.blocks.iter().enumerate().skip(start);
    let orphans = read.filter_map(|(at, block)| match block {
        Block::ToolResult(result) if !answering.contains(&at) => Some(orphan(document, result)),
        _ => None,
    });
    found.extend(orphans);
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
        return Some(Diagnostic::error(header, message).with_fix(super::unique(call.tool_use)));
    }
    if call.result.is_none() && older {
        let message = format!("The call \"{id}\" has no result in the @You: message after it.");
        let mut problem = Diagnostic::warning(header, message);
        problem.fix = answers.and_then(|it| super::with_result(document, call.tool_use, it));
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
    problem.fix = super::readable(document, call.tool_use);
    Some(problem)
}

fn orphan(document: &Document<'_>, result: &ToolResultBlock) -> Diagnostic {
    let header = result.lines.start..result.lines.start + 1;
    let message = format!(
        "No call of the answer before has the id \"{}\" (or it already has a result), so this result is not sent.",
        result.tool_use_id
    );
    Diagnostic::warning(header, message).with_fix(super::without_result(document, result))
}
