//! Features of requests that not every server of a protocol has.
//!
//! Gateways, clouds, and compatible servers lag behind Anthropic's API. `refusal` recognizes a
//! feature that one of them does not know.

use crate::Endpoint;

/// Features that are left out of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Without {
    /// The instruction to drop thinking that has become invalid. Without it, the model's
    /// earlier thinking is not sent either, because it might be rejected.
    pub block_binding: bool,
    /// Tools that are defined in messages; they go to the others.
    pub tool_changes: bool,
    /// System messages in the conversation; they go to the system prompt.
    pub system_messages: bool,
    /// The signed thinking of earlier answers.
    pub signed_thinking: bool,
}

/// A feature that not every server of a protocol has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// See [`Without::block_binding`].
    BlockBinding,
    /// See [`Without::tool_changes`].
    ToolChanges,
    /// See [`Without::system_messages`].
    SystemMessages,
}

impl Without {
    /// Returns true if the feature is left out.
    pub fn has(self, feature: Feature) -> bool {
        match feature {
            Feature::BlockBinding => self.block_binding,
            Feature::ToolChanges => self.tool_changes,
            Feature::SystemMessages => self.system_messages,
        }
    }

    /// Leaves out a feature.
    pub fn add(&mut self, feature: Feature) {
        match feature {
            Feature::BlockBinding => self.block_binding = true,
            Feature::ToolChanges => self.tool_changes = true,
            Feature::SystemMessages => self.system_messages = true,
        }
    }

    /// Returns what either leaves out.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            block_binding: self.block_binding || other.block_binding,
            tool_changes: self.tool_changes || other.tool_changes,
            system_messages: self.system_messages || other.system_messages,
            signed_thinking: self.signed_thinking || other.signed_thinking,
        }
    }
}

impl Feature {
    /// Describes what follows for the user from a server that does not have the feature.
    pub fn missing(self, endpoint: &Endpoint) -> String {
        let host = endpoint.shown_base();
        match self {
            Self::BlockBinding => format!(
                "{host} does not support block_binding, so the model's signed thinking is not sent there."
            ),
            Self::ToolChanges => format!(
                "{host} does not support tools that are added later, so they are sent with the others. Cached tokens are paid again."
            ),
            Self::SystemMessages => format!(
                "{host} does not support system messages below an answer, so they are sent with the system prompt. Cached tokens are paid again."
            ),
        }
    }
}
