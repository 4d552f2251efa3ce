//! How much to think, in the words of each server.
//!
//! Knows no conversation. Where a server has no word for off, nothing is sent.

use serde::Serialize;

use crate::{
    Level, Parameters, Thinking,
    catalogue::ThinkingKind,
    providers::dialects::{Ask, Words},
    thinking::leaving_room,
};

/// What a request says about thinking; mostly nothing.
#[derive(Debug, Default, Serialize)]
pub(super) struct Asked<'a> {
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

/// What to ask for.
pub(super) fn asked(ask: Ask, parameters: &Parameters) -> Asked<'_> {
    let none = Asked::default();
    let Some(wanted) = parameters.thinking else {
        return none;
    };
    if parameters.about.thinking == Some(ThinkingKind::None) {
        return none;
    }
    let level = wanted.level();
    let word = |words| word(words, level, parameters);
    match ask {
        Ask::Never => none,
        Ask::Effort(words) => Asked {
            reasoning_effort: word(words),
            ..none
        },
        Ask::EffortApart(words) => Asked {
            reasoning_effort: word(words),
            reasoning_format: level.map(|_| "parsed"),
            ..none
        },
        Ask::Toggle(words) => Asked {
            thinking: Some(Toggle {
                r#type: level.map_or("disabled", |_| "enabled"),
            }),
            reasoning_effort: words.and_then(word),
            ..none
        },
        Ask::Reasoning(words) => Asked {
            reasoning: match wanted {
                Thinking::Budget(tokens) if tokens > 0 => {
                    let room = |limit| leaving_room(tokens, limit);
                    let tokens = parameters.max_tokens.map_or(tokens, room);
                    Some(Reasoning::MaxTokens(tokens))
                }
                _ => word(words).map(Reasoning::Effort),
            },
            ..none
        },
        Ask::Enabled => Asked {
            reasoning: Some(Reasoning::Enabled(level.is_some())),
            ..none
        },
        Ask::Template(words) => Asked {
            chat_template_kwargs: Some(Template {
                enable_thinking: level.is_some(),
                reasoning_effort: word(words),
            }),
            ..none
        },
    }
}

/// The word for a level: what is known of the model first, else the server's.
fn word(words: Words, level: Option<Level>, parameters: &Parameters) -> Option<&str> {
    let (off, levels) = words;
    match level {
        None => off,
        Some(level) => parameters.about.level(level).or(Some(match level {
            Level::Minimal => levels[0],
            Level::Low => levels[1],
            Level::Medium => levels[2],
            Level::High => levels[3],
            Level::Max => levels[4],
        })),
    }
}
