//! A key that comes before a call can have been read runs nothing: it was meant for
//! something else. The same key pressed again is meant for the call.

use std::time::{Duration, Instant};

use chat::approval::CallKey;
use chat::document::Document;
use chat::marks::{self, Mark};

use super::Session;
use crate::protocol::{Action, Command};

/// What was pressed too soon, and when calls appeared that have no placeholder.
#[derive(Debug, Default)]
pub(super) struct FirstLook {
    /// The calls that the last key was about, when it came too soon.
    refused: Vec<CallKey>,
    /// When the last answer ended.
    answered: Option<Instant>,
}

impl FirstLook {
    /// An answer ended; its calls can be read from now on.
    pub(super) fn answered(&mut self) {
        self.answered = Some(Instant::now());
    }
}

impl Session {
    /// Whether a key that runs calls came before these could be read. That is so once: the
    /// second press counts, however soon it comes.
    pub(super) fn is_too_soon(&mut self, command: &Command) -> bool {
        let delay = self.shared.settings.tools.review_delay;
        if delay == 0 || self.editor.is_headless() {
            return false;
        }
        let document = self.buffer.mirror.document();
        let marks = marks::marks(&document, &self.cycle, &(), 1);
        let meant = meant(command, &document, &marks);
        let unread = |call: &CallKey| match marks.iter().find(|it| it.call == *call) {
            Some(mark) => {
                let drawn = command.drawn_ms.get(&mark.key);
                // A word that the user wrote is decided by.
                mark.pending && drawn.is_none_or(|ms| *ms < delay)
            }
            // It is in an answer and nothing was drawn beside it.
            None => {
                let answered = self.calls.first_look.answered;
                answered.is_some_and(|at| at.elapsed() < Duration::from_millis(delay))
            }
        };
        let unread: Vec<CallKey> = meant.into_iter().filter(unread).collect();
        let pressed = std::mem::replace(&mut self.calls.first_look.refused, unread.clone());
        !unread.iter().all(|call| pressed.contains(call))
    }
}

/// The calls that a key would run by the user's own word.
fn meant(command: &Command, document: &Document<'_>, marks: &[Mark]) -> Vec<CallKey> {
    let pending = || {
        marks
            .iter()
            .filter(|it| it.pending)
            .map(|it| it.call.clone())
    };
    match &command.action {
        Action::Approve(Some(word)) if word == "all" => pending().collect(),
        Action::Resolve | Action::Approve(_) => match call_at(document, command.line) {
            Some(call) => vec![call],
            None => pending().collect(),
        },
        _ => Vec::new(),
    }
}

/// The unanswered call whose blocks cover a line.
fn call_at(document: &Document<'_>, line: usize) -> Option<CallKey> {
    let turn = document.turn_at(line)?;
    let covers = |call: &&chat::document::Call<'_>| {
        let result = call.result.is_some_and(|it| it.lines.contains(&line));
        result || call.tool_use.lines.contains(&line)
    };
    let call = turn
        .calls
        .iter()
        .filter(|it| !it.is_answered())
        .find(covers)?;
    Some(chat::cycle::key(document, call.tool_use))
}
