//! The changed words of replaced lines.

use core::ops::Range;
use core::time::Duration;

use similar::{DiffTag, TextDiff};

use super::{Hunk, Line, LineKind};

/// Maximum bytes of a replaced block whose words are compared.
const MOST_BYTES: usize = 8 * 1024;
/// Maximum time for one block.
const TIME: Duration = Duration::from_millis(20);
/// A line that keeps less than one of this many of its bytes is another line.
const LEAST_KEPT: usize = 3;

impl Hunk<'_> {
    /// Returns the changed bytes of each line. A line that was not replaced, or has little in
    /// common with what it replaces, has none: all of it is new.
    pub fn changed_words(&self) -> Vec<Vec<Range<usize>>> {
        let mut changed = vec![Vec::new(); self.lines.len()];
        let mut from = 0;
        for block in self.lines.chunk_by(|a, b| in_one_block(a.kind, b.kind)) {
            let removed = block.iter().take_while(|it| it.kind == LineKind::Removed);
            let (removed, added) = block.split_at(removed.count());
            let middle = from + removed.len();
            from += block.len();
            if added.first().is_some_and(|it| it.kind == LineKind::Added) {
                let (old, new) = compare(removed, added);
                changed[middle - removed.len()..middle].clone_from_slice(&old);
                changed[middle..from].clone_from_slice(&new);
            }
        }
        changed
    }
}

/// Returns true if a line belongs to the block of the line above: removed lines, then added
/// ones.
fn in_one_block(above: LineKind, below: LineKind) -> bool {
    above == below || (above, below) == (LineKind::Removed, LineKind::Added)
}

type Ranges = Vec<Vec<Range<usize>>>;

/// Returns the changed bytes of removed and added lines.
fn compare(removed: &[Line<'_>], added: &[Line<'_>]) -> (Ranges, Ranges) {
    let bytes: usize = removed.iter().chain(added).map(|it| it.text.len()).sum();
    // Without ranges, the lines count as new as a whole.
    if removed.is_empty() || bytes > MOST_BYTES {
        return (
            vec![Vec::new(); removed.len()],
            vec![Vec::new(); added.len()],
        );
    }
    let (old, new) = (tokens(removed), tokens(added));
    let mut config = TextDiff::configure();
    config.timeout(TIME);
    let diff = config.diff_slices(&old, &new);
    let changed = diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal);
    let (mut gone, mut made) = (vec![false; old.len()], vec![false; new.len()]);
    for op in changed {
        gone[op.old_range()].fill(true);
        made[op.new_range()].fill(true);
    }
    let (gone, made) = (ranges(removed, &old, &gone), ranges(added, &new, &made));
    (
        without_indents(gone, removed, added),
        without_indents(made, added, removed),
    )
}

/// Removes indents that a line of the other text has as well: they match any line.
fn without_indents(mut ranges: Ranges, lines: &[Line<'_>], others: &[Line<'_>]) -> Ranges {
    for (ranges, line) in ranges.iter_mut().zip(lines) {
        let indent = indent(line);
        let is_known = others.iter().any(|other| self::indent(other) == indent);
        if let Some(first) = ranges
            .first_mut()
            .filter(|first| is_known && first.start == 0)
        {
            first.start = indent.len().min(first.end);
        }
        ranges.retain(|range| !range.is_empty());
    }
    ranges
}

/// The blanks at the start of a line.
fn indent<'t>(line: &Line<'t>) -> &'t str {
    let rest = line.text.trim_start_matches([' ', '\t']);
    &line.text[..line.text.len() - rest.len()]
}

/// Splits lines into words, runs of blanks, and single other characters.
fn tokens<'t>(lines: &[Line<'t>]) -> Vec<&'t str> {
    let mut tokens = Vec::new();
    for line in lines {
        let mut rest = line.text;
        while let Some(first) = rest.chars().next() {
            let class = class(first);
            let same = |it: char| class.is_some() && self::class(it) == class;
            let end = rest.find(|it| !same(it)).unwrap_or(rest.len());
            let (token, tail) = rest.split_at(end.max(first.len_utf8()));
            tokens.push(token);
            rest = tail;
        }
    }
    tokens
}

/// Returns the class of a character; a run of one class is one token. `None` for a character
/// that is a token by itself.
fn class(character: char) -> Option<bool> {
    match character {
        '\n' => None,
        _ if character.is_alphanumeric() || character == '_' => Some(true),
        _ if character.is_whitespace() => Some(false),
        _ => None,
    }
}

/// Returns the changed bytes of each line. `tokens` are those of all lines.
fn ranges(lines: &[Line<'_>], tokens: &[&str], changed: &[bool]) -> Ranges {
    let mut tokens = tokens.iter().zip(changed);
    let of_line = lines.iter().map(|line| {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let (mut at, mut kept) = (0, 0);
        while at < line.text.len() {
            let Some((token, is_changed)) = tokens.next() else {
                break;
            };
            let end = at + token.len();
            match ranges.last_mut() {
                // Blanks occur in any line, so they don't make two lines alike.
                _ if !is_changed => kept += token.trim().len(),
                Some(last) if last.end == at => last.end = end,
                _ => ranges.push(at..end),
            }
            at = end;
        }
        let whole = line.text.trim().len();
        // Almost everything would be marked, which shows less than no marks.
        if kept * LEAST_KEPT < whole || kept == 0 {
            ranges.clear();
        }
        ranges
    });
    of_line.collect()
}
