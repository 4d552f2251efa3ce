//! Writes a model's answer into the buffer, delta by delta.
//!
//! Append-only: returned text is final, so each decision (does this line start like
//! structure?) is made before its bytes are returned. The one exception is
//! [`AnswerWriter::text_was_thinking`]. Knows neither provider nor buffer.

use crate::scan::{LineStart, escape_line, line_start};
use crate::scan::{TEXT_BREAK, fence};
use crate::server_tools::ServerToolUse;
use crate::write;

/// Writes one assistant message below its marker line.
#[derive(Debug, Default)]
pub struct AnswerWriter {
    /// Text that is final but not taken yet.
    out: String,
    block: Block,
    /// True if the message has a block.
    started: bool,
    /// True if the last block is a text, and the next text is another part of the answer.
    is_after_text: bool,
    /// True if the answer is complete.
    finished: bool,
    /// Start of a line that may become structure, or blanks before any text.
    held: String,
    /// True if `held` is the start of a line.
    at_line_start: bool,
    /// The current line, while it may be a fence.
    fence_line: Option<String>,
    /// Number of line ends in the current text.
    line_ends: usize,
    /// The open fence: mark and length.
    open_fence: Option<(u8, usize)>,
    /// True if the last line of the text closes a fence like a line that the writer adds.
    ends_like_added: bool,
    /// Received thinking. It is written as a whole, because its signature is in the opening
    /// tag but arrives last.
    thinking: String,
    /// Length of `thinking` in characters, counted incrementally because it is drawn every
    /// frame.
    thinking_len: usize,
}

/// The line that opens thinking.
pub const THINKING: &str = "<thinking>";

/// The place of a text that turned out to be thinking: the line [`THINKING`] must be
/// inserted before its first line. The line that closes it is written like any text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkingStart {
    /// Number of line ends between the beginning of its first line and the end of all text
    /// that the writer has returned or holds.
    pub line_ends: usize,
}

impl ThinkingStart {
    /// Inserts the opening line into `text`, the last text of the writer. Returns false,
    /// without a change, if the first line begins before `text`.
    pub fn insert(self, text: &mut String) -> bool {
        let mut ends = text.rmatch_indices('\n').map(|(at, _)| at + 1);
        let Some(start) = ends.nth(self.line_ends) else {
            return false;
        };
        text.insert_str(start, &format!("{THINKING}\n"));
        true
    }
}

/// The current block.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Block {
    /// None. Blanks are held, and dropped unless text follows.
    #[default]
    None,
    /// Text.
    Text,
    /// Thinking, held in [`AnswerWriter::thinking`].
    Thinking,
}

impl AnswerWriter {
    /// Creates a writer for an empty answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the text to append to the message. It starts with a line end, because the
    /// marker's line stays separate. Trailing blanks stay here until more of the line
    /// arrives, because editors trim them when saving.
    pub fn take(&mut self) -> String {
        let whole = self.out.len();
        let end = if self.finished {
            whole
        } else {
            self.out.trim_end_matches([' ', '\t']).len()
        };
        let rest = self.out.split_off(end);
        std::mem::replace(&mut self.out, rest)
    }

    /// Returns true if nothing was written or held.
    pub fn is_empty(&self) -> bool {
        !self.started && self.thinking.is_empty()
    }

    /// Number of characters of thinking in the open block.
    pub fn thinking_len(&self) -> usize {
        self.thinking_len
    }

    /// Adds a piece of the model's text.
    pub fn text(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        // Models may send text without an explicit end of the thinking.
        if self.block == Block::Thinking {
            self.end_thinking(None);
        }
        if self.block != Block::Text {
            // Blank lines before a block are dropped, because `start_block` writes its own.
            self.held.push_str(delta);
            if self.held.trim().is_empty() {
                return;
            }
            let first = std::mem::take(&mut self.held);
            if self.is_after_text {
                self.lines([TEXT_BREAK.to_owned()]);
            }
            self.start_block();
            self.block = Block::Text;
            self.line_ends = 0;
            self.at_line_start = true;
            self.fence_line = Some(String::new());
            self.prose(&first);
        } else {
            self.prose(delta);
        }
    }

    /// Ends the open text, if any: text that follows is another part of the answer.
    pub fn end_text(&mut self) {
        let is_text = self.block == Block::Text;
        // Also drops blanks that no text follows.
        self.close_text();
        self.is_after_text |= is_text;
    }

    /// Adds a piece of thinking.
    pub fn thinking(&mut self, delta: &str) {
        if !delta.is_empty() {
            self.close_text();
            self.block = Block::Thinking;
            self.thinking.push_str(delta);
            self.thinking_len += delta.chars().count();
        }
    }

    /// Makes thinking of the current text and ends it. Returns where it begins, or `None` if
    /// there is no text.
    pub fn text_was_thinking(&mut self) -> Option<ThinkingStart> {
        let ends_line = self.at_line_start && self.held.is_empty();
        if !self.leave_text() {
            return None;
        }
        // A fence inside thinking needs no end.
        self.open_fence = None;
        if !ends_line {
            self.out.push('\n');
            self.line_ends += 1;
        }
        self.out.push_str("</thinking>");
        Some(ThinkingStart {
            line_ends: self.line_ends,
        })
    }

