//! Changes of the text, each noted as it is made: which lines were typed here, and which
//! placeholders got their status by hand.

use std::sync::Arc;

use super::Cycle;
use crate::document::Document;
use crate::origin::{ChangeSource, Origins};
use crate::text::{Lines, Text};

/// What a line of a placeholder's fence contains.
const STATUS: &[u8] = b"flemma:tool";

/// What a result begins with; the status may stand behind it.
const HEADER: &[u8] = b"**Tool Result:**";

/// A change that touched the fence of a placeholder.
#[derive(Debug)]
pub(super) struct StatusChange {
    /// The lines that are new, in the text after the change.
    pub(super) lines: Vec<Lines>,
    /// Whether it came from the editor, and from no undo or redo.
    pub(super) by_hand: bool,
    /// Whether keys typed it.
    pub(super) typed: bool,
    /// Whether it begins and ends with lines that differ, as `:s` makes it; a block that
    /// arrives whole brings lines that stood there before.
    pub(super) tight: bool,
}

/// Whether a line opens the fence of a placeholder.
pub(super) fn is_fence(line: &[u8]) -> bool {
    line.windows(STATUS.len()).any(|it| it == STATUS)
}

impl Cycle {
    /// The text was read from a file: what it says about itself is not trusted.
    pub fn text_read(&mut self, text: &Text) {
        self.origins = Origins::read(text);
    }

    /// The text was written here, all of it by the user.
    pub fn text_typed(&mut self) {
        self.origins = Origins::default();
    }

    /// Notes that `lines` of `text` are about to be replaced by `new`; see
    /// [`Cycle::has_change`].
    pub fn changing<L: AsRef<[u8]>>(
        &mut self,
        text: &Text,
        lines: &Lines,
        new: &[L],
        source: ChangeSource,
    ) {
        let difference = self.origins.splice(text, lines, new, source);
        let is_status = |line: &[u8]| is_fence(line) || line.starts_with(HEADER);
        let old = |hunk: &Lines| hunk.clone().any(|it| is_status(text.line(it)));
        let new = |hunk: &Lines| {
            let lines = hunk.start - lines.start..hunk.end - lines.start;
            new[lines].iter().any(|it| is_status(it.as_ref()))
        };
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

    /// Whether the announced change touches a placeholder. Then [`Cycle::stands`] has to be
    /// called before it is made, and [`Cycle::changed`] after it.
    pub fn has_change(&self) -> bool {
        self.change.is_some()
    }

    /// The document as it stands before the announced change: what is undecided in it.
    pub fn stands(&mut self, document: &Document<'_>) {
        self.provenance.stands(document);
    }

    /// The change that was announced is made. An approval counts for the arguments that
    /// stand beside it at this moment, not for what becomes of them later.
    pub fn changed(&mut self, document: &Document<'_>) {
        let change = self.change.take();
        let change = change.as_ref().map(|it| (it, &self.origins));
        self.provenance.observe(document, change);
        self.observed = Arc::downgrade(&document.parsed());
    }

    /// Whether all of these lines were typed here or agreed to.
    pub fn are_typed(&self, text: &Text, lines: Lines) -> bool {
        self.origins.are_typed(text, lines)
    }

    /// The user agreed to these lines: from now on they count as typed.
    pub fn agree(&mut self, text: &Text, lines: Lines) {
        self.origins.agree(text, lines);
    }
}
