//! Answers in Anthropic's own form: blocks of server tools and texts with citations, which must go
//! back as they came.
//!
//! Sources: "Server tools" and "Web search tool" on platform.claude.com, and the types of the SDK
//! 2.14, November 2026.

use std::collections::{BTreeMap, HashSet};

use chat::prompt::{Prompt, PromptMessage, PromptRole};
use chat::server_tools::{ExactAnswer, ExactBlock, ServerToolUse, WebSource};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json_borrow::Value;

use crate::{StreamEvent, web};

/// The fields of a block, each as it came.
type Fields = BTreeMap<String, Box<RawValue>>;

/// Collects the blocks of an answer as they come.
#[derive(Debug, Default)]
pub(super) struct ExactReader {
    blocks: Vec<Open>,
    /// True if the document's text alone could not be sent back.
    is_needed: bool,
    /// Uses of server tools whose results have not come.
    unanswered: Vec<ServerToolUse>,
}

/// A block, perhaps incomplete.
#[derive(Debug)]
struct Open {
    index: u64,
    /// True for a call of our own.
    is_call: bool,
    fields: Fields,
    /// Text, thinking, or arguments of a server tool that came in pieces.
    pieces: String,
    signature: String,
    citations: Vec<String>,
}

#[derive(Deserialize)]
struct StartEvent {
    content_block: Fields,
}

#[derive(Deserialize)]
struct DeltaEvent<'a> {
    #[serde(borrow)]
    delta: CitationDelta<'a>,
}

#[derive(Deserialize)]
struct CitationDelta<'a> {
    #[serde(borrow)]
    citation: &'a RawValue,
}

impl ExactReader {
    /// Makes this the reader of an answer that goes on after these blocks.
    pub(super) fn go_on(&mut self, before: &[ExactBlock]) {
        self.is_needed = true;
        for block in before {
            let Some(facts) = Facts::of(block) else {
                continue;
            };
            match facts.kind.as_str() {
                "server_tool_use" => self.unanswered.push(ServerToolUse {
                    id: facts.id,
                    asked: facts.input.asked(),
                    name: facts.name,
                    ..ServerToolUse::default()
                }),
                _ => self.unanswered.retain(|it| it.id != facts.tool_use_id),
            }
        }
    }

    /// Returns true if server tools were used or something is cited, so that the document's text alone
    /// could not be sent back. Texts may be in several blocks only for their citations then.
    pub(super) fn is_needed(&self) -> bool {
        self.is_needed
    }

    /// Reads the start of a block. Returns false for a block that is not the document's own.
    pub(super) fn start(
        &mut self,
        index: u64,
        block: &Value<'_>,
        raw: &str,
        events: &mut Vec<StreamEvent>,
    ) -> bool {
        let kind = block.get("type").as_str().unwrap_or_default();
        let Ok(start) = serde_json::from_str::<StartEvent>(raw) else {
            return true;
        };
        let cites = block.get("citations").as_array();
        self.is_needed |= cites.is_some_and(|it| !it.is_empty());
        self.blocks.push(Open {
            index,
            is_call: kind == "tool_use",
            fields: start.content_block,
            pieces: String::new(),
            signature: String::new(),
            citations: Vec::new(),
        });
        if kind == "server_tool_use" {
            self.is_needed = true;
            self.unanswered.push(ServerToolUse {
                id: text_of(block.get("id")),
                name: text_of(block.get("name")),
                asked: Input::read(&block.get("input").to_string()).asked(),
                ..ServerToolUse::default()
            });
            return false;
        }
        if let Some(tool) = kind
            .strip_suffix("_tool_result")
            .filter(|it| !it.is_empty())
        {
            self.is_needed = true;
            events.push(StreamEvent::ServerTool(self.answered(tool, block)));
            return false;
        }
        true
    }

    /// Takes the use that a result belongs to. The use may be in an earlier answer.
    fn answered(&mut self, tool: &str, block: &Value<'_>) -> ServerToolUse {
        let id = text_of(block.get("tool_use_id"));
        let at = self.unanswered.iter().position(|it| it.id == id);
        let used = at.map(|at| self.unanswered.remove(at));
        let mut used = used.unwrap_or_else(|| ServerToolUse {
            id,
            name: tool.to_owned(),
            ..ServerToolUse::default()
        });
        let content = block.get("content");
        match content {
            Value::Array(results) => used.sources = results.iter().map(source).collect(),
            one if one.get("error_code").is_null() => {
                let page = source(one);
                used.sources
                    .extend((!page.address.is_empty()).then_some(page));
            }
            failed => {
                let code = failed.get("error_code").as_str().unwrap_or_default();
                used.error = Some(web::error(code));
            }
        }
        used
    }

