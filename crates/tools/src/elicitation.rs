//! A tool that asks the user something while it runs, as a server of the Model Context
//! Protocol may.
//!
//! Knows what can be asked and which answers fit. How a question is shown, and whether
//! anybody is there, is known elsewhere; nothing answers in the user's place.

mod field;

use async_trait::async_trait;
use serde_json::{Map, Value};

pub use field::{Choice, Field, FieldKind, enough};

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// Who asks, as a part of a sentence: `The MCP server "docs"`.
    pub by: String,
    /// What is said to the user, in the words of whoever asks.
    pub message: String,
    /// What is wanted.
    pub wanted: FormContent,
}

/// What is wanted of the user.
#[derive(Debug, Clone, PartialEq)]
pub enum FormContent {
    /// Values for these, in this order; without any, a yes.
    Fields(Vec<Field>),
    /// That they go to this address by themselves. Nothing here opens it.
    Visit(String),
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum FormReply {
    /// The user answered: a value for each field that they filled.
    Accepted(Map<String, Value>),
    /// The user does not want to.
    Declined,
    /// The user put it aside.
    Cancelled,
    /// There is no user here.
    Unavailable,
}

/// Whoever can be asked while a call runs.
#[async_trait]
pub trait Elicitation: Send + Sync {
    /// Asks, and waits for as long as it takes. A future that is dropped takes the
    /// question back.
    async fn ask(&self, form: Form) -> FormReply;
}

/// Where nobody is.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoElicitation;

#[async_trait]
impl Elicitation for NoElicitation {
    async fn ask(&self, _form: Form) -> FormReply {
        FormReply::Unavailable
    }
}
