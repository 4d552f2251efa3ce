//! Line endings of a text and of a piece that replaces a part of it.

use std::ops::Range;

/// Whether lines of the text end in carriage returns alone.
pub(super) fn are_returns(text: &str) -> bool {
    text.contains('\r') && !text.contains('\n')
}

/// Whether all lines have the same ending.
pub(super) fn are_alike(text: &str) -> bool {
    let feeds = text.matches('\n').count();
    let pairs = text.matches("\r\n").count();
    pairs == 0 || pairs == feeds
}

/// Replaces every line ending by `\n`. A carriage return alone counts only if `returns` is set.
pub(super) fn plain(text: &str, returns: bool) -> String {
    if returns {
        return text.replace('\r', "\n");
    }
    text.replace("\r\n", "\n")
}

/// Gives `new` the line endings of the piece `range` of `text`: unchanged lines keep theirs,
/// and new lines get that of their neighbor.
pub(super) fn like(text: &str, range: Range<usize>, new: &str) -> String {
    let returns = are_returns(text);
    let new = plain(new, false);
    let Some(outside) = around(text, &range, returns) else {
        // The text has a single line, so `new` keeps its own endings.
        return new;
    };
    let old = lines(&text[range], returns);
    let new: Vec<&str> = new.split('\n').collect();
    // Lines at the start and at the end that are unchanged keep their endings.
    let same = |(old, new): &(&Line<'_>, &&str)| old.text == **new;
    let before = old.iter().zip(&new).take_while(same).count();
    let after = old.iter().rev().zip(new.iter().rev());
    let most = old.len().min(new.len()) - before;
    let after = after.take(most).take_while(same).count();
    let mut result = String::new();
    for (number, line) in new.iter().enumerate() {
        result.push_str(line);
        if number + 1 == new.len() {
            break;
        }
        let was = match number {
            _ if number + after >= new.len() => Some(number + old.len() - new.len()),
            _ if number < before => Some(number),
            // A replaced line gets the ending of the line in its place, or of the last one
            // replaced.
            _ => (old.len() - after).checked_sub(1).map(|it| number.min(it)),
        };
        let ending = was.and_then(|at| old.get(at)?.ending);
        result.push_str(ending.unwrap_or(outside));
    }
    result
}

/// A line and its ending; the last line of a piece has none.
struct Line<'t> {
    text: &'t str,
    ending: Option<&'t str>,
}

fn lines(piece: &str, returns: bool) -> Vec<Line<'_>> {
    let mark = if returns { '\r' } else { '\n' };
    let mut lines: Vec<Line<'_>> = piece
        .split_inclusive(mark)
        .map(|it| line(it, mark))
        .collect();
    if lines.last().is_none_or(|last| last.ending.is_some()) {
        let (text, ending) = ("", None);
        lines.push(Line { text, ending });
    }
    lines
}

fn line(whole: &str, mark: char) -> Line<'_> {
    let Some(text) = whole.strip_suffix(mark) else {
        return Line {
            text: whole,
            ending: None,
        };
    };
    let text = text.strip_suffix('\r').unwrap_or(text);
    Line {
        text,
        ending: Some(&whole[text.len()..]),
    }
}

/// The ending of the line in which `range` ends. For the last line, that of the line before.
fn around<'t>(text: &'t str, range: &Range<usize>, returns: bool) -> Option<&'t str> {
    let mark = if returns { '\r' } else { '\n' };
    let end = match text[range.end..].find(mark) {
        Some(after) => range.end + after,
        None => text.rfind(mark)?,
    };
    let is_pair = mark == '\n' && text[..end].ends_with('\r');
    Some(&text[end - usize::from(is_pair)..=end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn new_lines_end_as_lines_of_the_text_do_and_say_what_they_said(
            text in "(a|b|\r\n|\n){0,12}", new in "(a|c|\n){0,8}", from in 0usize..13, to in 0usize..13,
        ) {
            let cut = |at: usize| {
                let at = at.min(text.len());
                if text[..at].ends_with('\r') { at - 1 } else { at }
            };
            let (start, end) = (cut(from.min(to)), cut(from.max(to)));
            let put = like(&text, start..end, &new);
            prop_assert_eq!(plain(&put, false), new);
            if !text.contains("\r\n") {
                prop_assert!(!put.contains('\r'));
            }
            if are_alike(&text) && text.contains("\r\n") {
                prop_assert_eq!(put.matches('\n').count(), put.matches("\r\n").count());
            }
        }
    }
}
