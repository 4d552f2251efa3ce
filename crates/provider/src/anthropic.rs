//! Anthropic's Messages API, version 2023-06-01.
//!
//! Uses the beta features that `encode` lists, and of Anthropic's own tools those for the web.
//!
//! Encodes a prompt as the body of `POST /v1/messages` by Anthropic's rules: an answer goes back
//! as it came, results are first in a user message, and only thinking with Anthropic's signature
//! is sent. `decode` reads streams.

mod decode;
mod exact;
mod thinking;

use std::borrow::Cow;

use chat::Problem;
use chat::prompt::{Attachment, Content, Part, Prompt, PromptMessage, PromptRole, Signature};
use chat::server_tools::{ExactAnswer, ExactBlock};
use chat::summary::SignedSummary;
use chat::tool::ToolDefinition;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::endpoint::{stream_headers, to_json};
use crate::ids::WireIds;
use crate::{
    CacheRetention, Endpoint, HeaderValue, HttpRequest, Parameters, Protocol, WebTools, attachment,
    content, web,
};
use thinking::{Config, Plan, plan, temperature};

pub(crate) use decode::StreamReader;
pub(crate) use thinking::carried;

pub(crate) const VERSION: &str = "2023-06-01";

/// Allows models with a thinking budget to think between calls. Models with adaptive
/// thinking always do.
const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";

/// Allows `block_binding`, and reports which thinking was dropped.
pub(crate) const BINDING: &str = "thinking-binding-controls-2026-08-01";

/// Allows tools that are defined in system messages. The second name is newer and includes
/// the first, which names only tools that the request declares.
const TOOL_CHANGES: &str = "mid-conversation-tool-changes-2026-07-01,inline-tools-2026-09-15";

/// Allows requests for a summary, and summaries in them. Source: platform.claude.com, "Compaction on
/// demand" with its pages, September 2026.
pub(crate) const COMPACTION: &str = "compact-2026-09-04";

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
    tools: Vec<OfferedTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Message<'a>>,
    /// Asks for a summary of the messages instead of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    compaction: Option<Compaction<'a>>,
}

