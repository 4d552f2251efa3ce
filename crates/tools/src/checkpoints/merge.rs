//! Differences of file contents: merged, and counted.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

/// Time limit of one comparison. After it, the differences are larger than necessary.
const PATIENCE: Duration = Duration::from_millis(500);

/// Lines of the base, and what replaces them.
struct Hunk<'a> {
    base: Range<usize>,
    lines: &'a [&'a [u8]],
}

/// Applies the changes from `base` to `theirs` to `ours`. `None` if both change the same or
/// adjacent lines in different ways, or if one is no text.
pub(super) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let text = |bytes| {
        std::str::from_utf8(bytes)
            .ok()
            // A NUL marks binary content, which has no lines to merge.
            .filter(|it| !it.contains('\0'))
    };
    let merged = crate::merge::merge(text(base)?, text(ours)?, text(theirs)?);
    merged.ok().map(String::into_bytes)
}

/// Numbers of added and removed lines; `None` for binary content.
pub(super) fn count(old: &[u8], new: &[u8]) -> Option<(usize, usize)> {
    if old.contains(&0) || new.contains(&0) {
        return None;
    }
    let (old, new) = (lines(old), lines(new));
    let hunks = hunks(&old, &new);
    let added = hunks.iter().map(|it| it.lines.len()).sum();
    Some((added, hunks.iter().map(|it| it.base.len()).sum()))
}

/// The lines with their ends.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn hunks<'a>(base: &[&[u8]], new: &'a [&'a [u8]]) -> Vec<Hunk<'a>> {
    let deadline = Instant::now() + PATIENCE;
    let ops = capture_diff_slices_deadline(Algorithm::Myers, base, new, Some(deadline));
    let ops = ops.into_iter().map(|op| op.as_tag_tuple());
    let changes = ops.filter(|(tag, ..)| *tag != DiffTag::Equal);
    let hunk = |(_, base, lines): (_, Range<usize>, Range<usize>)| Hunk {
        base,
        lines: &new[lines],
    };
    changes.map(hunk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
        let merged = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes())?;
        String::from_utf8(merged).ok()
    }

    #[test]
    fn changes_of_different_places_are_both_kept() {
        let base = "1\n2\n3\n4\n5\n";
        assert_eq!(
            merged(base, "0\n1\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n").as_deref(),
            Some("0\n1\n2\n3\n4\nfive\n")
        );
        assert_eq!(
            merged(base, "1\n3\n4\n5\n", "1\n2\n3\n4\n5\n6").as_deref(),
            Some("1\n3\n4\n5\n6")
        );
        assert_eq!(merged(base, "x\n", "x\n").as_deref(), Some("x\n"));
        assert_eq!(merged(base, base, "").as_deref(), Some(""));
    }

    #[test]
    fn changes_of_the_same_or_adjacent_lines_conflict() {
        let base = "1\n2\n3\n4\n5\n";
        assert_eq!(merged(base, "1\na\n3\n4\n5\n", "1\nb\n3\n4\n5\n"), None);
        assert_eq!(merged(base, "1\na\n3\n4\n5\n", "1\n2\nb\n4\n5\n"), None);
        assert_eq!(
            merged(base, "1\n2\n3\n4\n5\na\n", "1\n2\n3\n4\n5\nb\n"),
            None
        );
        assert_eq!(merged("1\n", "1\n2\n\0", "0\n1\n"), None);
    }

    #[test]
    fn lines_are_counted() {
        assert_eq!(count(b"1\n2\n3\n", b"1\nzwei\nund\n3\n"), Some((2, 1)));
        assert_eq!(count(b"", b"1\n"), Some((1, 0)));
        assert_eq!(count(b"\0", b"1\n"), None);
    }
}
