//! Tracks which lines of a text were typed by the user.
//!
//! Lines from a file, the host, an undo, or in bulk (a paste, `:read`, another plugin) are
//! foreign. Typing into a foreign line leaves it foreign, so completing or unescaping
//! another author's text does not make it the user's.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::text::{Lines, Text};

/// Bytes that a change may add beyond the typed keys, as `r`, Ctrl-A, and `~` do.
const SLACK: usize = 4;
/// Closing brackets and quotes that a change may add without a key.
const CLOSING: usize = 2;
/// Maximum length of a word that one key may complete, in bytes.
const LONGEST_WORD: usize = 80;
/// Number of lines from the top in which removed lines are remembered: no frontmatter is
/// longer.
const TOP: usize = 300;

/// Source of a text change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeSource {
    /// The host.
    Host,
    /// Keys, Ex commands, or plugins.
    Editor {
        /// Bytes typed in Insert or Replace mode since the previous change; `None` if no
        /// key was pressed.
        typed: Option<usize>,
    },
    /// Undo or redo.
    Undo,
}

impl ChangeSource {
    /// A change by the user, whatever its size: made on the command line.
    pub const USER: Self = Self::Editor {
        typed: Some(usize::MAX),
    };
    /// A change without typed keys.
    pub const BULK: Self = Self::Editor { typed: None };
}

/// The lines that a change actually replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Old lines and their replacements, both absolute; the replacements are numbered as
    /// after the change.
    pub hunks: Vec<(Lines, Lines)>,
    /// Whether keys typed it.
    pub typed: bool,
}

/// The foreign lines of a text. Blank lines are never foreign.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// Sorted, without overlaps, none empty.
    foreign: Vec<Lines>,
    /// Hashes of typed lines near the top that were replaced or removed, so that moving
    /// typed lines does not make them foreign.
    typed: HashSet<u64>,
}

impl Origins {
    /// Marks all lines of a text as read from a file.
    pub fn read(text: &Text) -> Self {
        let mut origins = Self::default();
        for line in 0..text.line_count() {
            if !is_blank(text.line(line)) {
                origins.mark(line..line + 1);
            }
        }
        origins
    }

    /// Returns true if any of these lines is foreign.
    pub fn is_foreign(&self, lines: &Lines) -> bool {
        if lines.is_empty() {
            return false;
        }
        let at = self.foreign.partition_point(|it| it.end <= lines.start);
        self.foreign.get(at).is_some_and(|it| it.start < lines.end)
    }

    /// Returns true if all of these lines were typed in this session, in any order.
    pub fn are_typed(&self, text: &Text, lines: Lines) -> bool {
        let is_foreign = |line: usize| self.is_foreign(&(line..line + 1));
        let hash = |line: usize| hash(text.line(line));
        // A foreign line counts as typed if the same text was typed elsewhere, as after a move.
        let own: HashSet<u64> = lines
            .clone()
            .filter(|it| !is_foreign(*it))
            .filter_map(hash)
            .collect();
        lines
            .clone()
            .filter(|it| is_foreign(*it))
            .filter_map(hash)
            .all(|it| own.contains(&it) || self.typed.contains(&it))
    }

    /// Treats these lines as typed from now on, because the user agreed to them.
    pub fn agree(&mut self, text: &Text, lines: Lines) {
        self.typed
            .extend(lines.clone().filter_map(|line| hash(text.line(line))));
        self.clear(lines);
    }

    /// Records that `new` is about to replace `lines` of `text`.
    pub fn splice<L: AsRef<[u8]>>(
        &mut self,
        text: &Text,
        lines: &Lines,
        new: &[L],
        source: ChangeSource,
    ) -> Difference {
        let count = text.line_count();
        // Clamped as in `Text::splice`, because a range may exceed the text.
        let first = lines.start.min(count);
        let old = first..lines.end.clamp(first, count);
        let old: Vec<&[u8]> = old.map(|it| text.line(it)).collect();
        let new: Vec<&[u8]> = new.iter().map(AsRef::as_ref).collect();
        let hunks = hunks(&old, &new);
        let typed = is_typed(&hunks, &old, &new, source);
        // Before the marks are shifted, because it looks up old line numbers.
        self.remember(text, first, &hunks);
        let absolute = |it: &Lines| it.start + first..it.end + first;
        let hunks: Vec<_> = hunks
            .iter()
            .map(|(from, to)| (absolute(from), absolute(to)))
            .collect();
        let mut marks: Vec<usize> = Vec::new();
        for (from, to) in &hunks {
            // A foreign line that was typed into stays foreign.
            let is_foreign = !typed || self.is_foreign(from);
            marks.extend(
                to.clone()
                    .filter(|it| is_foreign && !is_blank(new[*it - first])),
            );
        }
        // Shift the marks last: the loop above looks them up by their old numbers.
        for (from, to) in &hunks {
            self.resize(to.start..to.start + from.len(), to.len());
        }
        marks.into_iter().for_each(|it| self.mark(it..it + 1));
        Difference { hunks, typed }
    }