    /// Reads a piece of a block. Returns the number of bytes that are kept of it.
    pub(super) fn extend(&mut self, index: u64, delta: &Value<'_>, raw: &str) -> usize {
        let open = self.blocks.iter_mut().rfind(|it| it.index == index);
        // A call of our own goes back as it is in the document.
        let Some(open) = open.filter(|it| !it.is_call) else {
            return 0;
        };
        let kind = delta.get("type").as_str().unwrap_or_default();
        let name = match kind {
            "text_delta" => "text",
            "thinking_delta" => "thinking",
            "signature_delta" => "signature",
            _ => "partial_json",
        };
        let more = delta.get(name).as_str().unwrap_or_default();
        match kind {
            "text_delta" | "thinking_delta" | "input_json_delta" => open.pieces.push_str(more),
            "signature_delta" => open.signature.push_str(more),
            "citations_delta" => {
                self.is_needed = true;
                let event = serde_json::from_str::<DeltaEvent<'_>>(raw);
                open.citations
                    .extend(event.map(|it| it.delta.citation.get().to_owned()));
                return raw.len();
            }
            _ => {}
        }
        more.len()
    }

    /// Reads the end of a block, at which a server tool begins to run.
    pub(super) fn stop(&mut self, index: u64, events: &mut Vec<StreamEvent>) {
        let Some(open) = self.blocks.iter().rfind(|it| it.index == index) else {
            return;
        };
        if open.kind() != "server_tool_use" {
            return;
        }
        let id = open.string("id");
        if let Some(used) = self.unanswered.iter_mut().find(|it| it.id == id) {
            if !open.pieces.is_empty() {
                used.asked = Input::read(&open.pieces).asked();
            }
            events.push(StreamEvent::ServerToolStart {
                name: used.name.clone(),
                asked: used.asked.clone(),
            });
        }
    }

    /// Takes all blocks of an answer that has ended in order, if they are needed. Uses without a
    /// result are shown; their results come with the next answer.
    pub(super) fn finish(&mut self, events: &mut Vec<StreamEvent>) {
        if self.is_needed {
            let uses = self.unanswered.drain(..);
            events.extend(uses.map(StreamEvent::ServerTool));
            self.pause(events);
        }
    }

    /// Takes all blocks of an answer that is paused.
    pub(super) fn pause(&mut self, events: &mut Vec<StreamEvent>) {
        let blocks = self.blocks.drain(..).filter_map(Open::whole);
        events.push(StreamEvent::Exact(blocks.collect()));
    }
}

impl Open {
    fn kind(&self) -> String {
        self.string("type")
    }

    fn string(&self, name: &str) -> String {
        let value = self.fields.get(name);
        let text = value.and_then(|it| serde_json::from_str(it.get()).ok());
        text.unwrap_or_default()
    }

    /// Returns the block as it is sent back; `None` for one that the API would reject.
    fn whole(mut self) -> Option<ExactBlock> {
        let kind = self.kind();
        match kind.as_str() {
            _ if self.is_call => return Some(ExactBlock::Call),
            "" => return None,
            "text" => {
                let text = self.string("text") + &self.pieces;
                if text.trim().is_empty() {
                    return None;
                }
                self.set("text", &text);
                let known = self.fields.remove("citations");
                let known: Vec<Box<RawValue>> = known
                    .and_then(|it| serde_json::from_str(it.get()).ok())
                    .unwrap_or_default();
                let all = known.iter().map(|it| it.get());
                let all: Vec<&str> = all
                    .chain(self.citations.iter().map(String::as_str))
                    .collect();
                if !all.is_empty() {
                    let list = RawValue::from_string(format!("[{}]", all.join(","))).ok()?;
                    self.fields.insert("citations".to_owned(), list);
                }
            }
            "thinking" => {
                let (text, signature) = (self.string("thinking"), self.string("signature"));
                let signature = signature + &self.signature;
                if signature.is_empty() {
                    return None;
                }
                self.set("thinking", &(text + &self.pieces));
                self.set("signature", &signature);
            }
            "server_tool_use" if !self.pieces.is_empty() => {
                let input = RawValue::from_string(std::mem::take(&mut self.pieces)).ok()?;
                self.fields.insert("input".to_owned(), input);
            }
            _ => {}
        }
        let json = serde_json::to_string(&self.fields).ok()?;
        Some(match kind.as_str() {
            "thinking" | "redacted_thinking" => ExactBlock::Thinking(json),
            _ => ExactBlock::Json(json),
        })
    }

