//! OpenAI's Chat Completions API, also served by llama.cpp, Ollama, and many others.
//!
//! Sends only what the oldest of them support, and reads their additions to the stream.
//!
//! Encodes a prompt as the body of `POST /chat/completions`; `decode` reads streams. Thinking is
//! sent back only to servers that want it: the protocol has no signed form. How much to think is
//! encoded in each server's terms; some have no term for "off", and then nothing is sent.

mod decode;
mod details;

use std::borrow::Cow;

use chat::Problem;
use chat::prompt::{Content, Part, Prompt, PromptMessage, PromptRole};
use chat::tool::ToolDefinition;
use serde::Serialize;
use serde_json::Value;

use crate::catalogue::ThinkingKind;
use crate::endpoint::{stream_headers, to_json};
use crate::ids::WireIds;
use crate::providers::servers::id_rule;
use crate::providers::{EffortNames, Returns, ThinkingStyle, dialect};
use crate::thinking::{Amount, Carried, leaving_room};
use crate::{
    Endpoint, HttpRequest, Parameters, Protocol, Thinking, ThinkingLevel, attachment, content,
};
use details::Detail;

pub(crate) use decode::StreamReader;

const SPOKEN: Protocol = Protocol::ChatCompletions;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(flatten)]
    thinking: ThinkingFields<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: FunctionDefinition<'a>,
}

#[derive(Serialize)]
struct FunctionDefinition<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        /// `null` if there are only calls, as OpenAI writes it.
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        reasoning_details: Vec<Detail>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

/// Content of a user message. Many servers accept only a string, so parts are used only for
/// images.
#[derive(Serialize)]
#[serde(untagged)]
enum UserContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// Returns what a request says about temperature and thinking.
pub(crate) fn carried<'a>(endpoint: &Endpoint, parameters: &'a Parameters) -> Carried<'a> {
    let dialect = dialect(&endpoint.provider, &parameters.model);
    Carried {
        temperature: temperature(parameters).is_some(),
        thinking: amount(dialect.thinking, parameters),
    }
}

/// Returns the temperature unless the model reasons and is known to reject it.
fn temperature(parameters: &Parameters) -> Option<f64> {
    let is_accepted = parameters.about.temperature != Some(false);
    parameters.finite_temperature().filter(|_| is_accepted)
}

/// Encodes `prompt` for Chat Completions.
///
/// # Errors
///
/// As [`crate::encode`].
pub(crate) fn encode(
    prompt: &Prompt,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Result<HttpRequest, Problem> {
    let url = format!("{}/chat/completions", endpoint.base()?);
    let mut headers = stream_headers();
    let key = endpoint.key_header("Bearer ")?;
    headers.extend(key.map(|key| ("authorization".to_owned(), key)));
    let model = parameters.named_model(endpoint)?;
    let ids = WireIds::with(prompt, id_rule(endpoint, model));
    let body = to_json(&body(prompt, &ids, &endpoint.provider, model, parameters))?;
    Ok(HttpRequest::new(url, headers, body))
}

fn body<'a>(
    prompt: &'a Prompt,
    ids: &'a WireIds<'a>,
    provider: &'a str,
    model: &'a str,
    parameters: &'a Parameters,
) -> Body<'a> {
    let dialect = dialect(provider, model);
    Body {
        model,
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
        // Not `max_completion_tokens`, OpenAI's newer name, which other servers ignore.
        max_tokens: parameters.max_tokens,
        temperature: temperature(parameters),
        thinking: thinking_fields(dialect.thinking, parameters),
        // OpenAI rejects the field without tools.
        parallel_tool_calls: (dialect.asks_parallel && !prompt.tools.is_empty()).then_some(true),
        tools: tools(&prompt.tools, dialect.strict),
        messages: all_messages(
            prompt,
            To {
                ids,
                provider,
                model,
                returns: dialect.returns,
            },
        ),
    }
}

/// The system prompt and the messages, as one list.
fn all_messages<'a>(prompt: &'a Prompt, to: To<'a>) -> Vec<Message<'a>> {
    let system = prompt.system.iter().filter(|text| !text.trim().is_empty());
    let spoken = prompt.messages.iter();
    let spoken = spoken.flat_map(|message| messages(message, to));
    system
        .map(|content| Message::System { content })
        .chain(spoken)
        .collect()
}

fn tools(definitions: &[ToolDefinition], may_be_strict: bool) -> Vec<Tool<'_>> {
    let spelled = definitions.iter().map(|tool| Tool {
        r#type: "function",
        function: FunctionDefinition {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
            strict: tool.strict && may_be_strict,
        },
    });
    spelled.collect()
}

/// The recipient of the messages, and the form in which it wants its thinking back.
#[derive(Clone, Copy)]
struct To<'a> {
    ids: &'a WireIds<'a>,
    provider: &'a str,
    model: &'a str,
    returns: Returns,
}

