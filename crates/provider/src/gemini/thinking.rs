//! Encodes how much to think: a token budget or a level, depending on the model.

use serde::Serialize;

use crate::{
    Parameters, Thinking, catalogue::ThinkingKind, thinking::Amount, thinking::leaving_room,
};

/// `generationConfig.thinkingConfig`
#[derive(Serialize, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    include_thoughts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<String>,
}

/// Returns how much thinking a request asks for.
pub(super) fn amount(parameters: &Parameters) -> Amount<'_> {
    match thinking(parameters) {
        None => Amount::Unsaid,
        Some(config) if config.thinking_level.is_some() => {
            level(parameters).map_or(Amount::Unsaid, Amount::Level)
        }
        Some(config) if config.thinking_budget == Some(0) => Amount::Off,
        Some(_) => Amount::Budget,
    }
}

/// Returns the level that the model has for the wanted amount, or its lowest: a model with
/// levels can't turn thinking off.
fn level(parameters: &Parameters) -> Option<&str> {
    let about = &parameters.about;
    match parameters.thinking?.level() {
        Some(level) => about.level(level),
        None => about.lowest_level(),
    }
}

/// Returns the configuration; `None` leaves it to the provider.
pub(super) fn thinking(parameters: &Parameters) -> Option<ThinkingConfig> {
    let wanted = parameters.thinking?;
    let about = &parameters.about;
    let is_on = wanted.level().is_some();
    let include_thoughts = is_on.then_some(true);
    match about.thinking {
        Some(ThinkingKind::None) => None,
        Some(ThinkingKind::Levels) => Some(ThinkingConfig {
            include_thoughts,
            // The API's enum is upper case, the catalogue lower case.
            thinking_level: Some(level(parameters)?.to_ascii_uppercase()),
            ..ThinkingConfig::default()
        }),
        Some(ThinkingKind::Budget) | None => Some(ThinkingConfig {
            include_thoughts,
            thinking_budget: Some(budget(wanted, parameters)),
            ..ThinkingConfig::default()
        }),
    }
}

/// Returns the token budget, which leaves room for the answer.
fn budget(wanted: Thinking, parameters: &Parameters) -> u32 {
    let about = &parameters.about;
    match wanted {
        // This model can't turn thinking off, so use its smallest budget.
        Thinking::Off if about.thinking_off == Some(false) => about.clamp_budget(0),
        Thinking::Off => 0,
        on => {
            let budget = about.clamp_budget(on.budget());
            // The rest of the limit may be less than the model's smallest budget.
            let room = |limit| about.clamp_budget(leaving_room(budget, limit));
            parameters.max_tokens.map_or(budget, room)
        }
    }
}
