//! The outline of a document: its messages, and what they contain.
//!
//! Names are built by the same functions as the texts of closed folds, so that both call the
//! same thing by the same words. Knows no editor.

use crate::document::{Block, Document, Message, ResultKind};
use crate::folds::{Fold, FoldKind, fold_text};
use crate::markdown::{self, Landmark};
use crate::preview::{Describe, one_line};
use crate::text::Lines;

/// Maximum columns of a name.
const WIDTH: usize = 100;

/// The kind of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    /// The options of the chat.
    Frontmatter,
    /// A message.
    Message,
    /// A heading in a message.
    Heading,
    /// A code block in a message.
    Code,
    /// A model's thinking.
    Thinking,
    /// A call.
    Call,
    /// A result, or the placeholder of a call without one.
    Result,
}

/// An entry of the outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its kind.
    pub kind: SymbolKind,
    /// Its name on one line, with invisible characters spelled out.
    pub name: String,
    /// The lines it covers, never none.
    pub lines: Lines,
    /// The symbols that it contains.
    pub children: Vec<Symbol>,
}

/// Returns the outline of a document, in the order of the text.
pub fn outline(document: &Document<'_>, tools: &dyn Describe) -> Vec<Symbol> {
    let frontmatter = document.frontmatter.as_ref();
    let frontmatter = frontmatter.filter(|it| !it.lines.is_empty()).map(|it| {
        let name = words(document, FoldKind::Frontmatter, &it.lines, tools);
        symbol(SymbolKind::Frontmatter, name, it.lines.clone())
    });
    let messages = document.messages.iter().map(|message| {
        let name = words(document, FoldKind::Message, &message.lines, tools);
        let blocks = document.blocks_of(message).iter();
        Symbol {
            children: blocks
                .flat_map(|block| of_block(document, message, block, tools))
                .collect(),
            ..symbol(SymbolKind::Message, name, message.lines.clone())
        }
    });
    frontmatter.into_iter().chain(messages).collect()
}

fn symbol(kind: SymbolKind, name: String, lines: Lines) -> Symbol {
    Symbol {
        kind,
        name,
        lines,
        children: Vec::new(),
    }
}

/// Returns what a closed fold of these lines would say.
fn words(document: &Document<'_>, kind: FoldKind, lines: &Lines, tools: &dyn Describe) -> String {
    let fold = Fold {
        kind,
        lines: lines.clone(),
        must_show: false,
    };
    let text = fold_text(document, &fold, tools, |_, _| None);
    one_line(format!("{} {}", text.label, text.text).trim(), WIDTH)
}

fn of_block(
    document: &Document<'_>,
    message: &Message,
    block: &Block,
    tools: &dyn Describe,
) -> Vec<Symbol> {
    let lines = block.lines();
    let (kind, name) = match block {
        // Prose itself has no name; its headings and code blocks do.
        Block::Prose(_) => return landmarks(document, message, lines),
        Block::TextBreak(_) | Block::Aborted(_) => return Vec::new(),
        Block::Thinking(_) => {
            let name = words(document, FoldKind::Thinking, &lines, tools);
            (SymbolKind::Thinking, name)
        }
        Block::ServerTool(_) => {
            let name = words(document, FoldKind::ToolResult, &lines, tools);
            (SymbolKind::Result, name)
        }
        Block::ToolUse(_) => {
            let name = words(document, FoldKind::ToolUse, &lines, tools);
            (SymbolKind::Call, name)
        }
        Block::ToolResult(result) => (
            SymbolKind::Result,
            // The call above describes itself, so a placeholder shows its status.
            match result.kind {
                ResultKind::Placeholder(status) => {
                    let id = one_line(result.tool_use_id.as_str(), WIDTH);
                    format!("{} {id}", status.as_str())
                }
                ResultKind::Final { .. } => words(document, FoldKind::ToolResult, &lines, tools),
            },
        ),
    };
    vec![symbol(kind, name, lines)]
}

/// Returns the headings and code blocks of some prose.
fn landmarks(document: &Document<'_>, message: &Message, lines: Lines) -> Vec<Symbol> {
    let beside = lines.start == message.lines.start;
    let column = message.inline.filter(|_| beside).unwrap_or(0);
    let text = document.prose(lines.clone(), column);
    let line_of = |at: usize| lines.start + text[..at].matches('\n').count();
    let found = markdown::landmarks(&text).into_iter();
    found
        .map(|(range, landmark)| {
            let (kind, name) = match landmark {
                Landmark::Heading(title) => (SymbolKind::Heading, title),
                Landmark::Code(language) if language.is_empty() => {
                    (SymbolKind::Code, "code".to_owned())
                }
                Landmark::Code(language) => (SymbolKind::Code, language),
            };
            // Blank lines below belong to no landmark.
            let covered = text[range.clone()].trim_end_matches('\n');
            let end = line_of(range.start + covered.len()) + 1;
            symbol(kind, one_line(&name, WIDTH), line_of(range.start)..end)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    const CHAT: &str = "\
```lua
flemma.opt.model = 'x'
```

@You: Look at it.

@Assistant:
<thinking>
Hm.
</thinking>

# Plan

Read, then:

```rust
fn main() {}
```

**Tool Use:** `read` (`t_1`)

```json
{\"path\":\"a.rs\"}
```

**Tool Use:** `bash` (`t_2`)

```json
{\"command\":\"ls\"}
```

@You:
**Tool Result:** `t_1`

```
one
```

**Tool Result:** `t_2`

```flemma:tool status=pending
```
";

    fn list(symbols: &[Symbol], depth: usize, into: &mut Vec<String>) {
        for it in symbols {
            into.push(format!(
                "{}{:?} {}-{} {}",
                "  ".repeat(depth),
                it.kind,
                it.lines.start + 1,
                it.lines.end,
                it.name
            ));
            list(&it.children, depth + 1, into);
        }
    }

    fn listed(text: &str) -> Vec<String> {
        let text = Text::from(text);
        let mut lines = Vec::new();
        list(&outline(&Document::parse(&text), &()), 0, &mut lines);
        lines
    }

    #[test]
    fn messages_contain_headings_code_thinking_calls_and_results() {
        assert_eq!(
            listed(CHAT),
            [
                "Frontmatter 1-3 frontmatter (lua) flemma.opt.model = 'x'",
                "Message 5-6 @You: Look at it.",
                "Message 7-31 @Assistant: # Plan Read, then: ```rust fn main() {} ``` | read: path=\"a.rs\" | bash: command=\"ls\"",
                "  Thinking 8-10 thinking Hm.",
                "  Heading 12-12 Plan",
                "  Code 16-18 rust",
                "  Call 20-24 → read path=\"a.rs\"",
                "  Call 26-30 → bash command=\"ls\"",
                "Message 32-43 @You: ✓ read | ● bash",
                "  Result 33-37 ✓ read path=\"a.rs\"",
                "  Result 39-42 pending t_2",
            ]
        );
    }

    #[test]
    fn an_empty_document_has_no_symbols() {
        assert_eq!(listed(""), Vec::<String>::new());
        assert_eq!(listed("```lua\nnever closed"), Vec::<String>::new());
    }

    #[test]
    fn a_heading_beside_the_marker_is_one_of_its_message() {
        let lines = listed("@You: # Title\nText\n\nUnder\n=====\n");
        assert_eq!(lines[1..], ["  Heading 1-1 Title", "  Heading 4-5 Under"]);
    }

    #[test]
    fn names_hide_nothing() {
        let lines = listed("@You:\n# a\u{202e}b\n");
        assert!(!lines[1].contains('\u{202e}'), "{lines:?}");
    }
}