#[derive(Serialize)]
struct Compaction<'a> {
    r#type: &'static str,
    /// They replace the provider's own.
    instructions: &'a str,
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
#[serde(untagged)]
enum OfferedTool<'a> {
    Server(ServerTool<'a>),
    Own(Tool<'a>),
}

/// A tool that the API runs itself.
#[derive(Serialize)]
struct ServerTool<'a> {
    r#type: &'static str,
    name: &'static str,
    /// Not by code that the model writes: then each result is in the answer, and models that
    /// write no such code accept the tool too.
    allowed_callers: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_uses: Option<u32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    allowed_domains: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    blocked_domains: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
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
    Compaction {
        content: &'a str,
        signature: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Input<'a>,
    },
    ToolAddition {
        tool: AddedTool<'a>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// A block as it came.
    #[serde(untagged)]
    Exact(&'a RawValue),
}

/// The content of a result.
#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(&'a str),
    /// The text, and the files that it names.
    Blocks(Vec<Block<'a>>),
}

/// A tool that is defined in a message.
#[derive(Serialize)]
struct AddedTool<'a> {
    r#type: &'static str,
    definition: Tool<'a>,
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
    let signed = parameters.signed_summary.as_ref();
    let signed = signed.filter(|_| crate::takes_compaction(endpoint, parameters));
    let betas = betas(
        prompt,
        &plan,
        signed.is_some() || parameters.summarize.is_some(),
    );
    if !betas.is_empty() {
        let betas = HeaderValue::Plain(betas.join(","));
        headers.push(("anthropic-beta".to_owned(), betas));
    }
    let mut body = body(prompt, &ids, &endpoint.provider, model, parameters, plan);
    if let Some(signed) = signed {
        sign(&mut body.messages, signed);
    }
    let body = to_json(&body)?;
    let url = format!("{base}/v1/messages");
    Ok(HttpRequest::new(url, headers, body))
}

/// Returns the beta features that a request uses.
fn betas(prompt: &Prompt, plan: &Plan<'_>, compacts: bool) -> Vec<&'static str> {
    let mut parts = prompt.messages.iter().flat_map(|message| &message.parts);
    let features = [
        (INTERLEAVED, plan.has_budget() && !prompt.tools.is_empty()),
        (BINDING, plan.is_bound()),
        (COMPACTION, compacts),
        (
            TOOL_CHANGES,
            parts.any(|part| matches!(part, Part::ToolsAdded(_))),
        ),
    ];
    let used = features.into_iter().filter(|(_, is_used)| *is_used);
    used.map(|(name, _)| name).collect()
}

/// Replaces the first text by the block of the summary that it is. The block goes first, in a message
/// of its own, so that the messages below it are as they were.
fn sign<'a>(messages: &mut Vec<Message<'a>>, summary: &'a SignedSummary) {
    let next = messages.get(1).map(|it| it.role);
    let Some(first) = messages.first_mut() else {
        return;
    };
    let is_text = matches!(first.content.first(), Some(Block::Text { .. }));
    // A system message right behind an answer would be rejected.
    if !is_text || first.content.len() == 1 && next == Some("system") {
        return;
    }
    first.content.remove(0);
    messages.retain(|it| !it.content.is_empty());
    let summary = Message {
        role: "assistant",
        content: vec![Block::Compaction {
            content: &summary.content,
            signature: &summary.signature,
        }],
    };
    messages.insert(0, summary);
}

/// Returns the body of a request to the provider `signer`, which gets back the thinking and the
/// answers that it sent.
fn body<'a>(
    prompt: &'a Prompt,
    ids: &'a WireIds<'a>,
    signer: &str,
    model: &'a str,
    parameters: &'a Parameters,
    plan: Plan<'a>,
) -> Body<'a> {
    let cache_control = CacheControl::new(parameters.cache);
    let system = prompt.system.iter().filter(|text| !text.trim().is_empty());
    let web = web::offered(SPOKEN, signer, parameters);
    // Without the tools, the API would not know their results.
    let exact = match web {
        Some(_) => exact::sendable(prompt, signer),
        None => vec![None; prompt.messages.len()],
    };
    let mut messages = messages(prompt, ids, signer, &exact, plan.returns_thinking);
    if let Some(mark) = cache_control {
        mark_user_messages(&mut messages, mark);
    }
    let tools = tools(&prompt.tools, web, cache_control);
    Body {
        model,
        max_tokens: plan.max_tokens,
        temperature: temperature(parameters, &plan),
        thinking: plan.thinking,
        output_config: plan.effort.map(|effort| OutputConfig { effort }),
        stream: true,
        // The API rejects a tool choice without tools.
        tool_choice: (!tools.is_empty()).then_some(ToolChoice { r#type: "auto" }),
        tools,
        system: system
            .map(|text| Block::Text {
                text: Cow::Borrowed(text),
                cache_control,
            })
            .collect(),
        messages,
        compaction: { parameters.summarize.as_ref() }.map(|instructions| Compaction {
            r#type: "summarize",
            instructions,
        }),
    }
}

fn tools<'a>(
    definitions: &'a [ToolDefinition],
    web: Option<&'a WebTools>,
    cache_control: Option<CacheControl>,
) -> Vec<OfferedTool<'a>> {
    let own = definitions.iter().map(|it| OfferedTool::Own(tool(it)));
    let mut tools: Vec<_> = server_tools(web).map(OfferedTool::Server).collect();
    tools.extend(own);
    // Marked at the last one, so that the cache covers all of them.
    match tools.last_mut() {
        Some(OfferedTool::Own(last)) => last.cache_control = cache_control,
        Some(OfferedTool::Server(last)) => last.cache_control = cache_control,
        None => {}
    }
    tools
}

/// Source: `WebSearchTool20260318Param` and `WebFetchTool20260318Param` of the SDK 2.14, November
/// 2026.
fn server_tools(web: Option<&WebTools>) -> impl Iterator<Item = ServerTool<'_>> {
    web.into_iter().flat_map(|web| {
        let kinds = [
            (web.search, "web_search_20260318", "web_search"),
            (web.fetch, "web_fetch_20260318", "web_fetch"),
        ];
        let offered = kinds.into_iter().filter(|it| it.0);
        offered.map(move |(_, r#type, name)| ServerTool {
            r#type,
            name,
            allowed_callers: ["direct"],
            max_uses: web.max_uses,
            allowed_domains: &web.allowed_domains,
            blocked_domains: &web.blocked_domains,
            cache_control: None,
        })
    })
}

fn tool(definition: &ToolDefinition) -> Tool<'_> {
    Tool {
        name: &definition.name,
        description: &definition.description,
        input_schema: &definition.input_schema,
        cache_control: None,
    }
}

