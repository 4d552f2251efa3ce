//! Records each text change: which lines were typed in this session, and which placeholders
//! the user decided by hand.

use std::sync::Arc;

use super::Cycle;
use crate::document::Document;
use crate::origin::{ChangeSource, Origins};
use crate::text::{Lines, Text};

/// Marks the opening line of a placeholder's fence.
const STATUS: &[u8] = b"flemma:tool";

/// Start of a result's header; the status may follow it.
const HEADER: &[u8] = b"**Tool Result:**";

/// A change to the fence of a placeholder.
#[derive(Debug)]
pub(super) struct StatusChange {
    /// The new lines, numbered as after the change.
    pub(super) lines: Vec<Lines>,
    /// Whether it came from the editor and was neither undo nor redo.
    pub(super) by_hand: bool,
    /// Whether keys typed it.
    pub(super) typed: bool,
    /// Whether its first and last lines differ from the old ones, as after `:s`. A pasted block
    /// repeats lines that were there before.
    pub(super) tight: bool,
}

/// Returns true if a line opens a placeholder's fence.
pub(super) fn is_fence(line: &[u8]) -> bool {
    memchr::memmem::find(line, STATUS).is_some()
}

impl Cycle {
    /// Marks the whole text as read from a file: nothing it says about itself is trusted.
    pub fn text_read(&mut self, text: &Text) {
        self.origins = Origins::read(text);
    }

    /// Marks the whole text as typed by the user.
    pub fn text_typed(&mut self) {
        self.origins = Origins::default();
    }

    /// Announces that `new` is about to replace `lines` of `text`; see
    /// [`Cycle::has_change`].
    pub fn changing<L: AsRef<[u8]>>(
        &mut self,
        text: &Text,
        lines: &Lines,
        new: &[L],
        source: ChangeSource,
    ) {
        let difference = self.origins.splice(text, lines, new, source);
        // A status may be in the fence or in the header.
        let is_status = |line: &[u8]| is_fence(line) || line.starts_with(HEADER);
        let old = |hunk: &Lines| hunk.clone().any(|it| is_status(text.line(it)));
        let new = |hunk: &Lines| {
            let lines = hunk.start - lines.start..hunk.end - lines.start;
            new[lines].iter().any(|it| is_status(it.as_ref()))
        };
        // Most changes touch no placeholder and need no comparison of approvals.
        let touches = difference
            .hunks
            .iter()
            .any(|(from, to)| old(from) || new(to));
        let (first, last) = (difference.hunks.first(), difference.hunks.last());
        let begins = first.is_some_and(|(from, _)| from.start == lines.start);
        let ends = last.is_some_and(|(from, _)| from.end == lines.end);
        self.change = touches.then(|| StatusChange {
            tight: begins && ends,
            lines: difference.hunks.into_iter().map(|(_, to)| to).collect(),
            by_hand: matches!(source, ChangeSource::Editor { .. }),
            typed: difference.typed,
        });
    }

    /// Returns true if the announced change touches a placeholder. Call [`Cycle::note_undecided`]
    /// before such a change is made and [`Cycle::changed`] after it.
    pub fn has_change(&self) -> bool {
        self.change.is_some()
    }

    /// Records which calls are undecided before the announced change.
    pub fn note_undecided(&mut self, document: &Document<'_>) {
        self.provenance.note_undecided(document);
    }

    /// Completes the announced change. An approval applies to the arguments at this moment,
    /// not to later ones.
    pub fn changed(&mut self, document: &Document<'_>) {
        let change = self.change.take();
        let change = change.as_ref().map(|it| (it, &self.origins));
        self.provenance.observe(document, change);
        // Weak, because the document is as large as the chat.
        self.observed = Arc::downgrade(&document.parsed());
    }

    /// Returns true if all of these lines were typed in this session or agreed to.
    pub fn are_typed(&self, text: &Text, lines: Lines) -> bool {
        self.origins.are_typed(text, lines)
    }

    /// Treats these lines as typed from now on, because the user agreed to them.
    pub fn agree(&mut self, text: &Text, lines: Lines) {
        self.origins.agree(text, lines);
    }
}
