//! A request to a model, independent of the provider.
//!
//! The provider crate encodes a [`Prompt`]; its content and order are derived from the
//! document here.
//!
//! The result of [`build`] is valid for every provider, whatever the file contains, so that no
//! conversation becomes unsendable: IDs are made unique, every call has a result, and roles
//! alternate. Instructions below an answer follow the user's next message, where every provider
//! that takes them accepts them. Appending a turn never changes the earlier part of the prompt,
//! so that providers can cache it.
//!
//! The host reads attached files; here they are bytes with a name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::document::{
    Block, Document, Message, PARAGRAPH_BREAK, PairedCall, ResultKind, Role, Turn,
};
use crate::references;
use crate::scan::{Fence, fence};
use crate::server_tools::{ExactAnswer, ExactBlock};
use crate::text::Lines;
use crate::tool::{ToolDefinition, ToolUseId};

/// A conversation, ready to be encoded for a provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The `@System:` text before the first answer, joined by a blank line; `None` without any.
    pub system: Option<String>,
    /// Messages, none empty. Those of the user and the model alternate; one of the system
    /// follows the user's newest. The cycle sends a prompt only if the user speaks first and
    /// last.
    pub messages: Vec<PromptMessage>,
    /// The tools on offer from the start, in the order in which they are sent.
    pub tools: Vec<ToolDefinition>,
}

impl Prompt {
    /// Returns all tools on offer, those that were added later last.
    pub fn all_tools(&self) -> impl Iterator<Item = &ToolDefinition> + Clone {
        let parts = self.messages.iter().flat_map(|message| &message.parts);
        let added = parts.filter_map(|part| match part {
            Part::ToolsAdded(tools) => Some(tools),
            _ => None,
        });
        self.tools.iter().chain(added.flatten())
    }
}

/// One message of a [`Prompt`].
#[derive(Debug, Clone, PartialEq)]
pub struct PromptMessage {
    /// The speaker.
    pub role: PromptRole,
    /// Parts. In a user message, tool results come first. Empty only in a paused answer, which is
    /// `exact`.
    pub parts: Vec<Part>,
    /// In place of `parts`, for the provider that sent the answer.
    pub exact: Option<ExactAnswer>,
}

impl PromptMessage {
    /// Returns its calls: their ids, names, and arguments.
    pub fn calls(&self) -> impl Iterator<Item = (&ToolUseId, &str, &str)> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolUse { id, name, input } => Some((id, name.as_str(), input.as_str())),
            _ => None,
        })
    }

    /// Returns the answer as this provider sent it, if it has the same calls.
    pub fn exact_of(&self, provider: &str) -> Option<&ExactAnswer> {
        let exact = self.exact.as_ref().filter(|it| it.provider == provider)?;
        let calls = exact.blocks.iter().filter(|it| **it == ExactBlock::Call);
        (calls.count() == self.calls().count() && !exact.blocks.is_empty()).then_some(exact)
    }

    /// Returns true if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.exact.is_none()
    }
}

/// Speaker of a [`PromptMessage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptRole {
    /// The user, including tool results.
    User,
    /// The model.
    Assistant,
    /// The author of the instructions, after the conversation has begun. Providers that know
    /// no such message get its content before the conversation.
    System,
}

/// A part of a message, like a provider's content block.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Text of any number of lines, never blank.
    Text(String),
    /// A file that the user refers to, in a user message.
    File(Attachment),
    /// Tools that are offered from here on, in a system message; not empty.
    ToolsAdded(Vec<ToolDefinition>),
    /// The model's thinking.
    Thinking {
        /// The thinking, or a provider's opaque data when `redacted`.
        text: String,
        /// The provider's signature, sent back only to that provider.
        signature: Option<Signature>,
        /// True if `text` is opaque data.
        redacted: bool,
    },
    /// A call by the model.
    ToolUse {
        /// Unique in the prompt.
        id: ToolUseId,
        /// The tool's name.
        name: String,
        /// The arguments: a JSON object, byte for byte as in the document.
        input: String,
    },
    /// The result of a call in the previous message.
    ToolResult {
        /// The call it answers.
        tool_use_id: ToolUseId,
        /// The tool's name, which some providers require.
        name: String,
        /// The text the model sees.
        content: String,
        /// Files that the text names, in order, see [`crate::result_files`]; none if the call
        /// failed.
        files: Vec<Attachment>,
        /// True if the call failed.
        is_error: bool,
    },
}

