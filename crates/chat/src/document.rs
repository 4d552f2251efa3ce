//! The parsed `.chat` document: its messages, tool calls, and results, and the buffer lines
//! each one covers.
//!
//! A [`Document`] is a pure function of the buffer's text. It is rebuilt after every change
//! and never stored, so a `.chat` file contains its whole state. Parsing cannot fail: text
//! that does not match the grammar stays in the document as text. Nothing here decides what
//! happens next.
//!
//! A [`Block`] has the lines that it covers, not their text. A [`Diagnostic`] is about text that
//! does not fit the grammar, and may have a fix.

mod pairing;
mod parse;

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

use serde_json::Value;

use crate::json;
use crate::scan::unescape_line;
use crate::server_tools::ServerToolBlock;
use crate::text::{Lines, Text, lossy};
use crate::tool::ToolUseId;

use self::pairing::Pair;
pub use self::pairing::{PairedCall, Turn};
pub use crate::scan::Role;
pub use crate::status::Status;

/// A text with its parse result. Every byte belongs to exactly one frontmatter, prelude,
/// message marker, or block.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t Text,
    parsed: Arc<Parsed>,
}

/// Parse result: the location of each part, without the text itself. Shared, so that one
/// parse serves until the text changes.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Parsed {
    /// The code fence on line 0, when there is one.
    pub frontmatter: Option<Frontmatter>,
    /// Lines before the first role marker; kept and never sent.
    pub prelude: Lines,
    /// The messages, in order, without gaps between them.
    pub messages: Vec<Message>,
    /// The blocks of all messages, in one list because there are thousands.
    pub(crate) blocks: Vec<Block>,
    /// Code fences without a closing line, in order.
    pub open_fences: Vec<OpenFence>,
    /// Diagnostics, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// Assistant messages with a call that has no result yet, in order.
    pub(crate) unanswered: Vec<usize>,
    /// All calls with their results, in order.
    pairs: Vec<Pair>,
}

/// A code fence without a closing line. It ends at the next role marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFence {
    /// Its opening line through the line before the next marker.
    pub lines: Lines,
    /// The missing closing line.
    pub closing: String,
    /// True if it belongs to a tool header, which closing it would complete.
    pub below_header: bool,
}

/// The options at the top of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontmatter {
    /// The fence's info string: `lua` or `json` if it is valid. Empty if there are only settings
    /// elsewhere, which are not read.
    pub language: String,
    /// Opening fence through closing fence; empty if it never closes or is elsewhere.
    pub lines: Lines,
    /// Why it can't be read. Any problem stops the cycle, because a restrictive option that
    /// failed to load must not be ignored.
    pub problem: Option<String>,
}

/// A role marker and what follows it, up to the next one.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The speaker.
    pub role: Role,
    /// Marker line through the last line before the next marker.
    pub lines: Lines,
    /// Byte column at which content starts on the marker line, if any does.
    pub inline: Option<usize>,
    /// Indexes of its blocks, see [`Parsed::blocks_of`].
    pub(crate) blocks: Range<usize>,
    /// True if prose not written by the model contains `@` or `{{`, which may address a
    /// tool or refer to a file. Most messages need no further search.
    pub may_refer: bool,
    /// True if it begins with the comment of a summary; see [`crate::summary`].
    pub is_summary: bool,
    /// True if it holds more than calls, results, and thinking.
    pub has_words: bool,
}

impl Parsed {
    /// Returns the blocks of a message, in order. The first one starts on the marker line
    /// if there is content on it, otherwise on the next line.
    pub fn blocks_of(&self, message: &Message) -> &[Block] {
        &self.blocks[message.blocks.clone()]
    }

    /// Returns every call, in order.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &ToolUseBlock> {
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
    /// Parses a text in linear time.
    pub fn parse(text: &'t Text) -> Self {
        Self::paired(text, parse::parse(text), 0)
    }

    /// Parses a text that equals the one of `parsed` before line `changed`. Gives the
    /// result of [`Document::parse`] at a cost proportional to the text after the change.
    pub fn parse_again(text: &'t Text, parsed: Arc<Parsed>, changed: usize) -> Self {
        // The change may affect the frontmatter or an unclosed fence above it.
        let Some(first) = parse::first_to_read(&parsed, changed) else {
            return Self::parse(text);
        };
        // Copies nothing if there is no other owner.
        let mut parsed = Arc::unwrap_or_clone(parsed);
        parse::parse_from(text, &mut parsed, first);
        Self::paired(text, parsed, first)
    }

