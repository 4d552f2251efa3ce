//! Folds of a document and the text of closed folds.
//!
//! Folds are: each message; thinking, calls, and results inside it; and the frontmatter.
//! Incomplete parts have no fold: the last message, which may still grow, calls without a
//! result, and anything that reaches the end of the text. Does not know which folds are
//! closed.

use std::borrow::Cow;

use crate::document::{Block, Document, Message, ResultKind, Role, Thinking, ToolResult, ToolUse};
use crate::outcome::{self, Run, outcome};
use crate::preview::{Describe, arguments, one_line, preview};
use crate::text::Lines;

/// Maximum columns of a fold's text; a window may show fewer.
const WIDTH: usize = 120;
/// Maximum lines searched for the first words of a text.
const LINES: usize = 10;
/// Maximum bytes read of each line.
const BYTES: usize = 1000;
/// Maximum columns of a tool's name.
const LABEL: usize = 40;
/// Number of calls listed for a message that consists of calls.
const CALLS: usize = 2;

/// Kind of a fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldKind {
    /// The options of the chat.
    Frontmatter,
    /// A whole message.
    Message,
    /// A model's thinking.
    Thinking,
    /// A call that has its result.
    ToolUse,
    /// A result.
    ToolResult,
}

impl FoldKind {
    /// Name used in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frontmatter => "frontmatter",
            Self::Message => "message",
            Self::Thinking => "thinking",
            Self::ToolUse => "tool_use",
            Self::ToolResult => "tool_result",
        }
    }

    /// Returns true for a fold inside a message.
    pub fn is_inner(self) -> bool {
        !matches!(self, Self::Frontmatter | Self::Message)
    }
}

/// A fold of at least two lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// Kind of the fold.
    pub kind: FoldKind,
    /// Lines of the fold.
    pub lines: Lines,
    /// Whether it contains something the user must see: an error, an answer that was cut
    /// off, or a pending call.
    pub must_show: bool,
}

/// A range of lines and the folds that start in it, outer ones first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// All lines, whether they can be folded or not.
    pub lines: Lines,
    /// Folds, none of which extends beyond `lines`.
    pub folds: Vec<Fold>,
}

/// Text of a closed fold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldText {
    /// What is folded, such as `thinking`.
    pub label: Cow<'static, str>,
    /// The highlight group of the label.
    pub group: &'static str,
    /// Its first words on one line, with invisible characters spelled out.
    pub text: String,
}

/// Number of parts: the lines before the first message, and each message.
pub fn part_count(document: &Document<'_>) -> usize {
    document.messages.len() + 1
}

/// Returns the part that contains a line.
pub fn part_at(document: &Document<'_>, line: usize) -> usize {
    let messages = &document.messages;
    messages.partition_point(|message| message.lines.start <= line)
}

/// Returns a part of the document; empty if out of range.
pub fn part(document: &Document<'_>, part: usize) -> Part {
    let messages = &document.messages;
    let Some(at) = part.checked_sub(1) else {
        let end = document.text().line_count();
        let end = messages.first().map_or(end, |first| first.lines.start);
        let folds = frontmatter(document).into_iter().collect();
        return Part {
            lines: 0..end,
            folds,
        };
    };
    let Some(message) = messages.get(at) else {
        let end = document.text().line_count();
        return Part {
            lines: end..end,
            folds: Vec::new(),
        };
    };
    let blocks = document.blocks_of(message);
    let waits = document.unanswered.binary_search(&at).is_ok();
    let is_last = at + 1 == messages.len();
    let whole = (!is_last && message.lines.len() > 1).then(|| Fold {
        kind: FoldKind::Message,
        lines: message.lines.clone(),
        must_show: waits || blocks.iter().any(|block| must_show(document, block)),
    });
    let inner = blocks.iter();
    let inner = inner.filter_map(|block| inner_fold(document, message, block, waits));
    Part {
        lines: message.lines.clone(),
        folds: whole.into_iter().chain(inner).collect(),
    }
}