/// Encodes one message of a prompt as several: each result is a separate message.
fn messages<'a>(message: &'a PromptMessage, to: To<'a>) -> Vec<Message<'a>> {
    match message.role {
        // A system message here was joined to the first one, see `later`.
        PromptRole::User | PromptRole::System => {
            // Results must follow the calls directly, before the user's own text.
            let results = message.parts.iter();
            let results = results.filter_map(|part| tool_message(part, to.ids));
            let content = user_content(&message.parts);
            results
                .chain(content.map(|content| Message::User { content }))
                .collect()
        }
        PromptRole::Assistant => {
            let content = joined_text(&message.parts);
            let calls = message.parts.iter();
            let tool_calls: Vec<ToolCall<'_>> =
                calls.filter_map(|part| tool_call(part, to.ids)).collect();
            // The protocol has no message for thinking alone.
            if content.is_none() && tool_calls.is_empty() {
                return Vec::new();
            }
            let calls = !tool_calls.is_empty();
            let parts = &message.parts;
            let own =
                (to.returns == Returns::Text).then(|| own_thinking(parts, to.provider, calls));
            vec![Message::Assistant {
                content,
                reasoning_content: own.flatten(),
                reasoning_details: match to.returns {
                    Returns::Details => own_details(parts, to),
                    Returns::Never | Returns::Text => Vec::new(),
                },
                tool_calls,
            }]
        }
    }
}

/// Returns the thinking of this provider's model. Before calls it is required, so a blank
/// replaces thinking that is missing or from another provider.
fn own_thinking(parts: &[Part], provider: &str, calls: bool) -> Option<String> {
    let own = parts.iter().filter_map(|part| match part {
        Part::Thinking {
            text,
            signature: Some(signature),
            redacted: false,
        } if signature.provider == provider && !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    let own: Vec<&str> = own.collect();
    if own.is_empty() {
        calls.then(|| " ".to_owned())
    } else {
        Some(own.join("\n\n"))
    }
}

/// Returns the details of the model's thinking as this provider sent them.
fn own_details(parts: &[Part], to: To<'_>) -> Vec<Detail> {
    let signatures = parts.iter().filter_map(|part| match part {
        Part::Thinking {
            signature: Some(signature),
            ..
        } if signature.provider == to.provider => Some(signature.value.as_str()),
        _ => None,
    });
    details::of_signatures(signatures, to.model)
}

fn user_content(parts: &[Part]) -> Option<UserContent<'_>> {
    if !parts.iter().any(|part| image(part).is_some()) {
        return joined_text(parts).map(UserContent::Text);
    }
    let spelled = parts.iter().filter_map(|part| match image(part) {
        Some(url) => Some(ContentPart::ImageUrl {
            image_url: ImageUrl { url },
        }),
        None => text(part).map(|text| ContentPart::Text { text }),
    });
    Some(UserContent::Parts(spelled.collect()))
}

/// Returns an image as a data URL.
fn image(part: &Part) -> Option<String> {
    match part {
        Part::File(file) if attachment::is_taken(file, SPOKEN) => match &file.content {
            Content::Image { mime, base64 } => Some(format!("data:{mime};base64,{base64}")),
            Content::Pdf { .. } | Content::Text(_) => None,
        },
        _ => None,
    }
}

fn text(part: &Part) -> Option<Cow<'_, str>> {
    match part {
        Part::Text(text) if !text.trim().is_empty() => Some(Cow::Borrowed(text)),
        Part::File(file) => Some(Cow::Owned(file.as_text())),
        Part::Text(_)
        | Part::ToolsAdded(_)
        | Part::Thinking { .. }
        | Part::ToolUse { .. }
        | Part::ToolResult { .. } => None,
    }
}

/// Joins texts as paragraphs.
fn joined_text(parts: &[Part]) -> Option<Cow<'_, str>> {
    let mut texts: Vec<Cow<'_, str>> = parts.iter().filter_map(text).collect();
    match texts.len() {
        0 | 1 => texts.pop(),
        _ => Some(Cow::Owned(texts.join("\n\n"))),
    }
}

fn tool_message<'a>(part: &'a Part, ids: &'a WireIds<'a>) -> Option<Message<'a>> {
    let Part::ToolResult {
        tool_use_id,
        content,
        is_error,
        ..
    } = part
    else {
        return None;
    };
    // The protocol has no field for a failed call.
    let content = if *is_error {
        Cow::Owned(format!("Error: {content}"))
    } else {
        Cow::Borrowed(content.as_str())
    };
    Some(Message::Tool {
        tool_call_id: ids.get(tool_use_id),
        content,
    })
}

fn tool_call<'a>(part: &'a Part, ids: &'a WireIds<'a>) -> Option<ToolCall<'a>> {
    let Part::ToolUse { id, name, input } = part else {
        return None;
    };
    // Some servers parse this text and reject the whole request if it is not JSON.
    let arguments = content::whole_object(input).map_or(content::NONE, |raw| raw.get());
    Some(ToolCall {
        id: ids.get(id),
        r#type: "function",
        function: Function { name, arguments },
    })
}

/// The request's fields about thinking; mostly none.
#[derive(Debug, Default, Serialize)]
struct ThinkingFields<'a> {
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
fn thinking_fields(style: ThinkingStyle, parameters: &Parameters) -> ThinkingFields<'_> {
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
fn amount(style: ThinkingStyle, parameters: &Parameters) -> Amount<'_> {
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
