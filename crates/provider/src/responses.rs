//! OpenAI's Responses API, also served by llama.cpp and others.
//!
//! Every turn is sent whole and nothing is stored with the provider: reasoning is sent back
//! in its encrypted form.
//!
//! Encodes a prompt as the body of `POST /responses`; `decode` reads streams. One message of a
//! prompt becomes several input items: texts, reasoning, calls, and results, in their order.
//! Models differ on the wire beyond the catalogue, by prefix of the name; unlisted models get
//! none of these features.

mod decode;
mod web;

use std::borrow::Cow;

use chat::Problem;
use chat::prompt::{Attachment, Content, Part, Prompt, PromptMessage, PromptRole, Signature};
use chat::server_tools::{ExactAnswer, ExactBlock};
use chat::tool::ToolDefinition;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::catalogue::ThinkingKind;
use crate::endpoint::{stream_headers, to_json};
use crate::ids::WireIds;
use crate::thinking::{Amount, Carried};
use crate::{
    CacheRetention, Endpoint, HttpRequest, Parameters, Protocol, ThinkingLevel, WebTools,
    attachment, content,
};

pub(crate) use decode::StreamReader;

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
    tools: Vec<OfferedTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tool_calls: Option<u32>,
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
#[serde(untagged)]
enum OfferedTool<'a> {
    Web(WebTool<'a>),
    Own(Tool<'a>),
}

/// The tool that OpenAI runs itself. It also opens the pages that it found.
///
/// Source: `WebSearchToolParam` of the SDK 3.57, November 2026.
#[derive(Serialize)]
struct WebTool<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    filters: Option<Filters<'a>>,
}

#[derive(Serialize)]
struct Filters<'a> {
    allowed_domains: &'a [String],
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
    let web = crate::web::offered(SPOKEN, &endpoint.provider, parameters);
    let body = to_json(&Body {
        model,
        stream: true,
        store: false,
        include: include(parameters, effort, web.is_some()),
        max_output_tokens: parameters
            .max_tokens
            .map(|limit| limit.max(MIN_OUTPUT_TOKENS)),
        temperature: temperature(parameters, effort),
        cache: cache(model, parameters),
        reasoning,
        tools: tools(&prompt.tools, web),
        max_tool_calls: web.and_then(|it| it.max_uses),
        instructions: prompt
            .system
            .as_deref()
            .filter(|text| !text.trim().is_empty()),
        input: items(
            prompt,
            &ids,
            &endpoint.provider,
            has_phases(model),
            web.is_some(),
        ),
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
fn include(parameters: &Parameters, effort: Option<&str>, web: bool) -> Vec<&'static str> {
    let thinks = effort.is_some_and(|effort| effort != NO_EFFORT);
    let fields = [
        (
            reasons(parameters).unwrap_or(thinks),
            "reasoning.encrypted_content",
        ),
        (web, "web_search_call.action.sources"),
    ];
    let wanted = fields.into_iter().filter(|it| it.0);
    wanted.map(|it| it.1).collect()
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
    match (parameters.cache, long_cache(model)) {
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

fn tools<'a>(definitions: &'a [ToolDefinition], web: Option<&'a WebTools>) -> Vec<OfferedTool<'a>> {
    let web = web.map(|web| {
        let allowed_domains = web.allowed_domains.as_slice();
        OfferedTool::Web(WebTool {
            r#type: "web_search",
            filters: (!allowed_domains.is_empty()).then_some(Filters { allowed_domains }),
        })
    });
    let spelled = definitions.iter().map(|tool| {
        OfferedTool::Own(Tool {
            r#type: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
            strict: tool.strict,
        })
    });
    web.into_iter().chain(spelled).collect()
}

const SPOKEN: Protocol = Protocol::Responses;

/// One item of `input`.
#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    /// The user's text and files.
    User(User<'a>),
    /// Instructions in the middle of the conversation.
    Developer(Developer<'a>),
    /// The model's text.
    Message(OutputMessage<'a>),
    /// Reasoning as the model sent it.
    Reasoning(Map<String, Value>),
    /// A call or its result.
    Call(Call<'a>),
    /// An item as it came.
    Exact(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "role", rename = "user")]
struct User<'a> {
    content: Vec<Piece<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename = "developer")]
struct Developer<'a> {
    content: Vec<Piece<'a>>,
}

/// The model's text in the form in which it was sent. OpenAI also accepts a shorter form,
/// but llama.cpp does not.
#[derive(Serialize)]
#[serde(tag = "type", rename = "message")]
struct OutputMessage<'a> {
    /// Our own ID, by position: the provider's is not stored.
    id: String,
    role: &'static str,
    status: &'static str,
    content: [OutputText<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "output_text")]
struct OutputText<'a> {
    text: &'a str,
    annotations: [(); 0],
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Call<'a> {
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output<'a>,
    },
}