    /// Ends the open thinking with the provider's signature, if any. A signature without
    /// thinking is kept too.
    pub fn end_thinking(&mut self, signature: Option<(&str, &str)>) {
        self.close_text();
        // Such a value could break out of the tag.
        let signature = signature.filter(|(_, value)| !value.contains(['"', '<', '>', '\n']));
        let attribute =
            signature.map(|(provider, value)| format!(" {provider}:signature=\"{value}\""));
        let thinking = std::mem::take(&mut self.thinking);
        self.thinking_len = 0;
        match (thinking.is_empty(), attribute) {
            (true, None) => {}
            (true, Some(attribute)) => self.lines([format!("<thinking{attribute}/>")]),
            (false, attribute) => {
                self.thinking_block(&attribute.unwrap_or_default(), &thinking);
            }
        }
    }

    /// Adds opaque thinking.
    pub fn redacted_thinking(&mut self, opaque: &str) {
        self.close();
        self.thinking_block(" redacted", opaque);
    }

    /// Adds a complete call.
    pub fn tool_use(&mut self, name: &str, id: &str, input: &str) {
        self.close();
        self.lines(write::tool_use(name, id, input));
    }

    /// Adds a use of a server tool.
    pub fn server_tool(&mut self, used: &ServerToolUse) {
        self.close();
        self.lines(write::server_tool(used));
    }

    /// Ends the answer, with a reason if it was cut off.
    pub fn finish(&mut self, aborted: Option<&str>) {
        self.close();
        if let Some(reason) = aborted {
            self.lines([write::aborted(reason)]);
        }
        self.finished = true;
    }

    fn thinking_block(&mut self, attribute: &str, body: &str) {
        let opening = format!("<thinking{attribute}>");
        // A line of the thinking must not end the block.
        let body = body.split('\n').map(|line| escape_line(line).into_owned());
        let closing = "</thinking>".to_owned();
        self.lines(std::iter::once(opening).chain(body).chain([closing]));
    }

    /// Writes a complete block.
    fn lines(&mut self, lines: impl IntoIterator<Item = String>) {
        self.start_block();
        let lines: Vec<String> = lines.into_iter().collect();
        self.out.push_str(&lines.join("\n"));
        self.block = Block::None;
    }

    fn start_block(&mut self) {
        self.is_after_text = false;
        self.out.push_str(if self.started { "\n\n" } else { "\n" });
        self.started = true;
    }

    fn close(&mut self) {
        self.end_thinking(None);
        self.close_text();
    }

    /// Ends the open text: writes held text and closes an open fence.
    fn close_text(&mut self) {
        self.leave_text();
        // An open fence would swallow the next block.
        if let Some((mark, length)) = self.open_fence.take() {
            self.out.push('\n');
            // One mark more than necessary, so that it is known as added.
            let marks = std::iter::repeat_n(char::from(mark), length + 1);
            self.out.extend(marks);
        } else if std::mem::take(&mut self.ends_like_added) {
            // The model's own line is kept by a break below it, which no text follows.
            self.lines([TEXT_BREAK.to_owned()]);
        }
    }

    /// Writes held text and leaves the open text. Returns false if there is none.
    fn leave_text(&mut self) -> bool {
        let held = std::mem::take(&mut self.held);
        // Held blanks that no text follows are dropped.
        if self.block != Block::Text {
            return false;
        }
        self.out.push_str(&escape_line(&held));
        self.end_line();
        self.block = Block::None;
        true
    }

    fn prose(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            let (line, ended) = match piece.strip_suffix('\n') {
                Some(line) => (line, true),
                None => (piece, false),
            };
            self.line_piece(line);
            if ended {
                let held = std::mem::take(&mut self.held);
                self.out.push_str(&escape_line(&held));
                self.out.push('\n');
                self.line_ends += 1;
                self.end_line();
                self.at_line_start = true;
                self.fence_line = Some(String::new());
            }
        }
    }

    fn line_piece(&mut self, piece: &str) {
        if let Some(line) = &mut self.fence_line {
            line.push_str(piece);
            // The line can't become a fence, so stop collecting it.
            if !line.is_empty() && !line.starts_with(['`', '~']) {
                self.fence_line = None;
            }
        }
        // Only the start of a line can be structure.
        if !self.at_line_start {
            self.out.push_str(piece);
            return;
        }
        self.held.push_str(piece);
        match line_start(self.held.as_bytes()) {
            // More of the line must arrive before this can be decided.
            LineStart::Open => return,
            LineStart::Structure => self.out.push('\\'),
            LineStart::Prose => {}
        }
        self.out.push_str(&self.held);
        self.held.clear();
        self.at_line_start = false;
    }

    /// Tracks fences exactly as the parser does.
    fn end_line(&mut self) {
        self.ends_like_added = false;
        let Some(line) = self.fence_line.take() else {
            return;
        };
        let Some(found) = fence(line.as_bytes()) else {
            return;
        };
        self.open_fence = match self.open_fence {
            None => Some((found.mark, found.length)),
            // A closing fence is as long as the opening one or longer, and has no info string.
            Some((mark, length))
                if found.mark == mark && found.length >= length && found.info.is_empty() =>
            {
                self.ends_like_added = found.length == length + 1;
                None
            }
            open => open,
        };
    }
}
