//! Google's own tools for the web: what they found, and answers that go back as they came.
//!
//! Sources: "Combine built-in tools and function calling" and "Grounding with Google Search" on
//! ai.google.dev, and the types of the SDK `google-genai` 3.6, November 2026.

use chat::server_tools::{ExactBlock, ServerToolUse, WebSource};
use serde_json_borrow::Value;

use crate::{StreamEvent, Usage};

/// The fields of parts that Google's tools write.
pub(super) const FIELDS: [&str; 2] = ["toolCall", "toolResponse"];

/// Collects the parts of an answer as they come.
#[derive(Debug, Default)]
pub(super) struct ExactReader {
    parts: Vec<ExactBlock>,
    /// True if the document's text alone could not be sent back.
    is_needed: bool,
    searches: u64,
    /// Pages on which the answer is grounded.
    sources: Vec<WebSource>,
    /// Pages that could not be read.
    failed: Vec<String>,
}

impl ExactReader {
    /// Takes a part. Returns true if one of Google's tools wrote it.
    pub(super) fn take(
        &mut self,
        part: &Value<'_>,
        is_call: bool,
        signature: Option<&str>,
        events: &mut Vec<StreamEvent>,
    ) -> bool {
        let [call, response] = FIELDS.map(|name| part.get(name));
        if is_call {
            let signature = signature.map(str::to_owned);
            self.parts.extend(signature.map(ExactBlock::Thinking));
            self.parts.push(ExactBlock::Call);
        } else if part.get("thought").as_bool() != Some(true) && part.is_object() {
            self.parts.push(ExactBlock::Json(part.to_string()));
        }
        if call.is_object() {
            self.is_needed = true;
            let (used, queries) = used(call);
            if used.name == "google_search" {
                // Each query is paid; a search without any known one is one.
                self.searches += queries.max(1) as u64;
                events.push(StreamEvent::Usage(Usage {
                    searches: Some(self.searches),
                    ..Usage::default()
                }));
            }
            events.push(StreamEvent::ServerToolStart {
                name: used.name.clone(),
                asked: used.asked.clone(),
            });
            events.push(StreamEvent::ServerTool(used));
        }
        call.is_object() || response.is_object()
    }

    /// Reads what an event says about sources.
    pub(super) fn read(&mut self, candidate: &Value<'_>) {
        let chunks = candidate.get("groundingMetadata").get("groundingChunks");
        for chunk in chunks.as_array().into_iter().flatten() {
            let web = chunk.get("web");
            self.add(text_of(web.get("title")), text_of(web.get("uri")));
        }
        let pages = candidate.get("urlContextMetadata").get("urlMetadata");
        for page in pages.as_array().into_iter().flatten() {
            let address = text_of(page.get("retrievedUrl"));
            match page.get("urlRetrievalStatus").as_str() {
                Some("URL_RETRIEVAL_STATUS_SUCCESS") | None => self.add(String::new(), address),
                Some(status) => {
                    let why = match status {
                        "URL_RETRIEVAL_STATUS_PAYWALL" => "costs money",
                        "URL_RETRIEVAL_STATUS_UNSAFE" => "is unsafe",
                        _ => "cannot be read",
                    };
                    let failed = format!("{address} {why}.");
                    if !self.failed.contains(&failed) {
                        self.failed.push(failed);
                    }
                }
            }
        }
    }

    fn add(&mut self, title: String, address: String) {
        let source = WebSource { title, address };
        if !source.address.is_empty() && !self.sources.contains(&source) {
            self.sources.push(source);
        }
    }

    /// Shows the sources of an answer that has ended in order, and takes its parts if they are
    /// needed.
    pub(super) fn finish(&mut self, events: &mut Vec<StreamEvent>) {
        let failed = std::mem::take(&mut self.failed);
        if !self.sources.is_empty() || !failed.is_empty() {
            events.push(StreamEvent::ServerTool(ServerToolUse {
                id: "grounding".to_owned(),
                name: "citations".to_owned(),
                sources: std::mem::take(&mut self.sources),
                error: (!failed.is_empty()).then(|| format!("Error: {}", failed.join(" "))),
                ..ServerToolUse::default()
            }));
        }
        if self.is_needed {
            events.push(StreamEvent::Exact(std::mem::take(&mut self.parts)));
        }
    }
}

/// Returns what a call asked, and the number of its queries or addresses.
fn used(call: &Value<'_>) -> (ServerToolUse, usize) {
    let name = match call.get("toolType").as_str().unwrap_or_default() {
        "GOOGLE_SEARCH_WEB" => "google_search".to_owned(),
        other => other.to_ascii_lowercase(),
    };
    let arguments = call.get("args").as_object();
    let mut words = Vec::new();
    for (_, value) in arguments.into_iter().flat_map(|it| it.iter()) {
        words.extend(value.as_str().map(str::to_owned));
        let list = value.as_array().into_iter().flatten();
        words.extend(list.filter_map(|it| it.as_str().map(str::to_owned)));
    }
    let used = ServerToolUse {
        id: text_of(call.get("id")),
        name,
        asked: words.join("; "),
        ..ServerToolUse::default()
    };
    (used, words.len())
}

fn text_of(value: &Value<'_>) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
