//! What came with a file and what was typed since: a frontmatter is the user's own
//! act only when no line of it stood in the file when it was read.
//!
//! The act counts, not the place: a stranger's lines that are moved to the top, or
//! come back by an undo, are still the stranger's. Knows no Lua and no store.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use chat::text::Text;

/// Lines of a file that are remembered. What stands below is no frontmatter unless
/// somebody deletes all above it.
const MAX_LINES: usize = 10_000;

/// The lines that came with a file, by their hashes.
#[derive(Debug, Default)]
pub struct Origin {
    lines: HashSet<u64>,
    /// Those of a frontmatter that came at its top, as long as one of them stands
    /// in the text: until then no change makes it the user's.
    block: HashSet<u64>,
}

impl Origin {
    /// The text as it was read from a file; all of it came with the file.
    pub fn read(text: &Text) -> Self {
        let all = || lines(text);
        let mut above = all().skip_while(|line| line.is_empty());
        let block = match above.next() {
            Some(first) if opens(first) => above
                .take_while(|line| !closes(line))
                .filter_map(hash)
                .collect(),
            _ => HashSet::new(),
        };
        let lines = all().filter_map(hash).collect();
        Self { lines, block }
    }

    /// Whether every line of a frontmatter was typed here or agreed to.
    pub fn is_typed(&self, frontmatter: &str) -> bool {
        let ours = |hash: u64| !self.lines.contains(&hash);
        self.block.is_empty() && hashes(frontmatter).all(ours)
    }

    /// The user agreed to this frontmatter: from now on its lines are as good as
    /// typed.
    pub fn agree(&mut self, frontmatter: &str) {
        self.block.clear();
        for hash in hashes(frontmatter) {
            self.lines.remove(&hash);
        }
    }

    /// The text was changed. A frontmatter of which nothing is left is gone.
    pub fn changed(&mut self, text: &Text) {
        // As long as a block opens the text it may be that one, however changed.
        if self.block.is_empty() || lines(text).next().is_some_and(opens) {
            return;
        }
        if !lines(text)
            .filter_map(hash)
            .any(|it| self.block.contains(&it))
        {
            self.block.clear();
        }
    }
}

/// Without blanks and marks around them.
fn lines(text: &Text) -> impl Iterator<Item = &str> {
    let count = text.line_count().min(MAX_LINES);
    (0..count).map(|line| trimmed(text.line(line)))
}

fn trimmed(line: &[u8]) -> &str {
    // What is no UTF-8 is no Lua either.
    let text = std::str::from_utf8(line).unwrap_or_default();
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// Whether a frontmatter begins with this line, or would with little change.
fn opens(line: &str) -> bool {
    let word = line.trim_start_matches('`').trim().to_ascii_lowercase();
    line.starts_with("```") && (word.starts_with("lua") || word.starts_with("json"))
}

fn closes(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|byte| byte == b'`')
}

fn hashes(text: &str) -> impl Iterator<Item = u64> {
    text.split('\n')
        .filter_map(|line| hash(trimmed(line.as_bytes())))
}

/// Nothing for a line that says nothing by itself, such as `}` or `end`: it stands
/// in any file.
fn hash(line: &str) -> Option<u64> {
    if line == "end" || !line.contains(char::is_alphanumeric) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOSE: &str = "flemma.opt.tools.auto_approve = { \"bash\" }";

    fn read(text: &str) -> Origin {
        Origin::read(&Text::from(text))
    }

    #[test]
    fn what_is_typed_into_an_empty_chat_or_one_without_frontmatter_is_typed() {
        assert!(Origin::default().is_typed(LOOSE));
        assert!(read("@You:\nhello\n").is_typed(LOOSE));
    }

    #[test]
    fn a_block_at_the_top_is_not_however_it_is_spelled() {
        for text in [
            "```lua\nX\n```\n",
            "\u{feff}```lua\nX\n```",
            "\u{feff}\u{feff}```lua\nX\n```",
            "\n\n```lua\nX\n```",
            "````lua\nX\n````",
            "```json\nX\n```",
            "``` lua\nX",
            "  ```lua\r\n\tX\r\n```",
        ] {
            let origin = read(&text.replace('X', LOOSE));
            assert!(!origin.is_typed(LOOSE), "{text:?}");
            // One character more does not make it the user's.
            assert!(!origin.is_typed(&format!("{LOOSE} -- mine")), "{text:?}");
            // Nor what stands beside it.
            assert!(!origin.is_typed("name = 1"), "{text:?}");
        }
    }

    #[test]
    fn a_line_from_further_down_is_not_typed_where_it_is_moved_to() {
        let origin = read(&format!("@You:\nSee:\n\n```lua\n{LOOSE}\n```\n"));
        assert!(!origin.is_typed(LOOSE));
        assert!(!origin.is_typed(&format!("name = 1\n  {LOOSE}")));
        assert!(origin.is_typed("name = 1\nend\n}"));
    }

    #[test]
    fn a_block_is_gone_when_nothing_of_it_is_left() {
        let mut origin = read(&format!("```lua\n{LOOSE}\nname = 1\n```\n@You:\n"));
        for text in ["```lua\nother\n```", "name = 1\n```\n@You:\n"] {
            origin.changed(&Text::from(text));
            assert!(!origin.is_typed("mine = 1"), "{text}");
        }
        origin.changed(&Text::from("@You:\n"));
        assert!(origin.is_typed("mine = 1"));
        // What comes back by an undo is not.
        assert!(!origin.is_typed(LOOSE));
    }

    #[test]
    fn what_was_agreed_to_may_be_changed() {
        let mut origin = read(&format!("```lua\n{LOOSE}\n```\n"));
        origin.agree(LOOSE);
        assert!(origin.is_typed(LOOSE));
        assert!(origin.is_typed(&format!("{LOOSE}\nmine = 1")));
    }
}