/// A provider's signature of a thinking block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The provider that signed, such as `anthropic`.
    pub provider: String,
    /// The opaque value.
    pub value: String,
}

/// Result sent for a call that has none.
pub const NO_RESULT: &str = "No result was given for this call.";

/// Replacements for the user's text of some messages, by message index: evaluated
/// expressions and files, and tools that are offered after the message. No part is blank.
pub type Own = BTreeMap<usize, Vec<Part>>;

/// The messages of which a prompt is built.
pub struct Selection<'a> {
    /// Their indexes. Of the messages above there are only the instructions, and the last one is no
    /// answer whose results are below.
    pub messages: Range<usize>,
    /// True if the first one is a summary that the provider wrote.
    pub is_signed: bool,
    /// Returns the answer of a message as its provider sent it, if that is known.
    pub exact: &'a dyn Fn(&Message) -> Option<ExactAnswer>,
}

impl Selection<'_> {
    /// These messages, as they are in the text.
    pub fn as_written(messages: Range<usize>) -> Self {
        Self {
            messages,
            is_signed: false,
            exact: &|_| None,
        }
    }
}

/// Builds a prompt with the user's text as written, offering `tools`.
pub fn build(document: &Document<'_>, tools: &[ToolDefinition]) -> Prompt {
    let all = Selection::as_written(0..document.messages.len());
    build_with(document, tools, &Own::new(), &all)
}

/// Builds a prompt of some messages, with the user's text of some of them replaced.
pub fn build_with(
    document: &Document<'_>,
    tools: &[ToolDefinition],
    own: &Own,
    selection: &Selection<'_>,
) -> Prompt {
    let messages = selection.messages.clone();
    let mut builder = Builder {
        exact: selection.exact,
        is_signed: selection.is_signed,
        ..Builder::new(document, own)
    };
    let mut index = 0;
    while let Some(message) = document.messages[..messages.end].get(index) {
        // An answer is consumed together with its results.
        index += builder.message_from(messages.start, index, message);
    }
    let mut tools = tools.to_vec();
    // In a fixed order, so that the start of the request stays the same for caches.
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    builder.place_later();
    // Without a message of the user behind them, they have no place in the conversation.
    for part in std::mem::take(&mut builder.later) {
        match part {
            Part::ToolsAdded(added) => tools.extend(added),
            other => builder.system.extend(as_text(&[other])),
        }
    }
    let system = (!builder.system.is_empty()).then(|| builder.system.join("\n\n"));
    Prompt {
        system,
        messages: builder.messages,
        tools,
    }
}

/// Returns the parts that each message of the document adds to the prompt of [`build_with`], with
/// the index of the message.
pub(crate) fn parts_by_message(
    document: &Document<'_>,
    own: &Own,
    first: usize,
) -> Vec<(usize, Vec<Part>)> {
    let mut found = Vec::new();
    let mut index = 0;
    // One for all, because ids are unique in the prompt.
    let mut builder = Builder::new(document, own);
    while let Some(message) = document.messages.get(index) {
        let next = index + builder.message_from(first, index, message);
        let system = builder.system.drain(..).map(Part::Text);
        let system: Vec<Part> = system.chain(builder.later.drain(..)).collect();
        if !system.is_empty() {
            found.push((index, system));
        }
        for said in builder.messages.drain(..) {
            // Results are in the last message that was read.
            let is_user = said.role == PromptRole::User;
            found.push((if is_user { next - 1 } else { index }, said.parts));
        }
        index = next;
    }
    found
}

/// Returns the first and last speaker of the prompt, if any, without its system messages.
/// Reads no more of the document than necessary.
pub fn ends(document: &Document<'_>) -> Option<(PromptRole, PromptRole)> {
    let own = Own::new();
    let said = |index: usize| {
        let mut builder = Builder::new(document, &own);
        let count = builder.message(index, &document.messages[index]);
        (builder.messages, count)
    };
    let count = document.messages.len();
    let mut index = 0;
    let first = loop {
        let (messages, more) = (index < count).then(|| said(index))?;
        if let Some(first) = messages.first() {
            break first.role;
        }
        index += more;
    };
    // A message with only results is read together with its calls.
    let mut behind = (index..count).rev();
    let last = behind.find_map(|index| Some(said(index).0.last()?.role))?;
    Some((first, last))
}

