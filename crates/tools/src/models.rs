//! A model that a tool may ask: what it asks, and who answers.
//!
//! Knows no provider and no key.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::nested::Nested;

/// Most messages of one question.
const MOST_MESSAGES: usize = 1000;

/// A question to a model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModelRequest {
    /// Which model; without one, the model that the user set.
    #[serde(default)]
    pub model: Option<String>,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Whether the model may look for tools and call them.
    #[serde(default)]
    pub tools: bool,
}

/// A message of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// Its text.
    pub content: String,
}

impl ModelRequest {
    /// Whether it can be asked at all.
    ///
    /// # Errors
    ///
    /// There is nothing to answer, or a role that is none.
    pub fn check(&self) -> Result<(), String> {
        let roles = ["system", "user", "assistant"];
        if let Some(odd) = self
            .messages
            .iter()
            .find(|it| !roles.contains(&it.role.as_str()))
        {
            return Err(format!(
                "A message has the role {:?}. Roles: system, user, assistant.",
                odd.role
            ));
        }
        if !self
            .messages
            .iter()
            .any(|it| it.role == "user" && !it.content.trim().is_empty())
        {
            return Err(
                "No message has the role \"user\" and a text, so there is nothing to answer."
                    .to_owned(),
            );
        }
        if self.messages.len() > MOST_MESSAGES {
            return Err(format!("There are more than {MOST_MESSAGES} messages."));
        }
        Ok(())
    }
}

/// Asks models for tools.
#[async_trait]
pub trait Models: Send + Sync {
    /// The words of the answer. The model's calls of tools go through `nested`. Ends
    /// soon after `cancel`.
    ///
    /// # Errors
    ///
    /// Why there is no answer, in a sentence.
    async fn complete(
        &self,
        asked: ModelRequest,
        nested: Arc<dyn Nested>,
        cancel: &CancellationToken,
    ) -> Result<String, String>;
}

/// Where no model can be asked.
pub(crate) struct NoModels;

#[async_trait]
impl Models for NoModels {
    async fn complete(
        &self,
        _asked: ModelRequest,
        _nested: Arc<dyn Nested>,
        _cancel: &CancellationToken,
    ) -> Result<String, String> {
        Err("No model can be asked from here.".to_owned())
    }
}
