//! Parses the blocks of a message: calls, results, thinking, and comments.
//!
//! A block is recognized as a whole or not at all; the parent module assigns lines to
//! messages.

use super::{Open, Parser};
use crate::diagnostic::{Diagnostic, Fix};
use crate::document::{
    Aborted, Block, ResultKind, Role, ThinkingBlock, ToolResultBlock, ToolUseBlock,
};
use crate::scan::{self, Fence};
use crate::status::{self, Status, StatusReading};
use crate::text::Lines;
use crate::tool::ToolUseId;

impl<'t> Parser<'t> {
    /// Parses a block that starts with `content` on `line`. Returns the line after it.
    pub(super) fn header(&mut self, line: usize, content: &[u8], open: &mut Open) -> Option<usize> {
        let block = match (open.role, content.first()?) {
            (Role::Assistant, b'*') => Block::ToolUse(self.tool_use(line, content)?),
            (Role::Assistant, b'<') => self.tag_or_comment(line, content)?,
            (Role::You, b'*') => Block::ToolResult(self.tool_result(line, content)?),
            // In a message of another role, the same line is prose.
            _ => return None,
        };
        let lines = block.lines();
        if open.next < lines.start {
            self.blocks.push(Block::Prose(open.next..lines.start));
        }
        open.next = lines.end;
        self.blocks.push(block);
        Some(lines.end)
    }

    fn tool_use(&mut self, line: usize, content: &[u8]) -> Option<ToolUseBlock> {
        if !content.starts_with(b"**Tool Use:**") {
            return None;
        }
        let Some((name, id)) = scan::tool_use_header(content) else {
            return self.no_call(
                line,
                "Invalid call header, so there is no call. Expected: **Tool Use:** `name` (`id`).",
            );
        };
        let Some((opener, body)) = self.body(line) else {
            return self.no_call(
                line,
                "This header has no closed fence below it, so there is no call.",
            );
        };
        let other_language: Option<Box<str>> = (!matches!(opener.info, b"" | b"json"))
            .then(|| String::from_utf8_lossy(opener.info).into());
        if let Some(language) = &other_language {
            let message = format!(
                "A call's arguments are JSON, not \"{language}\"; the call gets an error result."
            );
            self.diagnostics
                .push(Diagnostic::error(line..line + 1, message));
        }
        Some(ToolUseBlock {
            id: ToolUseId::new(id),
            name: name.into(),
            other_language,
            lines: line..body.end + 1,
            body,
        })
    }

    fn no_call<T>(&mut self, line: usize, message: &str) -> Option<T> {
        self.diagnostics
            .push(Diagnostic::error(line..line + 1, message));
        None
    }

    /// Returns the closed fence below a header; blank lines may precede it.
    fn body(&mut self, header: usize) -> Option<(Fence<'t>, Lines)> {
        let line = scan::skip_blank(self.text, header + 1..self.text.line_count());
        let opener = scan::fence(self.text.line(line))?;
        let Some(close) = self.scan.closing_line(line, opener) else {
            // Its fence gets no fix, which would complete a call that may be unfinished.
            self.incomplete_header = Some(line);
            return None;
        };
        Some((opener, line + 1..close))
    }

    fn tool_result(&mut self, line: usize, content: &[u8]) -> Option<ToolResultBlock> {
        if !content.starts_with(b"**Tool Result:**") {
            return None;
        }
        let Some((id, suffix)) = scan::tool_result_header(content) else {
            return self.no_call(
                line,
                "Invalid result header, so there is no result. Expected: **Tool Result:** `id`.",
            );
        };
        let Some((opener, body)) = self.body(line) else {
            return self.no_call(
                line,
                "This header has no closed fence below it, so the call is unanswered.",
            );
        };
        let info = String::from_utf8_lossy(opener.info);
        // The fence's line is the one above the body.
        let kind = self.result_kind(&info, suffix, line, body.start - 1);
        Some(ToolResultBlock {
            tool_use_id: ToolUseId::new(id),
            kind,
            lines: line..body.end + 1,
            body,
        })
    }

    fn result_kind(
        &mut self,
        info: &str,
        suffix: Option<&str>,
        header: usize,
        fence: usize,
    ) -> ResultKind {
        let reading = match (status::placeholder_words(info), suffix) {
            (None, None) => return ResultKind::Final { is_error: false },
            (None, Some("error")) => return ResultKind::Final { is_error: true },
            (None, Some(word)) => return self.placeholder(status::read_word(word), header, ""),
            (Some(words), None) => status::read_status(words),
            (Some(words), Some(word)) => {
                // If the two contradict each other, nothing may run by mistake.
                status::stricter(status::read_status(words), status::read_word(word))
            }
        };
        let words = status::placeholder_words(info).unwrap_or_default();
        self.placeholder(reading, fence, words)
    }

    /// Reports an invalid status, with a fix if the intended one is clear.
    fn placeholder(&mut self, reading: StatusReading, line: usize, words: &str) -> ResultKind {
        if let Some(problem) = reading.problem {
            let mut diagnostic = Diagnostic::warning(line..line + 1, problem);
            if let Some(meant) = reading.suggestion {
                let word = meant.as_str();
                diagnostic
                    .message
                    .push_str(&format!(" Did you mean \"{word}\"?"));
                diagnostic.fix = self.with_word(line, words, meant).map(|repaired| Fix {
                    title: format!("Write \"{word}\""),
                    lines: line..line + 1,
                    replacement: vec![repaired],
                });
            }
            self.diagnostics.push(diagnostic);
        }
        ResultKind::Placeholder(reading.status)
    }

    /// Returns the line with another status: a placeholder's fence, or a header with a word
    /// in brackets.
    fn with_word(&self, line: usize, words: &str, meant: Status) -> Option<String> {
        if let Some(fence) = scan::fence(self.text.line(line)) {
            return Some(fence.marks() + &status::with_status(words, meant));
        }
        let header = self.text.line_str(line);
        let (before, _) = header.rsplit_once('(')?;
        Some(format!("{before}({})", meant.as_str()))
    }

    fn tag_or_comment(&mut self, line: usize, content: &[u8]) -> Option<Block> {
        if let Some(reason) = scan::aborted(content) {
            return Some(Block::Aborted(Aborted {
                lines: line..line + 1,
                reason,
            }));
        }
        if content.trim_ascii_end() == scan::TEXT_BREAK.as_bytes() {
            return Some(Block::TextBreak(line..line + 1));
        }
        let tag = scan::thinking_tag(content)?;
        let close = if tag.self_closing {
            line
        } else {
            self.closing_tag(line)?
        };
        let body = if tag.self_closing {
            line..line
        } else {
            line + 1..close
        };
        Some(Block::Thinking(ThinkingBlock {
            lines: line..close + 1,
            body,
            signature: tag.signature,
            redacted: tag.redacted,
        }))
    }

    /// Returns the line of the closing tag before the next role marker.
    fn closing_tag(&mut self, line: usize) -> Option<usize> {
        let end = self.next_message(line);
        if line >= self.unclosed_thinking {
            let close =
                (line + 1..end).find(|at| self.text.line(*at).trim_ascii_end() == b"</thinking>");
            if close.is_some() {
                return close;
            }
            // Remember the failed search: many open tags would otherwise take quadratic
            // time.
            self.unclosed_thinking = end;
        }
        self.diagnostics.push(Diagnostic::warning(
            line..line + 1,
            "This thinking block never closes, so it is text.",
        ));
        None
    }
}
