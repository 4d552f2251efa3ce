//! The buffer's text as the editor tells it: whole at first, then change by change.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use chat::cycle::Event;
use chat::document::{Document, Parsed};
use chat::origin::ChangeSource;
use chat::text::{Lines, Text};
use chat::tool::ToolUseId;

use super::{Change, Session};
use crate::protocol::{Attach, Changed, Snapshot};

/// The text, and what was read in it.
#[derive(Default)]
pub(super) struct Mirror {
    /// Shared with who reads it elsewhere; then the next change makes a copy.
    text: Arc<Text>,
    read: RefCell<Option<Read>>,
}

/// What was read in the text, and from which line on the text is another one since.
struct Read {
    parsed: Arc<Parsed>,
    changed: Option<usize>,
}

impl Mirror {
    fn new(text: Text) -> Self {
        Self {
            text: Arc::new(text),
            read: RefCell::default(),
        }
    }

    /// The text itself.
    pub(super) fn text(&self) -> &Text {
        &self.text
    }

    /// The document. However often it is asked for, only what changed is read.
    pub(super) fn document(&self) -> Document<'_> {
        let document = match self.read.take() {
            None => Document::parse(&self.text),
            Some(Read {
                parsed,
                changed: Some(line),
            }) => Document::parse_again(&self.text, parsed, line),
            Some(Read { parsed, .. }) => Document::of(&self.text, parsed),
        };
        self.read.replace(Some(Read {
            parsed: document.parsed(),
            changed: None,
        }));
        document
    }

    /// The text and what was read in it, to be looked at elsewhere: see [`Document::of`].
    pub(super) fn share(&self) -> (Arc<Text>, Arc<Parsed>) {
        (self.text.clone(), self.document().parsed())
    }

    /// Replaces lines, see [`Text::splice`].
    pub(super) fn splice<L: AsRef<[u8]>>(&mut self, lines: Lines, new: &[L]) {
        if let Some(read) = self.read.get_mut() {
            let line = read.changed.map_or(lines.start, |it| it.min(lines.start));
            read.changed = Some(line);
        }
        Arc::make_mut(&mut self.text).splice(lines, new);
    }
}

/// A text that arrives in pieces.
#[derive(Default)]
pub(super) struct Loading {
    /// What is known of the buffer, when it is new here.
    pub(super) attach: Option<Attach>,
    /// What came so far; nothing at first, which is not an empty line.
    bytes: Option<Vec<u8>>,
}

impl Loading {
    /// The text of a buffer that was just shown to this host.
    pub(super) fn of(attach: Attach) -> Self {
        Self {
            attach: Some(attach),
            bytes: None,
        }
    }

    fn take_piece(&mut self, snapshot: Snapshot) {
        if let Some(text) = snapshot.text {
            return self.push(&text);
        }
        for line in snapshot.lines {
            let line: Vec<u8> = line
                .iter()
                .map(|&b| if b == b'\n' { 0 } else { b })
                .collect();
            self.push(&line);
        }
    }

    fn push(&mut self, lines: &[u8]) {
        match &mut self.bytes {
            None => self.bytes = Some(lines.to_vec()),
            Some(bytes) => {
                bytes.push(b'\n');
                bytes.extend_from_slice(lines);
            }
        }
    }
}

/// Where a line stands after `lines` were replaced by `count` others. One of those
/// that were replaced stays within what came in their place.
pub(super) fn moved(line: usize, lines: &Lines, count: usize) -> usize {
    if line < lines.start {
        line
    } else if line >= lines.end {
        line - lines.len() + count
    } else {
        lines.start + (line - lines.start).min(count.saturating_sub(1))
    }
}

impl Session {
    /// Changes the text. A key that waits for its turn was pressed on a line of the
    /// text as it was, and is about the same line now.
    pub(super) fn change_text<L: AsRef<[u8]>>(
        &mut self,
        lines: Lines,
        new: &[L],
        source: ChangeSource,
    ) {
        self.announce_change(&lines, new, source);
        if self.cycle.has_change() {
            self.cycle.stands(&self.buffer.mirror.document());
        }
        self.buffer.mirror.splice(lines, new);
        if self.cycle.has_change() {
            self.cycle.changed(&self.buffer.mirror.document());
        }
    }

    /// Makes changes of the host, which are sorted and disjoint. None of them is an approval
    /// by hand, so the document is read once after all of them: each reading takes as long
    /// as its last messages.
    pub(super) fn change_by_host(&mut self, changes: &[Change]) {
        let mut has_change = false;
        for Change { first, last, lines } in changes.iter().rev() {
            self.announce_change(&(*first..*last), lines, ChangeSource::Host);
            has_change |= self.cycle.has_change();
            self.buffer.mirror.splice(*first..*last, lines);
        }
        if has_change {
            self.cycle.changed(&self.buffer.mirror.document());
        }
    }

