//! Formats documents, diagnostics, and requests as short text for expectations. Long texts
//! are shortened.

use chat::document::Severity;
use chat::document::{Block, Document, Message, ResultKind, Role, ThinkingBlock, ToolUseBlock};
use chat::prompt::{Part, Prompt, PromptRole};

/// Maximum number of characters shown.
const LONGEST: usize = 200;

/// Formats frontmatter, prelude, and every message with its blocks. Blank text is omitted.
pub fn document(document: &Document<'_>) -> String {
    let mut out = Vec::new();
    if let Some(it) = &document.frontmatter {
        let problem = it.problem.as_deref().map_or("", |_| " (a problem)");
        out.push(format!("frontmatter {}{problem}", it.language));
    }
    if !document.is_blank(document.prelude.clone()) {
        out.push(format!(
            "prelude {}",
            quoted(&document.lossy(document.prelude.clone()))
        ));
    }
    for message in &document.messages {
        out.push(message.role.marker().to_owned());
        for block in document.blocks_of(message) {
            if let Some(line) = self::block(document, message, block) {
                out.push(format!("  {line}"));
            }
        }
    }
    out.join("\n")
}

fn block(document: &Document<'_>, message: &Message, block: &Block) -> Option<String> {
    Some(match block {
        Block::Prose(lines) => {
            let column = message
                .inline
                .filter(|_| lines.start == message.lines.start);
            let text = document.prose(lines.clone(), column.unwrap_or(0));
            let text = text.trim_matches('\n');
            if text.trim().is_empty() {
                return None;
            }
            format!("text {}", quoted(text))
        }
        Block::ToolUse(call) => tool_use(document, call),
        Block::ToolResult(result) => {
            let kind = match result.kind {
                ResultKind::Placeholder(status) => status.as_str(),
                ResultKind::Final { is_error: true } => "error",
                ResultKind::Final { is_error: false } => "final",
            };
            let text = document.lossy(result.body.clone());
            format!("result {} {kind} {}", result.tool_use_id, quoted(&text))
        }
        Block::ServerTool(it) => {
            let text = document.lossy(it.body.clone());
            let error = if it.is_error { " error" } else { "" };
            format!("server tool {}{error} {}", it.name, quoted(&text))
        }
        Block::Thinking(it) => thinking(document, it),
        Block::TextBreak(_) => "break".to_owned(),
        Block::Aborted(it) => format!("aborted {}", quoted(&it.reason)),
    })
}

fn tool_use(document: &Document<'_>, call: &ToolUseBlock) -> String {
    let input = match document.input(call) {
        Ok(_) => shortened(&document.lossy(call.body.clone())),
        Err(error) => format!("unreadable: {error}"),
    };
    format!("call {} {} {input}", call.id, call.name)
}

fn thinking(document: &Document<'_>, thinking: &ThinkingBlock) -> String {
    let text = quoted(&document.prose(thinking.body.clone(), 0));
    let redacted = if thinking.redacted { " redacted" } else { "" };
    let signature = thinking
        .signature
        .as_ref()
        .map_or(String::new(), |(who, what)| format!(" {who}={what}"));
    format!("thinking{redacted}{signature} {text}")
}

/// Formats one line per diagnostic: line (from 1), severity, message, fix.
pub fn diagnostics(document: &Document<'_>) -> String {
    let mut out = Vec::new();
    for it in &document.diagnostics {
        let severity = match it.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let fix = it
            .fix
            .as_ref()
            .map_or(String::new(), |fix| format!(" [{}]", fix.title));
        let line = it.lines.start + 1;
        out.push(format!("{line} {severity}: {}{fix}", it.message));
    }
    out.join("\n")
}

/// Formats a request, independent of the provider.
pub fn request(prompt: &Prompt) -> String {
    let mut out = Vec::new();
    if let Some(system) = &prompt.system {
        out.push(format!("system {}", quoted(system)));
    }
    for message in &prompt.messages {
        let role = match message.role {
            PromptRole::User => "user",
            PromptRole::Assistant => "assistant",
            PromptRole::System => "later system",
        };
        out.push(role.to_owned());
        for part in &message.parts {
            out.push(format!("  {}", self::part(part)));
        }
    }
    out.join("\n")
}

fn part(part: &Part) -> String {
    match part {
        Part::Text(text) => format!("text {}", quoted(text)),
        Part::File(file) => format!("file {}", file.name),
        Part::ToolsAdded(tools) => format!("{} more tools", tools.len()),
        Part::Thinking {
            text,
            signature,
            redacted,
        } => {
            let redacted = if *redacted { " redacted" } else { "" };
            let signature = signature
                .as_ref()
                .map_or(String::new(), |it| format!(" {}={}", it.provider, it.value));
            format!("thinking{redacted}{signature} {}", quoted(text))
        }
        Part::ToolUse { id, name, input } => format!("call {id} {name} {}", shortened(input)),
        Part::ToolResult {
            tool_use_id,
            content,
            is_error,
            ..
        } => {
            let error = if *is_error { "error " } else { "" };
            format!("result {tool_use_id} {error}{}", quoted(content))
        }
    }
}

/// Returns the roles, to check that messages don't change.
pub fn roles(document: &Document<'_>) -> Vec<Role> {
    document.messages.iter().map(|it| it.role).collect()
}

fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text))
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let start: String = text.chars().take(40).collect();
    format!("{start}… ({} bytes)", text.len())
}
