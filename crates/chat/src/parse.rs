//! From lines to a [`Document`]: which lines belong together.
//!
//! Total and linear. Whatever is not exactly structure stays prose, with a
//! diagnostic where somebody may have meant structure.

use crate::diagnostic::{Diagnostic, Fix};
use crate::document::{
    Aborted, Block, Document, Frontmatter, Message, ResultKind, Role, Status, Thinking, ToolResult,
    ToolUse,
};
use crate::scan::{self, Fence, Scan};
use crate::status::{self, StatusReading};
use crate::text::{Lines, Text};
use crate::tool::ToolUseId;

/// Fills in an empty document from its text.
pub(crate) fn parse_into(document: &mut Document<'_>) {
    let text = document.text();
    let mut parser = Parser {
        text,
        scan: Scan::new(text),
        diagnostics: Vec::new(),
        unclosed_thinking: 0,
    };
    document.frontmatter = parser.frontmatter();
    let start = document.frontmatter.as_ref().map_or(0, |it| it.lines.end);
    parser.walk(start, document);
    document.diagnostics = parser.diagnostics;
    crate::pairing::diagnose(document);
    document.diagnostics.sort_by_key(|it| it.lines.start);
}

struct Parser<'t> {
    text: &'t Text,
    scan: Scan,
    diagnostics: Vec<Diagnostic>,
    /// Before this line no thinking tag is closed: searched once.
    unclosed_thinking: usize,
}

/// The message that is being read.
struct Open {
    message: Message,
    /// First line that no block covers yet.
    next: usize,
}

impl<'t> Parser<'t> {
    fn frontmatter(&mut self) -> Option<Frontmatter> {
        let first = self.text.line(0);
        let opener = scan::fence(first.strip_prefix("\u{feff}".as_bytes()).unwrap_or(first))?;
        let language = String::from_utf8_lossy(opener.info).into_owned();
        if opener.mark != b'`' || language.is_empty() || language.contains(char::is_whitespace) {
            return None;
        }
        let known = matches!(language.as_str(), "lua" | "json");
        match self.scan.closing_line(0, opener) {
            None if known => {
                let message = "The frontmatter never closes, so nothing is run or sent.";
                self.diagnostics.push(Diagnostic::error(0..1, message));
                Some(Frontmatter {
                    language,
                    lines: 0..0,
                    problem: Some(message.to_owned()),
                })
            }
            None => None,
            Some(close) => {
                let problem = (!known).then(|| {
                    format!(
                        "Frontmatter is Lua or JSON, not \"{language}\", so nothing is run or sent."
                    )
                });
                self.diagnostics
                    .extend(problem.clone().map(|it| Diagnostic::error(0..1, it)));
                Some(Frontmatter {
                    language,
                    lines: 0..close + 1,
                    problem,
                })
            }
        }
    }

    fn walk(&mut self, start: usize, document: &mut Document<'_>) {
        let mut open: Option<Open> = None;
        let mut skip_to = start;
        let candidates = std::mem::take(&mut self.scan.candidates);
        for line in self
            .first_marker_behind_bom(start)
            .into_iter()
            .chain(candidates)
        {
            if line < skip_to {
                continue;
            }
            skip_to = match self.marker_at(line) {
                Some((role, inline)) => {
                    match open.take() {
                        Some(open) => document.messages.push(close_message(open, line)),
                        None => self.prelude(start..line, document),
                    }
                    let next = if inline.is_some() { line } else { line + 1 };
                    let message = Message {
                        role,
                        lines: line..line,
                        inline,
                        blocks: Vec::new(),
                    };
                    let mut opened = Open { message, next };
                    let end =
                        inline.map_or(line + 1, |column| self.inline(line, column, &mut opened));
                    open = Some(opened);
                    end
                }
                None => self.structure(line, open.as_mut()),
            };
        }
        let end = self.text.line_count();
        match open {
            Some(open) => document.messages.push(close_message(open, end)),
            None => self.prelude(start..end, document),
        }
    }

    /// A byte order mark is no part of the text, so a marker may stand behind it.
    fn first_marker_behind_bom(&self, start: usize) -> Option<usize> {
        (start == 0 && self.text.line(0).starts_with("\u{feff}".as_bytes())).then_some(0)
    }

    fn marker_at(&self, line: usize) -> Option<(Role, Option<usize>)> {
        let bytes = self.text.line(line);
        match bytes.strip_prefix("\u{feff}".as_bytes()) {
            Some(rest) if line == 0 => {
                scan::marker(rest).map(|(role, column)| (role, column.map(|column| column + 3)))
            }
            _ => scan::marker(bytes),
        }
    }