    fn remember(&mut self, text: &Text, first: usize, hunks: &[(Lines, Lines)]) {
        // Only frontmatter is ever moved and still has to count as typed.
        if !text.line(0).starts_with(b"```") {
            return;
        }
        for line in hunks
            .iter()
            .flat_map(|(from, _)| from.clone())
            .map(|it| it + first)
        {
            if line <= TOP && !self.is_foreign(&(line..line + 1)) {
                self.typed.extend(hash(text.line(line)));
            }
        }
    }

    /// Forgets `lines` and shifts what is below, as `count` lines replace them.
    fn resize(&mut self, lines: Lines, count: usize) {
        self.clear(lines.clone());
        let below = self.foreign.partition_point(|it| it.start < lines.end);
        // An insertion splits the mark around it.
        if let Some(at) = below.checked_sub(1)
            && self.foreign[at].end > lines.end
        {
            let rest = lines.end..self.foreign[at].end;
            self.foreign[at].end = lines.end;
            self.foreign.insert(below, rest);
        }
        for mark in &mut self.foreign[below..] {
            *mark = mark.start - lines.len() + count..mark.end - lines.len() + count;
        }
    }

    fn clear(&mut self, lines: Lines) {
        if lines.is_empty() {
            return;
        }
        let first = self.foreign.partition_point(|it| it.end <= lines.start);
        let last = self.foreign.partition_point(|it| it.start < lines.end);
        if first >= last {
            return;
        }
        let before = self.foreign[first].start..lines.start;
        let after = lines.end..self.foreign[last - 1].end;
        let rest = [before, after].into_iter().filter(|it| !it.is_empty());
        self.foreign.splice(first..last, rest);
    }

    fn mark(&mut self, lines: Lines) {
        // Merge neighbors, so that streamed text is one mark.
        let first = self.foreign.partition_point(|it| it.end < lines.start);
        let last = self.foreign.partition_point(|it| it.start <= lines.end);
        let mut whole = lines;
        if first < last {
            whole.start = whole.start.min(self.foreign[first].start);
            whole.end = whole.end.max(self.foreign[last - 1].end);
        }
        self.foreign.splice(first..last, [whole]);
    }
}

/// Returns the differing parts of a change: per line if the count is unchanged, so that
/// `:%s` affects only the lines it matched; otherwise one part in the middle.
fn hunks(old: &[&[u8]], new: &[&[u8]]) -> Vec<(Lines, Lines)> {
    if old.len() == new.len() {
        let differing = (0..old.len()).filter(|at| old[*at] != new[*at]);
        return differing.map(|at| (at..at + 1, at..at + 1)).collect();
    }
    let most = old.len().min(new.len());
    let top = (0..most).take_while(|at| old[*at] == new[*at]).count();
    let same = |at: &usize| old[old.len() - 1 - at] == new[new.len() - 1 - at];
    let bottom = (0..most - top).take_while(same).count();
    vec![(top..old.len() - bottom, top..new.len() - bottom)]
}

/// Returns true if typed keys can explain the change: it adds no more text than was typed.
fn is_typed(hunks: &[(Lines, Lines)], old: &[&[u8]], new: &[&[u8]], source: ChangeSource) -> bool {
    let ChangeSource::Editor { typed } = source else {
        return false;
    };
    let parts = hunks.iter().map(|(from, to)| {
        let (old, new) = (old[from.clone()].join(&b'\n'), new[to.clone()].join(&b'\n'));
        inserted(&old, &new).to_vec()
    });
    let parts: Vec<Vec<u8>> = parts.collect();
    let text = || {
        parts
            .iter()
            .flatten()
            .filter(|it| !it.is_ascii_whitespace())
    };
    let bytes = text().count();
    let Some(typed) = typed else {
        // Plugins close a bracket after its opening key.
        return bytes <= CLOSING && text().all(|it| b")]}>\"'`".contains(it));
    };
    if bytes <= typed.saturating_add(SLACK) {
        return true;
    }
    // One key may complete a word, which is harmless on its own.
    let is_word =
        |part: &Vec<u8>| part.len() <= LONGEST_WORD && part.trim_ascii().iter().all(is_in_word);
    parts.len() == 1 && parts.iter().all(is_word)
}

fn is_in_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_.-$:/@".contains(byte)
}

/// Returns the new text between the common prefix and suffix.
fn inserted<'a>(old: &[u8], new: &'a [u8]) -> &'a [u8] {
    let top = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let ends = old[top..].iter().rev().zip(new[top..].iter().rev());
    let bottom = ends.take_while(|(a, b)| a == b).count();
    &new[top..new.len() - bottom]
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Hashes a line; `None` for lines without meaning of their own, such as `}` or `end`.
fn hash(line: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if text == "end" || !text.contains(char::is_alphanumeric) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests;
