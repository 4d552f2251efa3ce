//! The folds that were sent to the editor, and which of them may have changed.

use std::collections::BTreeMap;

use chat::folds::{FoldKind, FoldedPart};
use chat::text::Lines;
use tokio::time::Instant;

use super::folds::Seen;
use crate::protocol::MarkItem;
use crate::session::buffer::moved;

/// How much of a text was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum FoldProgress {
    #[default]
    Nothing,
    /// A part was never sent.
    Opening,
    /// Every part was sent once.
    Whole,
}

/// The state of a chat's folds in the editor.
#[derive(Debug)]
pub(super) struct Folding {
    /// Sorted by first line.
    pub(super) sent: Vec<SentPart>,
    /// The first line that may differ from what was sent; `None` if nothing differs.
    pub(super) dirty: Option<usize>,
    /// Lines that the last change inserted.
    inserted: Lines,
    /// When the next message is due.
    pub(super) due: Option<Instant>,
    /// Calls and errors that the user had to see when the chat was last drawn.
    pub(super) seen: Seen,
    /// Lines of calls without a result whose arguments are shown, by their marks.
    shown: BTreeMap<String, usize>,
    pub(super) progress: FoldProgress,
    /// The number of messages that a summary replaces, whose folds were closed.
    pub(super) replaced: Option<usize>,
}

impl Default for Folding {
    fn default() -> Self {
        Self {
            sent: Vec::new(),
            // Everything, because the editor has no folds yet.
            dirty: Some(0),
            inserted: 0..0,
            due: None,
            seen: Seen::new(),
            shown: BTreeMap::new(),
            progress: FoldProgress::default(),
            replaced: None,
        }
    }
}

/// The folds of one part of the document as they were sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentPart {
    /// Its first line.
    pub(super) first: usize,
    /// Its folds, relative to the first line.
    pub(super) folds: Vec<(Lines, FoldKind)>,
    /// Number of blocks that the user must see.
    pub(super) errors: usize,
    /// Digest of the fold texts.
    pub(super) texts: u64,
    /// True if its text changed since.
    pub(super) edited: bool,
    /// True if lines were added or removed at its folds, which Neovim may have cut.
    pub(super) reshaped: bool,
}

impl SentPart {
    /// Returns the state of a part with this many errors, once it is sent.
    pub(super) fn new(part: &FoldedPart, errors: usize, texts: u64) -> Self {
        Self {
            first: part.lines.start,
            folds: Self::shape(part).collect(),
            errors,
            texts,
            edited: false,
            reshaped: false,
        }
    }

    /// Returns the folds of a part, relative to its first line.
    pub(super) fn shape(part: &FoldedPart) -> impl Iterator<Item = (Lines, FoldKind)> {
        let first = part.lines.start;
        let folds = part.folds.iter();
        folds.map(move |fold| (fold.lines.start - first..fold.lines.end - first, fold.kind))
    }

    /// Returns true if a line is in or above one of its folds.
    fn reaches(&self, line: usize) -> bool {
        let mut folds = self.folds.iter();
        folds.any(|(lines, _)| line < self.first + lines.end)
    }
}

impl Folding {
    /// Follows a change of the text: `count` lines replaced `lines`.
    pub(super) fn changed(&mut self, lines: &Lines, count: usize) {
        let start = self.part_start(lines.start);
        // The earliest change counts, because a message goes from there to the end.
        self.dirty = Some(self.dirty.unwrap_or(start).min(start));
        // A change within one line moves no fold.
        let reshapes = lines.len() != 1 || count != 1;
        let known = self.sent.len();
        if reshapes {
            // Parts whose first line is gone do not exist any more.
            self.sent.retain(|part| !lines.contains(&part.first));
        }
        let lost = self.sent.len() < known;
        let below = self.sent.partition_point(|it| it.first <= lines.start);
        let here = below.saturating_sub(1);
        if let Some(part) = self.sent.get_mut(here) {
            part.edited = true;
            // A part whose first line is gone leaves its folds to the part above, which is sent
            // again.
            part.reshaped |= lost || reshapes && part.reaches(lines.start);
        }
        // An undo that brings back a line right above a fold cuts the fold, and leaves a
        // piece of it above.
        let above = here.checked_sub(1).filter(|_| lines.is_empty());
        if let Some([above, part]) = above.and_then(|at| self.sent.get_mut(at..=here)) {
            above.reshaped |= part.first == lines.start && part.reshaped;
        }
        for part in self.sent.iter_mut().skip(here) {
            part.first = moved(part.first, lines, count);
        }
        for line in self.shown.values_mut() {
            *line = moved(*line, lines, count);
        }
        self.follow_move(lines, count);
    }

