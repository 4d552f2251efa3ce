//! A prompt as the body of `POST /chat/completions`.
//!
//! Knows no stream. Thinking is not sent back: the protocol has no signed form.

use std::borrow::Cow;

use chat::{
    Problem,
    prompt::{Part, Prompt, PromptMessage, PromptRole},
    tool::ToolDefinition,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    Endpoint, HttpRequest, Parameters, arguments,
    endpoint::{stream_headers, to_json},
};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
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
        content: Cow<'a, str>,
    },
    Assistant {
        /// `null` beside calls alone, as OpenAI writes it.
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
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

/// Spells `prompt` for Chat Completions.
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
    let system = prompt.system.iter().filter(|text| !text.trim().is_empty());
    let body = to_json(&Body {
        model: parameters.named_model(endpoint)?,
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
        max_tokens: parameters.max_tokens,
        temperature: parameters.finite_temperature(),
        tools: tools(&prompt.tools),
        messages: system
            .map(|content| Message::System { content })
            .chain(prompt.messages.iter().flat_map(messages))
            .collect(),
    })?;
    Ok(HttpRequest { url, headers, body })
}

fn tools(definitions: &[ToolDefinition]) -> Vec<Tool<'_>> {
    let mut sorted: Vec<&ToolDefinition> = definitions.iter().collect();
    sorted.sort_by_key(|tool| &tool.name);
    let spelled = sorted.into_iter().map(|tool| Tool {
        r#type: "function",
        function: FunctionDefinition {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
            strict: tool.strict,
        },
    });
    spelled.collect()
}

/// One message of a prompt is several here: each result is one of its own.
fn messages(message: &PromptMessage) -> Vec<Message<'_>> {
    let content = joined_text(&message.parts);
    match message.role {
        PromptRole::User => {
            let results = message.parts.iter().filter_map(tool_message);
            results
                .chain(content.map(|content| Message::User { content }))
                .collect()
        }
        PromptRole::Assistant => {
            let tool_calls: Vec<ToolCall<'_>> =
                message.parts.iter().filter_map(tool_call).collect();
            if content.is_none() && tool_calls.is_empty() {
                return Vec::new();
            }
            vec![Message::Assistant {
                content,
                tool_calls,
            }]
        }
    }
}

fn joined_text(parts: &[Part]) -> Option<Cow<'_, str>> {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    match texts.as_slice() {
        [] => None,
        [text] => Some(Cow::Borrowed(text)),
        // Many servers take a string alone, so parts become paragraphs.
        texts => Some(Cow::Owned(texts.join("\n\n"))),
    }
}

fn tool_message(part: &Part) -> Option<Message<'_>> {
    let Part::ToolResult {
        tool_use_id,
        content,
        is_error,
        ..
    } = part
    else {
        return None;
    };
    // The protocol has no mark for a failed call.
    let content = match is_error {
        true => Cow::Owned(format!("Error: {content}")),
        false => Cow::Borrowed(content.as_str()),
    };
    Some(Message::Tool {
        tool_call_id: tool_use_id.as_str(),
        content,
    })
}

fn tool_call(part: &Part) -> Option<ToolCall<'_>> {
    let Part::ToolUse { id, name, input } = part else {
        return None;
    };
    let arguments = arguments::whole_object(input).map_or(arguments::NONE, |raw| raw.get());
    Some(ToolCall {
        id: id.as_str(),
        r#type: "function",
        function: Function { name, arguments },
    })
}