fn messages<'a>(
    prompt: &'a Prompt,
    ids: &'a WireIds<'a>,
    signer: &str,
    exact: &[Option<&'a ExactAnswer>],
    returns_thinking: bool,
) -> Vec<Message<'a>> {
    let is_sent = |part: &&Part| match part {
        Part::Thinking { signature, .. } => {
            // Redacted thinking contains its own proof, and no other provider sends any.
            let signer_of = signature.as_ref().map_or(signer, |it| &it.provider);
            returns_thinking && signer_of == signer
        }
        _ => true,
    };
    let spelled = prompt.messages.iter().zip(exact.iter().copied());
    let spelled = spelled.map(|(message, exact)| Message {
        role: match message.role {
            PromptRole::User => "user",
            PromptRole::Assistant => "assistant",
            PromptRole::System => "system",
        },
        content: match exact {
            Some(exact) => exact_blocks(message, exact, ids, returns_thinking),
            None => ordered(message)
                .filter(is_sent)
                .flat_map(|part| blocks(part, ids))
                .collect(),
        },
    });
    let mut messages: Vec<Message<'a>> = Vec::new();
    // Only thinking that is not sent leaves a message empty.
    for message in spelled.filter(|message| !message.content.is_empty()) {
        // Without the answer between them, a system message would come right before the
        // user's, which the API rejects. It joins the user messages itself.
        let is_before = |last: &mut Message<'_>| last.role == "system" && message.role == "user";
        let system = messages.pop_if(is_before);
        messages.push(message);
        messages.extend(system);
    }
    messages
}

/// Returns the parts of `message` as written, except that results come first, as the API
/// requires. An answer goes back exactly as it came: its thinking is bound to all parts
/// before it.
///
/// Source: platform.claude.com, "Change tools or instructions without failing the prefix
/// check", November 2026.
fn ordered(message: &PromptMessage) -> impl Iterator<Item = &Part> {
    let is_result = |part: &&Part| matches!(part, Part::ToolResult { .. });
    let results = message.parts.iter().filter(is_result);
    results.chain(message.parts.iter().filter(move |part| !is_result(part)))
}

/// Returns an answer as it came, with its calls as they are in the document.
fn exact_blocks<'a>(
    message: &'a PromptMessage,
    exact: &'a ExactAnswer,
    ids: &'a WireIds<'a>,
    returns_thinking: bool,
) -> Vec<Block<'a>> {
    let parts = message.parts.iter();
    let mut calls = parts.filter(|it| matches!(it, Part::ToolUse { .. }));
    let raw = |json| serde_json::from_str(json).ok().map(Block::Exact);
    let blocks = exact.blocks.iter().filter_map(|it| match it {
        ExactBlock::Json(json) => raw(json),
        ExactBlock::Thinking(json) if returns_thinking => raw(json),
        ExactBlock::Thinking(_) => None,
        ExactBlock::Call => calls.next().and_then(|part| block(part, ids)),
    });
    blocks.collect()
}

fn blocks<'a>(part: &'a Part, ids: &'a WireIds<'a>) -> Vec<Block<'a>> {
    if let Part::ToolsAdded(tools) = part {
        let added = tools.iter().map(|definition| Block::ToolAddition {
            tool: AddedTool {
                r#type: "tool_definition",
                definition: tool(definition),
            },
        });
        return added.collect();
    }
    block(part, ids).into_iter().collect()
}

fn block<'a>(part: &'a Part, ids: &'a WireIds<'a>) -> Option<Block<'a>> {
    match part {
        Part::ToolsAdded(_) => None,
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
            name,
            // The API requires an object. Other arguments would make it reject the conversation
            // from now on, although the call already has its error result.
            input: content::whole_object(input).map_or(Input::Empty {}, Input::AsWritten),
        }),
        Part::ToolResult {
            tool_use_id,
            content,
            files,
            is_error,
            ..
        } => Some(Block::ToolResult {
            tool_use_id: ids.get(tool_use_id),
            content: result_content(content, files),
            is_error: *is_error,
            cache_control: None,
        }),
    }
}

fn result_content<'a>(content: &'a str, files: &'a [Attachment]) -> ResultContent<'a> {
    if files.is_empty() {
        return ResultContent::Text(content);
    }
    let text = Block::Text {
        text: Cow::Borrowed(content),
        cache_control: None,
    };
    let files = files.iter().map(file_block);
    ResultContent::Blocks([text].into_iter().chain(files).collect())
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

/// Returns thinking for the provider that signed it.
fn thinking_block<'a>(
    text: &'a str,
    signature: Option<&'a Signature>,
    redacted: bool,
) -> Option<Block<'a>> {
    match signature {
        _ if redacted => Some(Block::RedactedThinking { data: text }),
        Some(signature) if !signature.value.is_empty() => Some(Block::Thinking {
            thinking: text,
            signature: &signature.value,
        }),
        // The API rejects thinking without a signature.
        _ => None,
    }
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
                Block::Thinking { .. }
                | Block::RedactedThinking { .. }
                | Block::Compaction { .. }
                | Block::ToolUse { .. }
                | Block::ToolAddition { .. }
                | Block::Exact(_) => None,
            });
        if let Some(cache_control) = marks {
            *cache_control = Some(mark);
        }
    }
}
