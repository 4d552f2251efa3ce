//! Checkpoints of the chat's calls, and `:Flemma undo` and `:Flemma redo`.

use std::sync::Arc;

use chat::approval::CallKey;
use chat::cycle::{Level, Notice};
use chat::document::{Block, Document, Role};
use tools::checkpoints::{CallLabel, Name, Recorder, Request, Scope};

use super::Session;
use crate::buffers::EditorBuffers;
use crate::restoring::Restoring;

/// Bytes of a megabyte, in which the limit is given.
const MEGABYTE: u64 = 1_000_000;

impl Session {
    /// Returns what records the files that a call changes.
    pub(super) fn recorder(&self, call: &CallKey) -> Recorder {
        let options = &self.shared.settings.checkpoints;
        if !options.enabled || self.editor.is_dry_run() {
            return Recorder::default();
        }
        let document = self.buffer.document();
        let line = document.calls().filter(|it| it.id == call.id).last();
        let line = line.map_or(usize::MAX, |it| it.lines.start);
        let label = CallLabel {
            turn: turns(&document).filter(|start| *start < line).count(),
            call: call.id.as_str().to_owned(),
            tool: call.name.clone(),
            ..self.chat_label()
        };
        let limit = options.limit.saturating_mul(MEGABYTE);
        Recorder::new(self.disk.folder(), limit, label)
    }

    /// The label of this chat's checkpoints.
    fn chat_label(&self) -> CallLabel {
        CallLabel {
            chat: self.path().map(|it| Name(it.to_owned())),
            session: self.disk.session().to_owned(),
            ..CallLabel::default()
        }
    }

    /// Shows what the checkpoints of a call that ended lack. Returns true if its changes can
    /// be undone.
    pub(super) fn report_checkpoint(&self, recorder: &Recorder) -> bool {
        let summary = recorder.summary();
        for text in summary.remarks {
            let level = Level::Warning;
            self.editor.notify(&Notice { level, text });
        }
        summary.changes > 0
    }

    /// Lists what a restore would change, asks, and restores it.
    pub(super) fn restore_files(&self, request: Request) {
        if !self.calls.is_empty() {
            return self.inform("A call is running. Cancel it or wait for it, then try again.");
        }
        let restoring = Restoring {
            editor: self.editor.clone(),
            buffer: self.buffer.id(),
            buffers: Arc::new(EditorBuffers(self.editor.clone())),
            folder: self.disk.folder(),
            scope: Scope::Chat(self.chat_label()),
        };
        tokio::spawn(restoring.run(request));
    }
}

/// The first lines of the user's messages, without those that only hold results.
fn turns(document: &Document<'_>) -> impl Iterator<Item = usize> {
    let of_user = document.messages.iter().filter(|it| it.role == Role::You);
    let has_words = |it: &&chat::document::Message| {
        let mut blocks = document.blocks_of(it).iter();
        it.inline.is_some()
            || blocks.any(
                |block| matches!(block, Block::Prose(lines) if !document.is_blank(lines.clone())),
            )
    };
    of_user.filter(has_words).map(|it| it.lines.start)
}