    /// Notes the calls without a result whose arguments are shown, which have folds.
    pub(super) fn follow_arguments(&mut self, marks: &[MarkItem]) {
        // The mark of a call with a result has no preview.
        let open = marks.iter().filter(|it| it.preview.is_some());
        let shown = open.filter_map(|it| Some((it.id.clone(), it.json?.0)));
        let before = std::mem::replace(&mut self.shown, shown.collect());
        let gained = self.shown.iter();
        let gained = gained.filter(|(id, _)| !before.contains_key(*id));
        let lost = before.iter();
        let lost = lost.filter(|(id, _)| !self.shown.contains_key(*id));
        let changed: Vec<usize> = gained.chain(lost).map(|(_, line)| *line).collect();
        for line in changed {
            let start = self.part_start(line);
            self.dirty = Some(self.dirty.unwrap_or(start).min(start));
            // The result of a call changes the text of its fold.
            let part = self.sent.iter_mut().find(|it| it.first == start);
            part.into_iter().for_each(|it| it.edited = true);
        }
    }

    /// Returns the first line of the part that contains a line. A change there may end the
    /// part earlier: without its closing fence, a block no longer hides the headers in it.
    fn part_start(&self, line: usize) -> usize {
        let below = self.sent.partition_point(|it| it.first <= line);
        let part = below.checked_sub(1).and_then(|at| self.sent.get(at));
        part.map_or(line, |part| part.first)
    }

    /// Notes where `:move` put lines and their folds: it inserts lines, then deletes them.
    fn follow_move(&mut self, lines: &Lines, count: usize) {
        let inserted = std::mem::take(&mut self.inserted);
        // The first half of `:move`; the next change tells whether lines are moved or just
        // added.
        if lines.is_empty() {
            self.inserted = lines.start..lines.start + count;
        } else if count == 0 && lines.len() == inserted.len() {
            let line = moved(inserted.start, lines, count);
            let below = self.sent.partition_point(|it| it.first <= line);
            if let Some(part) = self.sent.get_mut(below.saturating_sub(1)) {
                part.reshaped = true;
            }
        }
    }

    /// Forgets what was sent, so that all folds are sent again.
    pub(super) fn begin_again(&mut self) {
        // The list of seen content does not depend on the folds that were sent.
        let seen = std::mem::take(&mut self.seen);
        *self = Self {
            seen,
            ..Self::default()
        };
    }

    /// Returns the part that begins at the first of these lines, and true if no other part
    /// begins in them.
    pub(super) fn part(&self, lines: &Lines) -> (Option<&SentPart>, bool) {
        let before = |line: usize| self.sent.partition_point(|it| it.first < line);
        let found = self.sent.get(before(lines.start)..before(lines.end));
        let first = found.and_then(|found| found.first());
        let first = first.filter(|it| it.first == lines.start);
        let others = found.map_or(0, <[_]>::len) - usize::from(first.is_some());
        (first, others == 0)
    }

