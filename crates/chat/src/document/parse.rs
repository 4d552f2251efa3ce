//! Groups lines into a [`Parsed`] document.
//!
//! Never fails; takes linear time. Text that is not exactly structure stays prose, with a
//! diagnostic if it may have been meant as structure.
//!
//! A block (a call, a result, thinking, a comment) is recognized as a whole or not at all.

mod near;

use super::{
    Aborted, Block, Frontmatter, Message, OpenFence, Parsed, ResultKind, Role, ThinkingBlock,
    ToolResultBlock, ToolUseBlock,
};
use super::{Diagnostic, Fix};
use crate::scan::{self, Fence, Kind, Scan};
use crate::server_tools::ServerToolBlock;
use crate::status::{self, Status, StatusReading};
use crate::text::{Lines, Text};
use crate::tool::ToolUseId;

/// U+FEFF, which some editors write at the start of a file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Parses a text, without pairing calls with results.
pub(super) fn parse(text: &Text) -> Parsed {
    let mut parser = Parser::new(text, 0);
    let mut parsed = Parsed {
        frontmatter: parser.frontmatter(),
        ..Parsed::default()
    };
    let start = parsed.frontmatter.as_ref().map_or(0, |it| it.lines.end);
    parser.walk(start, &mut parsed);
    parser.finish(&mut parsed);
    parsed
}

/// Returns the first message to parse again if nothing before line `changed` differs;
/// `None` if all must be.
/// Earlier lines depend on later ones only through an unclosed fence. An answer and its
/// results are parsed together, because pairing needs both.
pub(super) fn first_to_read(parsed: &Parsed, changed: usize) -> Option<usize> {
    let messages = &parsed.messages;
    let before = messages.partition_point(|message| message.lines.start < changed);
    let mut first = before.checked_sub(1)?;
    if first > 0 && messages[first].role == Role::You && messages[first - 1].role == Role::Assistant
    {
        first -= 1;
    }
    let line = messages[first].lines.start;
    let open = parsed.open_fences.first();
    (first > 0 && open.is_none_or(|fence| fence.lines.start >= line)).then_some(first)
}

/// Parses a text again from the message `first` on, see [`first_to_read`].
pub(super) fn parse_from(text: &Text, parsed: &mut Parsed, first: usize) {
    let line = parsed.messages[first].lines.start;
    parsed.messages.truncate(first);
    // All open fences are at or below `first`, as `first_to_read` has checked.
    parsed.open_fences.clear();
    let known = parsed
        .diagnostics
        .partition_point(|it| it.lines.start < line);
    parsed.diagnostics.truncate(known);
    let blocks = parsed.messages.last().map_or(0, |last| last.blocks.end);
    parsed.blocks.truncate(blocks);
    let mut parser = Parser::new(text, line);
    parser.blocks = std::mem::take(&mut parsed.blocks);
    parser.walk(line, parsed);
    parser.finish(parsed);
}

struct Parser<'t> {
    text: &'t Text,
    scan: Scan,
    diagnostics: Vec<Diagnostic>,
    open_fences: Vec<OpenFence>,
    /// Line where the fence of an incomplete tool header is expected.
    incomplete_header: Option<usize>,
    /// No closing thinking tag exists before this line; avoids repeated searches.
    unclosed_thinking: usize,
    /// The blocks of the messages so far.
    blocks: Vec<Block>,
}

/// The current message.
struct Open {
    role: Role,
    /// First line not covered by a block yet.
    next: usize,
    first_block: usize,
}

impl<'t> Parser<'t> {
    /// Starts at `line`.
    fn new(text: &'t Text, line: usize) -> Self {
        Self {
            text,
            scan: Scan::from(text, line),
            diagnostics: Vec::new(),
            open_fences: Vec::new(),
            incomplete_header: None,
            unclosed_thinking: 0,
            blocks: Vec::new(),
        }
    }

    /// Moves the collected blocks and diagnostics to `parsed`.
    fn finish(mut self, parsed: &mut Parsed) {
        self.diagnostics.sort_by_key(|it| it.lines.start);
        parsed.diagnostics.append(&mut self.diagnostics);
        parsed.open_fences.append(&mut self.open_fences);
        parsed.blocks = self.blocks;
    }

