//! Decides where the hunks of a patch apply.
//!
//! Pure, and never guesses: of several places, a hunk applies to the only one that the order of
//! the hunks, the end of the file, and the lines after `@@` leave.

use super::parse::Hunk;
use crate::replace::{
    EditedText, Needle, Place, PlacedReplacement, Refused, ReplaceProblem, Replacement, ambiguous,
    apply, lines_of, not_found, places,
};

/// Applies hunks to a text. Each list of hunks is in the order of the text.
///
/// # Errors
///
/// The first problem, with the number of its hunk.
pub(super) fn apply_hunks(text: &str, lists: &[Vec<Hunk>]) -> Result<EditedText, Refused> {
    let mut located = Vec::new();
    for hunks in lists {
        let mut from = 0;
        for hunk in hunks {
            let place = place(text, hunk, from).map_err(|it| it.of(located.len()))?;
            // The next hunk of the list must follow this one.
            from = place.range.end;
            let replacement = Replacement {
                old: &hunk.old,
                new: &hunk.new,
            };
            located.push(PlacedReplacement { replacement, place });
        }
    }
    apply(text, &located)
}

/// The only place of a hunk that starts at `from` or later.
fn place(text: &str, hunk: &Hunk, from: usize) -> Result<Place, ReplaceProblem> {
    if hunk.old.is_empty() {
        // Lines without context can only be added where the file ends.
        let is_known = text.is_empty() || (hunk.is_last && text.ends_with('\n'));
        return is_known
            .then(|| Place::end_of(text))
            .ok_or(ReplaceProblem::EmptyOldText);
    }
    if hunk.old == hunk.new {
        return Err(ReplaceProblem::Identical);
    }
    let piece = Needle {
        text: &hunk.old,
        is_lines: true,
    };
    let all = places(text, piece);
    if all.is_empty() {
        return Err(not_found(text, &hunk.old));
    }
    let is_possible = |it: &&Place| {
        // Blank lines at the end of the file don't count.
        let is_last = !hunk.is_last || text[it.range.end..].trim().is_empty();
        it.range.start >= from && is_last && missing_header(text, it, hunk).is_none()
    };
    let possible: Vec<Place> = all.iter().filter(is_possible).cloned().collect();
    match &possible[..] {
        [] => Err(misplaced(text, hunk, &all)),
        [only] => Ok(only.clone()),
        several => only_inside(text, several, hunk).ok_or_else(|| ambiguous(text, several)),
    }
}

/// The only one of several places that is inside the block of the hunk's headers.
fn only_inside(text: &str, places: &[Place], hunk: &Hunk) -> Option<Place> {
    let mut inside = places.iter().filter(|it| is_inside(text, it, hunk));
    match (inside.next(), inside.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => None,
    }
}

/// The problem of a hunk that is in the text, but nowhere that it may be.
fn misplaced(text: &str, hunk: &Hunk, all: &[Place]) -> ReplaceProblem {
    let missing = all.iter().find_map(|it| missing_header(text, it, hunk));
    match missing {
        Some(header) => ReplaceProblem::NotBelow(header.to_owned()),
        None => ReplaceProblem::Elsewhere(lines_of(text, all)),
    }
}

/// The first header of the hunk that is not above the end of the place.
fn missing_header<'h>(text: &str, place: &Place, hunk: &'h Hunk) -> Option<&'h str> {
    let is_above = |header: &str| {
        // The header may be one of the hunk's own lines.
        let mut above = text[..place.range.end].lines();
        above.any(|line| is_header(line, header))
    };
    let mut headers = hunk.headers.iter();
    headers.find(|header| !is_above(header)).map(String::as_str)
}

/// Whether a place is in the block that each of the hunk's headers starts: no line between them
/// is indented as little as the header, except for one that ends its brackets.
fn is_inside(text: &str, place: &Place, hunk: &Hunk) -> bool {
    let above: Vec<&str> = text[..place.range.start].lines().collect();
    let first = text[place.range.clone()].lines().find(|it| !is_blank(it));
    let mut end = above.len();
    let mut is_in_block = |header: &String| {
        let at = above[..end].iter().rposition(|it| is_header(it, header));
        let Some(at) = at else { return false };
        end = at;
        let depth = depth(above[at]);
        let mut between = above[at + 1..].iter().copied().chain(first);
        between.all(|line| is_blank(line) || is_deeper(line, depth))
    };
    !hunk.headers.is_empty() && hunk.headers.iter().rev().all(&mut is_in_block)
}

/// Whether a line belongs to the block of a line with this indentation.
fn is_deeper(line: &str, depth: usize) -> bool {
    self::depth(line) > depth || line.trim_start().starts_with([')', ']', '{', '>'])
}