struct Builder<'b, 't> {
    document: &'b Document<'t>,
    own: &'b Own,
    exact: &'b dyn Fn(&Message) -> Option<ExactAnswer>,
    messages: Vec<PromptMessage>,
    system: Vec<String>,
    /// Instructions and tools that follow the user's next message.
    later: Vec<Part>,
    /// IDs used so far, including those of earlier turns.
    ids: BTreeSet<String>,
    /// True if the first message is a summary of answers that the provider wrote.
    is_signed: bool,
}

impl<'b, 't> Builder<'b, 't> {
    fn new(document: &'b Document<'t>, own: &'b Own) -> Self {
        Self {
            document,
            own,
            exact: &|_| None,
            messages: Vec::new(),
            system: Vec::new(),
            later: Vec::new(),
            ids: BTreeSet::new(),
            is_signed: false,
        }
    }

    /// Adds a message unless it is replaced by the summary `first`. Returns the number of document
    /// messages consumed.
    fn message_from(&mut self, first: usize, index: usize, message: &Message) -> usize {
        if index < first && message.role != Role::System {
            return 1;
        }
        self.message(index, message)
    }

    /// Adds a message. Returns the number of document messages consumed.
    fn message(&mut self, index: usize, message: &Message) -> usize {
        match message.role {
            Role::System => {
                let text = as_text(&self.own(index, message));
                let has_answer =
                    |it: &PromptMessage| it.role == PromptRole::Assistant || self.is_signed;
                if self.messages.iter().any(has_answer) {
                    self.later.extend(text.map(Part::Text))
                } else {
                    self.system.extend(text)
                }
                1
            }
            Role::You => {
                let parts = self.own(index, message);
                self.push(PromptRole::User, parts);
                1
            }
            Role::Assistant => self.assistant(index, message),
        }
    }

    /// Adds an assistant message and its results. Returns the number of document messages
    /// consumed.
    fn assistant(&mut self, index: usize, message: &Message) -> usize {
        // No calls, so the next message is read on its own.
        let Some(turn) = self.document.turn(index) else {
            self.answer(message, &[]);
            return 1;
        };
        let ids: Vec<ToolUseId> = turn
            .calls
            .iter()
            .map(|call| self.unique(&call.tool_use.id))
            .collect();
        self.answer(message, &ids);
        let mut answers = self.results(&turn, &ids);
        // The same message may contain the user's text, which follows the results.
        if let Some(at) = turn.answers {
            answers.extend(self.own(at, &self.document.messages[at]));
        }
        // Results and the user's text are one message, as providers require.
        self.push(PromptRole::User, answers);
        1 + usize::from(turn.answers.is_some())
    }

    /// Adds the answer of a message, whose calls have these ids.
    fn answer(&mut self, message: &Message, ids: &[ToolUseId]) {
        let parts = self.assistant_parts(message, ids);
        if parts.is_empty() {
            return;
        }
        let before = self.messages.len();
        self.push(PromptRole::Assistant, parts);
        // Two answers in a row become one, which no provider has sent.
        let is_new = self.messages.len() > before;
        if let Some(last) = self.messages.last_mut()
            && last.role == PromptRole::Assistant
        {
            last.exact = is_new.then(|| (self.exact)(message)).flatten();
        }
    }

