//! The conversation as an in-memory `.chat` document, edited as an editor would edit its
//! buffer.
//!
//! Decides nothing; the `chat` crate decides what is written and where.

use chat::document::{Document, Role};
use chat::prompt::{self, Prompt, PromptMessage, PromptRole};
use chat::text::Text;
use chat::tool::{ToolDefinition, ToolUseId};
use chat::write::{self, TextEdit};
use chat::{escape, references, say};

/// An in-memory `.chat` document.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    text: Text,
    /// Number of messages already reported to the program.
    reported: usize,
}

impl Conversation {
    pub(crate) fn document(&self) -> Document<'_> {
        Document::parse(&self.text)
    }

    /// Returns the text as a `.chat` file would contain it.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.text.bytes()).into_owned()
    }

    pub(crate) fn apply(&mut self, edits: Vec<TextEdit>) {
        // From the last edit to the first, so that their line numbers stay valid.
        for edit in edits.into_iter().rev() {
            self.text.splice(edit.lines, &edit.replacement);
        }
    }

    /// Sets the system prompt.
    pub(crate) fn instruct(&mut self, words: &str) {
        let words = words.trim_end();
        let words = references::escaped("", words).unwrap_or_else(|| words.to_owned());
        let lines: Vec<_> = words.lines().map(escape::escape_line).collect();
        let lines: Vec<&str> = lines.iter().map(|line| line.as_ref()).collect();
        let edit = write::append_message(&self.document(), Role::System, &lines);
        self.apply(vec![edit]);
        // An open fence would swallow the first message.
        self.apply(write::close_fences(&self.document()));
    }

    /// Appends a message of the user.
    pub(crate) fn say(&mut self, words: &str) {
        let edit = say::say(&self.document(), &[words]);
        self.apply(vec![edit]);
    }

    /// Appends an answer; `text` comes from [`crate::answer::AnswerBuilder`].
    pub(crate) fn answer(&mut self, text: &str) {
        // The text starts with a line end, because it is made to follow a role marker.
        let lines: Vec<&str> = text.split('\n').skip(1).collect();
        let edit = write::append_message(&self.document(), Role::Assistant, &lines);
        self.apply(vec![edit]);
    }

    /// Returns the result of a call, if the document has one.
    pub(crate) fn result(&self, id: &ToolUseId) -> Option<String> {
        let document = self.document();
        let mut calls = document.turns().rev().flat_map(|turn| turn.calls);
        let call = calls.find(|call| call.tool_use.id == *id && call.is_answered())?;
        let result = call.result?;
        Some(document.lossy(result.body.clone()).into_owned())
    }

    /// Returns the request for this conversation with these tools.
    pub(crate) fn prompt(&self, tools: &[ToolDefinition]) -> Prompt {
        prompt::build(&self.document(), tools)
    }

    /// Returns the messages of a request that were not reported before.
    pub(crate) fn new_messages(&mut self, prompt: &Prompt) -> Vec<PromptMessage> {
        let new = prompt.messages.get(self.reported..).unwrap_or_default();
        self.reported = prompt.messages.len();
        new.to_vec()
    }

    /// Returns the answer just written, as a message. Leaves out what follows it in the
    /// request: placeholder results, because its calls have none yet.
    pub(crate) fn new_answer(&mut self) -> Option<PromptMessage> {
        let mut prompt = self.prompt(&[]);
        let is_answer = |message: &PromptMessage| message.role == PromptRole::Assistant;
        let at = prompt.messages.iter().rposition(is_answer)?;
        self.reported = at + 1;
        Some(prompt.messages.swap_remove(at))
    }
}
