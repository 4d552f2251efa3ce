//! Checks requests of services with the Chat Completions API.
//!
//! Sources: "Chat Completions" (platform.openai.com); the validator of mistral-common, which names the
//! pattern of call ids; "Thinking mode" (api-docs.deepseek.com), which requires the reasoning before
//! calls; and messages of these APIs in public reports.

use serde_json::{Value as Json, json};

use super::schemas::{self, fits};
use super::{Checked, Dialect, Issued, Strict, list, refuse, text};
use crate::answer::{Answer, Step};
use crate::http::Recorded;

/// Maximum length of a call's id at OpenAI.
const MAX_ID: usize = 40;

/// Checks a request.
pub(super) fn check(strict: &Strict, dialect: Dialect, body: &Json) -> Checked {
    for (at, tool) in list(&body["tools"]).iter().enumerate() {
        let function = &tool["function"];
        let name = text(&function["name"]);
        schemas::openai(
            &format!("tools[{at}].function"),
            name,
            &function["parameters"],
        )?;
    }
    if dialect == Dialect::OpenAi {
        openai_parameters(body)?;
    }
    let messages = list(&body["messages"]);
    if messages.is_empty() {
        return refuse("Invalid 'messages': empty array.");
    }
    pairs(messages)?;
    for (at, message) in messages.iter().enumerate() {
        for call in list(&message["tool_calls"]) {
            call_fits(dialect, at, call)?;
        }
    }
    match dialect {
        Dialect::DeepSeek => reasoning(strict, messages),
        Dialect::OpenAi | Dialect::Mistral => Ok(()),
    }
}

fn openai_parameters(body: &Json) -> Checked {
    let model = text(&body["model"]);
    let reasons = ["gpt-5", "gpt-6", "o1", "o3", "o4"];
    if !reasons.iter().any(|it| model.starts_with(it)) {
        return Ok(());
    }
    if !body["max_tokens"].is_null() {
        return refuse(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        );
    }
    match body["temperature"].as_f64() {
        None | Some(1.0) => Ok(()),
        Some(other) => refuse(format!(
            "Unsupported value: 'temperature' does not support {other} with this model. Only the default (1) value is supported."
        )),
    }
}

/// Checks that the messages after calls answer each of them, and nothing else.
fn pairs(messages: &[Json]) -> Checked {
    let mut open: Vec<&str> = Vec::new();
    let mut called: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = text(&message["role"]);
        if role == "tool" {
            let id = text(&message["tool_call_id"]);
            let Some(found) = open.iter().position(|it| *it == id) else {
                return refuse(format!(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (messages.[{at}].role, {id})"
                ));
            };
            open.remove(found);
            // Images are only in messages of the user.
            let mut parts = list(&message["content"]).iter();
            if parts.any(|it| it["type"] != "text") {
                return refuse(format!(
                    "Invalid 'messages[{at}].content': messages with role 'tool' have only text."
                ));
            }
            continue;
        }
        unanswered(&open)?;
        if !["system", "developer", "user", "assistant"].contains(&role) {
            return refuse(format!("Invalid value: '{role}'. (messages[{at}].role)"));
        }
        open = list(&message["tool_calls"])
            .iter()
            .map(|it| text(&it["id"]))
            .collect();
        for id in &open {
            if called.contains(id) {
                return refuse(format!(
                    "Duplicate value for 'tool_call_id' of '{id}' in messages."
                ));
            }
            called.push(id);
        }
        let has_text =
            !text(&message["content"]).is_empty() || !list(&message["content"]).is_empty();
        if !has_text && open.is_empty() {
            return refuse(format!(
                "Invalid value for 'content': expected a string, got null. (messages.[{at}].content)"
            ));
        }
    }
    unanswered(&open)
}

fn unanswered(open: &[&str]) -> Checked {
    if open.is_empty() {
        return Ok(());
    }
    refuse(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    ))
}

fn call_fits(dialect: Dialect, at: usize, call: &Json) -> Checked {
    let id = text(&call["id"]);
    match dialect {
        Dialect::Mistral if !(fits(id, 9, "") && id.len() == 9) => {
            return refuse(format!(
                "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."
            ));
        }
        Dialect::OpenAi if id.len() > MAX_ID => {
            return refuse(format!(
                "Invalid 'messages[{at}].tool_calls[0].id': string too long. Expected a string with maximum length {MAX_ID}, but got a string with length {} instead.",
                id.len()
            ));
        }
        _ => {}
    }
    let function = &call["function"];
    if !fits(text(&function["name"]), 64, "_-") {
        return refuse(format!(
            "Invalid 'messages[{at}].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        ));
    }
    let arguments: Result<Json, _> = serde_json::from_str(text(&function["arguments"]));
    match arguments {
        Ok(Json::Object(_)) => Ok(()),
        _ => refuse(format!(
            "Invalid 'messages[{at}].tool_calls[0].function.arguments': expected a JSON object."
        )),
    }
}

/// Checks that messages with calls have the reasoning with which they were issued.
fn reasoning(strict: &Strict, messages: &[Json]) -> Checked {
    for message in messages {
        for call in list(&message["tool_calls"]) {
            let mut issued = strict.issued.iter().flat_map(|it| &it.content);
            let issued = issued.find(|it| it["id"] == call["id"]);
            let thought = issued.map_or("", |it| text(&it["reasoning"]));
            if text(&message["reasoning_content"]) != thought {
                return refuse(
                    "The `reasoning_content` in the thinking mode must be passed back to the API.",
                );
            }
        }
    }
    Ok(())
}

/// Remembers the calls of an answer with the reasoning before them.
pub(super) fn issue(recorded: &Recorded, answer: &Answer) -> Issued {
    let mut thought = String::new();
    for step in &answer.steps {
        if let Step::Thinking { text, .. } = step {
            thought.push_str(text);
        }
    }
    let calls = answer.steps.iter().filter_map(|step| match step {
        Step::ToolUse { id, .. } => Some(json!({"id": id, "reasoning": thought})),
        _ => None,
    });
    Issued {
        model: text(&recorded.body["model"]).to_owned(),
        content: calls.collect(),
        paused: false,
    }
}
