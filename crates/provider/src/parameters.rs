//! Request parameters set by the user, independent of the provider.
//!
//! Knows neither their source nor their encoding.

use chat::Problem;
use chat::summary::SignedSummary;
use serde::Serialize;

use crate::{Endpoint, Patience, RefusedParameter, Thinking, Without, catalogue::Model};

/// Request parameters set by the user.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parameters {
    /// The model's name at the provider.
    pub model: String,
    /// Maximum tokens of the answer, including thinking.
    pub max_tokens: Option<u32>,
    /// Sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<f64>,
    /// The amount of thinking; `None` leaves it to the provider.
    pub thinking: Option<Thinking>,
    /// The time for which the provider may cache the prompt.
    pub cache: CacheRetention,
    /// True if tools are described as text, and calls parsed from the answer's text.
    pub text_tools: bool,
    /// Facts about the model.
    pub about: Box<Model>,
    /// Features that are left out, because the server has refused them before.
    pub without: Without,
    /// Limits for waiting and retrying; not part of the request.
    pub patience: Patience,
    /// Name of the conversation, constant over its turns, by which a provider finds its
    /// cache. Contains nothing about the user.
    pub cache_key: Option<String>,
    /// Effort in the provider's own terms, which overrides `thinking`. Only OpenAI has one.
    pub effort: Option<String>,
    /// OpenAI's summary of the thinking: `auto`, `concise`, `detailed`, or `none`. `None`
    /// means `auto` if `thinking` or `effort` is set.
    pub summary: Option<String>,
    /// The provider's own web tools that it may use.
    pub web: WebTools,
    /// Parameters that the server refused before, in the order in which it did.
    pub refused: Vec<RefusedParameter>,
    /// Instructions with which the request asks for a summary of its conversation instead of an
    /// answer. Only for models that [`crate::takes_compaction`] names.
    pub summarize: Option<String>,
    /// The summary that is the first text of the prompt, if the provider wrote it. Sent as such where
    /// [`crate::takes_compaction`] is true, and elsewhere as text.
    pub signed_summary: Option<SignedSummary>,
}

/// The time for which a provider may cache a prompt, which makes the next request cheaper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheRetention {
    /// Not at all, as far as the provider lets us choose.
    None,
    /// Minutes.
    #[default]
    Short,
    /// An hour or more, if the provider offers it.
    Long,
}

/// The web tools that requests offer, and their limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WebTools {
    /// True for searches.
    pub search: bool,
    /// True for reading pages.
    pub fetch: bool,
    /// The only domains that they reach; all if empty.
    pub allowed_domains: Vec<String>,
    /// Domains that they never reach.
    pub blocked_domains: Vec<String>,
    /// Maximum number of uses of each in one request.
    pub max_uses: Option<u32>,
}

impl WebTools {
    /// Returns true if any tool may be used.
    pub fn is_on(&self) -> bool {
        self.search || self.fetch
    }
}

impl Parameters {
    /// Returns the model's name.
    ///
    /// # Errors
    ///
    /// No model is set.
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

    /// Returns the temperature unless JSON can't represent it.
    pub(crate) fn finite_temperature(&self) -> Option<f64> {
        self.temperature
            .filter(|temperature| temperature.is_finite())
    }
}
