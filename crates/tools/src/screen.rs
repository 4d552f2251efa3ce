//! The last lines of a terminal on which output is drawn: what a user would see at the end.
//!
//! Programs show progress by going back with carriage returns and escape sequences. Only the last
//! state of a line is kept, and escape sequences are removed. Everything else stays as it is, also
//! line ends of two characters.

use std::collections::VecDeque;

/// Height of the screen for sequences that count from its top.
const HEIGHT: usize = 24;
/// Rightmost column that a sequence can move to.
const MOST_COLUMNS: usize = 4096;
/// Bytes of a line that can still be drawn over.
const MOST_BYTES: usize = 64 * 1024;
/// Bytes of the longest escape sequence.
const MOST_SEQUENCE: usize = 4096;

/// Lines that can still be drawn over, and the cursor.
pub struct Screen {
    rows: VecDeque<Row>,
    /// Number of lines that can still be drawn over.
    kept: usize,
    row: usize,
    column: usize,
    saved: (usize, usize),
    /// An escape sequence that is not complete.
    sequence: String,
    /// A carriage return whose next character is not known.
    returned: bool,
    /// True if visible text was replaced.
    is_drawn_over: bool,
    /// Lines that cannot change any more.
    done: String,
}

/// A line.
#[derive(Default)]
struct Row {
    text: String,
    /// Its characters.
    width: usize,
    /// True if the cursor moved in it.
    is_drawn: bool,
}

impl Row {
    /// The offset of a column.
    fn at(&self, column: usize) -> usize {
        if self.text.len() == self.width {
            return column.min(self.width);
        }
        let mut starts = self.text.char_indices().map(|(at, _)| at);
        starts.nth(column).unwrap_or(self.text.len())
    }

    /// Replaces `count` characters at a column. Returns true if that changes visible text.
    fn replace(&mut self, column: usize, count: usize, by: &str) -> bool {
        self.is_drawn = true;
        while self.width < column {
            self.text.push(' ');
            self.width += 1;
        }
        let range = self.at(column)..self.at(column.saturating_add(count));
        let old = &self.text[range.clone()];
        let changes = !old.trim().is_empty() && old != by;
        self.width = self.width - old.chars().count() + by.chars().count();
        self.text.replace_range(range, by);
        changes
    }
}

impl Screen {
    /// A screen with this many lines that can be drawn over.
    pub fn new(kept: usize) -> Self {
        Self {
            rows: VecDeque::from([Row::default()]),
            kept,
            row: 0,
            column: 0,
            saved: (0, 0),
            sequence: String::new(),
            returned: false,
            is_drawn_over: false,
            done: String::new(),
        }
    }

    /// Draws output. Returns the lines that cannot change any more.
    pub fn draw(&mut self, text: &str) -> String {
        let mut done = String::new();
        self.draw_into(text, &mut done);
        done
    }

    /// Draws output. Replaces `done` by the lines that cannot change any more.
    pub(crate) fn draw_into(&mut self, mut text: &str, done: &mut String) {
        std::mem::swap(&mut self.done, done);
        self.done.clear();
        // Most output only adds lines, and much of it.
        let is_plain = !self.returned && self.sequence.is_empty() && self.is_at_end();
        if is_plain && !has_control(text) {
            let mut ends = text.rmatch_indices('\n');
            if let Some((at, _)) = ends.nth(self.kept) {
                self.row = self.rows.len();
                self.give_up(self.row);
                self.done.push_str(&text[..=at]);
                text = &text[at + 1..];
            }
        }
        while let Some(first) = text.chars().next() {
            let taken = if !self.sequence.is_empty() {
                self.take_sequence(first)
            } else {
                let plain = text.find(|it| it == '\n' || is_control(it));
                let plain = plain.unwrap_or(text.len());
                match plain {
                    0 => self.control(first),
                    _ => self.put(&text[..plain]),
                }
                plain.max(first.len_utf8())
            };
            text = &text[taken..];
        }
        std::mem::swap(&mut self.done, done);
    }