    fn prelude(&mut self, lines: Lines, document: &mut Document<'_>) {
        if !document.is_blank(lines.clone()) {
            let message = "Text before the first role marker is kept and never sent.";
            self.diagnostics
                .push(Diagnostic::warning(lines.clone(), message));
        }
        document.prelude = lines;
    }

    /// Content on the marker's own line. Other tools write headers there; a fence
    /// counts at column 0 only.
    fn inline(&mut self, line: usize, column: usize, open: &mut Open) -> usize {
        let content = &self.text.line(line)[column..];
        self.header(line, content, open).unwrap_or(line + 1)
    }

    /// Reads what starts at column 0 of `line`; returns the line to go on with.
    fn structure(&mut self, line: usize, open: Option<&mut Open>) -> usize {
        let bytes = self.text.line(line);
        if let Some(fence) = scan::fence(bytes) {
            return self.prose_fence(line, fence);
        }
        if bytes.first() == Some(&b'@') {
            self.near_marker(line, open.as_ref().map(|open| open.message.role));
            return line + 1;
        }
        open.and_then(|open| self.header(line, bytes, open))
            .unwrap_or(line + 1)
    }

    fn prose_fence(&mut self, line: usize, opener: Fence<'_>) -> usize {
        if let Some(close) = self.scan.closing_line(line, opener) {
            return close + 1;
        }
        self.diagnostics.push(Diagnostic::warning(
            line..line + 1,
            "This fence never closes; it ends at the next role marker.",
        ));
        self.next_message(line)
    }

    /// Where the message that holds `line` ends at the latest.
    fn next_message(&self, line: usize) -> usize {
        self.scan
            .next_marker(line + 1)
            .unwrap_or(self.text.line_count())
    }

    fn near_marker(&mut self, line: usize, role: Option<Role>) {
        let text = self.text.line_str(line);
        let Some(word) = scan::near_marker(&text) else {
            return;
        };
        let distance =
            |role: &Role| strsim::osa_distance(&role.marker().to_lowercase(), &word.to_lowercase());
        let meant = Role::ALL
            .into_iter()
            .min_by_key(distance)
            .filter(|role| distance(role) <= 2);
        // Models write "@param:" and the like; only what looks like a marker is worth a remark there.
        if meant.is_none() && role == Some(Role::Assistant) {
            return;
        }
        let message = match meant {
            Some(meant) if meant.marker() == word => format!(
                "\"{}\" is a role marker only when nothing or a blank follows, so this line is text.",
                meant.marker()
            ),
            Some(meant) => format!(
                "\"{word}\" is no role marker, so this line is text. Did you mean \"{}\"?",
                meant.marker()
            ),
            None => format!(
                "\"{word}\" is no role marker, so this line is text. Markers: @System:, @You:, @Assistant:."
            ),
        };
        let mut diagnostic = Diagnostic::warning(line..line + 1, message);
        if let Some(meant) = meant.filter(|meant| meant.marker() != word) {
            let rest = text[word.len()..].to_owned();
            diagnostic = diagnostic.with_fix(Fix {
                title: format!("Write \"{}\"", meant.marker()),
                lines: line..line + 1,
                replacement: vec![format!("{}{rest}", meant.marker())],
            });
        }
        self.diagnostics.push(diagnostic);
    }

    /// Reads a block that starts with `content` on `line`; returns the line after it.
    fn header(&mut self, line: usize, content: &[u8], open: &mut Open) -> Option<usize> {
        let block = match (open.message.role, content.first()?) {
            (Role::Assistant, b'*') => Block::ToolUse(self.tool_use(line, content)?),
            (Role::Assistant, b'<') => self.thinking_or_aborted(line, content)?,
            (Role::You, b'*') => Block::ToolResult(self.tool_result(line, content)?),
            _ => return None,
        };
        let lines = block.lines();
        if open.next < lines.start {
            open.message
                .blocks
                .push(Block::Prose(open.next..lines.start));
        }
        open.next = lines.end;
        open.message.blocks.push(block);
        Some(lines.end)
    }

