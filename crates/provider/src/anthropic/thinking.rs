//! Chooses a model's thinking parameters and the maximum length of its answer.
//!
//! The catalogue says which of the API's forms a model accepts. Unlisted models get the
//! older form, a token budget, which other servers of this protocol support too.

use serde::Serialize;

use crate::catalogue::{Model, ThinkingKind};
use crate::thinking::{Amount, Carried, leaving_room};
use crate::{Parameters, Thinking};

/// Token limit of models that take a budget, without it, and of unknown models; the API
/// requires a limit. Enough for a long file, but low enough that older models accept it late
/// in a long conversation.
const USUAL_MAX_TOKENS: u32 = 32_000;
/// Minimum thinking budget that the API accepts.
const MIN_BUDGET: u32 = 1024;

/// Maximum temperature that the API accepts.
const MAX_TEMPERATURE: f64 = 1.0;

/// Thinking and length parameters of a request.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// Maximum tokens of the answer, including thinking.
    pub max_tokens: u32,
    /// The `thinking` field; absent leaves it to the model.
    pub thinking: Option<Config>,
    /// The effort, in the model's terms.
    pub effort: Option<&'a str>,
    /// True if the model's earlier thinking is sent back.
    pub returns_thinking: bool,
}

/// The `thinking` field of a request.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
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
        #[serde(skip_serializing_if = "Option::is_none")]
        block_binding: Option<BlockBinding>,
    },
    /// Only short notes between calls.
    BetweenTools,
    /// No thinking.
    Disabled,
}

/// The API's treatment of earlier thinking if something before it has changed.
#[derive(Debug, Serialize)]
pub(super) struct BlockBinding {
    prefix_mismatch_behavior: &'static str,
}

/// The API drops such thinking and reports it. By default, it rejects the request.
///
/// Source: platform.claude.com, "Fix a thinking block bound to a different conversation",
/// November 2026.
const DROP_BLOCK: BlockBinding = BlockBinding {
    prefix_mismatch_behavior: "drop_block",
};

impl<'a> Plan<'a> {
    /// Returns true if the model is asked to think.
    pub(super) fn thinks(&self) -> bool {
        !matches!(self.thinking, None | Some(Config::Disabled))
    }

    /// Returns true for a token budget. Thinking then ends before the first call unless a
    /// header allows more.
    pub(super) fn has_budget(&self) -> bool {
        matches!(self.thinking, Some(Config::Enabled { .. }))
    }

    /// Returns true if the request says what happens to earlier thinking that is invalid.
    pub(super) fn is_bound(&self) -> bool {
        let binding = match &self.thinking {
            Some(Config::Adaptive { block_binding, .. }) => block_binding.as_ref(),
            _ => None,
        };
        binding.is_some()
    }

    /// Returns how much thinking the request asks for.
    pub(super) fn amount(&self) -> Amount<'a> {
        match (&self.thinking, self.effort) {
            (Some(Config::Enabled { .. }), _) => Amount::Budget,
            (Some(Config::BetweenTools), _) => Amount::BetweenTools,
            (Some(Config::Adaptive { .. }), Some(effort)) => Amount::Level(effort),
            (Some(Config::Adaptive { .. }), None) => Amount::Unsaid,
            (Some(Config::Disabled) | None, _) => Amount::Off,
        }
    }
}

