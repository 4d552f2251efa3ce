//! Unified diffs as text, for `patch` and `git apply`.

use std::borrow::Cow;
use std::fmt::Write;

use super::{FileDiff, Hunk, LineKind, MOST_CONTEXT};
use crate::text::Lines;

/// The remark after a line without a line break.
pub const NO_NEWLINE: &str = "\\ No newline at end of file";
/// The name of a file that does not exist.
const NONE: &str = "/dev/null";

impl FileDiff<'_> {
    /// Prints the difference of a file. `exists` says whether it does before and after. Texts
    /// that are equal print nothing.
    pub fn unified(&self, name: &str, exists: (bool, bool)) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut text = String::new();
        for (sign, side, exists) in [("---", 'a', exists.0), ("+++", 'b', exists.1)] {
            let name = if exists {
                // An absolute name would otherwise get two slashes after the side.
                quoted(&format!("{side}/{}", name.trim_start_matches('/'))).into_owned()
            } else {
                NONE.to_owned()
            };
            text.push_str(&format!("{sign} {name}\n"));
        }
        for hunk in self.hunks(MOST_CONTEXT) {
            hunk.print(&mut text);
        }
        text
    }
}

impl Hunk<'_> {
    /// `@@ -1,3 +1,4 @@`.
    pub fn header(&self) -> String {
        format!("@@ -{} +{} @@", range(&self.before), range(&self.after))
    }

    fn print(&self, text: &mut String) {
        text.push_str(&self.header());
        text.push('\n');
        for line in &self.lines {
            text.push(line.kind.sign());
            text.push_str(line.text);
            if !line.text.ends_with('\n') {
                text.push_str(&format!("\n{NO_NEWLINE}\n"));
            }
        }
    }
}

impl LineKind {
    /// The first character of the line in a unified diff.
    pub fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Added => '+',
            Self::Removed => '-',
        }
    }
}

/// First line, from 1, and number of lines. An empty range is named by the line above it.
fn range(lines: &Lines) -> String {
    let first = lines.start + usize::from(!lines.is_empty());
    format!("{first},{}", lines.len())
}

/// Quotes a name as Git does, if it would not end at the end of its line.
pub(super) fn quoted(name: &str) -> Cow<'_, str> {
    let is_plain = |it: char| !it.is_control() && !matches!(it, '"' | '\\');
    if name.chars().all(is_plain) {
        // A tab ends a name that contains blanks.
        return if name.contains(' ') {
            format!("{name}\t").into()
        } else {
            name.into()
        };
    }
    let mut quoted = String::from("\"");
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' => quoted.push(char::from(byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(quoted, "\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted.into()
}
