//! Checks requests of Anthropic's Messages API, and signs its answers.
//!
//! Sources: "Messages", "Handle tool calls", "Prompt caching", "Vision", "Preserved thinking" with its
//! pages, "Mid-conversation system messages", and "Compaction on demand" with its pages
//! (platform.claude.com), and the types of the Python SDK 2.14.

mod conversation;
mod parameters;
mod web;

use serde_json::{Value as Json, json};

pub(crate) use self::web::found;
use super::claude::{self, Claude, Off};
use super::prefix::{Placed, Prefix, blocks};
use super::token::{Summarized, Token, digest};
use super::{Accepted, Issued, Refusal, Service, Strict, list, refuse, text};
use crate::answer::{Answer, Step};
use crate::http::Recorded;

/// Lets a request choose what happens to thinking whose prefix changed, and reports it.
const BINDING: &str = "thinking-binding-controls-2026-08-01";
/// Allows `tool_addition` and `tool_removal` of tools in `tools`.
const TOOL_CHANGES: &str = "mid-conversation-tool-changes-2026-07-01";
/// Allows `tool_addition` with a whole definition.
const INLINE_TOOLS: &str = "inline-tools-2026-09-15";
/// Allows thinking between calls with a budget.
const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";
/// Allows `display: "updates"`.
const UPDATES: &str = "thinking-display-updates-2026-08-18";
/// Allows requests for a summary, and summaries in them.
const COMPACT: &str = "compact-2026-09-04";

const BETAS: &[&str] = &[
    BINDING,
    TOOL_CHANGES,
    INLINE_TOOLS,
    INTERLEAVED,
    UPDATES,
    COMPACT,
];

/// Maximum size of a request (32 MB).
const MAX_REQUEST: usize = 32 * 1024 * 1024;

/// A request with what is read first.
struct Request<'a> {
    body: &'a Json,
    model: &'a str,
    rules: Claude,
    betas: Vec<&'a str>,
}

impl<'a> Request<'a> {
    fn read(recorded: &'a Recorded) -> Self {
        let model = text(&recorded.body["model"]);
        let betas = recorded.header("anthropic-beta").unwrap_or_default();
        Self {
            body: &recorded.body,
            model,
            rules: claude::rules(model),
            betas: betas
                .split(',')
                .map(str::trim)
                .filter(|it| !it.is_empty())
                .collect(),
        }
    }

    fn has(&self, beta: &str) -> bool {
        self.betas.contains(&beta)
    }

    /// Returns true if the request asks for a summary.
    fn summarizes(&self) -> bool {
        !self.body["compaction"].is_null()
    }

    fn thinking(&self) -> &str {
        text(&self.body["thinking"]["type"])
    }

    /// Returns true if the model thinks.
    fn thinks(&self) -> bool {
        match self.thinking() {
            "disabled" => false,
            "" => self.rules.preserves_thinking || matches!(self.rules.off, Off::UpToHigh),
            _ => true,
        }
    }
}

/// Checks a request.
pub(super) fn check(strict: &Strict, recorded: &Recorded) -> Result<Accepted, Refusal> {
    if recorded.raw.len() > MAX_REQUEST {
        return Err(Refusal {
            status: 413,
            message: "Request exceeds the maximum size".to_owned(),
        });
    }
    let request = Request::read(recorded);
    let (drops_blocks, has_betas) = match strict.service {
        Service::Anthropic {
            drops_blocks,
            has_betas,
        } => (drops_blocks, has_betas),
        _ => (false, false),
    };
    let known: &[&str] = if has_betas { BETAS } else { &[] };
    if let Some(beta) = request.betas.iter().find(|beta| !known.contains(beta)) {
        return refuse(format!(
            "Unexpected value(s) `{beta}` for the `anthropic-beta` header. Please consult our documentation at docs.claude.com or try again without the header."
        ));
    }
    parameters::check(&request)?;
    web::definitions(&request.body["tools"])?;
    super::schemas::anthropic(&own_tools(request.body))?;
    conversation::check(&request, &strict.issued)?;
    latest_thinking_is_whole(&strict.issued, request.body)?;
    let dropped = thinking(strict, &request, drops_blocks)?;
    Ok(Accepted {
        dropped,
        reports: request.has(BINDING),
    })
}