    /// Notes the parts that are sent now. `starts` are the first lines of all parts that were
    /// compared; from line `rest` on there is more to send.
    pub(super) fn note(&mut self, news: Vec<SentPart>, starts: &[usize], rest: Option<usize>) {
        let first = starts.first().copied().unwrap_or_default();
        self.sent.retain(|it| {
            let elsewhere = it.first < first || rest.is_some_and(|rest| rest <= it.first);
            elsewhere || starts.binary_search(&it.first).is_ok()
        });
        for part in news {
            let at = self.sent.partition_point(|it| it.first < part.first);
            let same = self.sent.get(at).is_some_and(|it| it.first == part.first);
            self.sent.splice(at..at + usize::from(same), [part]);
        }
        self.progress = match (self.progress, rest) {
            // However many messages that takes.
            (FoldProgress::Nothing | FoldProgress::Opening, Some(_)) => FoldProgress::Opening,
            (FoldProgress::Whole, _) | (_, None) => FoldProgress::Whole,
        };
        self.dirty = rest;
        // The rest is sent without another pause.
        self.due = self.due.filter(|_| rest.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(first: usize, folds: &[(usize, usize)]) -> SentPart {
        let folds = folds.iter();
        SentPart {
            first,
            folds: folds.map(|it| (it.0..it.1, FoldKind::Thinking)).collect(),
            errors: 0,
            texts: 0,
            edited: false,
            reshaped: false,
        }
    }

    /// First lines of the parts, with `e` where edited and `r` where reshaped.
    fn after(lines: Lines, count: usize) -> String {
        let mut folding = Folding {
            sent: vec![
                sent(0, &[(0, 4)]),
                sent(4, &[(0, 6), (1, 3)]),
                sent(10, &[(2, 4)]),
                sent(20, &[]),
            ],
            dirty: None,
            ..Folding::default()
        };
        folding.changed(&lines, count);
        let flag = |is: bool, flag: &str| if is { flag.to_owned() } else { String::new() };
        let parts = folding.sent.iter();
        let parts = parts.map(|it| {
            format!(
                "{}{}{}",
                it.first,
                flag(it.edited, "e"),
                flag(it.reshaped, "r")
            )
        });
        parts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_change_marks_its_part_and_moves_those_below() {
        assert_eq!(after(6..7, 1), "0 4e 10 20");
        assert_eq!(after(6..7, 3), "0 4er 12 22");
        // The change is below the folds of its part.
        assert_eq!(after(14..15, 3), "0 4 10e 22");
        assert_eq!(after(13..13, 1), "0 4 10er 21");
        assert_eq!(after(25..26, 9), "0 4 10 20e");
        // Neovim moves the fold below, or cuts it if this is an undo.
        assert_eq!(after(4..4, 1), "0r 5er 11 21");
    }

    #[test]
    fn a_change_makes_all_of_its_part_dirty() {
        let dirty = |lines: Lines| {
            let mut folding = Folding {
                sent: vec![sent(4, &[]), sent(10, &[])],
                dirty: None,
                ..Folding::default()
            };
            folding.changed(&lines, 0);
            folding.dirty
        };
        assert_eq!(dirty(8..9), Some(4));
        assert_eq!(dirty(10..11), Some(10));
        assert_eq!(dirty(9..20), Some(4));
        // No part was sent for the lines above the first one.
        assert_eq!(dirty(2..3), Some(2));
    }

    #[test]
    fn a_part_whose_first_line_is_deleted_is_forgotten() {
        assert_eq!(after(4..5, 0), "0er 9 19");
        assert_eq!(after(8..12, 0), "0 4er 16");
        assert_eq!(after(0..25, 30), "");
        assert_eq!(after(4..5, 1), "0 4e 10 20");
    }

    #[test]
    fn a_call_whose_arguments_are_shown_or_no_longer_makes_its_part_edited() {
        let mut folding = Folding {
            sent: vec![sent(0, &[]), sent(4, &[]), sent(10, &[])],
            dirty: None,
            ..Folding::default()
        };
        let mark = MarkItem {
            preview: Some("bash".to_owned()),
            json: Some((6, 9)),
            ..MarkItem::default()
        };
        let state = |folding: &mut Folding, marks: &[MarkItem]| {
            folding.sent.iter_mut().for_each(|it| it.edited = false);
            folding.dirty = None;
            folding.follow_arguments(marks);
            (folding.sent[1].edited, folding.dirty)
        };
        assert_eq!(
            state(&mut folding, std::slice::from_ref(&mark)),
            (true, Some(4))
        );
        assert_eq!(state(&mut folding, &[mark]), (false, None));
        folding.changed(&(1..1), 2);
        assert_eq!(state(&mut folding, &[]), (true, Some(6)));
    }

    #[test]
    fn parts_that_ended_are_forgotten_and_new_ones_are_in_order() {
        let mut folding = Folding {
            sent: vec![sent(0, &[]), sent(4, &[]), sent(10, &[]), sent(20, &[])],
            ..Folding::default()
        };
        assert_eq!(folding.part(&(4..10)), (Some(&sent(4, &[])), true));
        assert_eq!(folding.part(&(4..11)), (Some(&sent(4, &[])), false));
        assert_eq!(folding.part(&(5..11)), (None, false));
        folding.note(vec![sent(6, &[]), sent(12, &[])], &[4, 6, 12], Some(15));
        let firsts: Vec<usize> = folding.sent.iter().map(|it| it.first).collect();
        assert_eq!(firsts, [0, 4, 6, 12, 20]);
    }
}
