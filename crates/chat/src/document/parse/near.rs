//! Diagnostics for misspelled role markers.

use super::Parser;
use crate::diagnostic::{Diagnostic, Fix};
use crate::document::Role;
use crate::scan;
use crate::suggest;

impl Parser<'_> {
    /// Checks a line of a `role`'s message that starts with `@` and is not a marker.
    pub(super) fn near_marker(&mut self, line: usize, role: Option<Role>) {
        let text = self.text.line_str(line);
        let Some(word) = scan::near_marker(&text) else {
            return;
        };
        let meant = nearest(word);
        // Models write lines such as "@param:", so warn only about near misses.
        if meant.is_none() && role == Some(Role::Assistant) {
            return;
        }
        let mut diagnostic = Diagnostic::warning(line..line + 1, remark(word, meant));
        // If the word itself is right, what follows it is wrong, which no fix can repair.
        if let Some(meant) = meant.filter(|meant| meant.marker() != word) {
            let rest = &text[word.len()..];
            diagnostic = diagnostic.with_fix(Fix {
                title: format!("Write \"{}\"", meant.marker()),
                lines: line..line + 1,
                replacement: vec![format!("{}{rest}", meant.marker())],
            });
        }
        self.diagnostics.push(diagnostic);
    }
}

/// Returns the role whose marker `word` misspells.
fn nearest(word: &str) -> Option<Role> {
    let meant = suggest(word, Role::ALL.map(Role::marker))?;
    Role::ALL.into_iter().find(|role| role.marker() == meant)
}

fn remark(word: &str, meant: Option<Role>) -> String {
    match meant.map(Role::marker) {
        Some(marker) if marker == word => format!(
            "\"{marker}\" is a role marker only when nothing or a blank follows, so this line is text."
        ),
        Some(marker) => format!(
            "\"{word}\" is not a role marker, so this line is text. Did you mean \"{marker}\"?"
        ),
        None => format!(
            "\"{word}\" is not a role marker, so this line is text. Markers: @System:, @You:, @Assistant:."
        ),
    }
}
