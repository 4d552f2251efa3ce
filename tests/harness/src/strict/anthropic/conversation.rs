//! The order of messages and blocks: roles, calls and their results, ids, and marks.

use std::sync::LazyLock;

use serde_json::{Value as Json, json};

use super::super::schemas::fits;
use super::super::token::{Summarized, digest};
use super::super::{Checked, Issued, list, refuse, text};
use super::{COMPACT, INLINE_TOOLS, Request, TOOL_CHANGES, web};

/// Maximum number of cache marks.
const MAX_MARKS: usize = 4;
/// Maximum size of an image in Base64 (5 MB), and their maximum number.
const MAX_IMAGE: usize = 5 * 1024 * 1024;
const MAX_IMAGES: usize = 100;

pub(super) fn check(request: &Request<'_>, issued: &[Issued]) -> Checked {
    let messages = list(&request.body["messages"]);
    roles(request, messages, web::goes_on(messages, issued))?;
    for (index, message) in messages.iter().enumerate() {
        content(request, index, message)?;
    }
    calls(messages)?;
    web::blocks(request, issued)?;
    begins_with_thinking(request, messages)?;
    marks(request.body)?;
    images(messages)
}

fn roles(request: &Request<'_>, messages: &[Json], goes_on: bool) -> Checked {
    let Some(first) = messages.first() else {
        return refuse("messages: at least one message is required");
    };
    if first["role"] == "system" {
        return refuse(
            "messages.0: use the top-level 'system' parameter for the initial system prompt",
        );
    }
    let begins_with_summary = first["content"][0]["type"] == "compaction";
    if first["role"] != "user" && !begins_with_summary {
        return refuse("messages: first message must use the \"user\" role");
    }
    for (index, message) in messages.iter().enumerate() {
        let before = index.checked_sub(1).map(|it| text(&messages[it]["role"]));
        match text(&message["role"]) {
            "user" | "assistant" => {}
            "system" if !request.rules.has_system_messages => {
                return refuse("role 'system' is not supported on this model");
            }
            "system" if before == Some("assistant") => {
                return refuse(format!(
                    "messages.{index}: a message with role 'system' must follow a message with role 'user'"
                ));
            }
            "system" => {}
            other => {
                return refuse(format!(
                    "messages.{index}.role: Input should be 'user' or 'assistant' (got '{other}')"
                ));
            }
        }
    }
    let last = messages.last().map(|it| &it["role"]);
    let goes_on = goes_on || request.summarizes();
    let is_prefill = last.is_some_and(|role| role == "assistant") && !goes_on;
    if is_prefill && request.rules.preserves_thinking {
        return refuse(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        );
    }
    Ok(())
}

fn content(request: &Request<'_>, index: usize, message: &Json) -> Checked {
    let is_empty = match &message["content"] {
        Json::String(text) => text.trim().is_empty(),
        content => list(content).is_empty(),
    };
    if is_empty {
        return refuse(format!(
            "messages.{index}: all messages must have non-empty content except for the optional final assistant message"
        ));
    }
    for (at, block) in list(&message["content"]).iter().enumerate() {
        let place = format!("messages.{index}.content.{at}");
        block_fits(request, &place, text(&message["role"]), block)?;
        if block["type"] == "compaction" {
            summary(request, &place, (index, at) == (0, 0), block)?;
        }
    }
    Ok(())
}