    fn set(&mut self, name: &str, text: &str) {
        if let Ok(value) = serde_json::value::to_raw_value(text) {
            self.fields.insert(name.to_owned(), value);
        }
    }
}

fn source(result: &Value<'_>) -> WebSource {
    let title = result.get("title").as_str();
    // The title of a page that was read is that of its document.
    let title = title.or_else(|| result.get("content").get("title").as_str());
    WebSource {
        title: title.unwrap_or_default().to_owned(),
        address: text_of(result.get("url")),
    }
}

fn text_of(value: &Value<'_>) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The arguments of a server tool, as far as they are shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Input {
    query: Option<String>,
    url: Option<String>,
}

impl Input {
    fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    fn asked(self) -> String {
        self.query.or(self.url).unwrap_or_default()
    }
}

/// What decides whether a block can be sent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Facts {
    #[serde(rename = "type")]
    kind: String,
    id: String,
    name: String,
    tool_use_id: String,
    input: Input,
    content: Content,
    citations: Vec<Citation>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Results(Vec<FoundPage>),
    One(FoundPage),
    Other(serde::de::IgnoredAny),
}

impl Default for Content {
    fn default() -> Self {
        Self::Results(Vec::new())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FoundPage {
    url: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Citation {
    #[serde(rename = "type")]
    kind: String,
    url: String,
}

impl Facts {
    fn of(block: &ExactBlock) -> Option<Self> {
        let ExactBlock::Json(json) = block else {
            return None;
        };
        serde_json::from_str(json).ok()
    }
}

/// Returns the answers of the provider `signer` that are sent as they came, by message. The API rejects a
/// server tool use without its result, a result without its use, and a citation without its
/// source, so such an answer is sent as text.
pub(super) fn sendable<'p>(prompt: &'p Prompt, signer: &str) -> Vec<Option<&'p ExactAnswer>> {
    let messages = &prompt.messages;
    let mut found: Vec<_> = messages.iter().map(|it| it.exact_of(signer)).collect();
    if found.iter().all(Option::is_none) {
        return found;
    }
    let facts: Vec<Vec<Facts>> = found
        .iter()
        .map(|it| {
            let blocks = it.iter().flat_map(|it| &it.blocks);
            blocks.filter_map(Facts::of).collect()
        })
        .collect();
    let is_answer = |it: &PromptMessage| it.role == PromptRole::Assistant;
    // The results of the last answer come with the next one if it is paused, or next to a call.
    let last = messages.iter().rposition(is_answer);
    let open = last.filter(|at| at + 1 == messages.len() || messages[*at].calls().next().is_some());
    // Each round takes out an answer, on which others may depend.
    while let Some(at) = broken(&found, &facts, open) {
        found[at] = None;
    }
    found
}

/// Returns the first answer that refers to something that is not sent. Uses in the answer `open` need
/// no results.
fn broken(
    found: &[Option<&ExactAnswer>],
    facts: &[Vec<Facts>],
    open: Option<usize>,
) -> Option<usize> {
    let sent = || {
        let all = found.iter().zip(facts).enumerate();
        let sent = all.filter(|(_, (exact, _))| exact.is_some());
        sent.flat_map(|(at, (_, facts))| facts.iter().map(move |it| (at, it)))
    };
    let answered: HashSet<&str> = sent().map(|(_, it)| it.tool_use_id.as_str()).collect();
    let (mut used, mut pages) = (HashSet::new(), HashSet::new());
    for (at, fact) in sent() {
        if fact.kind == "server_tool_use" {
            if open != Some(at) && !answered.contains(fact.id.as_str()) {
                return Some(at);
            }
            used.insert(fact.id.as_str());
        } else if !fact.tool_use_id.is_empty() && !used.contains(fact.tool_use_id.as_str()) {
            return Some(at);
        }
        match &fact.content {
            Content::Results(results) => pages.extend(results.iter().map(|it| it.url.as_str())),
            Content::One(page) => drop(pages.insert(page.url.as_str())),
            Content::Other(_) => {}
        }
        let mut cites = fact.citations.iter();
        if cites
            .any(|it| it.kind == "web_search_result_location" && !pages.contains(it.url.as_str()))
        {
            return Some(at);
        }
    }
    None
}