    fn frontmatter(&mut self) -> Option<Frontmatter> {
        let first = self.text.line(0);
        let opener = scan::fence(first.strip_prefix(BYTE_ORDER_MARK).unwrap_or(first))?;
        let language = String::from_utf8_lossy(opener.info).into_owned();
        // Any other code block may be the first thing in a file, so only a clear case is an
        // error.
        if opener.mark != b'`' || language.is_empty() || language.contains(char::is_whitespace) {
            return None;
        }
        let known = matches!(language.as_str(), "lua" | "json");
        // Misspelled, it is text above the first message, which has a fix.
        if !known && crate::suggest(&language, ["lua", "json"]).is_some() {
            return None;
        }
        let close = self.scan.closing_line(0, opener);
        let problem = match (close, known) {
            (Some(_), true) => None,
            (Some(_), false) => Some(format!(
                "Frontmatter is Lua or JSON, not \"{language}\", so nothing is run or sent."
            )),
            (None, true) => {
                Some("The frontmatter never closes, so nothing is run or sent.".to_owned())
            }
            (None, false) => return None,
        };
        self.diagnostics
            .extend(problem.clone().map(|it| Diagnostic::error(0..1, it)));
        Some(Frontmatter {
            language,
            // Empty if the fence never closes, so that the text below is parsed as usual.
            lines: 0..close.map_or(0, |close| close + 1),
            problem,
        })
    }

    fn walk(&mut self, start: usize, parsed: &mut Parsed) {
        let messages = self.scan.marker_count();
        parsed.messages.reserve(messages);
        self.blocks.reserve(2 * messages);
        let mut open: Option<Open> = None;
        let mut skip_to = start;
        let candidates = self.scan.take_candidates();
        let behind_bom = self.first_marker_behind_bom(start);
        for (line, kind) in behind_bom.into_iter().chain(candidates) {
            // Lines inside a block or a closed fence are not structure.
            if line < skip_to {
                continue;
            }
            skip_to = match kind {
                Kind::Marker(role) => {
                    match open.take() {
                        Some(open) => self.close(&open, line, parsed),
                        None if parsed.messages.is_empty() => self.prelude(start..line, parsed),
                        None => {}
                    }
                    self.open_message(line, role, &mut open, parsed)
                }
                Kind::Fence | Kind::Other => self.structure(line, kind, open.as_mut()),
            };
        }
        let end = self.text.line_count();
        match open {
            Some(open) => self.close(&open, end, parsed),
            None => self.prelude(start..end, parsed),
        }
    }

    /// Begins the message of a marker. Returns the next line to parse.
    fn open_message(
        &mut self,
        line: usize,
        role: Role,
        open: &mut Option<Open>,
        parsed: &mut Parsed,
    ) -> usize {
        let inline = self.inline_at(line, role);
        parsed.messages.push(Message {
            role,
            lines: line..line,
            inline,
            blocks: 0..0,
            may_refer: false,
            is_summary: false,
            has_words: false,
        });
        let opened = open.insert(Open {
            role,
            // Content on the marker's line is part of the first block.
            next: if inline.is_some() { line } else { line + 1 },
            first_block: self.blocks.len(),
        });
        inline.map_or(line, |column| self.inline(line, column, opened))
    }

    /// Returns a marker after a byte order mark, which is not part of the text.
    fn first_marker_behind_bom(&self, start: usize) -> Option<(usize, Kind)> {
        let behind = self.text.line(0).strip_prefix(BYTE_ORDER_MARK)?;
        let (role, _) = scan::marker(behind).filter(|_| start == 0)?;
        Some((0, Kind::Marker(role)))
    }

    /// Returns the column of the content on a marker's line.
    fn inline_at(&self, line: usize, role: Role) -> Option<usize> {
        let bytes = self.text.line(line);
        let skipped = match line {
            0 if bytes.starts_with(BYTE_ORDER_MARK) => BYTE_ORDER_MARK.len(),
            _ => 0,
        };
        Some(scan::inline(&bytes[skipped..], role)? + skipped)
    }

    fn prelude(&mut self, lines: Lines, parsed: &mut Parsed) {
        let is_blank = scan::skip_blank(self.text, lines.clone()) == lines.end;
        if !is_blank && !self.near_frontmatter(&lines, &mut parsed.frontmatter) {
            let message = "Text before the first role marker is kept and never sent.";
            self.diagnostics
                .push(Diagnostic::warning(lines.clone(), message));
        }
        parsed.prelude = lines;
    }

    /// Parses content on the marker's own line. Other tools write headers there; a fence
    /// counts only at column 0.
    fn inline(&mut self, line: usize, column: usize, open: &mut Open) -> usize {
        let content = &self.text.line(line)[column..];
        self.header(line, content, open).unwrap_or(line + 1)
    }

