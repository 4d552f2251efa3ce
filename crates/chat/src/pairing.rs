//! Which result answers which call.
//!
//! A call is answered in the `@You:` message right after its assistant message
//! and nowhere else, so an id that an earlier turn used means nothing here.

use std::collections::HashMap;

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

impl Call<'_> {
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
    /// Every turn with calls, in order.
    pub fn turns(&self) -> impl Iterator<Item = Turn<'_>> {
        (0..self.messages.len()).filter_map(|at| self.turn(at))
    }

    /// The turn of an assistant message, if it has calls.
    pub fn turn(&self, assistant: usize) -> Option<Turn<'_>> {
        let message = self
            .messages
            .get(assistant)
            .filter(|it| it.role == Role::Assistant)?;
        if !message
            .blocks
            .iter()
            .any(|block| matches!(block, Block::ToolUse(_)))
        {
            return None;
        }
        let answers = Some(assistant + 1).filter(|at| {
            self.messages
                .get(*at)
                .is_some_and(|next| next.role == Role::You)
        });
        let mut results: HashMap<&str, Vec<&ToolResult>> = HashMap::new();
        for result in answers
            .into_iter()
            .flat_map(|at| results_of(&self.messages[at]))
        {
            results
                .entry(result.tool_use_id.as_str())
                .or_default()
                .push(result);
        }
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for call in calls_of(message) {
            *seen.entry(call.id.as_str()).or_default() += 1;
        }
        let mut next: HashMap<&str, usize> = HashMap::new();
        let calls: Vec<Call<'_>> = calls_of(message)
            .map(|tool_use| {
                let id = tool_use.id.as_str();
                let at = next.entry(id).or_default();
                let result = results.get(id).and_then(|found| found.get(*at)).copied();
                *at += 1;
                Call {
                    tool_use,
                    result,
                    duplicate: seen[id] > 1,
                }
            })
            .collect();
        let orphans = answers
            .into_iter()
            .flat_map(|at| results_of(&self.messages[at]))
            .filter(|result| {
                !calls
                    .iter()
                    .any(|call| call.result.is_some_and(|it| std::ptr::eq(it, *result)))
            })
            .collect();
        let aborted = message.blocks.iter().find_map(|block| match block {
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
}

fn calls_of(message: &Message) -> impl Iterator<Item = &ToolUse> {
    message.blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call),
        _ => None,
    })
}

fn results_of(message: &Message) -> impl Iterator<Item = &ToolResult> {
    message.blocks.iter().filter_map(|block| match block {
        Block::ToolResult(result) => Some(result),
        _ => None,
    })
}

/// Adds what is wrong with the pairing to the document's diagnostics.
pub(crate) fn diagnose(document: &mut Document<'_>) {
    let mut found = Vec::new();
    let last = document.messages.len().saturating_sub(1);
    let mut answering = Vec::new();
    for turn in document.turns() {
        answering.extend(turn.answers);
        for call in &turn.calls {
            found.extend(call_problem(
                document,
                call,
                turn.answers.unwrap_or(turn.assistant) < last,
            ));
        }
        found.extend(turn.orphans.iter().map(|result| orphan(result)));
    }
    for (at, message) in document.messages.iter().enumerate() {
        if answering.binary_search(&at).is_err() {
            found.extend(results_of(message).map(orphan));
        }
    }
    document.diagnostics.extend(found);
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
