//! Checks requests of OpenAI's Responses API, and encrypts the reasoning of its answers.
//!
//! Sources: "Responses" and "Reasoning models" (platform.openai.com), and messages of the API in
//! public reports. A reasoning item and the item after it belong together: neither is accepted
//! without the other. Without `store`, reasoning is read from its encrypted content.

use serde_json::{Value as Json, json};

use super::schemas;
use super::token::{Token, digest};
use super::{Checked, Issued, Strict, list, refuse, text};
use crate::answer::{Answer, Step};
use crate::http::Recorded;
use crate::responses::{item_id, reasoning, search_call, url_citation};

/// Maximum length of a call's id.
const MAX_ID: usize = 64;
/// Models that take no sampling parameters, by the beginning of their names.
const REASONING: &[&str] = &["gpt-5", "gpt-6", "o1", "o3", "o4"];
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Checks a request.
pub(super) fn check(strict: &Strict, body: &Json) -> Checked {
    parameters(body)?;
    for (at, tool) in list(&body["tools"]).iter().enumerate() {
        if tool["type"] == "function" {
            let name = text(&tool["name"]);
            schemas::openai(&format!("tools[{at}]"), name, &tool["parameters"])?;
        }
    }
    let items = list(&body["input"]);
    for (at, item) in items.iter().enumerate() {
        shape(at, item)?;
    }
    calls(items)?;
    searches(strict, body, items)?;
    reasoning_is_readable(body, items)?;
    pairs(strict, body, items)
}

fn parameters(body: &Json) -> Checked {
    let model = text(&body["model"]);
    let reasons = REASONING.iter().any(|it| model.starts_with(it)) && !model.contains("chat");
    for name in ["temperature", "top_p"] {
        if reasons && !body[name].is_null() {
            return refuse(format!(
                "Unsupported parameter: '{name}' is not supported with this model."
            ));
        }
    }
    let effort = text(&body["reasoning"]["effort"]);
    if !effort.is_empty() && !EFFORTS.contains(&effort) {
        return refuse(format!("Invalid value: '{effort}'. (reasoning.effort)"));
    }
    Ok(())
}

