//! Prints the diff of a call that is asked about, in colors on a terminal.

use std::io::{self, IsTerminal};

use session::protocol::{DiffItem, DiffRow};

const BOLD: &str = "\u{1b}[1m";
const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const REVERSE: &str = "\u{1b}[7m";
const NOT_REVERSE: &str = "\u{1b}[27m";
const RESET: &str = "\u{1b}[0m";

/// Whether a diff has colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Text only.
    Plain,
    /// Escape sequences of a terminal.
    Colored,
}

impl Style {
    /// The style for standard error. `NO_COLOR` turns colors off.
    pub fn of_stderr() -> Self {
        // An empty value does not count, by <https://no-color.org>.
        let is_off = tools::variable("NO_COLOR").is_some_and(|it| !it.is_empty());
        if io::stderr().is_terminal() && !is_off {
            Self::Colored
        } else {
            Self::Plain
        }
    }

    fn paint(self, color: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colored => format!("{color}{text}{RESET}"),
        }
    }
}

/// Returns the lines of all files. The host has spelled out what a terminal would interpret.
pub fn lines(diff: &[DiffItem], style: Style) -> String {
    let mut text = String::new();
    for file in diff {
        let title = [&*file.name, &*file.counts, &*file.labels];
        let title = title.into_iter().filter(|it| !it.is_empty());
        let title = title.collect::<Vec<_>>().join("  ");
        text.push_str(&style.paint(BOLD, &title));
        text.push('\n');
        for row in &file.rows {
            text.push_str(&line(row, file.digits, style));
            text.push('\n');
        }
        if file.more > 0 {
            text.push_str(&format!("… {} more lines\n", file.more));
        }
    }
    text
}

fn line(row: &DiffRow, digits: usize, style: Style) -> String {
    let number = match row.number {
        0 => String::new(),
        number => number.to_string(),
    };
    let (sign, color) = match row.kind {
        "add" => ("+ ", GREEN),
        "delete" => ("- ", RED),
        // Context has no sign, but lines up with the lines that have one.
        "context" => return format!("{number:>digits$}   {}", row.text),
        _ => return format!("{number:>digits$} {}", row.text),
    };
    let text = match style {
        Style::Plain => row.text.clone(),
        Style::Colored => with_words(row),
    };
    let line = style.paint(color, &format!("{sign}{text}"));
    format!("{number:>digits$} {line}")
}

/// Returns the text with changed words in reverse.
fn with_words(row: &DiffRow) -> String {
    let mut text = row.text.clone();
    // From the last range to the first, so that the positions stay valid.
    for range in row.changed.chunks_exact(2).rev() {
        text.insert_str(range[1], NOT_REVERSE);
        text.insert_str(range[0], REVERSE);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_signs_without_colors_and_both_on_a_terminal() {
        let row = |kind, number, text: &str, changed: &[usize]| DiffRow {
            kind,
            number,
            text: text.to_owned(),
            changed: changed.to_vec(),
        };
        let file = DiffItem {
            name: "f.rs".to_owned(),
            counts: "+1 −1".to_owned(),
            digits: 2,
            rows: vec![
                row("context", 9, "fn f() {", &[]),
                row("delete", 10, "a(1)", &[2, 3]),
                row("add", 10, "a(2)", &[2, 3]),
                row("remark", 0, "⋯", &[]),
            ],
            more: 4,
            ..DiffItem::default()
        };
        let plain = "f.rs  +1 −1\n 9   fn f() {\n10 - a(1)\n10 + a(2)\n   ⋯\n… 4 more lines\n";
        let files = [file];
        assert_eq!(lines(&files, Style::Plain), plain);
        let colored = lines(&files, Style::Colored);
        assert!(colored.contains("10 \u{1b}[31m- a(\u{1b}[7m1\u{1b}[27m)\u{1b}[0m\n"));
        assert!(colored.contains("10 \u{1b}[32m+ a(\u{1b}[7m2\u{1b}[27m)\u{1b}[0m\n"));
    }
}