/// The output of a call.
#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(Cow<'a, str>),
    /// The text, and the files that it names.
    Pieces(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Piece<'a> {
    #[serde(rename = "input_text")]
    Text { text: Cow<'a, str> },
    #[serde(rename = "input_image")]
    Image {
        image_url: String,
        detail: &'static str,
    },
    #[serde(rename = "input_file")]
    File {
        filename: &'a str,
        file_data: String,
    },
}

/// Returns the items of `prompt` for the provider with this name, with the phases of the
/// model's texts if the model has them.
fn items<'a>(
    prompt: &'a Prompt,
    ids: &'a WireIds<'a>,
    provider: &str,
    has_phases: bool,
    web: bool,
) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    for message in &prompt.messages {
        match message.role {
            PromptRole::User => user(message, ids, &mut items),
            PromptRole::System => {
                let content: Vec<Piece<'a>> = message.parts.iter().filter_map(piece).collect();
                items.push(Item::Developer(Developer { content }));
            }
            PromptRole::Assistant => {
                // Without the tool, the API would not know its calls.
                match web.then(|| message.exact_of(provider)).flatten() {
                    Some(exact) => exact_items(message, exact, ids, &mut items),
                    None => assistant(message, ids, provider, has_phases, &mut items),
                }
            }
        }
    }
    items
}

fn user<'a>(message: &'a PromptMessage, ids: &'a WireIds<'a>, items: &mut Vec<Item<'a>>) {
    // Results first, because they follow the calls directly.
    items.extend(message.parts.iter().filter_map(|part| output(part, ids)));
    let content: Vec<Piece<'a>> = message.parts.iter().filter_map(piece).collect();
    if !content.is_empty() {
        items.push(Item::User(User { content }));
    }
}

fn output<'a>(part: &'a Part, ids: &'a WireIds<'a>) -> Option<Item<'a>> {
    let Part::ToolResult {
        tool_use_id,
        content,
        files,
        is_error,
        ..
    } = part
    else {
        return None;
    };
    // The protocol has no field for a failed call.
    let text = if *is_error {
        Cow::Owned(format!("Error: {content}"))
    } else {
        Cow::Borrowed(content.as_str())
    };
    Some(Item::Call(Call::FunctionCallOutput {
        call_id: ids.get(tool_use_id),
        output: if files.is_empty() {
            Output::Text(text)
        } else {
            let files = files.iter().map(file_piece);
            Output::Pieces([Piece::Text { text }].into_iter().chain(files).collect())
        },
    }))
}

fn piece(part: &Part) -> Option<Piece<'_>> {
    match part {
        Part::Text(text) if !text.trim().is_empty() => Some(Piece::Text {
            text: Cow::Borrowed(text),
        }),
        Part::File(file) => Some(file_piece(file)),
        Part::Text(_)
        | Part::ToolsAdded(_)
        | Part::Thinking { .. }
        | Part::ToolUse { .. }
        | Part::ToolResult { .. } => None,
    }
}

fn file_piece(file: &Attachment) -> Piece<'_> {
    match &file.content {
        Content::Image { mime, base64 } if attachment::is_taken(file, SPOKEN) => Piece::Image {
            image_url: format!("data:{mime};base64,{base64}"),
            detail: "auto",
        },
        Content::Pdf { base64 } => Piece::File {
            // Only the name, because the provider need not know the folders.
            filename: file.name.rsplit('/').next().unwrap_or(&file.name),
            file_data: format!("data:application/pdf;base64,{base64}"),
        },
        Content::Image { .. } | Content::Text(_) => Piece::Text {
            text: Cow::Owned(file.as_text()),
        },
    }
}