fn shape(at: usize, item: &Json) -> Checked {
    let kind = item["type"].as_str().unwrap_or("message");
    if let Some(prefix) = prefix_of_id(kind, item) {
        let id = text(&item["id"]);
        if !id.is_empty() && !id.starts_with(prefix) {
            return refuse(format!(
                "Invalid 'input[{at}].id': '{id}'. Expected an ID that begins with '{prefix}'."
            ));
        }
    }
    let call = text(&item["call_id"]);
    if call.len() > MAX_ID {
        return refuse(format!(
            "Invalid 'input[{at}].call_id': string too long. Expected a string with maximum length {MAX_ID}, but got a string with length {} instead.",
            call.len()
        ));
    }
    match kind {
        "function_call" if !schemas::fits(text(&item["name"]), 64, "_-") => refuse(format!(
            "Invalid 'input[{at}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        )),
        "function_call" if !item["arguments"].is_string() => refuse(format!(
            "Invalid type for 'input[{at}].arguments': expected a string."
        )),
        "function_call_output" => output(at, &item["output"]),
        "message"
            if !["user", "assistant", "developer", "system"].contains(&text(&item["role"])) =>
        {
            refuse(format!("Invalid value: 'input[{at}].role'."))
        }
        "message" if list(&item["content"]).is_empty() && text(&item["content"]).is_empty() => {
            refuse(format!("Invalid 'input[{at}].content': empty."))
        }
        _ => Ok(()),
    }
}

/// Checks the output of a call: a string, or a list of text, images, and files.
fn output(at: usize, output: &Json) -> Checked {
    if output.is_string() {
        return Ok(());
    }
    let pieces = list(output);
    if pieces.is_empty() {
        return refuse(format!(
            "Invalid type for 'input[{at}].output': expected one of an array of objects or string."
        ));
    }
    for (index, piece) in pieces.iter().enumerate() {
        let (kind, field) = match text(&piece["type"]) {
            "input_text" => ("input_text", "text"),
            "input_image" => ("input_image", "image_url"),
            "input_file" => ("input_file", "file_data"),
            other => {
                return refuse(format!(
                    "Invalid value: '{other}'. Supported values are: 'input_text', 'input_image', and 'input_file'. (input[{at}].output[{index}])"
                ));
            }
        };
        let value = text(&piece[field]);
        let is_data = kind == "input_text" || value.starts_with("data:");
        if value.is_empty() || !is_data {
            return refuse(format!(
                "Invalid 'input[{at}].output[{index}].{field}'. Expected a valid URL."
            ));
        }
    }
    Ok(())
}

fn prefix_of_id(kind: &str, item: &Json) -> Option<&'static str> {
    match kind {
        "message" if item["role"] == "assistant" => Some("msg"),
        "reasoning" => Some("rs"),
        "function_call" => Some("fc"),
        _ => None,
    }
}

/// Checks that each call has one output, and each output a call before it.
fn calls(items: &[Json]) -> Checked {
    let ids = |kind: &str| -> Vec<(usize, &str)> {
        let found = items.iter().enumerate();
        let found = found.filter(|(_, it)| it["type"] == kind);
        found.map(|(at, it)| (at, text(&it["call_id"]))).collect()
    };
    let (called, answered) = (ids("function_call"), ids("function_call_output"));
    for (index, (at, id)) in called.iter().enumerate() {
        if called[..index].iter().any(|(_, other)| other == id) {
            return refuse(format!("Duplicate item found with id {id}."));
        }
        if !answered
            .iter()
            .any(|(after, other)| other == id && after > at)
        {
            return refuse(format!("No tool output found for function call {id}."));
        }
    }
    for (index, (at, id)) in answered.iter().enumerate() {
        let is_called = called
            .iter()
            .any(|(before, other)| other == id && before < at);
        if !is_called || answered[..index].iter().any(|(_, other)| other == id) {
            return refuse(format!(
                "No tool call found for function call output with call_id {id}."
            ));
        }
    }
    Ok(())
}

/// Checks that searches and the citations of messages are as they were issued, and that the request
/// offers the tool.
fn searches(strict: &Strict, body: &Json, items: &[Json]) -> Checked {
    let mut issued = strict.issued.iter().flat_map(|it| &it.content);
    let has_tool = list(&body["tools"])
        .iter()
        .any(|it| it["type"] == "web_search");
    for (at, item) in items.iter().enumerate() {
        if item["type"] == "web_search_call" && (!has_tool || !issued.clone().any(|it| it == item))
        {
            return refuse(format!(
                "Invalid value: 'input[{at}]': unknown web search call."
            ));
        }
        let notes = |item: &Json| item["content"][0]["annotations"].clone();
        let has_notes = !list(&notes(item)).is_empty();
        if has_notes && !issued.any(|it| text_of(it) == text_of(item) && notes(it) == notes(item)) {
            return refuse(format!("Invalid 'input[{at}].content[0].annotations'."));
        }
    }
    Ok(())
}

fn reasoning_is_readable(body: &Json, items: &[Json]) -> Checked {
    for item in items.iter().filter(|it| it["type"] == "reasoning") {
        let (id, encrypted) = (text(&item["id"]), text(&item["encrypted_content"]));
        if encrypted.is_empty() && body["store"] == false {
            return refuse(format!(
                "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
            ));
        }
        if !encrypted.is_empty() && Token::read(encrypted).is_none() {
            return refuse(
                "The encrypted content for item could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
            );
        }
    }
    Ok(())
}

/// Checks that reasoning and what followed it come together, in the order in which they were issued.
fn pairs(strict: &Strict, body: &Json, items: &[Json]) -> Checked {
    for answer in &strict.issued {
        let reads = text(&body["model"]) == answer.model;
        for (one, next) in answer.content.iter().zip(answer.content.iter().skip(1)) {
            if one["type"] != "reasoning" {
                continue;
            }
            let (at, after) = (find(items, one), find(items, next));
            let id = text(&one["id"]);
            match (at, after) {
                (Some(at), after) if after != Some(at + 1) => {
                    return refuse(format!(
                        "Item '{id}' of type 'reasoning' was provided without its required following item."
                    ));
                }
                // Another model does not need it.
                (None, Some(_)) if reads && next["type"] == "function_call" => {
                    return refuse(format!(
                        "Item '{}' of type 'function_call' was provided without its required 'reasoning' item: '{id}'.",
                        text(&next["id"])
                    ));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Where an issued item is in the input.
fn find(items: &[Json], issued: &Json) -> Option<usize> {
    items.iter().position(|item| match text(&issued["type"]) {
        "message" => item["role"] == "assistant" && text_of(item) == text_of(issued),
        "function_call" => item["type"] == "function_call" && item["call_id"] == issued["call_id"],
        _ => item["type"] == issued["type"] && item["id"] == issued["id"],
    })
}

fn text_of(message: &Json) -> String {
    match message["content"].as_str() {
        Some(content) => content.to_owned(),
        None => list(&message["content"])
            .iter()
            .map(|it| text(&it["text"]))
            .collect(),
    }
}

/// Encrypts the reasoning of an answer.
pub(super) fn issue(strict: &Strict, recorded: &Recorded, answer: &mut Answer) -> Issued {
    let model = text(&recorded.body["model"]).to_owned();
    let serial = answer.serial;
    let mut content: Vec<Json> = Vec::new();
    let mut speaks = false;
    let mut searched: Option<(String, Json)> = None;
    for step in &mut answer.steps {
        let index = content.len();
        match step {
            Step::Text(said) if speaks => {
                let piece = &mut content[index - 1]["content"][0]["text"];
                *piece = json!(format!("{}{said}", text(piece)));
            }
            Step::Text(said) => content.push(json!({
                "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}],
            })),
            Step::Thinking { text, signature } => {
                let id = item_id("rs", serial, index);
                let token = Token {
                    account: strict.account.clone(),
                    model: model.clone(),
                    prefix: 0,
                    text: digest(text),
                    serial: id.clone(),
                };
                let spelled = signature.insert(token.spell());
                content.push(reasoning(&id, text, Some(spelled)));
            }
            Step::ToolUse { id, name, .. } => content.push(json!({
                "type": "function_call", "id": item_id("fc", serial, index), "call_id": id, "name": name,
            })),
            Step::ServerToolUse { id, input, .. } => {
                searched = Some((id.clone(), input["query"].clone()));
                continue;
            }
            Step::ServerToolResult { content: pages, .. } => {
                let (id, query) = searched.take().unwrap_or_default();
                content.push(search_call(&id, &query, pages));
            }
            Step::Cited { text, citations } => {
                let notes: Vec<Json> = citations.iter().map(url_citation).collect();
                content.push(json!({
                    "type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": text, "annotations": notes}],
                }));
            }
            Step::EndOfText
            | Step::RedactedThinking(_)
            | Step::Bytes(_)
            | Step::Gate(_)
            | Step::Stall => continue,
        }
        speaks = matches!(step, Step::Text(_));
    }
    Issued {
        model,
        content,
        paused: false,
    }
}
