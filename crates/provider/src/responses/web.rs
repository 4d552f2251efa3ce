//! Web searches of the Responses API: what they found, and answers that go back as they came.
//!
//! Sources: "Web search" on developers.openai.com, and `ResponseFunctionWebSearch` and
//! `AnnotationURLCitation` of the SDK 3.57, November 2026.

use chat::server_tools::{ExactBlock, ServerToolUse, WebSource};
use serde_json::Value as Json;

use crate::{StreamEvent, Usage};

/// The kind of the items that searches are.
pub(super) const CALL: &str = "web_search_call";

/// Collects the items of an answer as they come.
#[derive(Debug, Default)]
pub(super) struct ExactReader {
    items: Vec<ExactBlock>,
    /// True if the document's text alone could not be sent back.
    is_needed: bool,
    searches: u64,
}

impl ExactReader {
    /// Takes an item that is complete, and shows what it found or cites.
    pub(super) fn take(&mut self, item: &Json, events: &mut Vec<StreamEvent>) {
        let json = || ExactBlock::Json(item.to_string());
        match item["type"].as_str().unwrap_or_default() {
            CALL => {
                self.is_needed = true;
                if item["action"]["type"] == "search" {
                    self.searches += 1;
                    events.push(StreamEvent::Usage(Usage {
                        searches: Some(self.searches),
                        ..Usage::default()
                    }));
                }
                events.push(StreamEvent::ServerTool(search(item)));
                self.items.push(json());
            }
            "message" => {
                let cited = cited(item);
                if !cited.is_empty() {
                    self.is_needed = true;
                    events.push(StreamEvent::ServerTool(ServerToolUse {
                        id: text(&item["id"]),
                        name: "citations".to_owned(),
                        sources: cited,
                        ..ServerToolUse::default()
                    }));
                }
                self.items.push(json());
            }
            "function_call" => self.items.push(ExactBlock::Call),
            "reasoning" => {
                let whole = super::decode::returnable(item);
                let whole = whole.map(|it| Json::Object(it).to_string());
                self.items.extend(whole.map(ExactBlock::Thinking));
            }
            _ => {}
        }
    }

    /// Takes all items of an answer that has ended in order, if they are needed.
    pub(super) fn finish(&mut self, events: &mut Vec<StreamEvent>) {
        if self.is_needed {
            let items = std::mem::take(&mut self.items);
            events.push(StreamEvent::Exact(items));
        }
    }
}

/// Returns what a call asked and found.
pub(super) fn search(item: &Json) -> ServerToolUse {
    let action = &item["action"];
    let sources = action["sources"].as_array().into_iter().flatten();
    let failed = matches!(item["status"].as_str(), Some("failed" | "incomplete"));
    ServerToolUse {
        id: text(&item["id"]),
        name: "web_search".to_owned(),
        asked: asked(action),
        sources: sources
            .map(|it| WebSource {
                address: text(&it["url"]),
                ..WebSource::default()
            })
            .collect(),
        error: failed.then(|| "Error: The search failed.".to_owned()),
    }
}

/// Returns the query, the address of a page, or the words to find in one.
pub(super) fn asked(action: &Json) -> String {
    let queries = action["queries"].as_array().into_iter().flatten();
    let queries: Vec<&str> = queries.filter_map(Json::as_str).collect();
    let (query, url, pattern) = (&action["query"], &action["url"], &action["pattern"]);
    match (query.as_str(), url.as_str(), pattern.as_str()) {
        (Some(query), ..) if !query.is_empty() => query.to_owned(),
        (_, Some(url), Some(pattern)) => format!("{pattern} in {url}"),
        (_, Some(url), None) => url.to_owned(),
        _ => queries.join("; "),
    }
}

/// Returns the pages that a message cites, each once.
fn cited(item: &Json) -> Vec<WebSource> {
    let mut found: Vec<WebSource> = Vec::new();
    let parts = item["content"].as_array().into_iter().flatten();
    let notes = parts.filter_map(|part| part["annotations"].as_array());
    for note in notes.flatten().filter(|it| it["type"] == "url_citation") {
        let source = WebSource {
            title: text(&note["title"]),
            address: text(&note["url"]),
        };
        if !found.contains(&source) {
            found.push(source);
        }
    }
    found
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
