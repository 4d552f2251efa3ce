//! The `.chat` document as data: its messages, tool calls, results, and the
//! buffer lines each one covers.
//!
//! A [`Document`] is a function of the buffer's text and of nothing else. It is
//! rebuilt after every change and never stored, so a `.chat` file carries its
//! whole state with it. Parsing cannot fail: what does not fit the grammar stays
//! in the document as text. Nothing here decides what happens next.

mod block;
mod own;
mod pairing;
mod parse;

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

use serde_json::Value;

pub use self::block::{Aborted, Block, ResultKind, Thinking, ToolResult, ToolUse};
pub(crate) use self::own::PARAGRAPH_BREAK;
pub use self::pairing::{Call, Turn};
use crate::diagnostic::{Diagnostic, Fix};
use crate::escape::unescape_line;
use crate::json;
pub use crate::role::Role;
pub use crate::status::Status;
use crate::text::{Lines, Text};

/// A text and what was read in it. Every byte belongs to exactly one of
/// frontmatter, prelude, message marker and block.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t Text,
    parsed: Arc<Parsed>,
}

/// What was read in a text: where its parts are, and nothing of the text itself.
/// It is shared, so that one reading serves until the text changes.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Parsed {
    /// The code fence on line 0, when there is one.
    pub frontmatter: Option<Frontmatter>,
    /// What stands before the first role marker; kept and never sent.
    pub prelude: Lines,
    /// The messages, in order, without gaps between them.
    pub messages: Vec<Message>,
    /// The pieces of all messages, in order: one list, because there are thousands.
    pub(crate) blocks: Vec<Block>,
    /// Code fences in text that never close, in order.
    pub open_fences: Vec<OpenFence>,
    /// What does not fit the grammar, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// Assistant messages with a call that has no result yet, in order.
    pub(crate) unanswered: Vec<usize>,
}

/// A code fence that never closes: it ends at the next role marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFence {
    /// Its opening line through the line before the next marker.
    pub lines: Lines,
    /// The line that would close it.
    pub closing: String,
    /// Whether a tool header stands above it, which closing it would complete.
    pub below_header: bool,
}

/// Options of this document, written in a language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontmatter {
    /// The fence's info string, `lua` or `json` when it is valid.
    pub language: String,
    /// Opening fence through closing fence; empty when it never closes.
    pub lines: Lines,
    /// Why it cannot be read. Anything here stops the whole cycle, because a
    /// restrictive setting that failed to load must never mean a laxer one.
    pub problem: Option<String>,
}

/// A role marker and what follows it, up to the next one.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Marker line through the last line before the next marker.
    pub lines: Lines,
    /// Byte column at which content starts on the marker line, if any does.
    pub inline: Option<usize>,
    /// Which blocks are its content, see [`Parsed::blocks_of`].
    pub(crate) blocks: Range<usize>,
    /// Whether `@` or `{{` stands in prose that is not the model's, as they do where a
    /// tool is addressed or a file referred to. Most messages need not be looked at
    /// again for that.
    pub may_refer: bool,
}

impl Parsed {
    /// The content of a message, in order. The first block starts on the marker line
    /// when there is content on it, on the line after it otherwise.
    pub fn blocks_of(&self, message: &Message) -> &[Block] {
        &self.blocks[message.blocks.clone()]
    }

    /// Every call, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolUse> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolUse(call) => Some(call),
            _ => None,
        })
    }
}

impl Deref for Document<'_> {
    type Target = Parsed;

    fn deref(&self) -> &Parsed {
        &self.parsed
    }
}

impl<'t> Document<'t> {
    /// Reads a text. Linear in its length.
    pub fn parse(text: &'t Text) -> Self {
        Self::paired(text, parse::parse(text), 0)
    }

    /// Reads a text again of which nothing before the line `changed` is different
    /// from the text that `parsed` was read in. Gives what [`Document::parse`] gives,
    /// at a cost that goes by how much follows the change.
    pub fn parse_again(text: &'t Text, parsed: Arc<Parsed>, changed: usize) -> Self {
        let Some(first) = parse::first_to_read(&parsed, changed) else {
            return Self::parse(text);
        };
        let mut parsed = Arc::unwrap_or_clone(parsed);
        parse::parse_from(text, &mut parsed, first);
        Self::paired(text, parsed, first)
    }

    /// Adds what calls and results make together, from the message `first` on.
    fn paired(text: &'t Text, parsed: Parsed, first: usize) -> Self {
        let mut document = Self::of(text, Arc::new(parsed));
        let (unanswered, unpaired) = pairing::look(&document, first);
        let parsed = Arc::make_mut(&mut document.parsed);
        let known = parsed.unanswered.partition_point(|at| *at < first);
        parsed.unanswered.truncate(known);
        parsed.unanswered.extend(unanswered);
        if !unpaired.is_empty() {
            parsed.diagnostics.extend(unpaired);
            parsed.diagnostics.sort_by_key(|it| it.lines.start);
        }
        document
    }

