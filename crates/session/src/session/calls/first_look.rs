//! Ignores a key that comes before a call can have been read, because it was meant for
//! something else. The same key pressed again is meant for the call.

use std::time::{Duration, Instant};

use chat::approval::CallKey;
use chat::document::{Document, PairedCall};
use chat::marks::{self, Mark};

use super::covers;
use crate::protocol::{Action, EditorCommand};
use crate::session::Session;

/// The last key that came too early, and when the last answer ended.
#[derive(Debug, Default)]
pub(super) struct FirstLook {
    /// The calls that the key would have run.
    refused: Vec<CallKey>,
    /// When the calls without a placeholder appeared.
    answered: Option<Instant>,
}

impl FirstLook {
    /// Notes that an answer ended: its calls can be read from now on.
    pub(super) fn answered(&mut self) {
        self.answered = Some(Instant::now());
    }
}

impl Session {
    /// Returns true if a key came before the calls that it would run could be read. Only
    /// once: a second press counts, however soon it comes.
    pub(crate) fn is_too_soon(&mut self, command: &EditorCommand) -> bool {
        let delay = self.shared.settings.tools.review_delay;
        if delay == 0 || self.editor.is_headless() {
            return false;
        }
        let document = self.buffer.document();
        let marks = marks::marks(&document, &self.cycle, &(), 1);
        let answered = self.calls.first_look.answered;
        let is_unread = |call: &CallKey| match marks.iter().find(|it| it.call == *call) {
            // A status that the user typed is already a decision.
            Some(mark) if !mark.pending => false,
            Some(mark) => {
                let drawn = command.drawn_ms.get(&mark.key);
                drawn.is_none_or(|ms| *ms < delay)
            }
            // Nothing is drawn without a placeholder; the call can be read in the answer.
            None => answered.is_some_and(|at| at.elapsed() < Duration::from_millis(delay)),
        };
        let mut unread = meant(command, &document, &marks);
        unread.retain(is_unread);
        // A key is ignored once: calls for which the press before was ignored count as
        // read.
        let pressed = std::mem::replace(&mut self.calls.first_look.refused, unread.clone());
        !unread.iter().all(|call| pressed.contains(call))
    }
}

/// Returns the calls that a key would run as the user's own decision.
fn meant(command: &EditorCommand, document: &Document<'_>, marks: &[Mark]) -> Vec<CallKey> {
    let pending = || {
        let pending = marks.iter().filter(|it| it.pending);
        pending.map(|it| it.call.clone()).collect()
    };
    match &command.action {
        Action::Approve(Some(word)) if word == "all" => pending(),
        Action::Resolve | Action::Approve(_) => match call_at(document, command.line) {
            Some(call) => vec![call],
            None => pending(),
        },
        _ => Vec::new(),
    }
}

/// Returns the unanswered call whose blocks cover a line.
fn call_at(document: &Document<'_>, line: usize) -> Option<CallKey> {
    let turn = document.turn_at(line)?;
    let is_here = |call: &&PairedCall<'_>| !call.is_answered() && covers(call, line);
    let call = turn.calls.iter().find(is_here)?;
    Some(chat::cycle::key(document, call.tool_use))
}
