//! Where messages for the editor go: over the channel to a Neovim, or to a front
//! end in this process that plays the editor for one chat.
//!
//! Knows no message. What only a front end without a screen of its own needs is
//! worked out for nobody else.

use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::rpc;

/// A message to a front end in this process.
#[derive(Debug)]
pub struct Message {
    /// A name of [`crate::protocol`], or one of those of [`Sender::send_here`].
    pub name: String,
    /// What the message holds.
    pub payload: Value,
}

/// A front end in this process.
#[derive(Debug, Clone)]
pub struct Here {
    /// Where its messages go.
    pub messages: mpsc::UnboundedSender<Message>,
    /// Whether nothing may be sent and no tool may run: only what would be is told.
    pub rehearsal: bool,
    /// Whether somebody sits there who can be asked.
    pub person: bool,
}

/// Sends messages to the editor; cheap to clone. Messages arrive in the order in
/// which they were sent, and a front end that is gone swallows them.
#[derive(Debug, Clone)]
pub enum Sender {
    /// To the Neovim at our standard streams.
    Neovim(rpc::Sender),
    /// To a front end in this process.
    Here(Here),
}

impl Sender {
    /// Sends one message.
    pub fn send(&self, name: &str, payload: &impl Serialize) {
        match self {
            Self::Neovim(sender) => sender.send(name, payload),
            Self::Here(here) => here.send(name, payload),
        }
    }

    /// Sends a message that Neovim does not get, because there the text says it.
    pub fn send_here(&self, name: &str, payload: &impl Serialize) {
        if let Self::Here(here) = self {
            here.send(name, payload);
        }
    }

    /// Whether somebody can be asked.
    pub fn has_person(&self) -> bool {
        match self {
            Self::Neovim(_) => true,
            Self::Here(here) => here.person,
        }
    }

    /// Whether nothing may be sent and no tool may run.
    pub fn is_rehearsal(&self) -> bool {
        matches!(self, Self::Here(here) if here.rehearsal)
    }
}

impl Here {
    fn send(&self, name: &str, payload: &impl Serialize) {
        match serde_json::to_value(payload) {
            Ok(payload) => {
                let name = name.to_owned();
                drop(self.messages.send(Message { name, payload }));
            }
            Err(error) => tracing::error!(name, %error, "a message could not be written"),
        }
    }
}
