//! `:Flemma review turn`: which message it goes back to, and when its diff is applied.

use std::sync::Arc;

use tools::checkpoints::{CallLabel, Request};

use super::WorkInput;
use super::calls::{ChangedFile, unified};
use super::checkpoints::{chat_label, chat_turns, file_argument, restoring};
use super::ctx::Ctx;
use crate::rewinding::ChatTurn;
use crate::turn_reviewing::{TurnReviewed, TurnReviewing};

/// `:Flemma review turn`: shows what changed since the user's message at the cursor, or else
/// since the last one.
pub(super) fn review_turn(ctx: &Ctx, line: usize, file: Option<&str>, is_running: bool) {
    if !ctx.shared.settings.checkpoints.enabled {
        return ctx.inform(
            "There is nothing to review, because checkpoints are off (checkpoints.enabled).",
        );
    }
    let turns = past_turns(ctx);
    let at_cursor = turns.iter().find(|it| (it.start..it.end).contains(&line));
    let Some(turn) = at_cursor.or(turns.last()) else {
        return ctx.inform("There is nothing to review: nothing was sent yet.");
    };
    if Some(turn) != turns.last() {
        let ChatTurn { title, number, .. } = turn;
        ctx.inform(&format!("Changes since message {number}: {title}"));
    }
    if is_running {
        ctx.inform("A call is running. What it changes is in the review when you open that again.");
    }
    tokio::spawn(turn_reviewing(ctx, turn, file).run());
}

/// Reviews what the last run changed. Without checkpoints, only shows it.
pub(super) fn review_changes(ctx: &Ctx, files: Vec<ChangedFile>) {
    let otherwise = move || unified(&files);
    let turns = past_turns(ctx);
    let last = turns
        .last()
        .filter(|_| ctx.shared.settings.checkpoints.enabled);
    match last.map(|turn| turn_reviewing(ctx, turn, None)) {
        Some(reviewing) => {
            let reviewing = TurnReviewing {
                otherwise: Some(Box::new(otherwise)),
                ..reviewing
            };
            tokio::spawn(reviewing.run());
        }
        None => {
            let editor = ctx.editor.clone();
            tokio::task::spawn_blocking(move || editor.report("changes", otherwise()));
        }
    }
}

/// The user's messages that something follows.
fn past_turns(ctx: &Ctx) -> Vec<ChatTurn> {
    let mut turns = chat_turns(&ctx.buffer.document());
    turns.retain(|it| it.end < it.lines);
    turns
}

fn turn_reviewing(ctx: &Ctx, turn: &ChatTurn, file: Option<&str>) -> TurnReviewing {
    let inbox = ctx.inbox.clone();
    let request = Request::Turns {
        from: turn.number,
        calls: turn.calls.clone(),
    };
    TurnReviewing {
        restoring: restoring(ctx),
        request,
        file: file.map(|it| file_argument(ctx, it)),
        id: match file {
            Some(file) => format!("turn:{}:{file}", turn.number),
            None => format!("turn:{}", turn.number),
        },
        otherwise: None,
        written: Arc::new(move |reviewed| {
            inbox.deliver(WorkInput::TurnReviewed(Box::new(reviewed)));
        }),
    }
}

/// Applies the diff of a review that the user wrote. While a call runs, which may be changing the
/// same files, the review goes on instead.
pub(super) fn turn_reviewed(ctx: &Ctx, reviewed: TurnReviewed, is_running: bool) {
    if is_running {
        tokio::spawn(reviewed.again(RUNNING));
        return;
    }
    let turn = past_turns(ctx).last().map_or(0, |it| it.number);
    let label = CallLabel {
        turn,
        tool: "review turn".to_owned(),
        ..chat_label(ctx)
    };
    tokio::spawn(reviewed.apply(label));
}

/// The message while a call runs.
const RUNNING: &str =
    "A call is running, so no file was changed. Cancel it or wait for it, then :w again.";