    fn assistant_parts(&self, message: &Message, ids: &[ToolUseId]) -> Vec<Part> {
        let mut ids = ids.iter();
        let all = self.document.blocks_of(message);
        let last = all.len().saturating_sub(1);
        let blocks = all.iter().enumerate();
        blocks
            .filter_map(|(at, block)| match block {
                Block::Prose(lines) => {
                    let is_own = matches!(all.get(at + 1), Some(Block::TextBreak(_)))
                        && !all.get(at + 2).is_some_and(|it| self.is_text(it));
                    let text = self.model_text(message, lines, at > 0, at < last)?;
                    let text = if is_own {
                        Some(text)
                    } else {
                        without_added_fence(text)
                    };
                    text.map(Part::Text)
                }
                Block::ToolUse(call) => Some(Part::ToolUse {
                    // The IDs are in the order of the calls.
                    id: ids.next()?.clone(),
                    name: call.name.to_string(),
                    input: match self.document.input(call) {
                        Ok(_) => self.document.content(call.body.clone()).into_owned(),
                        // Invalid arguments would make the request invalid; the error
                        // result explains them.
                        Err(_) => "{}".to_owned(),
                    },
                }),
                Block::ServerTool(used) => {
                    let text = self.document.content(used.body.clone());
                    Some(Part::Text(format!("[{}]\n{text}", used.name)))
                }
                Block::Thinking(thinking) => Some(Part::Thinking {
                    text: self.document.prose(thinking.body.clone(), 0),
                    signature: thinking
                        .signature
                        .clone()
                        .map(|(provider, value)| Signature { provider, value }),
                    redacted: thinking.redacted,
                }),
                // The host writes comments, and a result elsewhere answers no call.
                Block::ToolResult(_) | Block::TextBreak(_) | Block::Aborted(_) => None,
            })
            .collect()
    }

    fn is_text(&self, block: &Block) -> bool {
        matches!(block, Block::Prose(lines) if !self.document.is_blank(lines.clone()))
    }

    /// Returns the model's text as it was received: removes only the blank line that the
    /// host wrote as a separator.
    fn model_text(
        &self,
        message: &Message,
        lines: &Lines,
        after: bool,
        before: bool,
    ) -> Option<String> {
        let column = self.column(message, lines);
        let mut lines = lines.clone();
        if after && self.document.is_blank(lines.start..lines.start + 1) {
            lines.start += 1;
        }
        // At the end of the text, the host has written no separator yet.
        let followed = before || lines.end < self.document.text().line_count();
        if followed && lines.end > lines.start && self.document.is_blank(lines.end - 1..lines.end) {
            lines.end -= 1;
        }
        let text = self.document.prose(lines, column);
        (!text.trim().is_empty()).then_some(text)
    }

    fn column(&self, message: &Message, lines: &Lines) -> usize {
        message
            .inline
            .filter(|_| lines.start == message.lines.start)
            .unwrap_or(0)
    }

    /// Returns the user's text in a message and the files it refers to.
    fn own(&self, index: usize, message: &Message) -> Vec<Part> {
        match self.own.get(&index) {
            Some(parts) => parts.clone(),
            None => {
                let text = own_text(self.document, message);
                text.map(Part::Text).into_iter().collect()
            }
        }
    }

    fn results(&self, turn: &Turn<'_>, ids: &[ToolUseId]) -> Vec<Part> {
        let pairs = turn.calls.iter().zip(ids);
        pairs
            .map(|(call, id)| {
                let (content, is_error) = self.result(call, turn.aborted);
                Part::ToolResult {
                    tool_use_id: id.clone(),
                    name: call.tool_use.name.to_string(),
                    content,
                    files: Vec::new(),
                    is_error,
                }
            })
            .collect()
    }

    fn result(&self, call: &PairedCall<'_>, aborted: Option<&str>) -> (String, bool) {
        match call.result.map(|result| (result.kind, result)) {
            Some((ResultKind::Final { is_error }, result)) => (
                self.document.content(result.body.clone()).into_owned(),
                is_error,
            ),
            // Providers reject a call without a result.
            _ => (
                aborted.map_or_else(|| NO_RESULT.to_owned(), aborted_call),
                true,
            ),
        }
    }

    /// Returns an ID that is unique in the prompt.
    fn unique(&mut self, id: &ToolUseId) -> ToolUseId {
        let mut unique = id.as_str().to_owned();
        let mut count = 1;
        // Only earlier IDs are considered, so appending a turn changes no earlier ID.
        while !self.ids.insert(unique.clone()) {
            count += 1;
            unique = format!("{id}_{count}");
        }
        ToolUseId::new(unique)
    }

    /// Adds the instructions and tools that follow the last message, if it is the user's.
    fn place_later(&mut self) {
        let last = self.messages.last();
        if last.is_some_and(|last| last.role == PromptRole::User) && !self.later.is_empty() {
            self.messages.push(PromptMessage {
                role: PromptRole::System,
                parts: std::mem::take(&mut self.later),
                exact: None,
            });
        }
    }

