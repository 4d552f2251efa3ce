//! Chooses a model's thinking parameters and the maximum length of its answer.
//!
//! The catalogue says which of the API's forms a model accepts. Unlisted models get the
//! older form, a token budget, which other servers of this protocol support too.

use serde::Serialize;

use crate::{
    Parameters, Thinking,
    catalogue::{Model, ThinkingKind},
    thinking::leaving_room,
};

/// Token limit of an answer if neither the user nor the catalogue gives one; the API
/// requires a limit.
const DEFAULT_MAX_TOKENS: u32 = 8192;
/// Token limit if the model's own is known: enough for a long file, but low enough that
/// older models accept it late in a long conversation.
const USUAL_MAX_TOKENS: u32 = 32_000;
/// Minimum thinking budget that the API accepts.
const MIN_BUDGET: u32 = 1024;

/// Thinking and length parameters of a request.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// Maximum tokens of the answer, including thinking.
    pub max_tokens: u32,
    /// The `thinking` field; absent leaves it to the model.
    pub thinking: Option<Config>,
    /// The effort, in the model's terms.
    pub effort: Option<&'a str>,
}

/// The `thinking` field of a request.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Config {
    /// At most this many tokens.
    Enabled {
        budget_tokens: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
    },
    /// As much as the model chooses, within the effort.
    Adaptive {
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
    },
    /// No thinking.
    Disabled,
}

impl Plan<'_> {
    /// Returns true if the model is asked to think.
    pub(super) fn thinks(&self) -> bool {
        !matches!(self.thinking, None | Some(Config::Disabled))
    }

    /// Returns true for a token budget. Thinking then ends before the first call unless a
    /// header allows more.
    pub(super) fn has_budget(&self) -> bool {
        matches!(self.thinking, Some(Config::Enabled { .. }))
    }
}

/// Chooses the parameters for the model and the user's settings.
pub(super) fn plan(parameters: &Parameters) -> Plan<'_> {
    let about = &parameters.about;
    let wanted = parameters.thinking;
    match (wanted, about.thinking) {
        (None, _) | (_, Some(ThinkingKind::None)) => without(parameters),
        (Some(wanted), Some(ThinkingKind::Levels)) => match (wanted, wanted.level()) {
            (_, None) => off(parameters),
            // This model also accepts a budget, and the user asked for one.
            (Thinking::Budget(tokens), _) if about.thinking_min.is_some() => {
                with_budget(parameters, tokens)
            }
            (_, Some(level)) => Plan {
                max_tokens: max_tokens(parameters, wanted.budget()),
                thinking: Some(Config::Adaptive {
                    display: display(about),
                }),
                effort: about.level(level),
            },
        },
        (Some(wanted), _) => match wanted.budget() {
            0 => without(parameters),
            tokens => with_budget(parameters, tokens),
        },
    }
}

fn without(parameters: &Parameters) -> Plan<'_> {
    Plan {
        max_tokens: max_tokens(parameters, 0),
        thinking: None,
        effort: None,
    }
}

/// Turns thinking off. A model that can't turn it off gets its lowest level. A model that
/// also accepts budgets does not think unless asked.
fn off(parameters: &Parameters) -> Plan<'_> {
    let plan = without(parameters);
    if parameters.about.thinking_min.is_some() {
        return plan;
    }
    if parameters.about.thinking_off == Some(false) {
        let effort = parameters.about.levels.first().map(String::as_str);
        return Plan { effort, ..plan };
    }
    Plan {
        thinking: Some(Config::Disabled),
        ..plan
    }
}

/// Enables thinking with a budget that leaves room for the answer. A limit set by the user
/// is kept; ours grows with the budget.
fn with_budget(parameters: &Parameters, tokens: u32) -> Plan<'_> {
    let about = &parameters.about;
    let budget = about.clamp_budget(tokens).max(MIN_BUDGET);
    let max_tokens = max_tokens(parameters, budget);
    let thinking = Some(leaving_room(budget, max_tokens))
        // A limit that leaves no room for the smallest budget turns thinking off.
        .filter(|&budget| budget >= MIN_BUDGET)
        .map(|budget_tokens| Config::Enabled {
            budget_tokens,
            display: display(about),
        });
    Plan {
        max_tokens,
        thinking,
        effort: None,
    }
}

fn max_tokens(parameters: &Parameters, for_thinking: u32) -> u32 {
    let limit = parameters.about.output;
    let ours = || {
        let answer = limit.map_or(DEFAULT_MAX_TOKENS, |limit| limit.min(USUAL_MAX_TOKENS));
        answer
            .saturating_add(for_thinking)
            .min(limit.unwrap_or(u32::MAX))
    };
    // The API rejects a limit of 0.
    parameters.max_tokens.unwrap_or_else(ours).max(1)
}

/// Newer models hide their thinking unless asked for it.
fn display(about: &Model) -> Option<&'static str> {
    (about.thinking_shown == Some(false)).then_some("summarized")
}