/// Whether a line is the one after `@@`, which may be cut off.
fn is_header(line: &str, header: &str) -> bool {
    line.trim().starts_with(header.trim())
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Action, parse};
    use super::*;

    const CLASSES: &str = "class A:\n    def run(self):\n        x = 1\n        return x\n\n    def stop(self):\n        \
                           x = 1\n        return x\n\nclass B:\n    def run(self):\n        x = 1\n        return x\n";

    fn patched(text: &str, hunks: &str) -> Result<String, Refused> {
        let patch = format!("*** Begin Patch\n*** Update File: a\n{hunks}*** End Patch\n");
        let lists = parse(&patch).into_iter().flatten().map(|section| {
            let Action::Update { hunks, .. } = section.action else {
                panic!("{patch}");
            };
            hunks
        });
        let lists: Vec<Vec<Hunk>> = lists.collect();
        assert!(!lists.is_empty(), "{patch}");
        apply_hunks(text, &lists).map(|it| it.text)
    }

    #[track_caller]
    fn check(text: &str, hunks: &str, expected: &str) {
        assert_eq!(patched(text, hunks), Ok(expected.to_owned()));
    }

    #[track_caller]
    fn check_lines(hunks: &str, expected: &[usize]) {
        let refused = patched(CLASSES, hunks).map_err(|it| it.problem);
        let Err(ReplaceProblem::Ambiguous { lines, .. }) = &refused else {
            panic!("{refused:?}");
        };
        assert_eq!(lines, expected);
    }

    #[test]
    fn hunks_replace_whole_lines() {
        check("a\nb\nc\n", "@@\n a\n-b\n+x\n+y\n c\n", "a\nx\ny\nc\n");
        check("a\nb\nc\n", "@@\n-b\n", "a\nc\n");
        check("a\nb", "@@\n a\n-b\n+x\n", "a\nx");
        check("a\r\nb\r\n", "@@\n a\n-b\n+x\n", "a\r\nx\r\n");
        check("ab\na\n", "@@\n-a\n+x\n", "ab\nx\n");
        check("  a\n  b\n", "@@\n-a\n-b\n+x\n+b\n", "  x\n  b\n");
    }

    #[test]
    fn several_places_are_told_apart_by_headers() {
        let hunk = "-        x = 1\n+        x = 2\n";
        check_lines(&format!("@@\n{hunk}"), &[3, 7, 12]);
        check_lines(&format!("@@ def run(self):\n{hunk}"), &[3, 7, 12]);
        let stopped = CLASSES.replacen(
            "stop(self):\n        x = 1",
            "stop(self):\n        x = 2",
            1,
        );
        check(CLASSES, &format!("@@ def stop(self):\n{hunk}"), &stopped);
        let first = CLASSES.replacen("x = 1", "x = 2", 1);
        check(
            CLASSES,
            &format!("@@ class A\n@@     def run(self):\n{hunk}"),
            &first,
        );
        check_lines(&format!("@@ class A\n{hunk}"), &[3, 7, 12]);
    }

    #[test]
    fn several_places_are_told_apart_by_the_order_of_hunks_and_the_end_of_the_file() {
        check("x\na\nx\n", "@@\n-a\n+b\n@@\n-x\n+y\n", "x\nb\ny\n");
        check("x\na\nx\n", "@@\n-x\n+y\n*** End of File\n", "x\na\ny\n");
        assert!(patched("x\na\n", "@@\n-a\n+b\n@@\n-x\n+y\n").is_err());
        // A file that is named again starts anew.
        let again = "@@\n-a\n+b\n*** Update File: a\n@@\n-x\n+y\n";
        check("x\na\n", again, "y\nb\n");
    }

    #[test]
    fn a_header_that_is_not_above_is_refused() {
        let missing = patched("a\nb\n", "@@ def f():\n-a\n+x\n").map_err(|it| it.problem);
        assert_eq!(
            missing,
            Err(ReplaceProblem::NotBelow("def f():".to_owned()))
        );
        assert!(patched("a\nb\n", "@@ b\n-a\n+x\n").is_err());
        check(
            "def f(x):\n  a\n",
            "@@ def f(\n-  a\n+  b\n",
            "def f(x):\n  b\n",
        );
    }

    #[test]
    fn lines_without_context_are_added_only_at_the_end() {
        check("a\n", "@@\n+b\n*** End of File\n", "a\nb\n");
        check("", "@@\n+b\n", "b\n");
        for (text, hunk) in [("a\n", "@@\n+b\n"), ("a", "@@\n+b\n*** End of File\n")] {
            let refused = patched(text, hunk).map_err(|it| it.problem);
            assert_eq!(refused, Err(ReplaceProblem::EmptyOldText));
        }
    }
}
