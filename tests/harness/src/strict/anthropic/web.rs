//! The API's own tools for the web: their definitions, their blocks, and citations.
//!
//! Sources: "Server tools", "Web search tool", and "Web fetch tool" (platform.claude.com), and the
//! types of the Python SDK 2.14.

use serde_json::{Value as Json, json};

use super::super::{Checked, Issued, list, refuse, text};
use super::Request;

/// The types of the tools, and their names.
const TOOLS: [(&str, &str); 2] = [
    ("web_search_20260318", "web_search"),
    ("web_fetch_20260318", "web_fetch"),
];

/// Fields of a definition.
const FIELDS: [&str; 8] = [
    "type",
    "name",
    "allowed_callers",
    "max_uses",
    "allowed_domains",
    "blocked_domains",
    "citations",
    "cache_control",
];

/// Returns true for a tool that the service runs.
pub(super) fn is_definition(tool: &Json) -> bool {
    tool.get("type").is_some_and(|it| it != "custom")
}

/// Returns true for a kind of block that only the service writes.
pub(super) fn is_block(kind: &str) -> bool {
    kind == "server_tool_use" || is_result(kind)
}

fn is_result(kind: &str) -> bool {
    ["web_search_tool_result", "web_fetch_tool_result"].contains(&kind)
}

/// Checks the definitions.
pub(super) fn definitions(tools: &Json) -> Checked {
    for (at, tool) in list(tools)
        .iter()
        .enumerate()
        .filter(|it| is_definition(it.1))
    {
        let known = TOOLS.iter().find(|(kind, _)| tool["type"] == *kind);
        let Some((_, name)) = known else {
            return refuse(format!(
                "tools.{at}: Input tag {} found using 'type' does not match any of the expected tags",
                tool["type"]
            ));
        };
        if tool["name"] != *name {
            return refuse(format!("tools.{at}.name: Input should be '{name}'"));
        }
        let fields = tool.as_object().into_iter().flatten();
        if let Some((field, _)) = fields
            .into_iter()
            .find(|(it, _)| !FIELDS.contains(&it.as_str()))
        {
            return refuse(format!(
                "tools.{at}.{field}: Extra inputs are not permitted"
            ));
        }
        let (allowed, blocked) = (&tool["allowed_domains"], &tool["blocked_domains"]);
        if !allowed.is_null() && !blocked.is_null() {
            return refuse(format!(
                "tools.{at}: Only one of allowed_domains and blocked_domains can be specified"
            ));
        }
        let mut domains = list(allowed).iter().chain(list(blocked));
        if domains.any(|it| text(it).contains("://")) {
            return refuse(format!("tools.{at}: domains must not include a scheme"));
        }
    }
    Ok(())
}

/// Checks that each use of a tool has its result, that results are as they were issued, and that
/// citations refer to results.
pub(super) fn blocks(request: &Request<'_>, issued: &[Issued]) -> Checked {
    let messages = list(&request.body["messages"]);
    let mut open: Vec<&str> = Vec::new();
    let mut pages: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let is_answer = message["role"] == "assistant";
        let content = list(&message["content"]);
        for (at, block) in content.iter().enumerate() {
            let place = format!("messages.{index}.content.{at}");
            let kind = text(&block["type"]);
            if kind == "server_tool_use" {
                open.push(text(&block["id"]));
            }
            if is_result(kind) {
                let id = text(&block["tool_use_id"]);
                let Some(used) = open.iter().position(|it| *it == id) else {
                    return refuse(format!(
                        "{place}: unexpected `tool_use_id` found in `{kind}` blocks: {id}. Each `{kind}` block must have a corresponding `server_tool_use` block before it."
                    ));
                };
                open.remove(used);
                let results = list(&block["content"]).iter().chain([&block["content"]]);
                pages.extend(results.map(|it| text(&it["url"])));
            }
            if (is_block(kind) || !block["citations"].is_null()) && !is_issued(issued, block) {
                return refuse(format!(
                    "{place}: Invalid `encrypted_content` or citation in `{kind}` block"
                ));
            }
            for citation in list(&block["citations"]) {
                let is_search = citation["type"] == "web_search_result_location";
                if is_search && !pages.contains(&text(&citation["url"])) {
                    return refuse(format!(
                        "{place}.citations: no search result with this URL precedes the citation"
                    ));
                }
            }
        }
        // The results of uses next to a call of the client come with the next answer.
        let calls = content.iter().any(|it| it["type"] == "tool_use");
        let is_last = index + 1 == messages.len();
        if is_answer && !calls && !is_last && !open.is_empty() {
            return refuse(format!(
                "messages.{index}: `{}` tool use with id `{}` was found without a corresponding result block",
                "server_tool_use", open[0]
            ));
        }
    }
    Ok(())
}

fn is_issued(issued: &[Issued], block: &Json) -> bool {
    issued.iter().any(|it| it.content.contains(block))
}

/// Returns true if the last message is an answer that the service paused, as it came.
pub(super) fn goes_on(messages: &[Json], issued: &[Issued]) -> bool {
    let last = messages.last().map(|it| list(&it["content"]));
    let is_paused = |it: &&Issued| it.paused;
    let mut paused = issued.iter().filter(is_paused);
    paused.any(|it| last == Some(&it.content[..]))
}

/// The result of a search, as it goes over the wire and back.
pub(crate) fn found(id: &str, pages: &[(&str, &str)]) -> Json {
    let page = |(at, (title, url)): (usize, &(&str, &str))| {
        json!({
            "type": "web_search_result", "title": title, "url": url, "page_age": null,
            "encrypted_content": format!("enc-{id}-{at}=="),
        })
    };
    pages.iter().enumerate().map(page).collect()
}