    /// A text together with what was read in it before.
    pub fn of(text: &'t Text, parsed: Arc<Parsed>) -> Self {
        Self { text, parsed }
    }

    /// What was read, to be kept until the text changes.
    pub fn parsed(&self) -> Arc<Parsed> {
        self.parsed.clone()
    }

    /// The text this was read from.
    pub fn text(&self) -> &'t Text {
        self.text
    }

    /// The bytes again, put together from the document's parts.
    pub fn print(&self) -> Vec<u8> {
        let mut lines: Vec<&[u8]> = Vec::new();
        let mut take = |range: Lines| lines.extend(range.map(|line| self.text.line(line)));
        take(
            self.frontmatter
                .as_ref()
                .map_or(0..0, |it| it.lines.clone()),
        );
        take(self.prelude.clone());
        for message in &self.messages {
            // The marker's line is printed once, whether a block starts on it or not.
            take(message.lines.start..message.lines.start + 1);
            for block in self.blocks_of(message) {
                let block = block.lines();
                take(block.start.max(message.lines.start + 1)..block.end);
            }
        }
        lines.join(&b'\n')
    }

    /// The arguments of a call.
    ///
    /// # Errors
    ///
    /// Why the call cannot run: its fence is in another language, or what stands
    /// there is not one JSON object with each key once.
    pub fn input(&self, call: &ToolUse) -> Result<Value, String> {
        if let Some(language) = &call.other_language {
            return Err(format!(
                "its fence says \"{language}\"; a JSON object is needed"
            ));
        }
        json::parse_object(&self.lossy(call.body.clone()))
    }

    /// What stands between the frontmatter's fences; empty when there is none.
    pub fn frontmatter_text(&self) -> String {
        match &self.frontmatter {
            Some(it) if !it.lines.is_empty() => self
                .lossy(it.lines.start + 1..it.lines.end - 1)
                .into_owned(),
            _ => String::new(),
        }
    }

    /// Lines as UTF-8, joined by LF, nothing unescaped: for fence bodies.
    pub fn lossy(&self, lines: Lines) -> Cow<'t, str> {
        String::from_utf8_lossy(self.text.slice(lines))
    }

    /// Prose lines as the model wrote or reads them: each without its escape.
    /// `column` is where the content starts on the first line.
    pub fn prose(&self, lines: Lines, column: usize) -> String {
        let mut text = String::new();
        let end = self.carriage_return();
        for line in lines.clone() {
            if line > lines.start {
                text.push('\n');
            }
            let skip = if line == lines.start { column } else { 0 };
            let bytes = self.text.line(line).get(skip..).unwrap_or_default();
            let bytes = bytes.strip_suffix(end).unwrap_or(bytes);
            text.push_str(&String::from_utf8_lossy(unescape_line(bytes)));
        }
        text
    }

    /// What stands in a fence, as the model reads it.
    pub fn content(&self, lines: Lines) -> Cow<'t, str> {
        let text = self.lossy(lines);
        if self.carriage_return().is_empty() || !text.contains('\r') {
            return text;
        }
        let text = text.strip_suffix('\r').unwrap_or(&text);
        Cow::Owned(text.replace("\r\n", "\n"))
    }

    /// What lines may end in besides their LF. Some programs leave a file with CRLF at
    /// most lines and not at all, which editors take for one with LF; the first marker
    /// tells, because nobody types a CR behind it.
    fn carriage_return(&self) -> &'static [u8] {
        let first = self.messages.first().map(|first| first.lines.start);
        match first {
            Some(line) if self.text.line(line).ends_with(b"\r") => b"\r",
            _ => b"",
        }
    }

    /// What mends the line, or else the block that it is in: after a key the cursor stands
    /// on a block's first line, whichever of its lines is to be mended.
    pub fn fix_at(&self, line: usize) -> Option<&Fix> {
        let fix_in = |lines: Lines| {
            let mut all = self.diagnostics.iter().filter_map(|it| it.fix.as_ref());
            all.find(move |fix| fix.lines.start < lines.end && lines.start < fix.lines.end)
        };
        fix_in(line..line + 1).or_else(|| {
            let message = self.messages.get(self.message_at(line)?)?;
            let mut blocks = self.blocks_of(message).iter().map(Block::lines);
            fix_in(blocks.find(|lines| lines.contains(&line))?)
        })
    }

    /// Whether every one of `lines` is blank.
    pub fn is_blank(&self, mut lines: Lines) -> bool {
        lines.all(|line| self.text.line(line).trim_ascii().is_empty())
    }

    /// The message that covers a line.
    pub fn message_at(&self, line: usize) -> Option<usize> {
        let at = self
            .messages
            .partition_point(|message| message.lines.end <= line);
        self.messages
            .get(at)
            .filter(|message| message.lines.contains(&line))
            .map(|_| at)
    }
}
