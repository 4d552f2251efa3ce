//! The text in a message that is neither a call, a result, nor thinking.

use super::{Block, Document, Message};

/// Separates paragraphs of own text that had results between them.
pub(crate) const PARAGRAPH_BREAK: &str = "\n\n";

impl Document<'_> {
    /// Returns the paragraphs of own text in a message, none blank, each with its first line.
    pub(crate) fn own_paragraphs(
        &self,
        message: &Message,
    ) -> impl Iterator<Item = (usize, String)> {
        let blocks = self.blocks_of(message).iter();
        blocks.filter_map(move |block| {
            let Block::Prose(lines) = block else {
                return None;
            };
            // Only the first block can start on the marker's line.
            let column = message
                .inline
                .filter(|_| lines.start == message.lines.start)
                .unwrap_or(0);
            let text = self.prose(lines.clone(), column);
            let (skipped, text) = trim_blank_lines(&text);
            (!text.is_empty()).then(|| (lines.start + skipped, text.to_owned()))
        })
    }
}

/// Removes blank lines at both ends, and returns how many there were above. Keeps the
/// indentation of the first line.
fn trim_blank_lines(text: &str) -> (usize, &str) {
    let text = text.trim_end();
    let blank = text.len() - text.trim_start().len();
    let start = text[..blank].rfind('\n').map_or(0, |at| at + 1);
    (text[..start].matches('\n').count(), &text[start..])
}