    /// Parses structure at column 0 of `line`. Returns the next line to parse.
    fn structure(&mut self, line: usize, kind: Kind, open: Option<&mut Open>) -> usize {
        let bytes = self.text.line(line);
        if kind == Kind::Fence
            && let Some(fence) = scan::fence(bytes)
        {
            return self.prose_fence(line, fence);
        }
        if bytes.first() == Some(&b'@') {
            self.near_marker(line, open.as_ref().map(|open| open.role));
            return line + 1;
        }
        open.and_then(|open| self.header(line, bytes, open))
            .unwrap_or(line + 1)
    }

    fn prose_fence(&mut self, line: usize, opener: Fence<'_>) -> usize {
        if let Some(close) = self.scan.closing_line(line, opener) {
            return close + 1;
        }
        let end = self.next_message(line);
        let closing = opener.marks();
        let below_header = self.incomplete_header == Some(line);
        let mut diagnostic = Diagnostic::warning(
            line..line + 1,
            "This fence never closes; it ends at the next role marker.",
        );
        // Closing the fence of a header would complete a call that may be unfinished.
        if !below_header {
            diagnostic = diagnostic.with_fix(Fix {
                title: "Close the fence".to_owned(),
                lines: end..end,
                replacement: vec![closing.clone()],
            });
        }
        self.diagnostics.push(diagnostic);
        self.open_fences.push(OpenFence {
            lines: line..end,
            closing,
            below_header,
        });
        end
    }

    fn close(&mut self, open: &Open, end: usize, parsed: &mut Parsed) {
        if open.next < end {
            self.blocks.push(Block::Prose(open.next..end));
        }
        if let Some(message) = parsed.messages.last_mut() {
            message.lines.end = end;
            message.blocks = open.first_block..self.blocks.len();
            let blocks = &self.blocks[open.first_block..];
            let first = message.lines.start + 1;
            message.is_summary = open.role == Role::You
                && message.inline.is_none()
                && first < end
                && scan::is_summary(self.text.line(first));
            // The model's text is never searched for references, because it could name any file.
            // Most of a summary is the model's text.
            message.may_refer = open.role != Role::Assistant
                && !message.is_summary
                && may_refer(self.text, message, blocks);
            message.has_words = message.inline.is_some() || has_words(self.text, blocks);
        }
    }

    /// Returns an upper bound for the end of the message at `line`.
    fn next_message(&self, line: usize) -> usize {
        self.scan
            .next_marker(line + 1)
            .unwrap_or(self.text.line_count())
    }
}

/// Returns true if not all prose is blank.
fn has_words(text: &Text, blocks: &[Block]) -> bool {
    blocks.iter().any(|block| match block {
        Block::Prose(lines) => !text.slice(lines.clone()).trim_ascii().is_empty(),
        _ => false,
    })
}

/// Returns true if a message's prose contains `@` or `{{`, apart from its marker.
fn may_refer(text: &Text, message: &Message, blocks: &[Block]) -> bool {
    let marker = message.lines.start;
    blocks.iter().any(|block| {
        let Block::Prose(lines) = block else {
            return false;
        };
        let prose = text.slice(lines.clone());
        let skipped = match message.inline {
            Some(column) if lines.start == marker => column,
            _ => 0,
        };
        let prose = prose.get(skipped..).unwrap_or_default();
        let begins = |at: usize| prose[at] == b'@' || prose[at..].starts_with(b"{{");
        memchr::memchr2_iter(b'@', b'{', prose).any(begins)
    })
}

impl<'t> Parser<'t> {
    /// Parses a block that starts with `content` on `line`. Returns the line after it.
    fn header(&mut self, line: usize, content: &[u8], open: &mut Open) -> Option<usize> {
        let block = match (open.role, content.first()?) {
            (Role::Assistant, b'*') if content.starts_with(b"**Server") => {
                Block::ServerTool(self.server_tool(line, content)?)
            }
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

    /// Parses a use of a server tool. One that is not whole runs nothing and is only text.
    fn server_tool(&mut self, line: usize, content: &[u8]) -> Option<ServerToolBlock> {
        let (name, is_error) = scan::server_tool_header(content)?;
        let (_, body) = self.body(line)?;
        Some(ServerToolBlock {
            name: name.into(),
            is_error,
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
                status::stricter(status::read_status(words), &status::read_word(word))
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