/// Chooses the parameters for the model and the user's settings.
pub(super) fn plan(parameters: &Parameters) -> Plan<'_> {
    let about = &parameters.about;
    let preserves = about.preserved_thinking == Some(true);
    let is_adaptive = preserves || about.thinking == Some(ThinkingKind::Levels);
    let mut plan = match parameters.thinking {
        _ if about.thinking == Some(ThinkingKind::None) => without(parameters),
        // The form says nothing about the amount, but otherwise the thinking would be hidden.
        None if preserves || about.thinking_default == Some(true) => adaptive(parameters, None),
        None => without(parameters),
        Some(wanted) if is_adaptive => match (wanted, wanted.level()) {
            (_, None) => off(parameters),
            // This model also accepts a budget, and the user asked for one.
            (Thinking::Budget(tokens), _) if about.thinking_min.is_some() => {
                with_budget(parameters, tokens)
            }
            (_, Some(level)) => adaptive(parameters, about.level(level)),
        },
        Some(wanted) => match wanted.budget() {
            0 => without(parameters),
            tokens => with_budget(parameters, tokens),
        },
    };
    let is_off = matches!(plan.thinking, Some(Config::Disabled));
    // Without thinking, the API takes no instruction about invalid blocks. A server that takes
    // none at all would reject the chat for ever once something in it has changed.
    plan.returns_thinking = !parameters.without.signed_thinking
        && !(preserves && (is_off || parameters.without.block_binding));
    plan
}

/// Returns what a request says about temperature and thinking.
pub(crate) fn carried(parameters: &Parameters) -> Carried<'_> {
    let plan = plan(parameters);
    Carried {
        temperature: temperature(parameters, &plan).is_some(),
        thinking: plan.amount(),
    }
}

pub(super) fn temperature(parameters: &Parameters, plan: &Plan<'_>) -> Option<f64> {
    // The API rejects a temperature with thinking, and newer models reject any.
    let is_accepted = !plan.thinks() && parameters.about.temperature != Some(false);
    let temperature = parameters.finite_temperature().filter(|_| is_accepted)?;
    // Other providers accept up to 2.
    Some(temperature.clamp(0.0, MAX_TEMPERATURE))
}

fn without(parameters: &Parameters) -> Plan<'_> {
    Plan {
        max_tokens: max_tokens(parameters, 0),
        thinking: None,
        effort: None,
        returns_thinking: true,
    }
}

/// Lets the model decide how much to think, within the effort.
fn adaptive<'a>(parameters: &'a Parameters, effort: Option<&'a str>) -> Plan<'a> {
    let about = &parameters.about;
    let is_bound = about.preserved_thinking == Some(true) && !parameters.without.block_binding;
    let thinks = parameters.thinking.map_or(0, Thinking::budget);
    Plan {
        max_tokens: max_tokens(parameters, thinks),
        thinking: Some(Config::Adaptive {
            display: display(about),
            block_binding: is_bound.then_some(DROP_BLOCK),
        }),
        effort,
        returns_thinking: true,
    }
}

/// Turns thinking off, or down to the least that the model accepts.
fn off(parameters: &Parameters) -> Plan<'_> {
    let about = &parameters.about;
    let plan = without(parameters);
    let thinking = match about.thinking_off {
        // A model that also accepts budgets does not think unless asked.
        _ if about.thinking_min.is_some() => return plan,
        Some(false) if about.thinking_between_tools == Some(true) => Config::BetweenTools,
        Some(false) => return adaptive(parameters, about.lowest_level()),
        Some(true) | None => Config::Disabled,
    };
    Plan {
        thinking: Some(thinking),
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
        returns_thinking: true,
    }
}

fn max_tokens(parameters: &Parameters, for_thinking: u32) -> u32 {
    let about = &parameters.about;
    let ours = || match about.output {
        // These models count thinking against the limit and decide themselves how much they need.
        Some(limit)
            if about.thinking == Some(ThinkingKind::Levels) && about.thinking_min.is_none() =>
        {
            limit
        }
        Some(limit) => limit
            .min(USUAL_MAX_TOKENS)
            .saturating_add(for_thinking)
            .min(limit),
        None => USUAL_MAX_TOKENS.saturating_add(for_thinking),
    };
    // The API rejects a limit of 0.
    parameters.max_tokens.unwrap_or_else(ours).max(1)
}

/// Newer models hide their thinking unless asked for it.
fn display(about: &Model) -> Option<&'static str> {
    (about.thinking_shown == Some(false)).then_some("summarized")
}