/// Adds an answer as it came, with its calls as they are in the document.
fn exact_items<'a>(
    message: &'a PromptMessage,
    exact: &'a ExactAnswer,
    ids: &'a WireIds<'a>,
    items: &mut Vec<Item<'a>>,
) {
    let mut calls = message.calls();
    for block in &exact.blocks {
        match block {
            ExactBlock::Json(json) | ExactBlock::Thinking(json) => {
                items.extend(serde_json::from_str(json).ok().map(Item::Exact));
            }
            ExactBlock::Call => {
                let call = calls.next();
                items.extend(call.map(|(id, name, input)| function_call(ids.get(id), name, input)));
            }
        }
    }
}

fn assistant<'a>(
    message: &'a PromptMessage,
    ids: &'a WireIds<'a>,
    provider: &str,
    has_phases: bool,
    items: &mut Vec<Item<'a>>,
) {
    let is_call = |part: &Part| matches!(part, Part::ToolUse { .. });
    let says = |part: &Part| match part {
        Part::Text(text) => !text.trim().is_empty(),
        part => is_call(part),
    };
    let last_said = message.parts.iter().rposition(says);
    let last_call = message.parts.iter().rposition(is_call);
    for (at, part) in message.parts.iter().enumerate() {
        match part {
            Part::Text(text) if says(part) => {
                let phase = phase(last_call.is_some_and(|call| at < call));
                let phase = has_phases.then_some(phase);
                items.push(output_message(text, items.len(), phase));
            }
            Part::ToolUse { id, name, input } => {
                items.push(function_call(ids.get(id), name, input))
            }
            // The API rejects reasoning that nothing follows, as in an answer that was cut
            // off.
            Part::Thinking { signature, .. } if last_said.is_some_and(|last| at < last) => {
                items.extend(returned(signature.as_ref(), provider).map(Item::Reasoning));
            }
            Part::Text(_) | Part::Thinking { .. } => {}
            // Answers contain none of these.
            Part::File(_) | Part::ToolsAdded(_) | Part::ToolResult { .. } => {}
        }
    }
}

/// Returns what a text of the assistant is: a comment on the way to a call, or the answer.
fn phase(comes_before_call: bool) -> &'static str {
    if comes_before_call {
        "commentary"
    } else {
        "final_answer"
    }
}

fn function_call<'a>(call_id: &'a str, name: &'a str, input: &'a str) -> Item<'a> {
    Item::Call(Call::FunctionCall {
        call_id,
        name,
        arguments: content::whole_object(input).map_or(content::NONE, |raw| raw.get()),
    })
}

fn output_message<'a>(text: &'a str, index: usize, phase: Option<&'static str>) -> Item<'a> {
    Item::Message(OutputMessage {
        id: format!("msg_{index}"),
        role: "assistant",
        status: "completed",
        content: [OutputText {
            text,
            annotations: [],
        }],
        phase,
    })
}

/// Returns the reasoning item for the provider that made it.
fn returned(signature: Option<&Signature>, provider: &str) -> Option<Map<String, Value>> {
    let own = signature.filter(|signature| signature.provider == provider)?;
    decode::reasoning_item(&own.value)
}

/// The parameter that requests long caching of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LongCache {
    /// `prompt_cache_options`, which can also turn the cache off.
    Options,
    /// The older `prompt_cache_retention`.
    Retention,
}

/// Features of the models with this prefix; the first match counts.
struct Row {
    prefix: &'static str,
    long_cache: Option<LongCache>,
    /// True if its answers contain phases that must be sent back.
    has_phases: bool,
}

/// Sources: "Prompt caching" and the field `phase` in OpenAI's API reference.
const ROWS: [Row; 7] = [
    row("gpt-6", Some(LongCache::Options), true),
    row("gpt-5.6", Some(LongCache::Options), true),
    row("gpt-5.5", Some(LongCache::Retention), true),
    row("gpt-5.4", Some(LongCache::Retention), true),
    row("gpt-5.3", Some(LongCache::Retention), true),
    row("gpt-5", Some(LongCache::Retention), false),
    row("gpt-4.1", Some(LongCache::Retention), false),
];

const fn row(prefix: &'static str, long_cache: Option<LongCache>, has_phases: bool) -> Row {
    Row {
        prefix,
        long_cache,
        has_phases,
    }
}

/// Returns how to request long caching for `model`; `None` if it is not supported.
fn long_cache(model: &str) -> Option<LongCache> {
    of(model)?.long_cache
}

/// Returns true if `model` needs to know which of its texts preceded calls.
fn has_phases(model: &str) -> bool {
    of(model).is_some_and(|row| row.has_phases)
}

fn of(model: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| model.starts_with(row.prefix))
}
