//! Encodes a prompt as the body of `POST /v1/messages`.
//!
//! Implements Anthropic's order rules: results first in a user message, no text after a
//! call, thinking only with Anthropic's signature. Does not read streams.

use std::borrow::Cow;

use chat::{
    Problem,
    prompt::{Attachment, Content, Part, Prompt, PromptMessage, PromptRole, Signature},
    tool::ToolDefinition,
};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::thinking::{Config, Plan, plan};
use crate::{
    CacheRetention, Endpoint, HeaderValue, HttpRequest, Parameters, Protocol, arguments,
    attachment,
    endpoint::{stream_headers, to_json},
    ids::{WireIds, wire_name},
};

const VERSION: &str = "2023-06-01";
/// Allows models with a thinking budget to think between calls. Models with adaptive
/// thinking always do.
const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";
/// Name of the provider in signatures of thinking.
const SIGNER: &str = "anthropic";
const SPOKEN: Protocol = Protocol::AnthropicMessages;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Config>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    effort: &'a str,
}

#[derive(Serialize)]
struct ToolChoice {
    r#type: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

/// A mark up to which the provider caches the prompt.
#[derive(Serialize, Clone, Copy)]
struct CacheControl {
    r#type: &'static str,
    /// Five minutes if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl CacheControl {
    fn new(retention: CacheRetention) -> Option<Self> {
        let ttl = match retention {
            CacheRetention::None => return None,
            CacheRetention::Short => None,
            CacheRetention::Long => Some("1h"),
        };
        Some(Self {
            r#type: "ephemeral",
            ttl,
        })
    }
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Document {
        source: Source<'a>,
        title: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: Cow<'a, str>,
        input: Input<'a>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

/// Contents of a file.
#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

impl<'a> Source<'a> {
    fn base64(media_type: &'a str, data: &'a str) -> Self {
        Self {
            r#type: "base64",
            media_type,
            data,
        }
    }
}

/// Maximum temperature that the API accepts.
const MAX_TEMPERATURE: f64 = 1.0;

/// Arguments as written in the document, or the empty object.
#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    AsWritten(&'a RawValue),
    Empty {},
}

/// Encodes `prompt` for the Messages API.
///
/// # Errors
///
/// As [`crate::encode`].
pub(crate) fn encode(
    prompt: &Prompt,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Result<HttpRequest, Problem> {
    let base = endpoint.base()?;
    // ANTHROPIC_BASE_URL is often written with the version, as for other servers.
    let base = base.strip_suffix("/v1").unwrap_or(base);
    let mut headers = stream_headers();
    headers.push((
        "anthropic-version".to_owned(),
        HeaderValue::Plain(VERSION.to_owned()),
    ));
    headers.extend(
        endpoint
            .key_header("")?
            .map(|key| ("x-api-key".to_owned(), key)),
    );
    let ids = WireIds::new(prompt);
    let model = parameters.named_model(endpoint)?;
    let plan = plan(parameters);
    if plan.has_budget() && !prompt.tools.is_empty() {
        let beta = HeaderValue::Plain(INTERLEAVED.to_owned());
        headers.push(("anthropic-beta".to_owned(), beta));
    }
    let body = to_json(&body(prompt, &ids, model, parameters, plan))?;
    Ok(HttpRequest {
        url: format!("{base}/v1/messages"),
        headers,
        body,
    })
}

fn body<'a>(
    prompt: &'a Prompt,
    ids: &'a WireIds<'a>,
    model: &'a str,
    parameters: &Parameters,
    plan: Plan<'a>,
) -> Body<'a> {
    let cache_control = CacheControl::new(parameters.cache);
    let system = prompt.system.iter().filter(|text| !text.trim().is_empty());
    let mut messages = messages(prompt, ids);
    if let Some(mark) = cache_control {
        mark_user_messages(&mut messages, mark);
    }
    Body {
        model,
        max_tokens: plan.max_tokens,
        temperature: temperature(parameters, &plan),
        thinking: plan.thinking,
        output_config: plan.effort.map(|effort| OutputConfig { effort }),
        stream: true,
        tools: tools(&prompt.tools, cache_control),
        // The API rejects a tool choice without tools.
        tool_choice: (!prompt.tools.is_empty()).then_some(ToolChoice { r#type: "auto" }),
        system: system
            .map(|text| Block::Text {
                text: Cow::Borrowed(text),
                cache_control,
            })
            .collect(),
        messages,
    }
}

fn temperature(parameters: &Parameters, plan: &Plan<'_>) -> Option<f64> {
    // The API rejects a temperature with thinking, and newer models reject any.
    let is_accepted = !plan.thinks() && parameters.about.temperature != Some(false);
    let temperature = parameters.finite_temperature().filter(|_| is_accepted)?;
    // Other providers accept up to 2.
    Some(temperature.clamp(0.0, MAX_TEMPERATURE))
}

fn tools(definitions: &[ToolDefinition], cache_control: Option<CacheControl>) -> Vec<Tool<'_>> {
    // In a fixed order, and marked at the last one, so that the cache covers all of them.
    let mut sorted: Vec<&ToolDefinition> = definitions.iter().collect();
    sorted.sort_by_key(|tool| &tool.name);
    let last = sorted.len().saturating_sub(1);
    let spelled = sorted.into_iter().enumerate().map(|(at, tool)| Tool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.input_schema,
        cache_control: cache_control.filter(|_| at == last),
    });
    spelled.collect()
}

fn messages<'a>(prompt: &'a Prompt, ids: &'a WireIds<'a>) -> Vec<Message<'a>> {
    let spelled = prompt.messages.iter().map(|message| Message {
        role: match message.role {
            PromptRole::User => "user",
            PromptRole::Assistant => "assistant",
        },
        content: ordered(message)
            .into_iter()
            .filter_map(|part| block(part, ids))
            .collect(),
    });
    // Only another provider's thinking leaves a message empty. The API joins the user
    // messages around it.
    spelled
        .filter(|message| !message.content.is_empty())
        .collect()
}