fn block_fits(request: &Request<'_>, place: &str, role: &str, block: &Json) -> Checked {
    let kind = text(&block["type"]);
    let belongs = match kind {
        "text" => true,
        "compaction" => role != "system",
        "image" | "document" | "tool_result" => role == "user",
        "thinking" | "redacted_thinking" | "tool_use" => role == "assistant",
        "tool_addition" | "tool_removal" => role == "system",
        other => web::is_block(other) && role == "assistant",
    };
    if !belongs {
        return refuse(format!(
            "{place}: `{kind}` blocks are not permitted in `{role}` messages"
        ));
    }
    match kind {
        "text" if text(&block["text"]).trim().is_empty() => {
            refuse("messages: text content blocks must contain non-whitespace text")
        }
        "tool_use" if !fits(text(&block["id"]), 256, "_-") => refuse(format!(
            "{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        )),
        "tool_use" if !fits(text(&block["name"]), 200, "_-") => refuse(format!(
            "{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'"
        )),
        "tool_use" if !block["input"].is_object() => {
            refuse(format!("{place}.tool_use.input: Input should be an object"))
        }
        "thinking" | "redacted_thinking" if block.get("cache_control").is_some() => refuse(
            format!("{place}.{kind}.cache_control: Extra inputs are not permitted"),
        ),
        "tool_result" => result_content(place, block),
        "tool_addition" | "tool_removal" => tool_change(request, place, kind, &block["tool"]),
        _ => Ok(()),
    }
}

/// Checks the block of a summary: it goes first, exactly as it came.
fn summary(request: &Request<'_>, place: &str, is_first: bool, block: &Json) -> Checked {
    if !request.has(COMPACT) {
        return refuse(format!(
            "{place}: Input tag 'compaction' found using 'type' does not match any of the expected tags"
        ));
    }
    if !is_first {
        return refuse(format!("{place}: compaction_block_misplaced"));
    }
    let known = ["type", "content", "signature", "cache_control"];
    let mut fields = block.as_object().into_iter().flatten();
    if let Some((name, _)) = fields.find(|(name, _)| !known.contains(&name.as_str())) {
        return refuse(format!(
            "{place}.compaction.{name}: Extra inputs are not permitted"
        ));
    }
    let Some(summarized) = Summarized::read(text(&block["signature"])) else {
        return refuse(format!("{place}: compaction_signature_invalid"));
    };
    if summarized.text != digest(text(&block["content"])) {
        return refuse(format!("{place}: compaction_content_mismatch"));
    }
    Ok(())
}

/// Checks the content of a result: a string, or a list of text, images, and documents. That of a
/// failed call has only text.
fn result_content(place: &str, result: &Json) -> Checked {
    for (at, block) in list(&result["content"]).iter().enumerate() {
        let place = format!("{place}.tool_result.content.{at}");
        let kind = text(&block["type"]);
        if !["text", "image", "document"].contains(&kind) {
            return refuse(format!(
                "{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            ));
        }
        if kind != "text" && result["is_error"] == true {
            return refuse(format!(
                "{place}: all content must be type \"text\" if `is_error` is true"
            ));
        }
        if kind == "text" && text(&block["text"]).trim().is_empty() {
            return refuse("messages: text content blocks must contain non-whitespace text");
        }
        if kind != "text" && block["source"]["type"] == "base64" {
            let data = text(&block["source"]["data"]);
            if data.is_empty() || !text(&block["source"]["media_type"]).contains('/') {
                return refuse(format!("{place}.{kind}.source: Field required"));
            }
        }
    }
    match &result["content"] {
        Json::String(_) | Json::Array(_) | Json::Null => Ok(()),
        _ => refuse(format!(
            "{place}.tool_result.content: Input should be a valid string or list"
        )),
    }
}

fn tool_change(request: &Request<'_>, place: &str, kind: &str, tool: &Json) -> Checked {
    let is_definition = tool["type"] == "tool_definition";
    let allowed = if is_definition {
        request.has(INLINE_TOOLS)
    } else {
        request.has(TOOL_CHANGES) || request.has(INLINE_TOOLS)
    };
    if !allowed || is_definition && kind == "tool_removal" {
        return refuse(format!(
            "{place}.{kind}.tool: Extra inputs are not permitted"
        ));
    }
    if is_definition {
        return super::super::schemas::anthropic(&Json::Array(vec![tool["definition"].clone()]));
    }
    let tools = list(&request.body["tools"]);
    if tools.iter().any(|it| it["name"] == tool["name"]) {
        return Ok(());
    }
    refuse(format!(
        "{place}.{kind}.tool: no tool named {} is defined",
        tool["name"]
    ))
}

/// Stands in for a content that is a string.
static TEXT: LazyLock<Json> = LazyLock::new(|| json!({"type": "text"}));

/// Neighboring messages of one role, which the service joins.
struct Turn<'a> {
    /// Index of its first message.
    index: usize,
    role: &'a str,
    content: Vec<&'a Json>,
}

fn turns(messages: &[Json]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = text(&message["role"]);
        if turns.last().is_none_or(|turn| turn.role != role) {
            let content = Vec::new();
            turns.push(Turn {
                index,
                role,
                content,
            });
        }
        if let Some(turn) = turns.last_mut() {
            turn.content.extend(list(&message["content"]));
            turn.content
                .extend(message["content"].is_string().then_some(&*TEXT));
        }
    }
    turns
}

/// Checks that the next turn answers each call, and nothing else.
fn calls(messages: &[Json]) -> Checked {
    let mut seen: Vec<&str> = Vec::new();
    let mut open: (usize, Vec<&str>) = (0, Vec::new());
    for turn in turns(messages) {
        answered(&turn, &open)?;
        open = (turn.index, ids(&turn.content, "tool_use", "id"));
        for id in &open.1 {
            if seen.contains(id) {
                return refuse(format!(
                    "messages.{}: `tool_use` ids must be unique",
                    turn.index
                ));
            }
            seen.push(id);
        }
    }
    unanswered(open.0, &open.1)
}

/// Checks the turn after the calls `open`.
fn answered(turn: &Turn<'_>, open: &(usize, Vec<&str>)) -> Checked {
    let results = ids(&turn.content, "tool_result", "tool_use_id");
    let first = turn
        .content
        .iter()
        .take_while(|it| it["type"] == "tool_result");
    let leading = first.count();
    let is_open = |id: &&str| !results[..leading.min(results.len())].contains(id);
    let missing: Vec<&str> = open.1.iter().copied().filter(is_open).collect();
    unanswered(open.0, &missing)?;
    for (at, id) in results.iter().enumerate() {
        if !open.1.contains(id) {
            return refuse(format!(
                "messages.{}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
                turn.index
            ));
        }
        if results[..at].contains(id) {
            return refuse(format!(
                "messages.{}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}",
                turn.index
            ));
        }
    }
    Ok(())
}

fn unanswered(index: usize, open: &[&str]) -> Checked {
    if open.is_empty() {
        return Ok(());
    }
    refuse(format!(
        "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        open.join(", ")
    ))
}

fn ids<'a>(content: &[&'a Json], kind: &str, key: &str) -> Vec<&'a str> {
    let found = content.iter().filter(|it| it["type"] == kind);
    found.map(|it| text(&it[key])).collect()
}