    /// The lines that can still change.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.rows.iter().map(|it| it.text.as_str())
    }

    /// Returns the rest, and whether visible text was replaced.
    pub(crate) fn finish(self) -> (String, bool) {
        let rows: Vec<&str> = self.rows().collect();
        (rows.join("\n"), self.is_drawn_over)
    }

    fn is_at_end(&self) -> bool {
        self.row + 1 == self.rows.len() && self.column == self.rows[self.row].width
    }

    fn put(&mut self, text: &str) {
        self.returned = false;
        let at_end = self.column == self.rows[self.row].width;
        let count = text.chars().count();
        let row = &mut self.rows[self.row];
        if at_end {
            row.text.push_str(text);
            row.width += count;
        } else {
            self.is_drawn_over |= row.replace(self.column, count, text);
        }
        self.column += count;
        if self.is_at_end() && self.rows[self.row].text.len() > MOST_BYTES {
            self.give_up(self.row);
            let row = std::mem::take(&mut self.rows[0]);
            self.done.push_str(&row.text);
            (self.row, self.column) = (0, 0);
        }
    }

    fn control(&mut self, character: char) {
        let returned = std::mem::take(&mut self.returned);
        match character {
            '\n' => self.end_line(returned),
            '\r' => {
                // Only a whole line that was not drawn over may end in it.
                self.returned = self.is_at_end();
                self.column = 0;
            }
            '\u{8}' => self.column = self.column.saturating_sub(1),
            '\u{1b}' => self.sequence.push(character),
            _ => {}
        }
    }

    fn end_line(&mut self, returned: bool) {
        let row = &mut self.rows[self.row];
        if returned && !row.is_drawn {
            row.text.push('\r');
            row.width += 1;
        }
        (self.row, self.column) = (self.row + 1, 0);
        if self.row == self.rows.len() {
            self.rows.push_back(Row::default());
            let over = self.rows.len().saturating_sub(self.kept);
            self.give_up(over);
        }
    }

    /// Moves the first lines to those that cannot change any more.
    fn give_up(&mut self, count: usize) {
        for row in self.rows.drain(..count) {
            self.done.push_str(&row.text);
            self.done.push('\n');
        }
        if self.rows.is_empty() {
            // The cursor is behind a line that has not ended.
            self.done.pop();
            self.rows.push_back(Row::default());
            self.column = 0;
        }
        self.row = self.row.saturating_sub(count);
        self.saved.0 = self.saved.0.saturating_sub(count);
    }

    /// Adds a character to the sequence and obeys it once it is complete. Returns the number of bytes
    /// that were taken.
    fn take_sequence(&mut self, character: char) -> usize {
        let is_string = matches!(
            self.sequence.chars().nth(1),
            Some(']' | 'P' | 'X' | '^' | '_')
        );
        let is_broken = if is_string {
            character == '\n' || self.sequence.len() > MOST_SEQUENCE
        } else {
            character.is_control() || self.sequence.len() > MOST_SEQUENCE
        };
        // The character does not belong to it.
        if is_broken {
            self.sequence.clear();
            return 0;
        }
        let length = self.sequence.len();
        self.sequence.push(character);
        let is_complete = match (length, is_string) {
            (1, _) => !matches!(character, '[' | ']' | 'P' | 'X' | '^' | '_' | ' '..='/'),
            (_, true) => character == '\u{7}' || self.sequence.ends_with("\u{1b}\\"),
            // The sequence of parameters, or of one more character.
            _ if self.sequence.starts_with("\u{1b}[") => !matches!(character, ' '..='?'),
            _ => !matches!(character, ' '..='/'),
        };
        if is_complete {
            let sequence = std::mem::take(&mut self.sequence);
            self.obey(&sequence, character);
        }
        character.len_utf8()
    }

    fn obey(&mut self, sequence: &str, last: char) {
        match sequence {
            "\u{1b}7" => self.saved = (self.row, self.column),
            "\u{1b}8" => self.restore(),
            "\u{1b}M" => self.row = self.row.saturating_sub(1),
            _ => {}
        }
        let Some(parameters) = sequence.strip_prefix("\u{1b}[") else {
            return;
        };
        let mut numbers = parameters[..parameters.len() - last.len_utf8()].split(';');
        let mut number = || numbers.next().and_then(|it| it.parse::<usize>().ok());
        let first = number();
        let count = first.unwrap_or(1).clamp(1, MOST_COLUMNS);
        let end = self.rows.len() - 1;
        match last {
            'A' => self.row = self.row.saturating_sub(count),
            'B' => self.row = (self.row + count).min(end),
            'C' => self.column = (self.column + count).min(MOST_COLUMNS),
            'D' => self.column = self.column.saturating_sub(count),
            'E' => (self.row, self.column) = ((self.row + count).min(end), 0),
            'F' => (self.row, self.column) = (self.row.saturating_sub(count), 0),
            'G' | '`' => self.column = count - 1,
            'H' | 'f' => {
                let top = self.rows.len().saturating_sub(HEIGHT);
                self.row = (top + count - 1).min(end);
                self.column = number().unwrap_or(1).clamp(1, MOST_COLUMNS) - 1;
            }
            'K' => self.erase_line(first.unwrap_or(0)),
            'J' => self.erase_screen(first.unwrap_or(0)),
            'P' => self.replace(count, ""),
            'X' => self.replace(count, &" ".repeat(count)),
            's' => self.saved = (self.row, self.column),
            'u' => self.restore(),
            _ => {}
        }
    }

    fn restore(&mut self) {
        self.row = self.saved.0.min(self.rows.len() - 1);
        self.column = self.saved.1;
    }

    fn replace(&mut self, count: usize, by: &str) {
        let row = &mut self.rows[self.row];
        if self.column < row.width {
            self.is_drawn_over |= row.replace(self.column, count, by);
        }
    }

    fn erase_line(&mut self, which: usize) {
        let column = std::mem::take(&mut self.column);
        match which {
            0 => {
                self.column = column;
                self.replace(usize::MAX, "");
            }
            1 => self.replace(column + 1, &" ".repeat(column + 1)),
            _ => self.replace(usize::MAX, ""),
        }
        self.column = column;
    }

    fn erase_screen(&mut self, which: usize) {
        let (row, column) = (self.row, self.column);
        match which {
            0 => self.erase_line(0),
            1 => return,
            _ => {}
        }
        let from = if which == 0 { row + 1 } else { 0 };
        for at in from..self.rows.len() {
            (self.row, self.column) = (at, 0);
            self.replace(usize::MAX, "");
        }
        // Programs that clear the screen begin at its top.
        (self.row, self.column) = if which == 0 { (row, column) } else { (0, 0) };
        self.rows.truncate(if which == 0 { row + 1 } else { 1 });
    }
}

