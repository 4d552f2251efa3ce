//! Highlights of the visible lines.
//!
//! One group per line of structure. Reads only the given lines, however long the document
//! is.

use crate::document::{Block, Document, ResultKind, Role, Status, ToolResultBlock, ToolUseBlock};
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
        let marker = message.role.marker().len();
        painter.push(
            message.lines.start,
            0,
            Some(marker),
            role_group(message.role),
        );
        for block in document.blocks_of(message) {
            match block {
                // `regions` finds the Markdown in prose, which the front end colors.
                Block::Prose(_) => {}
                Block::ToolUse(call) => painter.tool_use(call),
                Block::ToolResult(result) => painter.tool_result(result),
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
