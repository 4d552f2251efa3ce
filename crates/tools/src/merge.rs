//! Merges two changes of the same text.
//!
//! Pure. Changes of the same or of neighboring lines conflict, unless they are equal.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Merges the changes from `base` to `ours` and from `base` to `theirs`.
///
/// # Errors
///
/// The number of the first line of `base` that both change, from 1.
pub fn merge(base: &str, ours: &str, theirs: &str) -> Result<String, usize> {
    let (base, ours, theirs) = (lines(base), lines(ours), lines(theirs));
    let mut mine = changes(&base, &ours).into_iter().peekable();
    let mut other = changes(&base, &theirs).into_iter().peekable();
    let mut merged = String::new();
    let mut end = 0;
    loop {
        let next = match (mine.peek(), other.peek()) {
            // A change that both made applies once.
            (Some(a), Some(b)) if a == b => {
                other.next();
                mine.next()
            }
            (Some(a), Some(b)) if a.touches(b) => return Err(a.gone.start.min(b.gone.start) + 1),
            (Some(a), Some(b)) if b.gone.start < a.gone.start => other.next(),
            (Some(_), _) => mine.next(),
            (None, _) => other.next(),
        };
        let Some(change) = next else { break };
        merged.extend(base[end..change.gone.start].iter().copied());
        merged.extend(change.new.iter().copied());
        end = change.gone.end;
    }
    merged.extend(base[end..].iter().copied());
    Ok(merged)
}

/// A range of lines of the base, and the lines that replace it.
#[derive(PartialEq)]
struct Change<'t> {
    gone: Range<usize>,
    new: Vec<&'t str>,
}

impl Change<'_> {
    /// Returns true if no unchanged line is between the two.
    fn touches(&self, other: &Self) -> bool {
        self.gone.start <= other.gone.end && other.gone.start <= self.gone.end
    }
}

fn changes<'t>(base: &[&str], to: &[&'t str]) -> Vec<Change<'t>> {
    let change = |op: DiffOp| match op {
        DiffOp::Equal { .. } => None,
        _ => Some(Change {
            gone: op.old_range(),
            new: to[op.new_range()].to_vec(),
        }),
    };
    let ops = capture_diff_slices(Algorithm::Myers, base, to);
    ops.into_iter().filter_map(change).collect()
}

/// Splits a text into lines, with their endings.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changes_of_different_lines_are_merged() {
        let base = "a\nb\nc\nd\ne\n";
        let merged = merge(base, "a\nB\nc\nd\ne\n", "a\nb\nc\nD\ne\nf\n");
        assert_eq!(merged, Ok("a\nB\nc\nD\ne\nf\n".to_owned()));
        let merged = merge(base, "b\nc\nd\ne\n", "a\nb\nc\nx\nd\ne\n");
        assert_eq!(merged, Ok("b\nc\nx\nd\ne\n".to_owned()));
    }

    #[test]
    fn changes_of_the_same_or_of_neighboring_lines_conflict() {
        let base = "a\nb\nc\nd\n";
        assert_eq!(merge(base, "a\nB\nc\nd\n", "a\nx\nc\nd\n"), Err(2));
        assert_eq!(merge(base, "a\nB\nc\nd\n", "a\nb\nC\nd\n"), Err(2));
        assert_eq!(merge(base, "a\nb\nd\n", "a\nb\nc\nx\nd\n"), Err(3));
        // An end without a line ending is another line.
        assert_eq!(merge("a\n", "a", "a\nb\n"), Err(1));
        let both = merge(base, "a\nB\nc\nd\n", "a\nB\nc\nd\n");
        assert_eq!(both, Ok("a\nB\nc\nd\n".to_owned()));
    }

    proptest! {
        #[test]
        fn a_merge_with_no_change_is_the_other_change(base in "([ab]\n){0,8}", to in "([abc]\n){0,8}") {
            prop_assert_eq!(merge(&base, &base, &to), Ok(to.clone()));
            prop_assert_eq!(merge(&base, &to, &base), Ok(to.clone()));
            prop_assert_eq!(merge(&base, &to, &to), Ok(to));
        }
    }
}