/// Returns true if a text has control characters that matter, all of which are ASCII.
fn has_control(text: &str) -> bool {
    // Without a branch for each byte, this takes an eighth of the time.
    let has = |bytes: &[u8]| {
        let bytes = bytes.iter().copied();
        bytes.fold(false, |found, byte| found | is_control(byte.into()))
    };
    text.as_bytes().chunks(256).any(has)
}

/// Returns true if a character is not drawn. Those that move nothing are left out.
fn is_control(character: char) -> bool {
    matches!(
        character,
        '\r' | '\u{7}' | '\u{8}' | '\u{e}' | '\u{f}' | '\u{1b}'
    )
}

/// The last state of an output, as a user would see it.
pub(crate) fn last_state(text: &str) -> String {
    let mut screen = Screen::new(100);
    let done = screen.draw(text);
    done + &screen.finish().0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_state_of_each_line_is_kept() {
        for (output, expected) in [
            ("a\nb\n", "a\nb\n"),
            ("", ""),
            ("a\r\nb\r\n", "a\r\nb\r\n"),
            ("1%\r2%\r3%\n", "3%\n"),
            ("1%\r2%\r3%\r\n", "3%\n"),
            ("1%\r2%\r", "2%"),
            ("10%\r9\n", "90%\n"),
            ("\r1%\u{1b}[K\r2%\u{1b}[K\rdone\u{1b}[K\n", "done\n"),
            ("long line\r\u{1b}[2Kok\n", "ok\n"),
            ("abc\u{8}\u{8}X\n", "aXc\n"),
            ("1%\u{8}\u{8}2%\n", "2%\n"),
            ("\u{1b}[1;31mred\u{1b}[0m\n", "red\n"),
            ("\u{1b}[38;5;9mred\u{1b}(B\u{1b}[m", "red"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\b", "ab"),
            ("a\u{1b}]no end\nb\n", "a\nb\n"),
            ("a\u{1b}[31\nb\n", "a\nb\n"),
            ("é1%\ré2%\n", "é2%\n"),
            ("a\nb\nc\n\u{1b}[2A\u{1b}[KB\n\u{1b}[KC\n", "a\nB\nC\n"),
            ("a\nb\u{1b}[F\u{1b}[2KA\n\n", "A\nb\n"),
            ("a\nb\u{1b}[H\u{1b}[2Jnew\n", "new\n"),
            ("abc\u{1b}[1GX\u{1b}[2CY", "XbcY"),
            ("abcdef\u{1b}[4D\u{1b}[2Pz", "abzf"),
            ("a\u{1b}7bc\u{1b}8X\n", "aXc\n"),
            ("bell\u{7}\n", "bell\n"),
            ("a\tb\u{c}c\n", "a\tb\u{c}c\n"),
            ("a\u{1b}[999999999999999999999Ab\n", "ab\n"),
        ] {
            assert_eq!(last_state(output), expected, "{output:?}");
        }
    }

    #[test]
    fn replaced_text_is_told_from_text_that_is_only_repeated() {
        for (output, replaced) in [
            ("a\nb", false),
            ("a\ra", false),
            ("  \rab", false),
            ("a\rb", true),
            ("a\u{1b}[2K", true),
            ("\u{1b}[31ma", false),
        ] {
            let mut screen = Screen::new(100);
            screen.draw(output);
            assert_eq!(screen.finish().1, replaced, "{output:?}");
        }
    }

    #[test]
    fn a_long_line_is_not_kept_in_memory() {
        let mut screen = Screen::new(100);
        let mut done = 0;
        for _ in 0..100 {
            done += screen.draw(&"x".repeat(10_000)).len();
        }
        assert!(done > 900_000);
        assert_eq!(done + screen.finish().0.len(), 1_000_000);
    }

    proptest! {
        #[test]
        fn the_pieces_in_which_output_arrives_do_not_matter(
            pieces in proptest::collection::vec(prop_oneof![
                Just("a"), Just("é"), Just("\n"), Just("\r"), Just("\u{8}"), Just("\u{1b}"), Just("["), Just("2"),
                Just("K"), Just("A"), Just("H"), Just("J"), Just("]"), Just("\u{7}"), Just("\n\n\n\n\n"),
            ], 0..60),
            kept in 1usize..5,
        ) {
            let mut one = Screen::new(kept);
            let whole = one.draw(&pieces.concat()) + &one.finish().0;
            let mut many = Screen::new(kept);
            let mut parts: String = pieces.iter().map(|it| many.draw(it)).collect();
            parts += &many.finish().0;
            prop_assert_eq!(parts, whole);
        }

        #[test]
        fn plain_output_stays_as_it_is(text in "(a|é|\t|\r\n|\n){0,60}", kept in 1usize..5) {
            let mut screen = Screen::new(kept);
            let drawn = screen.draw(&text) + &screen.finish().0;
            prop_assert_eq!(drawn, text);
        }
    }
}
