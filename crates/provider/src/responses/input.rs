//! Encodes a conversation as the input items of a Responses request.
//!
//! One message of a prompt becomes several items: texts, reasoning, calls, and results, in
//! their order.

use std::borrow::Cow;

use chat::prompt::{Attachment, Content, Part, Prompt, PromptMessage, PromptRole, Signature};
use serde::Serialize;
use serde_json::{Map, Value};

use super::reasoning;
use crate::{Protocol, arguments, attachment, ids::WireIds};

const SPOKEN: Protocol = Protocol::Responses;

/// One item of `input`.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
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
}

#[derive(Serialize)]
#[serde(tag = "role", rename = "user")]
pub(super) struct User<'a> {
    content: Vec<Piece<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename = "developer")]
pub(super) struct Developer<'a> {
    content: Vec<Piece<'a>>,
}

/// The model's text in the form in which it was sent. OpenAI also accepts a shorter form,
/// but llama.cpp does not.
#[derive(Serialize)]
#[serde(tag = "type", rename = "message")]
pub(super) struct OutputMessage<'a> {
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
pub(super) enum Call<'a> {
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum Piece<'a> {
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
pub(super) fn items<'a>(
    prompt: &'a Prompt,
    ids: &'a WireIds<'a>,
    provider: &str,
    has_phases: bool,
) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    for message in &prompt.messages {
        match message.role {
            PromptRole::User => user(message, ids, &mut items),
            PromptRole::System => {
                let content: Vec<Piece<'a>> = message.parts.iter().filter_map(piece).collect();
                items.push(Item::Developer(Developer { content }));
            }
            PromptRole::Assistant => assistant(message, ids, provider, has_phases, &mut items),
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
        is_error,
        ..
    } = part
    else {
        return None;
    };
    Some(Item::Call(Call::FunctionCallOutput {
        call_id: ids.get(tool_use_id),
        // The protocol has no field for a failed call.
        output: if *is_error {
            Cow::Owned(format!("Error: {content}"))
        } else {
            Cow::Borrowed(content)
        },
    }))
}

fn piece(part: &Part) -> Option<Piece<'_>> {
    match part {
        Part::Text(text) if !text.trim().is_empty() => Some(Piece::Text {
            text: Cow::Borrowed(text),
        }),
        Part::File(file) => Some(file_piece(file)),
        _ => None,
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
            _ => {}
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
        arguments: arguments::whole_object(input).map_or(arguments::NONE, |raw| raw.get()),
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
    reasoning::item(&own.value)
}