    /// Pairs calls with results, from the message `first` on.
    fn paired(text: &'t Text, mut parsed: Parsed, first: usize) -> Self {
        pairing::pair_from(&mut parsed, first);
        let mut document = Self::of(text, Arc::new(parsed));
        let (unanswered, unpaired) = pairing::look(&document, first);
        let parsed = Arc::make_mut(&mut document.parsed);
        // Message indexes before `first` are unchanged.
        let known = parsed.unanswered.partition_point(|at| *at < first);
        parsed.unanswered.truncate(known);
        parsed.unanswered.extend(unanswered);
        if !unpaired.is_empty() {
            parsed.diagnostics.extend(unpaired);
            // Pairing finds its diagnostics last, but users read them in the order of the text.
            parsed.diagnostics.sort_by_key(|it| it.lines.start);
        }
        document
    }

    /// Combines a text with its earlier parse result.
    pub fn of(text: &'t Text, parsed: Arc<Parsed>) -> Self {
        Self { text, parsed }
    }

    /// Returns the parse result, to be kept until the text changes.
    pub fn parsed(&self) -> Arc<Parsed> {
        self.parsed.clone()
    }

    /// Returns the text.
    pub fn text(&self) -> &'t Text {
        self.text
    }

    /// Reassembles the bytes from the document's parts.
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
            // Print the marker line once, even if a block starts on it.
            take(message.lines.start..message.lines.start + 1);
            for block in self.blocks_of(message) {
                let block = block.lines();
                take(block.start.max(message.lines.start + 1)..block.end);
            }
        }
        lines.join(&b'\n')
    }

    /// Returns the arguments of a call.
    ///
    /// # Errors
    ///
    /// The fence is in another language, or its content is not one JSON object without
    /// duplicate keys.
    pub fn input(&self, call: &ToolUseBlock) -> Result<Value, String> {
        if let Some(language) = &call.other_language {
            return Err(format!(
                "its fence says \"{language}\"; a JSON object is needed"
            ));
        }
        json::parse_object(&self.lossy(call.body.clone()))
    }

    /// Returns the text inside the frontmatter's fence; empty without one.
    pub fn frontmatter_text(&self) -> String {
        match &self.frontmatter {
            Some(it) if !it.lines.is_empty() => self
                .lossy(it.lines.start + 1..it.lines.end - 1)
                .into_owned(),
            _ => String::new(),
        }
    }

    /// Returns lines as UTF-8, joined by LF, without unescaping: for fence bodies.
    pub fn lossy(&self, lines: Lines) -> Cow<'t, str> {
        lossy(self.text.slice(lines))
    }

    /// Returns prose lines as the model wrote or reads them, unescaped. `column` is where
    /// the content starts on the first line.
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
            text.push_str(&lossy(unescape_line(bytes)));
        }
        text
    }

    /// Returns the text inside a fence, as the model reads it.
    pub fn content(&self, lines: Lines) -> Cow<'t, str> {
        let text = self.lossy(lines);
        // Most texts contain no CR and need no copy.
        if self.carriage_return().is_empty() || !text.contains('\r') {
            return text;
        }
        // The last line has a CR without an LF, because `lossy` joins lines by LF.
        let text = text.strip_suffix('\r').unwrap_or(&text);
        Cow::Owned(text.replace("\r\n", "\n"))
    }

    /// Returns the bytes before each LF. Some programs write CRLF on most lines but not
    /// all, and editors treat such a file as LF. The first marker decides, because users
    /// never type a CR after it.
    fn carriage_return(&self) -> &'static [u8] {
        let first = self.messages.first().map(|first| first.lines.start);
        match first {
            Some(line) if self.text.line(line).ends_with(b"\r") => b"\r",
            _ => b"",
        }
    }

    /// Returns the fix for a line, or for any line of its block: keys put the cursor on a
    /// block's first line. The fix may change other lines than the problem is about.
    pub fn fix_at(&self, line: usize) -> Option<&Fix> {
        let meet = |one: &Lines, other: &Lines| one.start < other.end && other.start < one.end;
        let all = || self.diagnostics.iter().filter(|it| it.fix.is_some());
        let fix_in = |lines: &Lines| {
            let mut fixes = all().filter_map(|it| it.fix.as_ref());
            fixes.find(|fix| meet(&fix.lines, lines))
        };
        let fix_of = |lines: &Lines| all().find(|it| meet(&it.lines, lines))?.fix.as_ref();
        let block = || {
            let message = self.messages.get(self.message_at(line)?)?;
            let mut blocks = self.blocks_of(message).iter().map(Block::lines);
            blocks.find(|lines| lines.contains(&line))
        };
        // The line itself first: a block may have several diagnostics.
        fix_in(&(line..line + 1)).or_else(|| {
            let block = block()?;
            fix_in(&block).or_else(|| fix_of(&block))
        })
    }

    /// Returns true if all of `lines` are blank.
    pub fn is_blank(&self, mut lines: Lines) -> bool {
        lines.all(|line| self.text.line(line).trim_ascii().is_empty())
    }

    /// Returns the index of the message that covers a line.
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