    fn push(&mut self, role: PromptRole, mut parts: Vec<Part>) {
        let is_added = |part: &mut Part| matches!(part, Part::ToolsAdded(_));
        self.later.extend(parts.extract_if(.., is_added));
        if parts.is_empty() {
            return;
        }
        if role == PromptRole::Assistant {
            self.place_later();
        }
        // Some providers require that roles alternate.
        match self.messages.last_mut().filter(|last| last.role == role) {
            Some(last) => last.parts.extend(parts),
            None => self.messages.push(PromptMessage {
                role,
                parts,
                exact: None,
            }),
        }
    }
}

/// Removes the line that the host added to close the last fence of a model's text: it has one
/// mark more than the fence.
fn without_added_fence(mut text: String) -> Option<String> {
    if let Some(end) = added_fence(&text) {
        text.truncate(end);
    }
    (!text.trim().is_empty()).then_some(text)
}

/// Returns where the line begins that the host added at the end of a text.
fn added_fence(text: &str) -> Option<usize> {
    let (before, last) = text.rsplit_once('\n')?;
    let last = fence(last.as_bytes()).filter(|it| it.info.is_empty())?;
    let mut open: Option<Fence<'_>> = None;
    for found in before.lines().filter_map(|line| fence(line.as_bytes())) {
        open = match open {
            None => Some(found),
            Some(opener) if found.closes(&opener) => None,
            still_open => still_open,
        };
    }
    let is_added = |it: Fence<'_>| it.mark == last.mark && it.length + 1 == last.length;
    open.is_some_and(is_added).then_some(before.len())
}

/// Joins the parts of a `@System:` message, which all providers take as text.
fn as_text(parts: &[Part]) -> Option<String> {
    let text: String = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::File(file) => file.as_text(),
            Part::ToolsAdded(_)
            | Part::Thinking { .. }
            | Part::ToolUse { .. }
            | Part::ToolResult { .. } => String::new(),
        })
        .collect();
    (!text.trim().is_empty()).then_some(text)
}

/// Returns the result of a call whose answer was cut off.
pub fn aborted_call(reason: &str) -> String {
    format!("The answer was cut off ({reason}), so this call was not run.")
}

/// Returns the user's text of a `@System:` or `@You:` message as sent, trimmed, with
/// references as written; `None` if there is none.
pub fn own_text(document: &Document<'_>, message: &Message) -> Option<String> {
    let texts: Vec<String> = document
        .own_paragraphs(message)
        // A summary has no references, so nothing in it is escaped.
        .map(|(_, text)| {
            if message.is_summary {
                text
            } else {
                references::unescaped(text)
            }
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join(PARAGRAPH_BREAK))
}

/// A file, or a state of the editor, that a message refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Name in the message, such as `@./plan.pdf`.
    pub name: String,
    /// Language of its fence; empty if it is not known.
    pub language: String,
    /// Its content.
    pub content: Content,
}

/// Content of an [`Attachment`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// An image.
    Image {
        /// MIME type, such as `image/png`.
        mime: String,
        /// Its bytes in Base64.
        base64: String,
    },
    /// A PDF document.
    Pdf {
        /// Its bytes in Base64.
        base64: String,
    },
    /// Text.
    Text(String),
}

impl Attachment {
    /// Returns the attachment for servers that accept only text: a text file's name and
    /// content in a fence, otherwise only its name.
    pub fn as_text(&self) -> String {
        let Content::Text(text) = &self.content else {
            return self.name.clone();
        };
        // A fence in the text must not end this one.
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(3.max(longest + 1));
        let end = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        format!(
            "{}:\n{fence}{}\n{text}{end}{fence}",
            self.name, self.language
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fence_of_a_text_file_is_longer_than_any_in_it() {
        for (text, expected) in [
            ("a\n", "@./x:\n```\na\n```"),
            ("a", "@./x:\n```\na\n```"),
            ("", "@./x:\n```\n```"),
            ("```\na\n````\n", "@./x:\n`````\n```\na\n````\n`````"),
        ] {
            let attachment = Attachment {
                name: "@./x".to_owned(),
                language: String::new(),
                content: Content::Text(text.to_owned()),
            };
            assert_eq!(attachment.as_text(), expected);
        }
    }
}
