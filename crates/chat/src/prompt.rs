//! A request to a model, independent of the provider.
//!
//! The provider crate encodes a [`Prompt`]; its content and order are derived from the
//! document here.

mod attachment;
mod build;

pub use attachment::{Attachment, Content};
pub use build::{NO_RESULT, Own, aborted_call, build, build_with, ends, own_text};

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
    /// Parts, never empty. In a user message, tool results come first.
    pub parts: Vec<Part>,
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
        /// Whether `text` is opaque data.
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
        /// Whether the call failed.
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
