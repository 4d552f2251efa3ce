//! Encodes how much to think, in each server's terms.
//!
//! Some servers have no term for "off"; then nothing is sent.

use serde::Serialize;

use crate::{
    Parameters, Thinking, ThinkingLevel,
    catalogue::ThinkingKind,
    providers::dialects::{EffortNames, ThinkingStyle},
    thinking::{Amount, leaving_room},
};

/// The request's fields about thinking; mostly none.
#[derive(Debug, Default, Serialize)]
pub(super) struct ThinkingFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Toggle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<Template<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Reasoning<'a> {
    Effort(&'a str),
    MaxTokens(u32),
    Enabled(bool),
}

#[derive(Debug, Serialize)]
struct Toggle {
    r#type: &'static str,
}

#[derive(Debug, Serialize)]
struct Template<'a> {
    enable_thinking: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
}

/// Returns the fields that request the wanted amount of thinking.
pub(super) fn thinking_fields(style: ThinkingStyle, parameters: &Parameters) -> ThinkingFields<'_> {
    let mut fields = ThinkingFields::default();
    let can_think = parameters.about.thinking != Some(ThinkingKind::None);
    let Some(wanted) = parameters.thinking.filter(|_| can_think) else {
        return fields;
    };
    let level = wanted.level();
    let effort = |names| effort(names, level, parameters);
    match style {
        ThinkingStyle::Never => {}
        ThinkingStyle::Effort(names) => fields.reasoning_effort = effort(names),
        ThinkingStyle::EffortApart(names) => {
            fields.reasoning_effort = effort(names);
            // By default, the text contains the thinking between `<think>` tags.
            fields.reasoning_format = level.map(|_| "parsed");
        }
        ThinkingStyle::Toggle(names) => {
            let r#type = level.map_or("disabled", |_| "enabled");
            fields.thinking = Some(Toggle { r#type });
            fields.reasoning_effort = names.and_then(effort);
        }
        ThinkingStyle::Reasoning(names) => {
            // A budget that the user set precedes the named levels.
            fields.reasoning = budget(wanted, parameters.max_tokens)
                .or_else(|| effort(names).map(Reasoning::Effort));
        }
        ThinkingStyle::Enabled => fields.reasoning = Some(Reasoning::Enabled(level.is_some())),
        ThinkingStyle::Template(names) => {
            fields.chat_template_kwargs = Some(Template {
                enable_thinking: level.is_some(),
                reasoning_effort: effort(names),
            });
        }
    }
    fields
}

/// Returns how much thinking a request asks for.
pub(super) fn amount(style: ThinkingStyle, parameters: &Parameters) -> Amount<'_> {
    let fields = thinking_fields(style, parameters);
    let is_off = parameters.thinking.is_some_and(|it| it.level().is_none());
    let template = fields.chat_template_kwargs.as_ref();
    let effort = fields.reasoning_effort;
    let effort = effort.or(template.and_then(|it| it.reasoning_effort));
    match (fields.reasoning, effort) {
        (Some(Reasoning::MaxTokens(_)), _) => Amount::Budget,
        (Some(Reasoning::Effort("none")), _) | (None, Some("none")) => Amount::Off,
        (Some(Reasoning::Effort(effort)), _) => Amount::Level(effort),
        (Some(Reasoning::Enabled(is_on)), _) if is_on => Amount::On,
        (Some(Reasoning::Enabled(_)), _) => Amount::Off,
        _ if is_off && (fields.thinking.is_some() || template.is_some()) => Amount::Off,
        (None, Some(effort)) => Amount::Level(effort),
        (None, None) if fields.thinking.is_some() || template.is_some() => Amount::On,
        (None, None) => Amount::Unsaid,
    }
}

/// Returns the token budget that the user set, if any; `limit` is the maximum number of
/// tokens of the answer.
fn budget(wanted: Thinking, limit: Option<u32>) -> Option<Reasoning<'static>> {
    match wanted {
        Thinking::Budget(tokens) if tokens > 0 => {
            let tokens = limit.map_or(tokens, |limit| leaving_room(tokens, limit));
            Some(Reasoning::MaxTokens(tokens))
        }
        _ => None,
    }
}

/// Returns the name of a level: the model's own if known, otherwise the server's.
fn effort(
    names: EffortNames,
    level: Option<ThinkingLevel>,
    parameters: &Parameters,
) -> Option<&str> {
    let (off, levels) = names;
    match level {
        None => off,
        Some(level) => parameters.about.level(level).or(Some(match level {
            ThinkingLevel::Minimal => levels[0],
            ThinkingLevel::Low => levels[1],
            ThinkingLevel::Medium => levels[2],
            ThinkingLevel::High => levels[3],
            // Few servers tell these two apart; the catalogue has the models that do.
            ThinkingLevel::XHigh | ThinkingLevel::Max => levels[4],
        })),
    }
}
