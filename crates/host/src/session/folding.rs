//! What the editor was told of folds, moved along with the text as Neovim moves it.
//!
//! Where nobody can know what Neovim made of a change, it is remembered that nobody does.
//! Knows no document and sends nothing.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use chat::folds::{Fold, FoldKind, Words};
use chat::text::Lines;
use tokio::time::Instant;

use super::folds::Seen;

/// With more of them than this, all folds are made anew: taking each away costs more.
const MANY: usize = 40;
/// How many times that lines came are remembered.
const REMEMBERED: usize = 4;

/// What the editor was told.
#[derive(Debug)]
pub(super) struct Folding {
    /// By their first lines, a message before what is in it.
    pub(super) told: Vec<Told>,
    /// Nothing before this line differs from what was told; nothing at all when absent.
    pub(super) dirty: Option<usize>,
    /// When the change that this began with is old enough to be told.
    pub(super) due: Option<Instant>,
    /// Lines in which Neovim may have folds that nobody knows of.
    spoiled: Vec<Lines>,
    /// Lines that came last: when others vanish, they may be those, moved with their folds.
    inserted: Vec<Lines>,
    /// What had to be seen when that was looked at last.
    pub(super) seen: Seen,
    /// Whether the editor was told of no fold of this text.
    pub(super) fresh: bool,
    /// Whether not all of the text was told once.
    pub(super) opening: bool,
}

impl Default for Folding {
    fn default() -> Self {
        Self {
            told: Vec::new(),
            dirty: Some(0),
            due: None,
            spoiled: Vec::new(),
            inserted: Vec::new(),
            seen: Seen::new(),
            fresh: true,
            opening: true,
        }
    }
}

/// A fold that the editor was told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    lines: Lines,
    kind: FoldKind,
    /// Of the words that stand in its place.
    words: u64,
    /// Whether it holds other text since.
    touched: bool,
}

/// Lines that are replaced by `count` others.
struct Change {
    lines: Lines,
    count: usize,
}

impl Change {
    /// Where a line is now that is not before them. One of those that were replaced stays
    /// within what came in their place.
    fn moved(&self, line: usize) -> usize {
        let Lines { start, end } = self.lines;
        if line < end {
            line.min(start + self.count)
        } else {
            line - (end - start) + self.count
        }
    }

    /// Moves lines along.
    fn shift(&self, known: &mut Lines) {
        let first = self.lines.start;
        if known.end <= first {
            return;
        }
        if known.start >= first {
            known.start = self.moved(known.start);
        }
        known.end = self.moved(known.end).max(known.start + 1);
    }
}

impl Told {
    /// A fold that is told now.
    pub(super) fn new(fold: &Fold, words: &Words) -> Self {
        Self {
            lines: fold.lines.clone(),
            kind: fold.kind,
            words: digest(words),
            touched: false,
        }
    }

    /// Whether it is this fold, for which stand these words.
    pub(super) fn is(&self, fold: &Fold, words: impl FnOnce() -> Words) -> bool {
        let same = self.kind == fold.kind && self.lines == fold.lines;
        same && (!self.touched || self.words == digest(&words()))
    }

    /// Whether it is known to begin there.
    pub(super) fn begins_at(&self, line: usize) -> bool {
        self.kind.is_inner() && self.lines.start == line
    }

    /// Moves it as Neovim does. Where an end of it was written anew nobody knows what
    /// Neovim made of it: then somewhere in these lines.
    fn shift(&mut self, change: &Change) -> Option<Lines> {
        let Lines { start, end } = change.lines;
        if self.lines.end <= start {
            return None;
        }
        // An undo that brings lines back right above the first or the last line of a fold
        // cuts it, unlike other changes.
        let comes_above = |line: usize| start == end && start == line;
        let right_above = comes_above(self.lines.start);
        if self.lines.start >= end && !right_above {
            change.shift(&mut self.lines);
            return None;
        }
        self.touched = true;
        let inside = self.lines.start < start && end < self.lines.end;
        let inside = inside && !comes_above(self.lines.end - 1);
        let same_line = end - start == 1 && change.count == 1;
        change.shift(&mut self.lines);
        let spoiled = start.min(self.lines.start)..self.lines.end.max(start + change.count);
        (!inside && !same_line).then_some(spoiled)
    }
}

