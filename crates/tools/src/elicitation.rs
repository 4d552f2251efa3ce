//! Questions to the user while a call runs (elicitation, in MCP's terms).
//!
//! This module defines forms and checks typed answers. The front end shows them. No answer is
//! ever made up for the user.

mod field;

use async_trait::async_trait;
use serde_json::{Map, Value};

pub use field::{Choice, Field, FieldKind, enough};

/// A question to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// Who asks, as part of a sentence: `The MCP server "docs"`.
    pub by: String,
    /// The message, in the words of the one who asks.
    pub message: String,
    /// The fields to fill in, or the address to visit.
    pub wanted: FormContent,
}

/// What a form asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum FormContent {
    /// Values for these fields, in this order. Without fields, a confirmation.
    Fields(Vec<Field>),
    /// A visit to this address. Flemma never opens it.
    Visit(String),
}

/// The user's reply to a form.
#[derive(Debug, Clone, PartialEq)]
pub enum FormReply {
    /// The user answered, with a value for each field filled in.
    Accepted(Map<String, Value>),
    /// The user declined to answer.
    Declined,
    /// The user dismissed the question.
    Cancelled,
    /// There is no user to ask.
    Unavailable,
}

/// Asks the user questions during a call.
#[async_trait]
pub trait Elicitation: Send + Sync {
    /// Asks and waits for the reply. Dropping the future withdraws the question.
    async fn ask(&self, form: Form) -> FormReply;
}

/// An environment without a user.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoElicitation;

#[async_trait]
impl Elicitation for NoElicitation {
    async fn ask(&self, _form: Form) -> FormReply {
        FormReply::Unavailable
    }
}