    fn tool_use(&mut self, line: usize, content: &[u8]) -> Option<ToolUse> {
        if !content.starts_with(b"**Tool Use:**") {
            return None;
        }
        let Some((name, id)) = scan::tool_use_header(content) else {
            return self.no_call(
                line,
                "This is no call: a header reads **Tool Use:** `name` (`id`).",
            );
        };
        let Some((opener, body)) = self.body(line) else {
            return self.no_call(
                line,
                "This header has no closed fence below it, so there is no call.",
            );
        };
        let language = String::from_utf8_lossy(opener.info).into_owned();
        if !matches!(language.as_str(), "" | "json") {
            let message = format!(
                "A call's arguments are JSON, not \"{language}\"; the call gets an error result."
            );
            self.diagnostics
                .push(Diagnostic::error(line..line + 1, message));
        }
        Some(ToolUse {
            id: ToolUseId::new(id),
            name,
            language,
            lines: line..body.end + 1,
            body,
        })
    }

    fn no_call<T>(&mut self, line: usize, message: &str) -> Option<T> {
        self.diagnostics
            .push(Diagnostic::error(line..line + 1, message));
        None
    }

    /// The closed fence below a header, blank lines between them allowed.
    fn body(&self, header: usize) -> Option<(Fence<'t>, Lines)> {
        let line = scan::skip_blank(self.text, header + 1..self.text.line_count());
        let opener = scan::fence(self.text.line(line))?;
        let close = self.scan.closing_line(line, opener)?;
        Some((opener, line + 1..close))
    }

    fn tool_result(&mut self, line: usize, content: &[u8]) -> Option<ToolResult> {
        if !content.starts_with(b"**Tool Result:**") {
            return None;
        }
        let Some((id, suffix)) = scan::tool_result_header(content) else {
            return self.no_call(
                line,
                "This is no result: a header reads **Tool Result:** `id`.",
            );
        };
        let Some((opener, body)) = self.body(line) else {
            return self.no_call(
                line,
                "This header has no closed fence below it, so the call is unanswered.",
            );
        };
        let info = String::from_utf8_lossy(opener.info);
        let kind = self.result_kind(&info, suffix.as_deref(), line, body.start - 1);
        Some(ToolResult {
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
        let placeholder = info
            .strip_prefix("flemma:tool")
            .filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        match (placeholder, suffix) {
            (Some(rest), _) => {
                ResultKind::Placeholder(self.status(status::read_status(rest), fence, rest))
            }
            (None, None) => ResultKind::Final { is_error: false },
            (None, Some("error")) => ResultKind::Final { is_error: true },
            (None, Some(word)) => {
                ResultKind::Placeholder(self.status(status::read_word(word), header, ""))
            }
        }
    }

    fn status(&mut self, reading: StatusReading, line: usize, info: &str) -> Status {
        if let Some(problem) = reading.problem {
            let mut diagnostic = Diagnostic::warning(line..line + 1, problem);
            if let Some(meant) = reading.suggestion {
                diagnostic
                    .message
                    .push_str(&format!(" Did you mean \"{}\"?", meant.as_str()));
                let bytes = self.text.line_str(line);
                let ticks: String = bytes
                    .chars()
                    .take_while(|c| matches!(c, '`' | '~'))
                    .collect();
                diagnostic.fix = (!ticks.is_empty()).then(|| Fix {
                    title: format!("Write \"{}\"", meant.as_str()),
                    lines: line..line + 1,
                    replacement: vec![format!("{ticks}{}", status::with_status(info, meant))],
                });
            }
            self.diagnostics.push(diagnostic);
        }
        reading.status
    }

    fn thinking_or_aborted(&mut self, line: usize, content: &[u8]) -> Option<Block> {
        if let Some(reason) = scan::aborted(content) {
            return Some(Block::Aborted(Aborted {
                lines: line..line + 1,
                reason,
            }));
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
        Some(Block::Thinking(Thinking {
            lines: line..close + 1,
            body,
            signature: tag.signature,
            redacted: tag.redacted,
        }))
    }

    /// The line of the closing tag, before the next role marker.
    fn closing_tag(&mut self, line: usize) -> Option<usize> {
        let end = self.next_message(line);
        if line >= self.unclosed_thinking {
            let close =
                (line + 1..end).find(|at| self.text.line(*at).trim_ascii_end() == b"</thinking>");
            if close.is_some() {
                return close;
            }
            self.unclosed_thinking = end;
        }
        self.diagnostics.push(Diagnostic::warning(
            line..line + 1,
            "This thinking block never closes, so it is text.",
        ));
        None
    }
}

fn close_message(open: Open, end: usize) -> Message {
    let Open { mut message, next } = open;
    if next < end {
        message.blocks.push(Block::Prose(next..end));
    }
    message.lines.end = end;
    message
}
