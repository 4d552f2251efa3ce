//! `:Flemma review turn`: which message it goes back to, and when its diff is applied.

use std::sync::Arc;

use tools::checkpoints::{CallLabel, Request};

use super::checkpoints::chat_turns;
use super::{Input, Session, WorkInput, calls};
use crate::rewinding::ChatTurn;
use crate::turn_reviewing::{TurnReviewed, TurnReviewing};

impl Session {
    /// `:Flemma review turn`: shows what changed since the user's message at the cursor, or else
    /// since the last one.
    pub(super) fn review_turn(&self, line: usize, file: Option<&str>) {
        if !self.shared.settings.checkpoints.enabled {
            return self.inform(
                "There is nothing to review, because checkpoints are off (checkpoints.enabled).",
            );
        }
        let turns = self.past_turns();
        let at_cursor = turns.iter().find(|it| (it.start..it.end).contains(&line));
        let Some(turn) = at_cursor.or(turns.last()) else {
            return self.inform("There is nothing to review: nothing was sent yet.");
        };
        if Some(turn) != turns.last() {
            let ChatTurn { title, number, .. } = turn;
            self.inform(&format!("Changes since message {number}: {title}"));
        }
        if !self.calls.is_empty() {
            self.inform(
                "A call is running. What it changes is in the review when you open that again.",
            );
        }
        tokio::spawn(self.turn_reviewing(turn, file).run());
    }

    /// Reviews what the last run changed. Without checkpoints, only shows it.
    pub(super) fn review_changes(&self) {
        let files = self.run_changes();
        let otherwise = move || calls::unified(&files);
        let turns = self.past_turns();
        let last = turns
            .last()
            .filter(|_| self.shared.settings.checkpoints.enabled);
        match last.map(|turn| self.turn_reviewing(turn, None)) {
            Some(reviewing) => {
                let reviewing = TurnReviewing {
                    otherwise: Some(Box::new(otherwise)),
                    ..reviewing
                };
                tokio::spawn(reviewing.run());
            }
            None => {
                let editor = self.editor.clone();
                tokio::task::spawn_blocking(move || editor.report("changes", otherwise()));
            }
        }
    }

    /// The user's messages that something follows.
    fn past_turns(&self) -> Vec<ChatTurn> {
        let mut turns = chat_turns(&self.buffer.document());
        turns.retain(|it| it.end < it.lines);
        turns
    }

    fn turn_reviewing(&self, turn: &ChatTurn, file: Option<&str>) -> TurnReviewing {
        let inbox = self.inbox.clone();
        let request = Request::Turns {
            from: turn.number,
            calls: turn.calls.clone(),
        };
        TurnReviewing {
            restoring: self.restoring(),
            request,
            file: file.map(|it| self.file_argument(it)),
            id: match file {
                Some(file) => format!("turn:{}:{file}", turn.number),
                None => format!("turn:{}", turn.number),
            },
            otherwise: None,
            written: Arc::new(move |reviewed| {
                // Fails if the chat was closed meanwhile.
                if let Some(inbox) = inbox.upgrade() {
                    drop(inbox.send(Input::Work(WorkInput::TurnReviewed(Box::new(reviewed)))));
                }
            }),
        }
    }

    /// Applies the diff of a review that the user wrote.
    pub(super) fn turn_reviewed(&mut self, reviewed: TurnReviewed) {
        // A running call may be changing the same files.
        if !self.calls.is_empty() {
            tokio::spawn(reviewed.again(RUNNING));
            return;
        }
        // The line that sums up the changes is out of date.
        self.run_begins();
        let turn = self.past_turns().last().map_or(0, |it| it.number);
        let label = CallLabel {
            turn,
            tool: "review turn".to_owned(),
            ..self.chat_label()
        };
        tokio::spawn(reviewed.apply(label));
    }
}

/// The message while a call runs.
const RUNNING: &str =
    "A call is running, so no file was changed. Cancel it or wait for it, then :w again.";
