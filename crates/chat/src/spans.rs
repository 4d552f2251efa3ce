//! Highlights of the visible lines.
//!
//! One group per line of structure. Reads only the given lines, however long the document
//! is.
//!
//! A [`Region`] is a part of the visible text that has a syntax: Markdown, or code inside a
//! fence. It may begin above the visible lines and end below them, because a front end needs the
//! lines around to color those it shows.

use crate::document::{Block, Document, ResultKind, Role, Status, ToolResultBlock, ToolUseBlock};
use crate::scan::{self, Fence};
use crate::server_tools::ServerToolBlock;
use crate::text::Lines;

/// A highlighted range of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The line, zero-based.
    pub line: usize,
    /// First byte.
    pub start: usize,
    /// End byte, exclusive; `None` for the rest of the line.
    pub end: Option<usize>,
    /// The highlight group, such as `FlemmaUser`.
    pub group: &'static str,
}

/// Returns the spans of `lines`, sorted.
pub fn spans(document: &Document<'_>, lines: Lines) -> Vec<Span> {
    let mut painter = Painter {
        lines,
        spans: Vec::new(),
    };
    if let Some(frontmatter) = &document.frontmatter {
        painter.block(&frontmatter.lines, "FlemmaFrontmatter");
    }
    let first = document
        .messages
        .partition_point(|message| message.lines.end <= painter.lines.start);
    for message in &document.messages[first..] {
        if message.lines.start >= painter.lines.end {
            break;
        }
        // A background for the whole line, below the text that may follow the marker.
        painter.push(message.lines.start, 0, None, "FlemmaRole");
        let marker = message.role.marker().len();
        painter.push(
            message.lines.start,
            0,
            Some(marker),
            role_group(message.role),
        );
        if message.is_summary {
            painter.push(message.lines.start + 1, 0, None, "FlemmaThinking");
        }
        for block in document.blocks_of(message) {
            match block {
                // `regions` finds the Markdown in prose, which the front end colors.
                Block::Prose(_) => {}
                Block::ToolUse(call) => painter.tool_use(call),
                Block::ToolResult(result) => painter.tool_result(result),
                Block::ServerTool(used) => painter.server_tool(used),
                Block::Thinking(thinking) => painter.block(&thinking.lines, "FlemmaThinking"),
                Block::TextBreak(lines) => painter.block(lines, "FlemmaThinking"),
                Block::Aborted(aborted) => painter.block(&aborted.lines, "FlemmaAborted"),
            }
        }
    }
    painter.spans
}

fn role_group(role: Role) -> &'static str {
    match role {
        Role::System => "FlemmaSystem",
        Role::You => "FlemmaUser",
        Role::Assistant => "FlemmaAssistant",
    }
}

struct Painter {
    lines: Lines,
    spans: Vec<Span>,
}

impl Painter {
    fn push(&mut self, line: usize, start: usize, end: Option<usize>, group: &'static str) {
        if self.lines.contains(&line) {
            self.spans.push(Span {
                line,
                start,
                end,
                group,
            });
        }
    }

    fn block(&mut self, lines: &Lines, group: &'static str) {
        // Only the visible lines, because a block may be long.
        for line in lines.start.max(self.lines.start)..lines.end.min(self.lines.end) {
            self.push(line, 0, None, group);
        }
    }

    fn tool_use(&mut self, call: &ToolUseBlock) {
        self.push(call.lines.start, 0, None, "FlemmaToolUse");
        self.fences(&call.body);
    }

    fn server_tool(&mut self, used: &ServerToolBlock) {
        let header = if used.is_error {
            "FlemmaToolError"
        } else {
            "FlemmaToolResult"
        };
        self.push(used.lines.start, 0, None, header);
        self.fences(&used.body);
    }

    fn tool_result(&mut self, result: &ToolResultBlock) {
        let (header, fence) = match result.kind {
            ResultKind::Final { is_error: true } => ("FlemmaToolError", "FlemmaFence"),
            ResultKind::Final { is_error: false } => ("FlemmaToolResult", "FlemmaFence"),
            ResultKind::Placeholder(status) => ("FlemmaToolResult", status_group(status)),
        };
        self.push(result.lines.start, 0, None, header);
        self.push(result.body.start - 1, 0, None, fence);
        self.push(result.body.end, 0, None, "FlemmaFence");
    }

    fn fences(&mut self, body: &Lines) {
        self.push(body.start - 1, 0, None, "FlemmaFence");
        self.push(body.end, 0, None, "FlemmaFence");
    }
}

fn status_group(status: Status) -> &'static str {
    match status {
        Status::Approved => "FlemmaStatusApproved",
        Status::Pending => "FlemmaStatusPending",
        Status::Rejected => "FlemmaStatusRejected",
        Status::Denied => "FlemmaStatusDenied",
    }
}

/// Syntax of a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Language {
    /// Text of a message, without its fences.
    Markdown,
    /// Code in the language that a fence names.
    Named(String),
    /// Content of the file of this name.
    OfFile(String),
    /// Thinking, also if it has not ended yet.
    Thinking,
    /// None, so that nothing in it counts as a fence.
    Plain,
}

/// Lines of one language, without the lines of the fence around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// The lines, at least one.
    pub lines: Lines,
    /// Their language.
    pub language: Language,
}