fn frontmatter(document: &Document<'_>) -> Option<Fold> {
    let frontmatter = document.frontmatter.as_ref()?;
    let below = frontmatter.lines.end < document.text().line_count();
    (below && frontmatter.lines.len() > 1).then(|| Fold {
        kind: FoldKind::Frontmatter,
        lines: frontmatter.lines.clone(),
        must_show: frontmatter.problem.is_some(),
    })
}

fn must_show(document: &Document<'_>, block: &Block) -> bool {
    match block {
        Block::ToolResult(result) => {
            let is_fine = result.kind == ResultKind::Final { is_error: false };
            !is_fine || outcome::exit(document, result).is_some()
        }
        Block::Aborted(_) => true,
        _ => false,
    }
}

/// Returns the fold of a block. A block that starts on the marker line covers the whole
/// message, so it needs no fold.
fn inner_fold(
    document: &Document<'_>,
    message: &Message,
    block: &Block,
    waits: bool,
) -> Option<Fold> {
    let kind = match block {
        Block::Thinking(_) => FoldKind::Thinking,
        Block::ToolUse(_) if !waits => FoldKind::ToolUse,
        Block::ToolResult(result) if matches!(result.kind, ResultKind::Final { .. }) => {
            FoldKind::ToolResult
        }
        _ => return None,
    };
    let lines = block.lines();
    let is_whole = lines.start > message.lines.start && lines.end < document.text().line_count();
    (is_whole && lines.len() > 1).then(|| Fold {
        kind,
        lines,
        must_show: must_show(document, block),
    })
}

