//! The conversation as a document in memory: the text of a `.chat` file, changed as an
//! editor would change its buffer.
//!
//! Decides nothing; what is written and where is known in the chat crate.

use chat::document::{Document, Role};
use chat::prompt::{self, Prompt, PromptMessage, PromptRole};
use chat::text::Text;
use chat::tool::{ToolDefinition, ToolUseId};
use chat::write::{self, TextEdit};
use chat::{escape, references, say};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    text: Text,
    /// How many messages of it were told of.
    told: usize,
}

impl Conversation {
    pub(crate) fn document(&self) -> Document<'_> {
        Document::parse(&self.text)
    }

    /// The text, as it would stand in a file.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.text.bytes()).into_owned()
    }

    pub(crate) fn apply(&mut self, edits: Vec<TextEdit>) {
        for edit in edits.into_iter().rev() {
            self.text.splice(edit.lines, &edit.replacement);
        }
    }

    /// Says how the model is to behave.
    pub(crate) fn instruct(&mut self, words: &str) {
        let words = words.trim_end();
        let words = references::escaped("", words).unwrap_or_else(|| words.to_owned());
        let lines: Vec<_> = words.lines().map(escape::escape_line).collect();
        let lines: Vec<&str> = lines.iter().map(|line| line.as_ref()).collect();
        let edit = write::append_message(&self.document(), Role::System, &lines);
        self.apply(vec![edit]);
        self.apply(write::close_fences(&self.document()));
    }

    /// Puts the user's words at the end.
    pub(crate) fn say(&mut self, words: &str) {
        let edit = say::say(&self.document(), &[words]);
        self.apply(vec![edit]);
    }

    /// Puts an answer at the end; `text` is what [`crate::answer::Answer`] gave.
    pub(crate) fn answer(&mut self, text: &str) {
        let lines: Vec<&str> = text.split('\n').skip(1).collect();
        let edit = write::append_message(&self.document(), Role::Assistant, &lines);
        self.apply(vec![edit]);
    }

    /// The result of a call as it stands there, when it does.
    pub(crate) fn result(&self, id: &ToolUseId) -> Option<String> {
        let document = self.document();
        let mut calls = document.turns().rev().flat_map(|turn| turn.calls);
        let call = calls.find(|call| call.tool_use.id == *id && call.is_answered())?;
        let result = call.result?;
        Some(document.lossy(result.body.clone()).into_owned())
    }

    /// The request that it makes, with these tools on offer.
    pub(crate) fn prompt(&self, tools: &[ToolDefinition]) -> Prompt {
        prompt::build(&self.document(), tools)
    }

    /// The messages of a request that were not told of yet.
    pub(crate) fn tell(&mut self, prompt: &Prompt) -> Vec<PromptMessage> {
        let new = prompt.messages.get(self.told..).unwrap_or_default();
        self.told = prompt.messages.len();
        new.to_vec()
    }

    /// The answer that was just written, as a message. What stands behind it in a
    /// request is made up: its calls have no results yet.
    pub(crate) fn tell_answer(&mut self) -> Option<PromptMessage> {
        let mut prompt = self.prompt(&[]);
        let is_answer = |message: &PromptMessage| message.role == PromptRole::Assistant;
        let at = prompt.messages.iter().rposition(is_answer)?;
        self.told = at + 1;
        Some(prompt.messages.swap_remove(at))
    }
}