/// Returns the regions that `lines` are part of, sorted. `file` returns the name of the file
/// that a result contains.
pub fn regions(
    document: &Document<'_>,
    lines: &Lines,
    file: impl Fn(&ToolResultBlock) -> Option<String>,
) -> Vec<Region> {
    let mut found = Vec::new();
    if let Some(frontmatter) = &document.frontmatter {
        // Empty for an unclosed frontmatter, which `meets` then leaves out.
        let body = frontmatter.lines.start + 1..frontmatter.lines.end.saturating_sub(1);
        found.push((body, Language::Named(frontmatter.language.clone())));
    }
    let messages = &document.messages;
    let first = messages.partition_point(|message| message.lines.end <= lines.start);
    let visible = messages[first..].iter();
    let visible = visible.take_while(|it| it.lines.start < lines.end);
    // Blocks out of sight are left out first: prose is searched for fences, and `file` reads
    // the arguments of the call.
    let blocks = visible.flat_map(|message| document.blocks_of(message));
    for block in blocks.filter(|it| meets(&it.lines(), lines)) {
        match block {
            Block::Prose(prose) => found.extend(of_prose(document, prose)),
            Block::ToolUse(call) => {
                found.push((call.body.clone(), Language::Named("json".to_owned())));
            }
            Block::ToolResult(result) => {
                // An error is a message about the file, not its content.
                let is_content = result.kind == ResultKind::Final { is_error: false };
                let name = is_content.then(|| file(result)).flatten();
                let language = name.map_or(Language::Plain, Language::OfFile);
                found.push((result.body.clone(), language));
            }
            Block::ServerTool(used) => found.push((used.body.clone(), Language::Plain)),
            Block::Thinking(it) => found.push((it.lines.clone(), Language::Thinking)),
            Block::TextBreak(_) | Block::Aborted(_) => {}
        }
    }
    let regions = found.into_iter();
    let regions = regions.map(|(lines, language)| Region { lines, language });
    regions.filter(|it| meets(&it.lines, lines)).collect()
}

fn meets(one: &Lines, other: &Lines) -> bool {
    one.start < one.end && one.start < other.end && other.start < one.end
}

/// Splits prose at its fences. An unclosed one reaches to the end, as in Markdown: a model
/// may still be writing it.
fn of_prose(document: &Document<'_>, prose: &Lines) -> Vec<(Lines, Language)> {
    let mut found = Vec::new();
    let mut open: Option<Fence<'_>> = None;
    let mut start = prose.start;
    let mut end_open = |start: usize, end: usize, open: Option<&Fence<'_>>| {
        let language = open.map_or(Language::Markdown, |fence| {
            Language::Named(String::from_utf8_lossy(fence.info).into_owned())
        });
        found.push((start..end, language));
    };
    for at in prose.clone() {
        let line = document.text().line(at);
        let Some(fence) = scan::fence(line) else {
            if open.is_none() && scan::thinking_tag(line).is_some() {
                // The model is still writing it, so it is not a block yet.
                end_open(start, at, None);
                found.push((at..prose.end, Language::Thinking));
                return found;
            }
            continue;
        };
        match &open {
            None => {
                end_open(start, at, None);
                (open, start) = (Some(fence), at + 1);
            }
            Some(opener) if fence.closes(opener) => {
                end_open(start, at, Some(opener));
                (open, start) = (None, at + 1);
            }
            Some(_) => {}
        }
    }
    end_open(start, prose.end, open.as_ref());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    /// The regions of some lines, each as its lines and its language.
    #[track_caller]
    fn check(text: &str, lines: Lines, expected: &[&str]) {
        let text = Text::from(text);
        let document = Document::parse(&text);
        let found = regions(&document, &lines, |result| {
            Some(format!("{}.py", result.tool_use_id))
        });
        let found: Vec<String> = found
            .iter()
            .map(|it| {
                let name = match &it.language {
                    Language::Markdown => "markdown".to_owned(),
                    Language::Named(name) => format!("[{name}]"),
                    Language::OfFile(name) => name.clone(),
                    Language::Thinking => "thinking".to_owned(),
                    Language::Plain => "plain".to_owned(),
                };
                format!("{}-{} {name}", it.lines.start, it.lines.end)
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn prose_is_markdown_and_its_fences_are_code() {
        let text = "@You:\na\n```rust\nx\n@You:\n```\nb\n";
        check(text, 0..9, &["1-2 markdown", "3-5 [rust]", "6-8 markdown"]);
    }

    #[test]
    fn a_fence_that_is_not_closed_is_code_up_to_the_end_of_the_prose() {
        let text = "@You:\nhi\n@Assistant:\na\n~~~c {x}\nint\n```\nint";
        check(text, 0..9, &["1-2 markdown", "3-4 markdown", "5-8 [c {x}]"]);
    }

    #[test]
    fn thinking_that_has_not_ended_is_not_markdown() {
        check("@Assistant:\n<thinking>\n# no\n", 0..9, &["1-4 thinking"]);
    }

    #[test]
    fn a_region_keeps_its_lines_outside_of_the_screen() {
        let text = "@You:\n1\n2\n3\n4\n@Assistant:\nx";
        check(text, 3..4, &["1-5 markdown"]);
    }

    #[test]
    fn calls_are_json_and_results_are_what_their_file_is() {
        let text = "```lua\nx = 1\n```\n@Assistant:\n**Tool Use:** `read` (`t`)\n\n```json\n{}\n```\n\n\
                    @You:\n**Tool Result:** `t`\n\n```\ndef\n```\n";
        check(
            text,
            0..99,
            &[
                "1-2 [lua]",
                "7-8 [json]",
                "9-10 markdown",
                "14-15 t.py",
                "16-17 markdown",
            ],
        );
    }
}
