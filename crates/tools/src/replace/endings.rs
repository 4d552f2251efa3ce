//! The lines of a text and their endings.

/// Whether lines of the text end in carriage returns alone.
pub(super) fn are_returns(text: &str) -> bool {
    text.contains('\r') && !text.contains('\n')
}

/// The last character of each line ending.
pub(super) fn mark(text: &str) -> char {
    if are_returns(text) { '\r' } else { '\n' }
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

/// A line and its ending; the last line of a piece has none.
pub(super) struct Line<'t> {
    pub text: &'t str,
    pub ending: Option<&'t str>,
}

/// Splits a piece into lines. A piece that ends in a line ending has an empty last line.
pub(super) fn lines(piece: &str, returns: bool) -> Vec<Line<'_>> {
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
