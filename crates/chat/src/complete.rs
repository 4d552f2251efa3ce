//! Completion at a place of a document: which kind of word is being written, and
//! where it begins.
//!
//! Knows neither tools nor files nor options: a session has the words.

use crate::document::{Block, Document, Role};
use crate::references::{BUFFER, STARTS, server_at_start};
use crate::status::placeholder_words;

/// A word that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The line.
    pub line: usize,
    /// Byte column where it begins.
    pub start: usize,
    /// Its text up to the cursor.
    pub text: String,
    /// The kind of word that it may become.
    pub kind: WordKind,
}

/// The kind of word that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    /// A role marker, at the beginning of a line.
    Role,
    /// A role marker, a tool, or a reference.
    RoleOrTool,
    /// A tool, or a reference.
    Tool,
    /// The path of a file, after `@./` or a similar start.
    File,
    /// The name of an open buffer, after `@buffer:`.
    Buffer,
    /// The URI of a resource, after `@` and the name of an MCP server.
    Resource,
    /// The status of a placeholder.
    Status,
    /// An option of the frontmatter, with the tables that lead to it.
    Option,
    /// A model, between quotes.
    Model,
}

/// Returns the word that is being written before a byte column.
pub fn unfinished(document: &Document<'_>, line: usize, column: usize) -> Option<Unfinished> {
    if line >= document.text().line_count() {
        return None;
    }
    let whole = document.lossy(line..line + 1);
    // `None` if the column is inside a character.
    let before = whole.get(..column.min(whole.len()))?;
    let (start, kind) = if is_in_frontmatter(document, line) {
        in_frontmatter(before)?
    } else if before.starts_with("```") {
        status(before)?
    } else {
        in_message(document, line, before)?
    };
    Some(Unfinished {
        line,
        start,
        text: before[start..].to_owned(),
        kind,
    })
}

/// Returns true for a line of the frontmatter, also if it is not closed yet.
fn is_in_frontmatter(document: &Document<'_>, line: usize) -> bool {
    // Settings elsewhere have no language.
    let frontmatter = document.frontmatter.as_ref();
    let frontmatter = frontmatter.filter(|it| !it.language.is_empty());
    let end = frontmatter.map(|it| {
        let first = document.messages.first().map(|it| it.lines.start);
        let open = first.unwrap_or(document.text().line_count());
        // It is not closed yet, so it reaches to the first message.
        if it.lines.is_empty() {
            open
        } else {
            it.lines.end
        }
    });
    end.is_some_and(|end| line < end)
}

fn in_frontmatter(before: &str) -> Option<(usize, WordKind)> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || "_.".contains(it);
    let start = before.trim_end_matches(is_part).len();
    if let Some(at) = before.rfind(['"', '\'']) {
        let setting = before[..at].trim_end();
        let setting = setting.trim_end_matches(['=', ':', ' ', '"']);
        // After an even number of quotes, this one opens a string.
        let is_open = before[..at].matches(['"', '\'']).count().is_multiple_of(2);
        if is_open && setting.ends_with("model") {
            return Some((at + 1, WordKind::Model));
        }
    }
    Some((start, WordKind::Option)).filter(|_| start < before.len())
}

fn status(before: &str) -> Option<(usize, WordKind)> {
    let info = before.trim_start_matches('`');
    placeholder_words(info)?;
    let start = before.rfind(['=', ' '])? + 1;
    Some((start, WordKind::Status))
}

