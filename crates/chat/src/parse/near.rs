//! Lines that are role markers but for a slip, and what was probably meant.

use super::Parser;
use crate::diagnostic::{Diagnostic, Fix};
use crate::document::Role;
use crate::scan;

impl Parser<'_> {
    /// Remarks on a line of a `role`'s message that starts with `@` and is no marker.
    pub(super) fn near_marker(&mut self, line: usize, role: Option<Role>) {
        let text = self.text.line_str(line);
        let Some(word) = scan::near_marker(&text) else {
            return;
        };
        let meant = nearest(word);
        // Models write "@param:" and the like; only what looks like a marker is worth a remark there.
        if meant.is_none() && role == Some(Role::Assistant) {
            return;
        }
        let mut diagnostic = Diagnostic::warning(line..line + 1, remark(word, meant));
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

/// The role whose marker `word` is but for a slip: a letter in three.
fn nearest(word: &str) -> Option<Role> {
    let word = word.to_lowercase();
    let distance = |role: &Role| strsim::osa_distance(&role.marker().to_lowercase(), &word);
    Role::ALL
        .into_iter()
        .min_by_key(distance)
        .filter(|role| distance(role) <= role.marker().len() / 3)
}

fn remark(word: &str, meant: Option<Role>) -> String {
    match meant.map(Role::marker) {
        Some(marker) if marker == word => format!(
            "\"{marker}\" is a role marker only when nothing or a blank follows, so this line is text."
        ),
        Some(marker) => format!(
            "\"{word}\" is no role marker, so this line is text. Did you mean \"{marker}\"?"
        ),
        None => format!(
            "\"{word}\" is no role marker, so this line is text. Markers: @System:, @You:, @Assistant:."
        ),
    }
}