/// Returns the text of a closed fold. `run` returns what is known about a call's run beyond
/// its result; `tools` describe calls.
pub fn fold_text(
    document: &Document<'_>,
    fold: &Fold,
    tools: &dyn Describe,
    run: impl Fn(&Document<'_>, &ToolUse) -> Option<Run>,
) -> FoldText {
    let message = document.message_at(fold.lines.start);
    let message = message.and_then(|at| document.messages.get(at));
    let (label, group, text) = match (fold.kind, message) {
        (FoldKind::Message, Some(message)) => of_message(document, message, tools),
        (FoldKind::Message | FoldKind::Frontmatter, _) => of_frontmatter(document, fold),
        (_, message) => {
            let mut blocks = message
                .iter()
                .flat_map(|message| document.blocks_of(message));
            match blocks.find(|block| block.lines() == fold.lines) {
                Some(Block::Thinking(thinking)) => of_thinking(document, thinking),
                Some(Block::ToolUse(call)) => (
                    format!("→ {}", one_line(&call.name, LABEL)).into(),
                    "FlemmaToolUse",
                    described(document, call, tools),
                ),
                Some(Block::ToolResult(result)) => of_result(document, result, tools, run),
                _ => (Cow::Borrowed(""), "Folded", String::new()),
            }
        }
    };
    FoldText {
        label,
        group,
        text: one_line(text.trim(), WIDTH),
    }
}

type Line = (Cow<'static, str>, &'static str, String);

fn of_frontmatter(document: &Document<'_>, fold: &Fold) -> Line {
    let language = document.frontmatter.as_ref();
    let language = language.map_or("", |frontmatter| &frontmatter.language);
    let body = fold.lines.start + 1..fold.lines.end.saturating_sub(1);
    let label = format!("frontmatter ({})", one_line(language, 20));
    (
        label.into(),
        "FlemmaFrontmatter",
        first_words(document, body, 0),
    )
}

fn of_thinking(document: &Document<'_>, thinking: &Thinking) -> Line {
    if thinking.redacted {
        let label = "thinking (redacted)".into();
        return (label, "FlemmaThinking", String::new());
    }
    let text = first_words(document, thinking.body.clone(), 0);
    ("thinking".into(), "FlemmaThinking", text)
}

fn of_call(document: &Document<'_>, call: &ToolUse, tools: &dyn Describe) -> String {
    match document.input(call) {
        Ok(input) => preview(tools, &call.name, &input, WIDTH),
        Err(_) => call.name.to_string(),
    }
}

/// Returns what a call does, without the tool's name.
fn described(document: &Document<'_>, call: &ToolUse, tools: &dyn Describe) -> String {
    let input = document.input(call);
    input.map_or_else(
        |_| String::new(),
        |it| arguments(tools, &call.name, &it, WIDTH),
    )
}

/// Describes a result by its call, or an error by its content.
fn of_result(
    document: &Document<'_>,
    result: &ToolResult,
    tools: &dyn Describe,
    run: impl Fn(&Document<'_>, &ToolUse) -> Option<Run>,
) -> Line {
    let is_error = result.kind == ResultKind::Final { is_error: true };
    let content = || first_words(document, result.body.clone(), 0);
    let turn = document.turn_at(result.lines.start);
    let mut calls = turn.iter().flat_map(|turn| &turn.calls);
    let Some(call) = calls.find(|call| call.result == Some(result)) else {
        let (label, group) = match is_error {
            true => ("✗ result", "FlemmaToolError"),
            false => ("✓ result", "FlemmaToolResult"),
        };
        return (label.into(), group, content());
    };
    let call = call.tool_use;
    let ended = outcome(document, call, result, run(document, call));
    // The content of an error says more than the call does.
    let text = match is_error {
        true => content(),
        false => described(document, call, tools),
    };
    (
        format!("{} {}", ended.sign(), ended.summary).into(),
        ended.group(),
        text,
    )
}

fn of_message(document: &Document<'_>, message: &Message, tools: &dyn Describe) -> Line {
    let group = match message.role {
        Role::System => "FlemmaSystem",
        Role::You => "FlemmaUser",
        Role::Assistant => "FlemmaAssistant",
    };
    let blocks = document.blocks_of(message);
    let said = blocks.iter().find_map(|block| match block {
        Block::Prose(lines) => {
            let beside = lines.start == message.lines.start;
            let column = message.inline.filter(|_| beside).unwrap_or(0);
            Some(first_words(document, lines.clone(), column)).filter(|text| !text.is_empty())
        }
        _ => None,
    });
    let parts = said.into_iter().chain(calls(document, blocks, tools));
    let text = parts.chain(results(blocks)).collect::<Vec<_>>().join(" | ");
    (message.role.marker().into(), group, text)
}

/// Lists the first calls of a message and the number of others.
fn calls(document: &Document<'_>, blocks: &[Block], tools: &dyn Describe) -> Vec<String> {
    let calls = blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(call),
        _ => None,
    });
    let more = calls.clone().count().saturating_sub(CALLS);
    let first = calls.take(CALLS).map(|call| of_call(document, call, tools));
    let more = (more > 0).then(|| format!("+{more} more"));
    first.chain(more).collect()
}

fn results(blocks: &[Block]) -> Option<String> {
    let results = blocks.iter().filter_map(|block| match block {
        Block::ToolResult(result) => Some(result.kind),
        _ => None,
    });
    let failed = ResultKind::Final { is_error: true };
    let errors = results.clone().filter(|kind| *kind == failed).count();
    let errors = match errors {
        0 => String::new(),
        1 => ", 1 error".to_owned(),
        many => format!(", {many} errors"),
    };
    match results.count() {
        0 => None,
        1 => Some(format!("1 tool result{errors}")),
        many => Some(format!("{many} tool results{errors}")),
    }
}

/// Returns the first words of some lines, starting at `column` of the first.
fn first_words(document: &Document<'_>, lines: Lines, column: usize) -> String {
    let mut words = String::new();
    for line in lines.clone().take(LINES) {
        let skip = if line == lines.start { column } else { 0 };
        let bytes = document.text().line(line).get(skip..).unwrap_or_default();
        let bytes = bytes.get(..BYTES).unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim();
        if !text.is_empty() && !words.is_empty() {
            words.push(' ');
        }
        words.push_str(text);
    }
    words
}
