//! Copies of a chat: its beginning as a new chat, and all of it as Markdown.

use crate::document::{Block, Document, Message, Role};

/// Returns the lines of the document through the end of the message at `line`, and an empty
/// `@You:` unless that message is the user's. `None` if no message is there.
pub fn beginning(document: &Document<'_>, line: usize) -> Option<Vec<String>> {
    let mut messages = document.messages.iter();
    let message = messages.find(|it| it.lines.contains(&line))?;
    let mut lines = lines_of(&document.lossy(0..message.lines.end));
    while lines.last().is_some_and(|it| it.trim().is_empty()) {
        lines.pop();
    }
    if message.role != Role::You {
        lines.extend(["", Role::You.marker(), ""].map(str::to_owned));
    }
    Some(lines)
}

/// Returns the messages as Markdown. Escaped text is unescaped, because no marker means
/// anything there; calls and results stay as they are written.
pub fn markdown(document: &Document<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for message in &document.messages {
        let name = message.role.marker().trim_matches(['@', ':']);
        lines.extend([format!("## {name}"), String::new()]);
        for block in document.blocks_of(message) {
            lines.extend(lines_of(&block_text(document, message, block)));
        }
        while lines.last().is_some_and(|it| it.trim().is_empty()) {
            lines.pop();
        }
        lines.push(String::new());
    }
    // Only messages that another follows need the blank line.
    lines.pop();
    lines
}

fn block_text(document: &Document<'_>, message: &Message, block: &Block) -> String {
    let lines = block.lines();
    // The first block of a message may start on the marker's line, behind the marker.
    let is_inline = lines.start == message.lines.start;
    let column = message.inline.filter(|_| is_inline).unwrap_or(0);
    match block {
        Block::Prose(_) => document.prose(lines, column),
        Block::Thinking(_) => {
            // Markdown shows unknown tags as text or not at all.
            let text = document.prose(lines, column);
            let lines = text.lines().filter(|it| !is_tag(it));
            let quoted: Vec<String> = lines.map(|it| format!("> {it}")).collect();
            quoted.join("\n")
        }
        Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::ServerTool(_)
        | Block::TextBreak(_)
        | Block::Aborted(_) => {
            let text = document.lossy(lines);
            text.get(column..).unwrap_or_default().to_owned()
        }
    }
}

fn is_tag(line: &str) -> bool {
    line.starts_with("<thinking") || line.starts_with("</thinking>")
}

fn lines_of(text: &str) -> Vec<String> {
    let lines = text.split('\n');
    lines
        .map(|it| it.trim_end_matches('\r').to_owned())
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::text::Text;

    const CHAT: &str = "\
```lua
x = 1
```

@System: Be brief.

@You:
What is in f?

@Assistant:
<thinking>
I look.
</thinking>

**Tool Use:** `read` (`t`)

```json
{}
```

@You:
**Tool Result:** `t`

```
@You:
one
```

Well?

@Assistant:
\\@You: said one.

@You:
";

    fn begins(line: usize) -> Option<String> {
        let text = Text::from(CHAT);
        beginning(&Document::parse(&text), line).map(|it| it.join("\n"))
    }

    fn line_of(words: &str) -> usize {
        CHAT.lines().position(|it| it == words).unwrap()
    }

    #[test]
    fn a_copy_ends_with_the_message_at_the_line_and_can_be_continued() {
        let copy = begins(line_of("Well?")).unwrap();
        assert!(
            copy.starts_with("```lua\n") && copy.ends_with("\n```\n\nWell?"),
            "{copy}"
        );
        // A marker in a result is text, so that line is in the same message.
        assert_eq!(begins(line_of("one")).unwrap(), copy);
        let copy = begins(line_of("What is in f?")).unwrap();
        assert!(copy.ends_with("@You:\nWhat is in f?"), "{copy}");
        let copy = begins(line_of("I look.")).unwrap();
        assert!(copy.ends_with("{}\n```\n\n@You:\n"), "{copy}");
        assert_eq!(begins(1), None);
        assert_eq!(begins(1000), None);
    }

    #[test]
    fn markdown_has_headings_for_roles_and_unescaped_text() {
        let text = Text::from(CHAT);
        let text = markdown(&Document::parse(&text)).join("\n");
        assert_eq!(
            text,
            "## System\n\nBe brief.\n\n## You\n\nWhat is in f?\n\n## Assistant\n\n> I look.\n\n\
             **Tool Use:** `read` (`t`)\n\n```json\n{}\n```\n\n## You\n\n**Tool Result:** `t`\n\n\
             ```\n@You:\none\n```\n\nWell?\n\n## Assistant\n\n@You: said one.\n\n## You"
        );
        let empty = Text::from("");
        assert!(markdown(&Document::parse(&empty)).is_empty());
    }
}
