//! Checkpoints of the chat's calls, and `:Flemma undo`, `:Flemma redo`, and `:Flemma rewind`.

use std::sync::Arc;

use chat::approval::CallKey;
use chat::cycle::{Level, Notice};
use chat::document::{Block, Document, Message, Role};
use chat::outcome::UndoCoverage;
use chat::write::TextEdit;
use tools::checkpoints::{
    CallLabel, Coverage, FileArgument, JournalScope, Recorder, Request, StoredPath, recover,
};

use super::ctx::Ctx;
use super::{Input, WorkInput};
use crate::buffers::EditorBuffers;
use crate::restoring::{Restoring, files};
use crate::rewinding::{ChatTurn, Rewinding};

/// Maximum characters of a message in the list of turns.
const TITLE: usize = 60;
/// Bytes of a megabyte, in which the limit is given.
const MEGABYTE: u64 = 1_000_000;

/// Returns what records the files that a call changes.
pub(super) fn recorder(ctx: &Ctx, call: &CallKey) -> Recorder {
    // The last one, because another turn may have used the same ID.
    let document = ctx.buffer.document();
    let line = document.calls().rfind(|it| it.id == call.id);
    // A call that is not in the document belongs to the last turn.
    let line = line.map_or(usize::MAX, |it| it.lines.start);
    let label = CallLabel {
        turn: turns(&document).filter(|it| it.lines.start < line).count(),
        call: call.id.as_str().to_owned(),
        tool: call.name.clone(),
        ..chat_label(ctx)
    };
    recorder_of(ctx, label)
}

fn recorder_of(ctx: &Ctx, label: CallLabel) -> Recorder {
    let options = &ctx.shared.settings.checkpoints;
    if !options.enabled || ctx.editor.is_dry_run() {
        return Recorder::default();
    }
    let limit = options.limit.saturating_mul(MEGABYTE);
    Recorder::new(&ctx.shared.projects, ctx.place.folder(), limit, label)
}

/// Starts a process for the next command and indexes the project if the model may run commands, so
/// that the command need not wait for that.
pub(super) fn prepare_commands(ctx: &Ctx, is_first: bool) {
    // Changes that a killed program was making are looked for once.
    if is_first {
        let (folder, buffers) = (ctx.place.folder(), ctx.open_buffers());
        tokio::spawn(async move { recover(folder, &*buffers).await });
    }
    let mut tools = ctx.rules().options.tools.keys();
    if tools.any(|it| ctx.is_held(it)) {
        recorder_of(ctx, chat_label(ctx)).prepare();
        tools::prepare_command(ctx.sandbox().clone());
    }
}

/// Adds to the preview of a command what `:Flemma undo` would not restore.
pub(crate) fn with_coverage(ctx: &Ctx, preview: String, width: usize) -> String {
    let lacks = match recorder_of(ctx, CallLabel::default()).coverage() {
        Coverage::Full => return preview,
        Coverage::Lacks { files: 0, .. } => "lacks ignored files".to_owned(),
        Coverage::Lacks {
            files: count,
            ignored,
        } => {
            if ignored {
                format!("lacks {} and ignored ones", files(count))
            } else {
                format!("lacks {}", files(count))
            }
        }
        Coverage::NotYet => "cannot restore it yet".to_owned(),
        Coverage::Nothing => "cannot restore it".to_owned(),
    };
    let note = format!(" (:Flemma undo {lacks})");
    // The end of a long command is cut rather than what the user must know.
    let room = width.saturating_sub(note.chars().count()).max(width / 2);
    let preview = chat::preview::one_line(&preview, room);
    chat::preview::one_line(&format!("{preview}{note}"), width)
}

/// Returns the label of this chat's checkpoints.
pub(super) fn chat_label(ctx: &Ctx) -> CallLabel {
    CallLabel {
        chat: ctx.place.path().map(|it| StoredPath(it.to_owned())),
        session: ctx.place.session().to_owned(),
        ..CallLabel::default()
    }
}

/// Reports what the checkpoints of a call that ended lack. Returns how far its changes can be
/// undone.
pub(super) fn report_checkpoint(ctx: &Ctx, recorder: &Recorder) -> UndoCoverage {
    let summary = recorder.summary();
    for text in summary.remarks {
        let level = Level::Warning;
        ctx.editor.notify(&Notice { level, text });
    }
    // Builds write ignored files all the time, so this is no warning.
    if let Some(text) = summary.ignored {
        ctx.inform(&text);
    }
    UndoCoverage {
        restores: summary.changes > 0,
        lacks: summary.lacks,
    }
}

