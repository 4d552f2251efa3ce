//! Requests to a model that a tool makes.
//!
//! This module knows no provider and no key.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::nested::Nested;

/// Maximum number of messages in one request.
const MOST_MESSAGES: usize = 1000;

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModelRequest {
    /// The model; the user's current model if absent.
    #[serde(default)]
    pub model: Option<String>,
    /// The conversation.
    pub messages: Vec<ModelMessage>,
    /// True if the model may search for tools and call them.
    #[serde(default)]
    pub tools: bool,
}

/// A message of a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModelMessage {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
}

impl ModelRequest {
    /// Checks that the request can be sent.
    ///
    /// # Errors
    ///
    /// There is no user message, a role is unknown, or there are too many messages.
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
        let is_question = |it: &ModelMessage| it.role == "user" && !it.content.trim().is_empty();
        if !self.messages.iter().any(is_question) {
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

/// Sends requests to models on behalf of tools.
#[async_trait]
pub trait Models: Send + Sync {
    /// Returns the text of the answer. Tool calls of the model go through `nested`. Stops soon
    /// after `cancel`.
    ///
    /// # Errors
    ///
    /// Why there is no answer, as a sentence.
    async fn complete(
        &self,
        asked: ModelRequest,
        nested: Arc<dyn Nested>,
        cancel: &CancellationToken,
    ) -> Result<String, String>;
}

/// An environment without models.
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