fn in_message(document: &Document<'_>, line: usize, before: &str) -> Option<(usize, WordKind)> {
    let start = before.rfind(char::is_whitespace);
    let start = start.map_or(0, |at| {
        at + before[at..].chars().next().map_or(1, char::len_utf8)
    });
    // A reference may stand in brackets or quotes.
    let opened = before[start..].trim_start_matches(['(', '[', '{', '"', '\'']);
    let start = before.len() - opened.len();
    let name = opened.strip_prefix('@')?;
    let message = document.message_at(line);
    let message = message.and_then(|at| document.messages.get(at));
    // An answer refers to nothing, but a marker below may end it.
    let is_own = message.is_some_and(|it| it.role != Role::Assistant);
    // Without a message there are no blocks, so a marker may be written there.
    let is_prose = message.is_none_or(|message| {
        let mut blocks = document.blocks_of(message).iter();
        let block = blocks.find(|block| block.lines().contains(&line));
        matches!(block, None | Some(Block::Prose(_)))
    });
    let is_file = STARTS.iter().any(|it| opened.starts_with(it));
    let is_name = name
        .chars()
        .all(|it| it.is_ascii_alphanumeric() || "_-:".contains(it));
    let kind = match (is_file, is_own, start == 0) {
        _ if !is_prose => return None,
        (true, true, _) => WordKind::File,
        (_, true, _) if opened.starts_with(BUFFER) => WordKind::Buffer,
        (_, true, _) if server_at_start(opened).is_some() => WordKind::Resource,
        _ if !is_name => return None,
        (_, true, true) => WordKind::RoleOrTool,
        (_, true, false) => WordKind::Tool,
        (_, false, true) => WordKind::Role,
        (_, false, false) => return None,
    };
    Some((start, kind))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::text::Text;

    /// Returns what is completed at the `|` of a text.
    fn at(marked: &str) -> Option<(String, WordKind)> {
        let place = marked.find('|').unwrap();
        let line = marked[..place].matches('\n').count();
        let column = place - marked[..place].rfind('\n').map_or(0, |at| at + 1);
        let text = Text::from(marked.replacen('|', "", 1).as_str());
        let found = unfinished(&Document::parse(&text), line, column)?;
        assert_eq!(found.line, line);
        Some((found.text, found.kind))
    }

    #[track_caller]
    fn completes(marked: &str, text: &str, kind: WordKind) {
        assert_eq!(at(marked), Some((text.to_owned(), kind)), "{marked}");
    }

    #[test]
    fn an_at_sign_begins_a_role_a_tool_or_a_reference() {
        completes("@|", "@", WordKind::Role);
        completes("@You:\n@|\n", "@", WordKind::RoleOrTool);
        completes("@You:\nUse @ba| now\n", "@ba", WordKind::Tool);
        completes("@You:\nSee (@./src/le|\n", "@./src/le", WordKind::File);
        completes("@You: é @../x|", "@../x", WordKind::File);
        completes("@You: @buffer:src/a|", "@buffer:src/a", WordKind::Buffer);
        completes("@You:\nSee @diff:s|", "@diff:s", WordKind::Tool);
        completes("@You:\nSee (@docs:|", "@docs:", WordKind::Resource);
        completes("@You: @docs:a://b?c|", "@docs:a://b?c", WordKind::Resource);
        completes("@You:\n@System:|", "@System:", WordKind::RoleOrTool);
        completes("@Assistant:\nHm.\n\n@Yo|", "@Yo", WordKind::Role);
    }

    #[test]
    fn other_text_begins_nothing() {
        for marked in [
            "@You:\nme@ba|",
            "@You:\nplain|",
            "@You:\nme@buffer:x|",
            "@Assistant:\n`@buffer:x|",
            "@Assistant:\nsee @ba|",
            "@Assistant:\nsee @./x|",
            "@You:\n**Tool Result:** `t`\n\n```\n@You|\n```\n",
        ] {
            assert_eq!(at(marked), None, "{marked}");
        }
    }

    #[test]
    fn a_placeholder_has_a_status() {
        let text = "@You:\n**Tool Result:** `t`\n\n```flemma:tool status=app|\n```\n";
        completes(text, "app", WordKind::Status);
        assert_eq!(at("@You:\n```lua x=|\n```\n"), None);
    }

    #[test]
    fn a_frontmatter_has_options_and_models() {
        completes(
            "```lua\nflemma.opt.th|\n```\n",
            "flemma.opt.th",
            WordKind::Option,
        );
        completes("```lua\nflemma.opt.|", "flemma.opt.", WordKind::Option);
        completes(
            "```lua\nflemma.opt.model = 'cl|'\n```\n",
            "cl",
            WordKind::Model,
        );
        completes(
            "```json\n{\"model\": \"cl|\"}\n```\n",
            "cl",
            WordKind::Model,
        );
        assert_eq!(at("```lua\nx = |\n```\n"), None);
        // The opening fence is not code.
        assert_eq!(at("```lua flemma.opt.th|\n\n```\n"), None);
    }
}
