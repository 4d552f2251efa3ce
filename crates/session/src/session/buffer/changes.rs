//! Changes of the text: by the user, and by the host's own edits.

use chat::cycle::CycleEvent;
use chat::origin::ChangeSource;
use chat::text::Lines;

use super::Buffer;
use super::mirror::moved;
use crate::protocol::{Changed, LineChange};
use crate::session::Session;

impl Buffer {
    /// Joins the pieces of a change; `None` until the last one has arrived.
    fn complete(&mut self, piece: Changed) -> Option<Changed> {
        let changed = match self.partial.take() {
            Some(mut begun) => {
                // Neovim splits a long change so that a key need not wait behind all of it.
                begun.lines.extend(piece.lines);
                begun.more = piece.more;
                begun
            }
            None => piece,
        };
        if changed.more {
            self.partial = Some(changed);
            return None;
        }
        if let Some(loading) = &mut self.loading {
            // Neovim sends all pieces of a snapshot together, so no change can come between
            // them.
            tracing::warn!(buffer = self.id, "a change came before the whole text");
            loading.begin_again();
        }
        Some(changed)
    }
}

impl Session {
    /// Takes a change by the user, or a piece of one.
    pub(crate) fn changed(&mut self, piece: Changed) {
        // Only the whole change shows whether it is a paste.
        let Some(changed) = self.buffer.complete(piece) else {
            return;
        };
        // Decide on the text as it was opened before this change: text that is typed,
        // however soon, was not in the file.
        let loaded = |event: &CycleEvent| matches!(event, CycleEvent::Loaded { .. });
        if let Some(loaded) = self.queue.pop_if(loaded) {
            self.step(loaded);
        }
        let lines = changed.first..changed.last;
        self.change_text(lines, &changed.lines, changed.source());
        self.buffer.seq = changed.seq;
        self.note_change();
        // The user may have removed the place where the answer grows.
        self.request.note_change();
        // One queued event covers all changes until it is handled.
        if self.queue.last() != Some(&CycleEvent::Changed) {
            self.queue.push(CycleEvent::Changed);
        }
        self.view.redraw();
    }

    /// Changes the mirror's text, and what refers to its lines.
    pub(super) fn change_text<L: AsRef<[u8]>>(
        &mut self,
        lines: Lines,
        new: &[L],
        source: ChangeSource,
    ) {
        self.announce_change(&lines, new, source);
        // Both calls parse the document, so they are made only if a placeholder changed.
        if self.cycle.has_change() {
            self.cycle.note_undecided(&self.buffer.document());
        }
        self.buffer.mirror.splice(lines, new);
        if self.cycle.has_change() {
            self.cycle.changed(&self.buffer.document());
        }
    }

    /// Applies changes of the host, which are sorted and disjoint. None of them is an
    /// approval by hand, so the document is parsed once after all of them; each parse takes
    /// as long as the last messages are.
    pub(super) fn change_by_host(&mut self, changes: &[LineChange]) {
        let mut has_change = false;
        // From the last change to the first, so that their line numbers stay valid.
        for LineChange { first, last, lines } in changes.iter().rev() {
            self.announce_change(&(*first..*last), lines, ChangeSource::Host);
            has_change |= self.cycle.has_change();
            self.buffer.mirror.splice(*first..*last, lines);
        }
        if has_change {
            self.cycle.changed(&self.buffer.document());
        }
    }

    /// Moves everything that refers to lines, and tells the cycle about the coming change.
    fn announce_change<L: AsRef<[u8]>>(&mut self, lines: &Lines, new: &[L], source: ChangeSource) {
        // A key that waits was pressed on a line of the old text, and means the same line.
        for event in self.queue.iter_mut() {
            if let CycleEvent::Resolve { line } | CycleEvent::CancelTool { line } = event {
                *line = moved(*line, lines, new.len());
            }
        }
        self.request.follow_change(lines, new.len());
        self.view.follow_change(lines, new.len());
        self.cycle.changing(self.buffer.text(), lines, new, source);
    }
}