/// A block of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text, blank lines included.
    Prose(Lines),
    /// A call, in an `@Assistant:` message only.
    ToolUse(ToolUseBlock),
    /// An answer to a call, in a `@You:` message only.
    ToolResult(ToolResultBlock),
    /// A use of a server tool, in an `@Assistant:` message only.
    ServerTool(ServerToolBlock),
    /// Thinking, in an `@Assistant:` message only.
    Thinking(ThinkingBlock),
    /// The comment between two texts that the provider sent as separate parts of one answer,
    /// in an `@Assistant:` message only.
    TextBreak(Lines),
    /// The comment of an answer that was cut off, in an `@Assistant:` message only.
    Aborted(Aborted),
}

impl Block {
    /// Returns the lines the block covers.
    pub fn lines(&self) -> Lines {
        match self {
            Block::Prose(lines) | Block::TextBreak(lines) => lines.clone(),
            Block::ToolUse(it) => it.lines.clone(),
            Block::ServerTool(it) => it.lines.clone(),
            Block::ToolResult(it) => it.lines.clone(),
            Block::Thinking(it) => it.lines.clone(),
            Block::Aborted(it) => it.lines.clone(),
        }
    }
}

/// A `**Tool Use:**` block whose fence is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUseBlock {
    /// ID that results refer to; need not be unique.
    pub id: ToolUseId,
    /// The tool's name, shared by all calls of a tool.
    pub name: Arc<str>,
    /// The fence's language if it is neither absent nor `json`; the call is then invalid.
    pub other_language: Option<Box<str>>,
    /// Header through closing fence.
    pub lines: Lines,
    /// The lines inside the fence.
    pub body: Lines,
}

/// A `**Tool Result:**` block whose fence is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResultBlock {
    /// The call this block answers.
    pub tool_use_id: ToolUseId,
    /// A placeholder or a result.
    pub kind: ResultKind,
    /// Header through closing fence.
    pub lines: Lines,
    /// The lines inside the fence.
    pub body: Lines,
}

/// Contents of a tool result's fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultKind {
    /// A `flemma:tool` fence: the call has a status but no result yet.
    Placeholder(Status),
    /// A real result, which the model will see.
    Final {
        /// True if the header ends in `(error)`.
        is_error: bool,
    },
}

/// A thinking block, tags included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThinkingBlock {
    /// Opening tag through closing tag.
    pub lines: Lines,
    /// The lines between the tags; empty if self-closing.
    pub body: Lines,
    /// The provider that signed it and its signature.
    pub signature: Option<(String, String)>,
    /// True if the body is a provider's opaque data.
    pub redacted: bool,
}

/// The comment at the end of an answer that was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aborted {
    /// One line.
    pub lines: Lines,
    /// The reason, without `-->`.
    pub reason: String,
}

/// Gives a call an id that no other call has.
fn unique(call: &ToolUseBlock) -> Fix {
    let header = call.lines.start..call.lines.start + 1;
    // The line number makes the new ID unique.
    let id = format!("{}_{}", call.id, header.start + 1);
    Fix {
        title: "Give this call a unique id".to_owned(),
        lines: header,
        replacement: vec![format!("**Tool Use:** `{}` (`{id}`)", call.name)],
    }
}

/// Deletes a result that no call has.
fn without_result(document: &Document<'_>, result: &ToolResultBlock) -> Fix {
    let mut lines = result.lines.clone();
    // The blank line below it would be a second one.
    let is_inside = lines.end < document.text.line_count();
    if is_inside && document.is_blank(lines.end..lines.end + 1) {
        lines.end += 1;
    }
    Fix {
        title: "Delete this result".to_owned(),
        lines,
        replacement: Vec::new(),
    }
}