/// Lists what a restore would change, asks, and restores it.
pub(super) fn restore_files(ctx: &Ctx, request: Request, is_running: bool) {
    // A running call may be changing the same files.
    if is_running {
        return ctx.inform("A call is running. Cancel it or wait for it, then try again.");
    }
    tokio::spawn(restoring(ctx).run(request));
}

pub(super) fn restoring(ctx: &Ctx) -> Restoring {
    Restoring {
        editor: ctx.editor.clone(),
        buffer: ctx.buffer.id(),
        buffers: Arc::new(EditorBuffers(ctx.editor.clone())),
        folder: ctx.place.folder(),
        scope: JournalScope::Chat(chat_label(ctx)),
    }
}

/// A file that the user named in a command of this chat.
pub(super) fn file_argument(ctx: &Ctx, name: &str) -> FileArgument {
    FileArgument {
        name: name.to_owned(),
        folders: vec![ctx.place.cwd().to_owned(), ctx.place.folder()],
    }
}

/// `:Flemma rewind`: lists the turns, and restores the files, cuts the chat, or both.
pub(super) fn rewind(ctx: &Ctx, is_working: bool) {
    let Some(inbox) = ctx.inbox.upgrade() else {
        return;
    };
    if is_working {
        return ctx.inform(BUSY);
    }
    let rewinding = Rewinding {
        turns: chat_turns(&ctx.buffer.document()),
        restoring: restoring(ctx),
        cut: Box::new(move |turn, report| {
            drop(inbox.send(Input::Work(WorkInput::Cut(turn, report))))
        }),
    };
    tokio::spawn(rewinding.run());
}

/// Returns the edit that removes everything below a message of the user, which becomes the prompt.
///
/// # Errors
///
/// Lines have moved while the user chose, and a wrong cut would lose text.
pub(super) fn cut(document: &Document<'_>, turn: &ChatTurn) -> Result<TextEdit, &'static str> {
    let turns: Vec<&Message> = turns(document).collect();
    let now = chat_turn(document, &turns, turn.number);
    if now.as_ref() != Some(turn) {
        return Err("The chat has changed since the list was made, so it was not cut.");
    }
    Ok(TextEdit {
        lines: turn.end..document.text().line_count(),
        replacement: Vec::new(),
    })
}

/// The message while something runs.
pub(super) const BUSY: &str = "This chat is busy; try again when nothing is running.";

/// The user's messages, each with everything that follows it.
pub(super) fn chat_turns(document: &Document<'_>) -> Vec<ChatTurn> {
    let all: Vec<&Message> = turns(document).collect();
    let numbers = 1..=all.len();
    numbers
        .filter_map(|it| chat_turn(document, &all, it))
        .collect()
}

/// A message of the user with everything that follows it.
fn chat_turn(document: &Document<'_>, turns: &[&Message], number: usize) -> Option<ChatTurn> {
    // Numbers of turns start at 1.
    let message = turns.get(number.checked_sub(1)?)?;
    let after = message.lines.end;
    let calls = document.calls().filter(|it| it.lines.start >= after);
    let calls = calls.map(|it| {
        let turn = turns.partition_point(|turn| turn.lines.start < it.lines.start);
        (it.id.as_str().to_owned(), turn)
    });
    Some(ChatTurn {
        number,
        title: title(document, message),
        start: message.lines.start,
        end: after,
        lines: document.text().line_count(),
        calls: calls.collect(),
    })
}

/// The first words of a message.
fn title(document: &Document<'_>, message: &Message) -> String {
    let blocks = document.blocks_of(message).iter();
    let mut prose = blocks.filter_map(|block| match block {
        Block::Prose(lines) => Some(document.lossy(lines.clone()).trim().to_owned()),
        _ => None,
    });
    let words = prose.find(|it| !it.is_empty()).unwrap_or_default();
    chat::preview::one_line(words.lines().next().unwrap_or_default(), TITLE)
}

/// The user's messages, without those that only hold results.
fn turns<'d>(document: &'d Document<'_>) -> impl Iterator<Item = &'d Message> {
    let messages = document.messages.iter();
    messages.filter(|it| it.role == Role::You && it.has_words)
}