/// Returns the parts of `message` in the order that the API accepts, otherwise as written.
fn ordered(message: &PromptMessage) -> Vec<&Part> {
    let starts_with_thinking = matches!(message.parts.first(), Some(Part::Thinking { .. }));
    let rank = |part: &Part| match part {
        Part::ToolResult { .. } => 0,
        // Thinking between texts stays there, because the latest thinking must be sent back
        // unchanged. But a message with thinking must begin with some.
        Part::Thinking { .. } if starts_with_thinking => 2,
        Part::Thinking { .. } => 1,
        Part::Text(_) | Part::File(_) => 2,
        Part::ToolUse { .. } => 3,
    };
    let mut parts: Vec<&Part> = message.parts.iter().collect();
    // The sort is stable, so parts of equal rank keep their order.
    parts.sort_by_key(|part| rank(part));
    parts
}

fn block<'a>(part: &'a Part, ids: &'a WireIds<'a>) -> Option<Block<'a>> {
    match part {
        // The API rejects blank texts.
        Part::Text(text) if text.trim().is_empty() => None,
        Part::Text(text) => Some(Block::Text {
            text: Cow::Borrowed(text),
            cache_control: None,
        }),
        Part::File(file) => Some(file_block(file)),
        Part::Thinking {
            text,
            signature,
            redacted,
        } => thinking_block(text, signature.as_ref(), *redacted),
        Part::ToolUse { id, name, input } => Some(Block::ToolUse {
            id: ids.get(id),
            name: wire_name(name),
            // The API requires an object. Other arguments would make it reject the conversation
            // from now on, although the call already has its error result.
            input: arguments::whole_object(input).map_or(Input::Empty {}, Input::AsWritten),
        }),
        Part::ToolResult {
            tool_use_id,
            content,
            is_error,
            ..
        } => Some(Block::ToolResult {
            tool_use_id: ids.get(tool_use_id),
            content,
            is_error: *is_error,
            cache_control: None,
        }),
    }
}

fn file_block(file: &Attachment) -> Block<'_> {
    match &file.content {
        Content::Image { mime, base64 } if attachment::is_taken(file, SPOKEN) => Block::Image {
            source: Source::base64(mime, base64),
            cache_control: None,
        },
        Content::Pdf { base64 } => Block::Document {
            source: Source::base64("application/pdf", base64),
            title: &file.name,
            cache_control: None,
        },
        Content::Image { .. } | Content::Text(_) => Block::Text {
            text: Cow::Owned(file.as_text()),
            cache_control: None,
        },
    }
}

/// Returns thinking for the provider that signed it. Redacted thinking contains its own
/// proof, and no other provider sends any.
fn thinking_block<'a>(
    text: &'a str,
    signature: Option<&'a Signature>,
    redacted: bool,
) -> Option<Block<'a>> {
    let is_ours = signature.is_some_and(|signature| signature.provider == SIGNER);
    match signature {
        Some(_) if !is_ours => None,
        _ if redacted => Some(Block::RedactedThinking { data: text }),
        Some(signature) if !signature.value.is_empty() => Some(Block::Thinking {
            thinking: text,
            signature: &signature.value,
        }),
        // The API rejects thinking without a signature.
        _ => None,
    }
}

/// Marks the last two user messages. The provider searches for cached prefixes only some
/// blocks back, and a turn of many calls is longer than that. With the marks of tools and
/// system, these are the four marks that the API accepts.
fn mark_user_messages(messages: &mut [Message<'_>], mark: CacheControl) {
    let user = messages.iter_mut().rev().filter(|it| it.role == "user");
    for message in user.take(2) {
        let marks = message
            .content
            .iter_mut()
            .rev()
            .find_map(|block| match block {
                Block::Text { cache_control, .. }
                | Block::Image { cache_control, .. }
                | Block::Document { cache_control, .. }
                | Block::ToolResult { cache_control, .. } => Some(cache_control),
                Block::Thinking { .. } | Block::RedactedThinking { .. } | Block::ToolUse { .. } => {
                    None
                }
            });
        if let Some(cache_control) = marks {
            *cache_control = Some(mark);
        }
    }
}