/// Adds a result for a call to the message after it. `None` if that has text on its marker
/// line.
fn with_result(document: &Document<'_>, call: &ToolUseBlock, answers: &Message) -> Option<Fix> {
    let marker = answers.lines.start..answers.lines.start + 1;
    let mut replacement = vec![document.lossy(marker.clone()).into_owned()];
    let header = format!("**Tool Result:** `{}` (error)", call.id);
    let block = [&*header, "", "```", "The call was not run.", "```", ""];
    replacement.extend(block.map(str::to_owned));
    answers.inline.is_none().then(|| Fix {
        title: "Add an error result for this call".to_owned(),
        lines: marker,
        replacement,
    })
}

/// Makes the arguments of a call readable. `None` if only the user can.
fn readable(document: &Document<'_>, call: &ToolUseBlock) -> Option<Fix> {
    let text = document.lossy(call.body.clone());
    if call.other_language.is_none() {
        let repaired = json::repaired(&text)?;
        return Some(Fix {
            title: "Repair the JSON".to_owned(),
            lines: call.body.clone(),
            replacement: repaired.split('\n').map(str::to_owned).collect(),
        });
    }
    json::parse_object(&text).ok()?;
    let fence = call.body.start.checked_sub(1)?;
    let line = document.lossy(fence..fence + 1);
    let ticks: String = line.chars().take_while(|it| "`~".contains(*it)).collect();
    Some(Fix {
        title: "Write \"json\" behind the fence".to_owned(),
        lines: fence..fence + 1,
        replacement: vec![format!("{ticks}json")],
    })
}

/// Separates paragraphs of own text that had results between them.
pub(crate) const PARAGRAPH_BREAK: &str = "\n\n";

impl Document<'_> {
    /// Returns the paragraphs of own text in a message, none blank, each with its first line.
    pub(crate) fn own_paragraphs(
        &self,
        message: &Message,
    ) -> impl Iterator<Item = (usize, String)> {
        let blocks = self.blocks_of(message).iter();
        blocks.filter_map(move |block| {
            let Block::Prose(lines) = block else {
                return None;
            };
            // Only the first block can start on the marker's line.
            let column = message
                .inline
                .filter(|_| lines.start == message.lines.start)
                .unwrap_or(0);
            let mut lines = lines.clone();
            // The comment of a summary is for the host.
            if message.is_summary && lines.start == message.lines.start + 1 {
                lines.start += 1;
            }
            let text = self.prose(lines.clone(), column);
            let (skipped, text) = trim_blank_lines(&text);
            (!text.is_empty()).then(|| (lines.start + skipped, text.to_owned()))
        })
    }
}

/// Removes blank lines at both ends, and returns how many there were above. Keeps the
/// indentation of the first line.
fn trim_blank_lines(text: &str) -> (usize, &str) {
    let text = text.trim_end();
    let blank = text.len() - text.trim_start().len();
    let start = text[..blank].rfind('\n').map_or(0, |at| at + 1);
    (text[..start].matches('\n').count(), &text[start..])
}

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something will not happen as written.
    Error,
    /// A probable mistake.
    Warning,
}

/// A diagnostic about some lines of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The lines concerned.
    pub lines: Lines,
    /// Its severity.
    pub severity: Severity,
    /// A sentence with the problem and its consequence.
    pub message: String,
    /// A change that fixes the problem.
    pub fix: Option<Fix>,
}

/// A change of whole lines that the user can apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// Title as a command: `Write "approved"`.
    pub title: String,
    /// The lines it replaces.
    pub lines: Lines,
    /// The new lines.
    pub replacement: Vec<String>,
}

impl Diagnostic {
    /// Something will not happen as written.
    pub fn error(lines: Lines, message: impl Into<String>) -> Self {
        Self {
            lines,
            severity: Severity::Error,
            message: message.into(),
            fix: None,
        }
    }

    /// A probable mistake.
    pub fn warning(lines: Lines, message: impl Into<String>) -> Self {
        Self {
            lines,
            severity: Severity::Warning,
            message: message.into(),
            fix: None,
        }
    }

    /// Adds a fix.
    pub fn with_fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }
}
