//! Tracks which lines of a text were typed by the user.
//!
//! Lines from a file, the host, an undo, or in bulk (a paste, `:read`, another plugin) are
//! foreign. Typing into a foreign line leaves it foreign, so completing or unescaping
//! another author's text does not make it the user's.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::text::{Lines, Text, lossy};

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
    /// True if keys typed it.
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

    /// Treats these lines as typed from now on, because the user trusts them.
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
    let text = lossy(line);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if text == "end" || !text.contains(char::is_alphanumeric) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A text with its origins.
    struct Page {
        text: Text,
        origins: Origins,
    }

    impl Page {
        fn read(text: &str) -> Self {
            let text = Text::from(text);
            Self {
                origins: Origins::read(&text),
                text,
            }
        }

        fn empty() -> Self {
            Self {
                text: Text::default(),
                origins: Origins::default(),
            }
        }

        fn splice(&mut self, lines: Lines, new: &[&str], source: ChangeSource) -> Difference {
            let difference = self.origins.splice(&self.text, &lines, new, source);
            self.text.splice(lines, new);
            difference
        }

        /// Types text into a line, key by key.
        fn keys(&mut self, line: usize, text: &str) {
            for key in text.chars() {
                let new = format!("{}{key}", self.text.line_str(line));
                let typed = Some(key.len_utf8());
                self.splice(line..line + 1, &[&new], ChangeSource::Editor { typed });
            }
        }

        fn foreign(&self) -> Vec<usize> {
            let lines = 0..self.text.line_count();
            lines
                .filter(|it| self.origins.is_foreign(&(*it..it + 1)))
                .collect()
        }

        fn is_typed(&self) -> bool {
            self.origins
                .are_typed(&self.text, 0..self.text.line_count())
        }
    }

    const LOOSE: &str = "flemma.opt.tools.auto_approve = { \"bash\" }";

    #[test]
    fn typed_lines_are_not_foreign_and_lines_of_a_file_are() {
        let mut page = Page::empty();
        page.keys(0, "```lua");
        page.splice(1..1, &[""], ChangeSource::BULK);
        page.keys(1, LOOSE);
        assert!(page.is_typed());
        assert_eq!(page.foreign(), [0; 0]);
        assert_eq!(Page::read("a\n\nb").foreign(), [0, 2]);
    }

    #[test]
    fn typing_into_a_foreign_line_leaves_it_foreign() {
        let mut page = Page::read("one\n\ntwo");
        page.keys(0, " -- mine");
        page.keys(1, "own");
        assert_eq!(page.foreign(), [0, 2]);
        // A line break splits it into two foreign lines.
        page.splice(
            0..1,
            &["one", " -- mine"],
            ChangeSource::Editor { typed: Some(0) },
        );
        assert_eq!(page.foreign(), [0, 1, 3]);
        // Emptied and typed again, it is the user's.
        page.splice(0..1, &[""], ChangeSource::BULK);
        page.keys(0, "mine");
        assert_eq!(page.foreign(), [1, 3]);
    }

    #[test]
    fn text_that_arrives_in_bulk_is_foreign() {
        let typed = |typed| ChangeSource::Editor { typed };
        for source in [
            ChangeSource::BULK,
            typed(Some(0)),
            typed(Some(3)),
            ChangeSource::Undo,
            ChangeSource::Host,
        ] {
            let mut page = Page::empty();
            page.keys(0, "```lua");
            let difference = page.splice(1..1, &[LOOSE, "```"], source);
            assert!(!difference.typed, "{source:?}");
            assert_eq!(page.foreign(), [1, 2], "{source:?}");
            assert!(!page.is_typed(), "{source:?}");
            // The same within a typed line.
            let mut page = Page::empty();
            page.keys(0, "x = ");
            page.splice(0..1, &[&format!("x = 1 {LOOSE}")], source);
            assert_eq!(page.foreign(), [0], "{source:?}");
        }
    }

    #[test]
    fn small_changes_completions_and_line_breaks_are_typed() {
        let pressed = ChangeSource::Editor { typed: Some(0) };
        for (old, new, source) in [
            ("status = x", "status = y", pressed),
            ("n = 9", "n = 10", pressed),
            ("a b c", "a c", pressed),
            ("x = flem", "x = flemma.opt.tools.auto_approve", pressed),
            ("x = ", "x = \"\"", pressed),
            ("x = (", "x = ()", ChangeSource::BULK),
        ] {
            let mut page = Page::empty();
            page.keys(0, old);
            assert!(page.splice(0..1, &[new], source).typed, "{new}");
            assert!(page.is_typed(), "{new}");
        }
        let mut page = Page::empty();
        page.keys(0, "if a then b");
        assert!(page.splice(0..1, &["if a then", "  b"], pressed).typed);
        assert!(page.splice(0..2, &["if a then b"], pressed).typed);
    }

    #[test]
    fn typing_in_the_middle_of_a_line_inserts_only_the_keys() {
        let mut page = Page::empty();
        page.keys(0, "the first half, and the second half of a long line");
        let new = "the first half, or and the second half of a long line";
        let typed = ChangeSource::Editor { typed: Some(3) };
        page.splice(0..1, &[new], typed);
        assert!(page.is_typed());
    }

    #[test]
    fn typed_lines_may_be_moved_copied_and_undone() {
        let mut page = Page::empty();
        page.keys(0, "```lua");
        for line in [1, 2] {
            page.splice(line..line, &[""], ChangeSource::BULK);
            page.keys(line, &format!("{LOOSE} -- {line}"));
        }
        let (one, two) = (
            page.text.line_str(1).into_owned(),
            page.text.line_str(2).into_owned(),
        );
        page.splice(1..2, &[], ChangeSource::BULK);
        page.splice(2..2, &[&one], ChangeSource::BULK);
        assert!(page.is_typed(), "moved");
        page.splice(3..3, &[&two], ChangeSource::BULK);
        assert!(page.is_typed(), "copied");
        page.splice(3..4, &[], ChangeSource::Undo);
        page.splice(3..3, &[&two], ChangeSource::Undo);
        assert!(page.is_typed(), "undone and redone");
        page.splice(
            3..3,
            &["flemma.opt.sandbox = { enabled = false }"],
            ChangeSource::Undo,
        );
        assert!(!page.is_typed());
    }

    #[test]
    fn moved_foreign_lines_stay_foreign() {
        let mut page = Page::read(&format!("```lua\n{LOOSE}\n```"));
        page.splice(1..2, &[], ChangeSource::BULK);
        page.splice(1..1, &[LOOSE], ChangeSource::BULK);
        assert_eq!(page.foreign(), [0, 1, 2]);
        assert!(!page.origins.are_typed(&page.text, 1..2));
    }

    /// Frontmatter begins on the first line and is short, so only removed lines near it are
    /// remembered.
    #[test]
    fn removed_lines_are_remembered_at_the_top_of_a_text_with_frontmatter() {
        let returns = |first: &str, blank: usize| {
            let mut page = Page::empty();
            page.keys(0, first);
            page.splice(1..1, &vec![""; blank + 1], ChangeSource::BULK);
            let line = blank + 1;
            page.keys(line, LOOSE);
            page.splice(line..line + 1, &[], ChangeSource::BULK);
            page.splice(1..1, &[LOOSE], ChangeSource::BULK);
            page.origins.are_typed(&page.text, 1..2)
        };
        assert!(returns("```lua", 0));
        assert!(returns("```lua", TOP - 1));
        assert!(!returns("```lua", TOP));
        assert!(!returns("@You:", 0));
    }

    #[test]
    fn a_line_without_meaning_does_not_count() {
        for (line, says) in [
            ("end", false),
            ("}", false),
            (" ]] ", false),
            ("ending", true),
        ] {
            let mut page = Page::empty();
            page.keys(0, "x = 1");
            page.splice(1..1, &[line], ChangeSource::Host);
            assert_eq!(page.foreign(), [1]);
            assert_eq!(page.is_typed(), !says, "{line}");
        }
    }

    #[test]
    fn the_text_that_one_key_adds_is_limited() {
        let one = ChangeSource::Editor { typed: Some(1) };
        for (source, most, text) in [
            (one, 1 + SLACK, "("),
            (one, LONGEST_WORD, "a"),
            (ChangeSource::BULK, CLOSING, ")"),
        ] {
            let is_typed = |length: usize| {
                let mut page = Page::empty();
                page.keys(0, "x = ");
                let new = format!("x = {}", text.repeat(length));
                page.splice(0..1, &[&new], source).typed
            };
            assert!(is_typed(most) && !is_typed(most + 1), "{source:?} {text}");
        }
    }

    #[test]
    fn streamed_text_is_one_mark() {
        let marks = |page: &Page| -> Vec<(usize, usize)> {
            let all = page.origins.foreign.iter();
            all.map(|it| (it.start, it.end)).collect()
        };
        let mut page = Page::empty();
        for line in [1, 2, 1] {
            page.splice(line..line, &["text"], ChangeSource::Host);
        }
        page.splice(4..4, &[""], ChangeSource::BULK);
        assert_eq!(marks(&page), [(1, 4)]);
        // Inserted lines split it, and nothing is left of its last line.
        page.splice(3..4, &[""], ChangeSource::BULK);
        page.splice(2..2, &[""], ChangeSource::BULK);
        assert_eq!(marks(&page), [(1, 2), (3, 4)]);
    }

    #[test]
    fn lines_that_were_agreed_to_may_be_changed() {
        let mut page = Page::read(&format!("```lua\n{LOOSE}\n```"));
        assert!(!page.is_typed());
        page.origins.agree(&page.text, 1..2);
        page.keys(1, " -- mine");
        assert!(page.origins.are_typed(&page.text, 1..2));
    }

    #[test]
    fn a_substitution_changes_only_the_lines_it_matched() {
        let mut page = Page::empty();
        let difference = page.splice(0..1, &["a", "x", "b", "x"], ChangeSource::Host);
        assert_eq!(difference.hunks, [(0..1, 0..4)]);
        let difference = page.splice(0..4, &["a", "y", "b", "y"], ChangeSource::BULK);
        assert_eq!(difference.hunks, [(1..2, 1..2), (3..4, 3..4)]);
    }

    fn source() -> impl Strategy<Value = ChangeSource> {
        prop_oneof![
            Just(ChangeSource::Host),
            Just(ChangeSource::Undo),
            prop::option::of(0usize..40).prop_map(|typed| ChangeSource::Editor { typed }),
        ]
    }

    proptest! {
        /// Compares the marks with a list of one flag per line.
        #[test]
        fn marks_equal_a_flag_per_line(
            text in prop::collection::vec("[ab ]{0,3}", 1..12),
            changes in prop::collection::vec(
                (0usize..14, 0usize..14, prop::collection::vec("[ab ]{0,12}", 0..4), source()), 1..12),
        ) {
            let text = Text::from_lines(&text);
            let mut origins = Origins::read(&text);
            let mut flags: Vec<bool> = (0..text.line_count()).map(|it| !is_blank(text.line(it))).collect();
            let mut text = text;
            for (a, b, new, source) in changes {
                let count = text.line_count();
                let lines = a.min(b).min(count)..a.max(b).min(count);
                let difference = origins.splice(&text, &lines, &new, source);
                for (from, to) in difference.hunks.iter().rev() {
                    let any = flags[from.clone()].iter().any(|it| *it);
                    let flag = |at: usize| {
                        !is_blank(new[at - lines.start].as_bytes()) && (!difference.typed || any)
                    };
                    let new: Vec<bool> = to.clone().map(flag).collect();
                    flags.splice(from.clone(), new);
                }
                text.splice(lines, &new);
                if flags.is_empty() {
                    flags.push(false);
                }
                let marked: Vec<bool> = (0..text.line_count())
                    .map(|it| origins.is_foreign(&(it..it + 1))).collect();
                prop_assert_eq!(&marked, &flags);
            }
        }
    }

    #[test]
    fn a_line_without_meaning_of_its_own_has_no_hash() {
        for line in ["end", "  end\r", "}", "\u{feff}", " --- ", ""] {
            assert_eq!(hash(line.as_bytes()), None, "{line:?}");
        }
        assert_eq!(hash(b"  ending"), hash("\u{feff}ending ".as_bytes()));
        assert_ne!(hash(b"ending"), hash(b"Ending"));
    }
}