/// With a budget, the answer that is being continued begins with thinking.
fn begins_with_thinking(request: &Request<'_>, messages: &[Json]) -> Checked {
    let Some(index) = messages.iter().rposition(|it| it["role"] == "assistant") else {
        return Ok(());
    };
    let results = messages[index + 1..]
        .iter()
        .flat_map(|it| list(&it["content"]));
    let goes_on = results.into_iter().any(|it| it["type"] == "tool_result");
    let first = text(&messages[index]["content"][0]["type"]);
    if request.thinking() != "enabled" || !goes_on || first.ends_with("thinking") {
        return Ok(());
    }
    refuse(format!(
        "messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
    ))
}

fn marks(body: &Json) -> Checked {
    let mut blocks: Vec<&Json> = list(&body["tools"]).iter().collect();
    blocks.extend(list(&body["system"]));
    blocks.extend(
        list(&body["messages"])
            .iter()
            .flat_map(|it| list(&it["content"])),
    );
    let marks = blocks.iter().filter(|it| it.get("cache_control").is_some());
    match marks.count() {
        0..=MAX_MARKS => Ok(()),
        found => refuse(format!(
            "A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {found}."
        )),
    }
}

fn images(messages: &[Json]) -> Checked {
    let mut count = 0;
    for (index, message) in messages.iter().enumerate() {
        for (at, block) in list(&message["content"]).iter().enumerate() {
            let inside = list(&block["content"]).iter();
            for image in inside.chain([block]).filter(|it| it["type"] == "image") {
                count += 1;
                let size = text(&image["source"]["data"]).len();
                if size > MAX_IMAGE {
                    return refuse(format!(
                        "messages.{index}.content.{at}.image.source.base64: image exceeds 5 MB maximum: {size} bytes > {MAX_IMAGE} bytes"
                    ));
                }
            }
        }
    }
    if count > MAX_IMAGES {
        return refuse(format!(
            "messages: at most {MAX_IMAGES} images are permitted, found {count}"
        ));
    }
    Ok(())
}
