//! How a model is told how much to think, and how long its answer may be.
//!
//! Which of the API's forms a model takes is known from the catalogue. Of a model
//! that is not there the older form is used, a number of tokens: servers that speak
//! Anthropic's protocol know it as well.

use serde::Serialize;

use crate::{
    Parameters, Thinking,
    catalogue::{Model, ThinkingKind},
    thinking::leaving_room,
};

/// Tokens for an answer when nothing is set and nothing known; the API wants a
/// figure.
const DEFAULT_MAX_TOKENS: u32 = 8192;
/// Likewise when the model's limit is known: enough for a long file, and less than
/// what older models refuse late in a long conversation.
const USUAL_MAX_TOKENS: u32 = 32_000;
/// The least thinking budget that the API accepts.
const MIN_BUDGET: u32 = 1024;

/// What a request says about thinking and length.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// Most tokens of the answer, thinking included.
    pub max_tokens: u32,
    /// Absent leaves it to the model.
    pub thinking: Option<Config>,
    /// The model's word for how much it is to think.
    pub effort: Option<&'a str>,
}

/// The `thinking` of a request.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Config {
    /// At most this many tokens.
    Enabled {
        budget_tokens: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
    },
    /// As much as the model finds right, within the effort.
    Adaptive {
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
    },
    /// Not at all.
    Disabled,
}

impl Plan<'_> {
    /// Whether the model is asked to think.
    pub(super) fn thinks(&self) -> bool {
        !matches!(self.thinking, None | Some(Config::Disabled))
    }

    /// Whether it is asked for a number of tokens, which ends before the first call
    /// unless a header says otherwise.
    pub(super) fn has_budget(&self) -> bool {
        matches!(self.thinking, Some(Config::Enabled { .. }))
    }
}

/// Decides for the model and what the user set.
pub(super) fn plan(parameters: &Parameters) -> Plan<'_> {
    let about = &parameters.about;
    let wanted = parameters.thinking;
    match (wanted, about.thinking) {
        (None, _) | (_, Some(ThinkingKind::None)) => without(parameters),
        (Some(wanted), Some(ThinkingKind::Levels)) => match (wanted, wanted.level()) {
            (_, None) => off(parameters),
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

/// A model that cannot do without thinks as little as it can. One that also takes a
/// number of tokens does not think unless it is asked.
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

/// A budget leaves room for the answer. A limit that the user set holds; ours grows with
/// the budget.
fn with_budget(parameters: &Parameters, tokens: u32) -> Plan<'_> {
    let about = &parameters.about;
    let budget = about.clamp_budget(tokens).max(MIN_BUDGET);
    let max_tokens = max_tokens(parameters, budget);
    let thinking = Some(leaving_room(budget, max_tokens))
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
    parameters.max_tokens.unwrap_or_else(ours).max(1)
}

/// Newer models keep to themselves what they think, unless they are asked.
fn display(about: &Model) -> Option<&'static str> {
    (about.thinking_shown == Some(false)).then_some("summarized")
}
