//! Text that is safe to print on a terminal: models, tools, and files may contain characters
//! that move the cursor, change colors, hide text, or reorder it.
//!
//! Output to a terminal and to standard error shows such characters as text. Output to a pipe
//! or a file is unchanged. JSON is always escaped, which changes no value. Failing to write is an
//! error, unless the reader has closed the pipe, as `head` does. Exit codes are here, too.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

/// Replaces special characters by `^[` (ASCII) or `<202e>` (others). Keeps line ends and tabs.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_special) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\u{7f}' => shown.push_str("^?"),
            char if is_special(char) && char.is_ascii() => {
                shown.push('^');
                // In caret notation, a control character is shown as the character 64 above it.
                shown.push(char::from(char as u8 + 64));
            }
            char if is_special(char) => {
                // Writing to a string cannot fail.
                let _ = write!(shown, "<{:02x}>", u32::from(char));
            }
            char => shown.push(char),
        }
    }
    Cow::Owned(shown)
}

/// Returns text for standard output: [`visible`] on a terminal, otherwise unchanged.
pub fn for_stdout(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() {
        visible(text)
    } else {
        Cow::Borrowed(text)
    }
}

/// Escapes special characters in JSON text.
pub fn json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_special) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if !is_special(char) {
            escaped.push(char);
            continue;
        }
        // JSON writes characters outside the basic plane as two escaped UTF-16 units.
        for unit in char.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    Cow::Owned(escaped)
}

/// Prints a message on standard error.
pub fn report(text: &str) {
    // If this fails too, the exit code still reports the error.
    drop(writeln!(io::stderr(), "flemma: {}", visible(text)));
}

/// Returns true if a terminal would interpret, hide, or reorder by a character. Joiners and
/// variation selectors are not special, because scripts and emoji need them.
fn is_special(char: char) -> bool {
    let is_control = char.is_control() && !matches!(char, '\n' | '\t');
    is_control
        || matches!(char,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

/// Writes and flushes a text.
///
/// # Errors
///
/// Writing failed for another reason than a closed pipe.
pub fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Prints a text and a line end.
pub fn print(text: &str) -> Code {
    match write(&format!("{}\n", for_stdout(text))) {
        Ok(()) => Code::Ok,
        Err(error) => {
            report(&output_problem(&error));
            Code::Error
        }
    }
}

/// Prints a generated page with exactly one line end.
pub fn print_page(page: &[u8]) -> ExitCode {
    let page = String::from_utf8_lossy(page);
    print(page.trim_end_matches('\n')).into()
}

/// Returns the message for output that could not be written.
pub fn output_problem(error: &io::Error) -> String {
    format!("The output could not be written: {error}.")
}

/// An exit code. The numbers are documented and do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Done.
    Ok,
    /// An error, or nothing to do.
    Error,
    /// The command line is wrong.
    Usage,
    /// A limit was reached: requests in a row, the same failing call, or tokens of an answer.
    Limit,
    /// A call was denied, or its question had no answer.
    Denied,
    /// The user cancelled.
    Cancelled,
}

impl Code {
    /// Returns the number.
    pub fn number(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::Limit => 3,
            Self::Denied => 4,
            // As shells report a program that SIGINT ended.
            Self::Cancelled => 130,
        }
    }

    /// Prints a message on standard error and returns the code.
    pub fn report(self, message: &str) -> ExitCode {
        report(message);
        self.into()
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_model_moves_the_cursor_or_reorders_words() {
        for (text, shown) in [
            ("a\u{1b}[31m\tb\r\n\u{9b}\u{7f}", "a^[[31m\tb^M\n<9b>^?"),
            ("rm \u{202e}txt.\u{2066}", "rm <202e>txt.<2066>"),
            ("a\u{200b}\u{feff}\u{e0041}", "a<200b><feff><e0041>"),
            // Words of other scripts and emoji.
            (
                "שלום می\u{200c}خواهم 👩\u{200d}🚀 ❤\u{fe0f}",
                "שלום می\u{200c}خواهم 👩\u{200d}🚀 ❤\u{fe0f}",
            ),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({"a\u{202e}": "\u{1b}\n\u{9b}\u{e0041}é"});
        for text in [value.to_string(), format!("{value:#}")] {
            let escaped = json(&text);
            assert!(!escaped.contains(is_special), "{escaped}");
            assert!(escaped.contains("\\u202e") && escaped.contains("\\udb40\\udc41"));
            let read: serde_json::Value = serde_json::from_str(&escaped).expect("JSON");
            assert_eq!(read, value);
        }
    }
}
