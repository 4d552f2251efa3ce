//! A text with plain line endings, and optionally without trailing spaces, that knows where its
//! parts are in the original.

use super::endings;

/// A normalized text: each line ends in `\n`, also the last one.
pub(super) struct Normal {
    pub text: String,
    /// The start of each line: here, and in the original.
    starts: Vec<(usize, usize)>,
    original: usize,
}

impl Normal {
    /// Normalizes a text. `trims` removes spaces and tabs at the ends of lines.
    pub(super) fn of(original: &str, trims: bool) -> Self {
        let returns = endings::are_returns(original);
        let mut it = Self {
            text: String::with_capacity(original.len() + 1),
            starts: Vec::new(),
            original: original.len(),
        };
        let mut at = 0;
        for line in endings::lines(original, returns) {
            it.starts.push((it.text.len(), at));
            // Nothing follows the last line ending.
            if line.ending.is_none() && line.text.is_empty() {
                break;
            }
            it.text
                .push_str(if trims { trimmed(line.text) } else { line.text });
            it.text.push('\n');
            at += line.text.len() + line.ending.map_or(0, str::len);
        }
        it
    }

    /// The place in the original of an offset in this text. Spaces that were removed are behind
    /// it.
    pub(super) fn original(&self, at: usize) -> usize {
        let line = self.starts.partition_point(|(start, _)| *start <= at);
        let (start, original) = self.starts[line.saturating_sub(1)];
        // The last line has an ending here that the original may lack.
        (original + at - start).min(self.original)
    }
}

/// Removes spaces and tabs at the end of a line.
pub(super) fn trimmed(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}