impl Folding {
    /// Lines of the text were replaced by `count` others.
    pub(super) fn changed(&mut self, lines: &Lines, count: usize) {
        let change = Change {
            lines: lines.clone(),
            count,
        };
        self.dirty = Some(self.dirty.map_or(lines.start, |at| at.min(lines.start)));
        for known in self.spoiled.iter_mut().chain(&mut self.inserted) {
            change.shift(known);
        }
        for told in self.told.iter_mut().rev() {
            // Messages do not overlap, so what stands before this one is not concerned.
            if !told.kind.is_inner() && told.lines.end <= lines.start {
                break;
            }
            if told.lines.start >= lines.start && told.lines.end <= lines.end {
                self.spoiled.append(&mut self.inserted);
            }
            self.spoiled.extend(told.shift(&change));
        }
        if lines.is_empty() {
            self.inserted.truncate(REMEMBERED - 1);
            self.inserted.insert(0, lines.start..lines.start + count);
        }
        if self.spoiled.len() > MANY {
            self.begin_again();
        }
        let first = self.spoiled.iter().map(|spoiled| spoiled.start).min();
        self.dirty = self.dirty.min(first.or(self.dirty));
    }

    /// Tells the editor everything anew, of the same text.
    pub(super) fn begin_again(&mut self) {
        let seen = std::mem::take(&mut self.seen);
        *self = Self {
            seen,
            ..Self::default()
        };
    }

    /// Those that begin in `lines`; the last part holds what is said to be further down.
    pub(super) fn within(&self, lines: &Lines, is_last: bool) -> Range<usize> {
        let before = |line: usize| self.told.partition_point(|told| told.lines.start < line);
        let end = if is_last {
            self.told.len()
        } else {
            before(lines.end)
        };
        before(lines.start)..end
    }

    /// Whether Neovim may have folds there that nobody knows of.
    pub(super) fn is_spoiled(&self, lines: &Lines) -> bool {
        let overlaps = |it: &Lines| it.start < lines.end && lines.start < it.end;
        self.spoiled.iter().any(overlaps)
    }

    /// What is told now, and from where on there is more.
    pub(super) fn tell(&mut self, told: Vec<(Range<usize>, Vec<Told>)>, rest: Option<usize>) {
        for (place, told) in told.into_iter().rev() {
            self.told.splice(place, told);
        }
        self.fresh = false;
        self.opening &= rest.is_some();
        self.dirty = rest;
        // What is left of it waits for nothing.
        self.due = self.due.filter(|_| rest.is_some());
        self.spoiled
            .retain(|spoiled| rest.is_some_and(|rest| rest < spoiled.end));
    }
}

fn digest(words: &Words) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&words.label, words.group, &words.text).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: Lines, kind: FoldKind) -> Told {
        Told {
            lines,
            kind,
            words: 0,
            touched: false,
        }
    }

    #[test]
    fn a_fold_moves_as_neovim_moves_it() {
        for (lines, count, now, spoiled) in [
            (0..2, 5, 6..9, None),
            (2..3, 1, 3..6, None),
            (4..4, 2, 3..8, None),
            (5..5, 1, 3..7, Some(3..7)),
            (4..5, 0, 3..5, None),
            (3..4, 1, 3..6, None),
            (5..6, 1, 3..6, None),
            (6..6, 4, 3..6, None),
            (3..3, 2, 5..8, Some(3..8)),
            (5..6, 2, 3..7, Some(3..7)),
            (3..4, 0, 3..5, Some(3..5)),
            (2..8, 1, 3..4, Some(2..4)),
            (2..8, 0, 2..3, Some(2..3)),
            (4..9, 3, 3..6, Some(3..7)),
            (0..9, 9, 3..6, Some(0..9)),
        ] {
            let mut fold = told(3..6, FoldKind::Thinking);
            let change = Change { lines, count };
            let found = fold.shift(&change);
            assert_eq!(
                (fold.lines, found),
                (now, spoiled),
                "{:?} {count}",
                change.lines
            );
        }
    }

    #[test]
    fn of_what_stands_above_a_change_only_its_message_is_looked_at() {
        let mut folding = Folding {
            told: vec![
                told(0..4, FoldKind::Message),
                told(4..20, FoldKind::Message),
                told(5..8, FoldKind::ToolUse),
                told(9..12, FoldKind::ToolUse),
                told(20..22, FoldKind::Message),
            ],
            dirty: None,
            ..Folding::default()
        };
        folding.changed(&(10..11), 3);
        let lines: Vec<Lines> = folding.told.iter().map(|it| it.lines.clone()).collect();
        assert_eq!(lines, [0..4, 4..22, 5..8, 9..14, 22..24]);
        assert_eq!(folding.dirty, Some(10));
        folding.changed(&(2..2), 1);
        assert_eq!(folding.dirty, Some(2));
    }
}