/// The tools that the client runs.
fn own_tools(body: &Json) -> Json {
    let tools = list(&body["tools"]).iter();
    tools
        .filter(|it| !web::is_definition(it))
        .cloned()
        .collect()
}

/// Returns true for a block that has a signature.
fn is_thinking(block: &Json) -> bool {
    matches!(text(&block["type"]), "thinking" | "redacted_thinking")
}

fn token_of(block: &Json) -> Option<Token> {
    let kind = text(&block["type"]);
    let key = if kind == "thinking" {
        "signature"
    } else {
        "data"
    };
    Token::read(text(&block[key]))
}

/// What becomes of a block of thinking.
enum Fate {
    Shown,
    Dropped(&'static str),
    /// The prefix or the account differs.
    Mismatch(&'static str),
}

/// Checks all thinking of a request. Returns the blocks that the model does not see.
fn thinking(
    strict: &Strict,
    request: &Request<'_>,
    drops_blocks: bool,
) -> Result<Vec<Json>, Refusal> {
    let behavior = &request.body["thinking"]["block_binding"]["prefix_mismatch_behavior"];
    let may_drop = drops_blocks && behavior == "drop_block";
    let mut dropped = Vec::new();
    for placed in blocks(request.body)
        .iter()
        .filter(|it| is_thinking(it.block))
    {
        let kind = text(&placed.block["type"]);
        let Some(token) = token_of(placed.block) else {
            return refuse(format!(
                "{}: Invalid `signature` in `{kind}` block",
                placed.path()
            ));
        };
        let reason = match fate(strict, request, placed, &token) {
            Fate::Shown => continue,
            Fate::Dropped(reason) => reason,
            Fate::Mismatch(reason) if may_drop => reason,
            Fate::Mismatch(_) => {
                return refuse(format!(
                    "{}: Invalid `signature` in `{kind}` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".",
                    placed.path()
                ));
            }
        };
        dropped.push(json!({"type": "thinking_dropped", "path": placed.path(), "reason": reason}));
    }
    Ok(dropped)
}

/// The order is that in which the service names one of several reasons.
fn fate(strict: &Strict, request: &Request<'_>, placed: &Placed<'_>, token: &Token) -> Fate {
    if token.account != strict.account && claude::is_bound_to_account(&token.model) {
        return Fate::Mismatch("organization_binding_mismatch");
    }
    if !claude::reads(request.model, &token.model) {
        return Fate::Dropped("model_binding_mismatch");
    }
    if request.rules.preserves_thinking && token.prefix != placed.prefix {
        return Fate::Mismatch("prefix_binding_mismatch");
    }
    Fate::Shown
}

/// Refuses thinking of the latest answer that is there in part, or was changed.
fn latest_thinking_is_whole(issued: &[Issued], body: &Json) -> Result<(), Refusal> {
    let messages = list(&body["messages"]);
    let Some(index) = messages.iter().rposition(|it| it["role"] == "assistant") else {
        return Ok(());
    };
    let content = list(&messages[index]["content"]);
    let sent: Vec<&Json> = content.iter().filter(|it| is_thinking(it)).collect();
    let is_of = |answer: &&Issued| {
        let ids = answer.content.iter().filter(|it| it["type"] == "tool_use");
        let mut ids = ids.map(|it| &it["id"]);
        let signed = answer.content.iter().any(|it| sent.contains(&it));
        signed || ids.any(|id| content.iter().any(|it| it["id"] == *id))
    };
    let Some(answer) = issued.iter().rev().find(is_of) else {
        return Ok(());
    };
    let whole: Vec<&Json> = answer.content.iter().filter(|it| is_thinking(it)).collect();
    if sent.is_empty() || sent == whole {
        return Ok(());
    }
    let at = sent
        .iter()
        .zip(&whole)
        .position(|(one, other)| one != other);
    let at = at.unwrap_or(sent.len().min(whole.len()));
    refuse(format!(
        "messages.{index}.content.{at}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."
    ))
}

/// Signs the thinking of an answer.
pub(super) fn issue(strict: &Strict, recorded: &Recorded, answer: &mut Answer) -> Issued {
    let request = Request::read(recorded);
    if request.summarizes() {
        return issue_summary(&request, answer);
    }
    begin_with_thinking(&request, answer);
    let shown = shows_thinking(&request);
    let mut prefix = Prefix::of_answer(request.body);
    // An answer that goes on after a pause is one with what came before.
    let last = list(&request.body["messages"]).last();
    let before = last.filter(|it| it["role"] == "assistant");
    let mut content: Vec<Json> = before.map_or(Vec::new(), |it| list(&it["content"]).to_vec());
    let mut spoken = String::new();
    let serial = answer.serial;
    for step in &mut answer.steps {
        if let Step::Text(text) = step {
            spoken.push_str(text);
            continue;
        }
        say(&mut spoken, &mut prefix, &mut content);
        let at = content.len();
        let sign = |prefix: &Prefix, text: &str| {
            let token = Token {
                account: strict.account.clone(),
                model: request.model.to_owned(),
                prefix: prefix.digest(),
                text: digest(text),
                serial: format!("{serial}.{at}"),
            };
            token.spell()
        };
        let block = match step {
            Step::Thinking { text, signature } => {
                if !shown {
                    text.clear();
                }
                let signed = sign(&prefix, text);
                *signature = Some(signed.clone());
                json!({"type": "thinking", "thinking": text, "signature": signed})
            }
            Step::RedactedThinking(data) => {
                *data = sign(&prefix, data);
                json!({"type": "redacted_thinking", "data": data})
            }
            Step::ToolUse {
                id,
                name,
                arguments,
            } => {
                let input: Json = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
            step @ (Step::ServerToolUse { .. }
            | Step::ServerToolResult { .. }
            | Step::Cited { .. }) => match crate::anthropic::server_block(step) {
                Some(block) => block,
                None => continue,
            },
            Step::Text(_) | Step::EndOfText | Step::Bytes(_) | Step::Gate(_) | Step::Stall => {
                continue;
            }
        };
        prefix.add("assistant", &block);
        content.push(block);
    }
    say(&mut spoken, &mut prefix, &mut content);
    Issued {
        model: request.model.to_owned(),
        content,
        paused: answer.stop.as_deref() == Some("pause_turn"),
    }
}

/// Signs a summary.
fn issue_summary(request: &Request<'_>, answer: &mut Answer) -> Issued {
    let content = answer.whole_text();
    let last = list(&request.body["messages"]).last();
    let summarized = Summarized {
        preserves: request.rules.preserves_thinking,
        top: Prefix::top_digest(request.body),
        prefix: Prefix::of_answer(request.body).digest(),
        last: last.map_or("", |it| text(&it["role"])).to_owned(),
        text: digest(&content),
    };
    let signature = summarized.spell();
    answer.signature = Some(signature.clone());
    Issued {
        model: request.model.to_owned(),
        content: vec![json!({"type": "compaction", "content": content, "signature": signature})],
        paused: false,
    }
}

/// Ends a block of text.
fn say(spoken: &mut String, prefix: &mut Prefix, content: &mut Vec<Json>) {
    if !spoken.is_empty() {
        let block = json!({"type": "text", "text": std::mem::take(spoken)});
        prefix.add("assistant", &block);
        content.push(block);
    }
}

/// Returns true if the text of thinking is sent. Models with preserved thinking send it on request.
fn shows_thinking(request: &Request<'_>) -> bool {
    let display = text(&request.body["thinking"]["display"]);
    match display {
        "" => !request.rules.preserves_thinking,
        other => other != "omitted",
    }
}

/// Adds or removes thinking as the model would: one that always thinks begins each answer with it.
fn begin_with_thinking(request: &Request<'_>, answer: &mut Answer) {
    let is_thought =
        |step: &Step| matches!(step, Step::Thinking { .. } | Step::RedactedThinking(_));
    if !request.thinks() {
        answer.steps.retain(|step| !is_thought(step));
        return;
    }
    let mut content = answer.steps.iter().filter(|step| {
        !matches!(
            step,
            Step::Bytes(_) | Step::Gate(_) | Step::Stall | Step::EndOfText
        )
    });
    let begins = content.next().is_none_or(is_thought);
    if request.rules.preserves_thinking && request.thinking() != "between_tools" && !begins {
        let thought = Step::Thinking {
            text: "Let me think.".to_owned(),
            signature: None,
        };
        answer.steps.insert(0, thought);
    }
}