    /// Moves what refers to lines, and has the cycle note what is about to change.
    fn announce_change<L: AsRef<[u8]>>(&mut self, lines: &Lines, new: &[L], source: ChangeSource) {
        for event in self.queue.iter_mut() {
            if let Event::Resolve { line } | Event::CancelTool { line } = event {
                *line = moved(*line, lines, new.len());
            }
        }
        self.move_answer(lines, new.len());
        self.view.folds.changed(lines, new.len());
        self.cycle
            .changing(self.buffer.mirror.text(), lines, new, source);
    }

    pub(super) fn snapshot(&mut self, snapshot: Snapshot) {
        let done = snapshot.done;
        let seq = snapshot.seq;
        self.buffer
            .loading
            .get_or_insert_default()
            .take_piece(snapshot);
        if !done {
            return;
        }
        self.buffer.seq = seq;
        let Some(loading) = self.buffer.loading.take() else {
            return;
        };
        self.buffer.partial = None;
        self.replace_text(Text::from_bytes(loading.bytes.unwrap_or_default()));
        // An edit that is on its way is answered still: as stale or lost, or as applied to
        // this text, which Neovim may have sent for reasons of its own.
        self.view.folds = super::folding::Folding::default();
        self.view.redraw();
        match loading.attach {
            Some(attach) => self.attached(attach),
            None => self.queue.push(Event::Continue),
        }
    }

    /// Takes the whole text anew. What differs from the text that was known arrived in bulk.
    fn replace_text(&mut self, text: Text) {
        if self.buffer.has_origin {
            let known = self.buffer.mirror.text();
            let new: Vec<&[u8]> = (0..text.line_count()).map(|it| text.line(it)).collect();
            self.cycle
                .changing(known, &(0..known.line_count()), &new, ChangeSource::BULK);
            self.cycle.stands(&self.buffer.mirror.document());
        }
        self.buffer.mirror = Mirror::new(text);
        if self.cycle.has_change() {
            self.cycle.changed(&self.buffer.mirror.document());
        }
    }

    /// The working directory is another one, for what starts from now on.
    pub(super) fn change_directory(&mut self, cwd: String) {
        self.disk.cwd = PathBuf::from(cwd);
        self.policy.forget_sandbox();
    }

    fn attached(&mut self, attach: Attach) {
        self.disk.path =
            Some(PathBuf::from(&attach.path)).filter(|path| !path.as_os_str().is_empty());
        self.hold_chat(attach.process, attach.modified);
        self.disk.cwd = PathBuf::from(attach.cwd);
        self.view.set_width(attach.width);
        self.note_origin(attach.came);
        let seen = attach.interrupted.into_iter().map(ToolUseId::new);
        let mut interrupted: Vec<ToolUseId> = seen.collect();
        match attach.reason.as_str() {
            "restart" => interrupted.extend(self.interrupted_calls()),
            // Opening a file changes nothing in it; the first key does.
            "open" => self.find_cut_off(),
            _ => {}
        }
        self.queue.push(Event::Loaded { interrupted });
        if !attach.queued.is_empty() {
            self.note_shown(&attach.queued);
            self.queue.push(Event::TakeBack(attach.queued));
        }
        if self.request.open.is_some() {
            self.lose_request(
                "The buffer was reloaded while an answer was arriving, so the answer ends here.",
                "the chat was reloaded while the answer was arriving",
            );
        } else if attach.streaming {
            self.request.interrupt("the host stopped");
        } else {
            self.mend_half_done();
        }
    }

    pub(super) fn changed(&mut self, piece: Changed) {
        let changed = match self.buffer.partial.take() {
            Some(mut begun) => {
                begun.lines.extend(piece.lines);
                begun.more = piece.more;
                begun
            }
            None => piece,
        };
        // Whether it is a paste shows in all of it, not in its pieces.
        if changed.more {
            self.buffer.partial = Some(changed);
            return;
        }
        if let Some(loading) = &mut self.buffer.loading {
            // Between two pieces of a snapshot nothing else can come.
            tracing::warn!(
                buffer = self.buffer.id,
                "a change came before the whole text"
            );
            loading.bytes = None;
        }
        // What was opened is looked at before it changes: what is typed, however
        // soon, was not in the file.
        if matches!(self.queue.first(), Some(Event::Loaded { .. }))
            && let Some(loaded) = self.queue.pop()
        {
            self.step(loaded);
        }
        self.change_text(
            changed.first..changed.last,
            &changed.lines,
            changed.source(),
        );
        self.buffer.seq = changed.seq;
        self.note_change();
        if let Some(open) = &mut self.request.open {
            open.is_touched = true;
        }
        if self.queue.last() != Some(&Event::Changed) {
            self.queue.push(Event::Changed);
        }
        self.view.redraw();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_place_in_the_text_whatever_is_written_around_it() {
        for (line, lines, count, now) in [
            (3, 5..6, 9, 3),
            (8, 5..6, 4, 11),
            (8, 2..6, 1, 5),
            (5, 5..5, 2, 7),
            (6, 5..9, 7, 6),
            (8, 5..9, 2, 6),
            (8, 5..9, 0, 5),
        ] {
            assert_eq!(moved(line, &lines, count), now, "{line} {lines:?} {count}");
        }
    }
}
