//! What the user may set about a request, in no provider's words.
//!
//! Knows neither where the values come from nor how a protocol spells them.

use chat::Problem;

use crate::{Endpoint, Patience, Thinking, catalogue::Model};

/// What the user may set about a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parameters {
    /// The model's name, in the provider's words.
    pub model: String,
    /// Most tokens the answer may have, thinking included.
    pub max_tokens: Option<u32>,
    /// Sampling temperature; absent leaves it to the provider.
    pub temperature: Option<f64>,
    /// How much the model is to think; absent leaves it to the provider.
    pub thinking: Option<Thinking>,
    /// How long the provider may keep the prompt.
    pub cache: CacheRetention,
    /// Whether tools are described in words, and calls read from the answer's text.
    pub text_tools: bool,
    /// What is known of the model.
    pub about: Box<Model>,
    /// How long and how often to wait for the answer; no part of the request.
    pub patience: Patience,
    /// A name for the conversation, the same from turn to turn, by which a provider
    /// finds what it has kept. It says nothing about the user.
    pub cache_key: Option<String>,
    /// The provider's own word for how much to think; wins over `thinking`. Only
    /// OpenAI has one.
    pub effort: Option<String>,
    /// How OpenAI sums up what the model thought: `auto`, `concise`, `detailed`, or
    /// `none`. Absent is `auto` when `thinking` or `effort` is set.
    pub summary: Option<String>,
}

/// How long a provider may keep a prompt, so that the next request costs less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheRetention {
    /// Not at all, as far as we have a say.
    None,
    /// Minutes.
    #[default]
    Short,
    /// An hour or more, where the provider offers it.
    Long,
}

impl Parameters {
    /// The model's name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn named_model(&self, endpoint: &Endpoint) -> Result<&str, Problem> {
        if self.model.trim().is_empty() {
            return Err(Problem::new(
                format!(
                    "No model is set for {}, so nothing was sent.",
                    endpoint.provider
                ),
                "Set model in setup{} or in the frontmatter.",
            ));
        }
        Ok(&self.model)
    }

    /// The temperature, unless it is no number that JSON can carry.
    pub(crate) fn finite_temperature(&self) -> Option<f64> {
        self.temperature
            .filter(|temperature| temperature.is_finite())
    }
}
