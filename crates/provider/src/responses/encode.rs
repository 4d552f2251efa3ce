//! Encodes a prompt as the body of `POST /responses`.
//!
//! The conversation itself is encoded by `input`. Does not read streams.

use chat::{Problem, prompt::Prompt, tool::ToolDefinition};
use serde::Serialize;
use serde_json::Value;

use super::{
    input::{Item, items},
    models::{self, LongCache},
};
use crate::{
    CacheRetention, Endpoint, HttpRequest, Parameters, ThinkingLevel,
    catalogue::ThinkingKind,
    endpoint::{stream_headers, to_json},
    ids::WireIds,
    thinking::{Amount, Carried},
};

/// Minimum token limit that the API accepts.
const MIN_OUTPUT_TOKENS: u32 = 16;
/// The effort that turns reasoning off.
const NO_EFFORT: &str = "none";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    /// Always false: nothing is stored with the provider, because the file is the
    /// conversation.
    store: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(flatten)]
    cache: Cache<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

#[derive(Serialize, Default)]
struct Cache<'a> {
    #[serde(rename = "prompt_cache_key", skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(
        rename = "prompt_cache_retention",
        skip_serializing_if = "Option::is_none"
    )]
    retention: Option<&'static str>,
    #[serde(
        rename = "prompt_cache_options",
        skip_serializing_if = "Option::is_none"
    )]
    options: Option<CacheOptions>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum CacheOptions {
    /// Minimum duration.
    Ttl(&'static str),
    /// With "explicit", only marked parts are cached, and none is marked.
    Mode(&'static str),
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// Always sent: this API defaults to true.
    strict: bool,
}

/// Returns what a request says about temperature and thinking.
pub(crate) fn carried(parameters: &Parameters) -> Carried<'_> {
    let effort = reasoning(parameters).and_then(|it| it.effort);
    Carried {
        temperature: temperature(parameters, effort).is_some(),
        thinking: match effort {
            None => Amount::Unsaid,
            Some(NO_EFFORT) => Amount::Off,
            Some(effort) => Amount::Level(effort),
        },
    }
}

/// Encodes `prompt` for the Responses API.
///
/// # Errors
///
/// As [`crate::encode`].
pub(crate) fn encode(
    prompt: &Prompt,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Result<HttpRequest, Problem> {
    let url = format!("{}/responses", endpoint.base()?);
    let mut headers = stream_headers();
    let key = endpoint.key_header("Bearer ")?;
    headers.extend(key.map(|key| ("authorization".to_owned(), key)));
    let model = parameters.named_model(endpoint)?;
    let ids = WireIds::new(prompt);
    let reasoning = reasoning(parameters);
    let effort = reasoning.as_ref().and_then(|it| it.effort);
    let body = to_json(&Body {
        model,
        stream: true,
        store: false,
        include: include(parameters, effort),
        max_output_tokens: parameters
            .max_tokens
            .map(|limit| limit.max(MIN_OUTPUT_TOKENS)),
        temperature: temperature(parameters, effort),
        cache: cache(model, parameters),
        reasoning,
        tools: tools(&prompt.tools),
        instructions: prompt
            .system
            .as_deref()
            .filter(|text| !text.trim().is_empty()),
        input: items(prompt, &ids, &endpoint.provider, models::has_phases(model)),
    })?;
    Ok(HttpRequest::new(url, headers, body))
}

/// Returns whether the model reasons; `None` if unknown.
fn reasons(parameters: &Parameters) -> Option<bool> {
    Some(parameters.about.thinking? != ThinkingKind::None)
}

/// Returns the temperature unless the model reasons or is known to reject it.
fn temperature(parameters: &Parameters, effort: Option<&str>) -> Option<f64> {
    let reasons = match effort {
        Some(effort) => effort != NO_EFFORT,
        None => reasons(parameters) == Some(true),
    };
    let is_accepted = !reasons && parameters.about.temperature != Some(false);
    parameters.finite_temperature().filter(|_| is_accepted)
}

/// Returns the additional fields to request. Models without reasoning reject this one.
fn include(parameters: &Parameters, effort: Option<&str>) -> Vec<&'static str> {
    let thinks = effort.is_some_and(|effort| effort != NO_EFFORT);
    if reasons(parameters).unwrap_or(thinks) {
        vec!["reasoning.encrypted_content"]
    } else {
        Vec::new()
    }
}

fn reasoning(parameters: &Parameters) -> Option<Reasoning<'_>> {
    let effort = match parameters.effort.as_deref() {
        Some(own) => Some(own),
        None => effort(parameters),
    };
    let summary = match parameters.summary.as_deref() {
        Some("none") => None,
        Some(own) => Some(own),
        // Without a summary, the user would see nothing of the thinking.
        None => effort.map(|_| "auto"),
    };
    // Without reasoning there is nothing to summarize.
    let summary = summary.filter(|_| effort != Some(NO_EFFORT));
    (effort.is_some() || summary.is_some()).then_some(Reasoning { effort, summary })
}

/// Returns the effort in the model's terms; `None` leaves it to the model.
fn effort(parameters: &Parameters) -> Option<&str> {
    if reasons(parameters) == Some(false) {
        return None;
    }
    let about = &parameters.about;
    match parameters.thinking?.level() {
        // This model can't turn thinking off, so use its lowest effort.
        None => about.levels.first().map(String::as_str),
        Some(level) => about.level(level).or(Some(match level {
            ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
            // Every reasoning model has these three efforts; others exist for some models only.
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High | ThinkingLevel::XHigh | ThinkingLevel::Max => "high",
        })),
    }
}

fn cache<'a>(model: &str, parameters: &'a Parameters) -> Cache<'a> {
    let key = parameters.cache_key.as_deref();
    match (parameters.cache, models::long_cache(model)) {
        // Such a model caches everything by default.
        (CacheRetention::None, Some(LongCache::Options)) => Cache {
            options: Some(CacheOptions::Mode("explicit")),
            ..Cache::default()
        },
        (CacheRetention::None, _) => Cache::default(),
        (CacheRetention::Long, Some(LongCache::Options)) => Cache {
            key,
            options: Some(CacheOptions::Ttl("12h")),
            retention: None,
        },
        (CacheRetention::Long, Some(LongCache::Retention)) => Cache {
            key,
            retention: Some("24h"),
            options: None,
        },
        (CacheRetention::Short | CacheRetention::Long, _) => Cache {
            key,
            ..Cache::default()
        },
    }
}

fn tools(definitions: &[ToolDefinition]) -> Vec<Tool<'_>> {
    let spelled = definitions.iter().map(|tool| Tool {
        r#type: "function",
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.input_schema,
        strict: tool.strict,
    });
    spelled.collect()
}
