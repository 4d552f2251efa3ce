//! Folds of a document and the text of closed folds.
//!
//! Folds are: each message; thinking, calls, and results inside it; and the frontmatter.
//! Incomplete parts have no fold: the last message, which may still grow, anything that reaches
//! the end of the text, and calls without a result, unless their arguments are shown elsewhere. Does not know which folds are
//! closed.

use std::borrow::Cow;

use crate::diff::Counts;
use crate::document::{
    Block, Document, Message, ResultKind, Role, ThinkingBlock, ToolResultBlock, ToolUseBlock,
};
use crate::outcome::{self, CallRun, outcome};
use crate::preview::{Describe, arguments, counts, one_line, preview};
use crate::text::Lines;

/// Kind of a fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldKind {
    /// The options of the chat.
    Frontmatter,
    /// A system prompt.
    System,
    /// Another whole message.
    Message,
    /// A model's thinking.
    Thinking,
    /// A call.
    ToolUse,
    /// A result.
    ToolResult,
}

impl FoldKind {
    /// Name used in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frontmatter => "frontmatter",
            Self::System => "system",
            Self::Message => "message",
            Self::Thinking => "thinking",
            Self::ToolUse => "tool_use",
            Self::ToolResult => "tool_result",
        }
    }

    /// Returns true for a fold inside a message.
    pub fn is_inner(self) -> bool {
        !matches!(self, Self::Frontmatter | Self::System | Self::Message)
    }
}

/// A fold of at least two lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// Kind of the fold.
    pub kind: FoldKind,
    /// Lines of the fold.
    pub lines: Lines,
    /// True if it contains something the user must see: an error, an answer that was cut
    /// off, or a pending call.
    pub must_show: bool,
}

/// A range of lines and the folds that start in it, outer ones first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedPart {
    /// All lines, whether they can be folded or not.
    pub lines: Lines,
    /// Folds, none of which extends beyond `lines`.
    pub folds: Vec<Fold>,
}

/// Number of parts: the lines before the first message, and each message.
pub fn part_count(document: &Document<'_>) -> usize {
    document.messages.len() + 1
}

/// Returns all folds of the document, outer ones before those in them.
pub fn folds(document: &Document<'_>) -> Vec<Fold> {
    let parts = (0..part_count(document)).map(|at| part(document, at, &[]));
    parts.flat_map(|part| part.folds).collect()
}

/// Returns the part that contains a line.
pub fn part_at(document: &Document<'_>, line: usize) -> usize {
    let messages = &document.messages;
    messages.partition_point(|message| message.lines.start <= line)
}

/// Returns a part of the document; empty if out of range. `shown` are the opening fences of calls
/// whose arguments are shown elsewhere, so that nothing is lost in a fold.
pub fn part(document: &Document<'_>, part: usize, shown: &[usize]) -> FoldedPart {
    let messages = &document.messages;
    let end = document.text().line_count();
    let Some(at) = part.checked_sub(1) else {
        return FoldedPart {
            lines: 0..messages.first().map_or(end, |first| first.lines.start),
            folds: frontmatter(document).into_iter().collect(),
        };
    };
    let Some(message) = messages.get(at) else {
        return FoldedPart {
            lines: end..end,
            folds: Vec::new(),
        };
    };
    let blocks = document.blocks_of(message);
    let unanswered = unanswered_calls(document, at);
    // The last message may still grow.
    let is_last = at + 1 == messages.len();
    let whole = (!is_last && message.lines.len() > 1).then(|| Fold {
        kind: match message.role {
            Role::System => FoldKind::System,
            Role::You | Role::Assistant => FoldKind::Message,
        },
        lines: message.lines.clone(),
        must_show: !unanswered.is_empty() || blocks.iter().any(|block| must_show(document, block)),
    });
    let inner = blocks.iter();
    let inner = inner.filter_map(|block| {
        inner_fold(document, message, block, |call| {
            !unanswered.contains(&call.lines.start)
                || shown.contains(&call.body.start.saturating_sub(1))
        })
    });
    FoldedPart {
        lines: message.lines.clone(),
        folds: whole.into_iter().chain(inner).collect(),
    }
}

/// Returns the first lines of the calls of a message that have no result yet.
fn unanswered_calls(document: &Document<'_>, message: usize) -> Vec<usize> {
    // The list is sorted, because messages are parsed in order. It is short, so a turn is paired
    // only where a call is pending.
    let has_some = document.unanswered.binary_search(&message).is_ok();
    let turn = has_some.then(|| document.turn(message)).flatten();
    let calls = turn.into_iter().flat_map(|turn| turn.calls);
    let calls = calls.filter(|call| !call.is_answered());
    calls.map(|call| call.tool_use.lines.start).collect()
}

fn frontmatter(document: &Document<'_>) -> Option<Fold> {
    let frontmatter = document.frontmatter.as_ref()?;
    // A frontmatter that reaches the end of the text may be incomplete.
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
            // The result of a command that failed is not marked as an error.
            !is_fine || outcome::exit(document, result).is_some()
        }
        Block::ServerTool(used) => used.is_error,
        Block::Aborted(_) => true,
        Block::Prose(_) | Block::ToolUse(_) | Block::Thinking(_) | Block::TextBreak(_) => false,
    }
}

/// Returns the fold of a block. A block that starts on the marker line covers the whole
/// message, so it needs no fold.
fn inner_fold(
    document: &Document<'_>,
    message: &Message,
    block: &Block,
    folds: impl Fn(&ToolUseBlock) -> bool,
) -> Option<Fold> {
    let kind = match block {
        Block::Thinking(_) => FoldKind::Thinking,
        Block::ToolUse(call) if folds(call) => FoldKind::ToolUse,
        Block::ToolResult(result) if matches!(result.kind, ResultKind::Final { .. }) => {
            FoldKind::ToolResult
        }
        // The provider has run it, so the block has the result.
        Block::ServerTool(_) => FoldKind::ToolResult,
        Block::ToolUse(_) | Block::ToolResult(_) => return None,
        Block::Prose(_) | Block::TextBreak(_) | Block::Aborted(_) => return None,
    };
    let lines = block.lines();
    // A block at the end of the text may still grow.
    let is_whole = lines.start > message.lines.start && lines.end < document.text().line_count();
    (is_whole && lines.len() > 1).then(|| Fold {
        kind,
        lines,
        must_show: must_show(document, block),
    })
}

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

/// Number of results listed for a message that consists of results. They are shorter than calls.
const RESULTS: usize = 4;

/// Text of a closed fold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldText {
    /// The kind of block, such as `thinking`.
    pub label: Cow<'static, str>,
    /// The highlight group of the label.
    pub group: &'static str,
    /// Its first words on one line, with invisible characters spelled out.
    pub text: String,
}

/// Returns the text of a closed fold. `run` returns what is known about a call's run beyond
/// its result; `tools` describe calls.
pub fn fold_text(
    document: &Document<'_>,
    fold: &Fold,
    tools: &dyn Describe,
    run: impl Fn(&Document<'_>, &ToolUseBlock) -> Option<CallRun>,
) -> FoldText {
    let message = document.message_at(fold.lines.start);
    let message = message.and_then(|at| document.messages.get(at));
    let (label, group, text) = match (fold.kind, message) {
        (FoldKind::System | FoldKind::Message, Some(message)) => {
            of_message(document, message, tools, run)
        }
        // Above the first message, only the frontmatter has a fold.
        (FoldKind::System | FoldKind::Message | FoldKind::Frontmatter, _) => {
            of_frontmatter(document, fold)
        }
        (_, message) => {
            let blocks = message.into_iter().flat_map(|it| document.blocks_of(it));
            let block = { blocks }.find(|block| block.lines() == fold.lines);
            of_block(document, block, tools, run)
        }
    };
    FoldText {
        label,
        group,
        text: one_line(text.trim(), WIDTH),
    }
}

/// The label, its highlight group, and the words.
type Line = (Cow<'static, str>, &'static str, String);

fn of_block(
    document: &Document<'_>,
    block: Option<&Block>,
    tools: &dyn Describe,
    run: impl Fn(&Document<'_>, &ToolUseBlock) -> Option<CallRun>,
) -> Line {
    match block {
        Some(Block::Thinking(thinking)) => of_thinking(document, thinking),
        Some(Block::ToolUse(call)) => (
            format!("→ {}", one_line(&call.name, LABEL)).into(),
            "FlemmaToolUse",
            changes_and_words(document, call, tools, run),
        ),
        Some(Block::ToolResult(result)) => of_result(document, result, tools, run),
        Some(Block::ServerTool(used)) => {
            let (sign, group) = if used.is_error {
                ("✗", "FlemmaToolError")
            } else {
                ("✓", "FlemmaToolResult")
            };
            (
                format!("{sign} {}", one_line(&used.name, LABEL)).into(),
                group,
                first_words(document, used.body.clone(), 0),
            )
        }
        // Not reached with a fold of this document: other blocks have none.
        None | Some(Block::Prose(_) | Block::TextBreak(_) | Block::Aborted(_)) => {
            ("".into(), "Folded", String::new())
        }
    }
}

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

fn of_thinking(document: &Document<'_>, thinking: &ThinkingBlock) -> Line {
    if thinking.redacted {
        let label = "thinking (redacted)".into();
        return (label, "FlemmaThinking", String::new());
    }
    let text = first_words(document, thinking.body.clone(), 0);
    ("thinking".into(), "FlemmaThinking", text)
}

fn of_call(document: &Document<'_>, call: &ToolUseBlock, tools: &dyn Describe) -> String {
    match document.input(call) {
        Ok(input) => preview(tools, &call.name, &input, WIDTH),
        // Arguments that cannot be read have no preview.
        Err(_) => call.name.to_string(),
    }
}

/// Returns what a call does, without the tool's name.
fn described(document: &Document<'_>, call: &ToolUseBlock, tools: &dyn Describe) -> String {
    let input = document.input(call);
    input.map_or_else(
        |_| String::new(),
        |it| arguments(tools, &call.name, &it, WIDTH),
    )
}

/// Returns a description of the call, after the numbers of lines that it changed. A call that
/// failed changed none.
fn changes_and_words(
    document: &Document<'_>,
    call: &ToolUseBlock,
    tools: &dyn Describe,
    run: impl Fn(&Document<'_>, &ToolUseBlock) -> Option<CallRun>,
) -> String {
    let words = described(document, call, tools);
    let changed = run(document, call).and_then(|run| run.changed);
    // The run knows what it changed; the arguments only say what it should change.
    match changed.or_else(|| known_counts(document, call, tools)) {
        Some(counts) if is_done(document, call) => format!("{counts} {words}"),
        _ => words,
    }
}

/// Returns true if a call has a result that is not an error.
fn is_done(document: &Document<'_>, call: &ToolUseBlock) -> bool {
    let turn = document.turn_at(call.lines.start);
    let mut calls = turn.iter().flat_map(|turn| &turn.calls);
    let call = calls.find(|it| it.tool_use.lines == call.lines);
    let result = call.and_then(|it| it.result);
    result.is_some_and(|it| it.kind == ResultKind::Final { is_error: false })
}

/// Numbers of lines that a call changes, as far as its arguments show.
fn known_counts(
    document: &Document<'_>,
    call: &ToolUseBlock,
    tools: &dyn Describe,
) -> Option<Counts> {
    counts(tools, &call.name, &document.input(call).ok()?)
}

/// Describes a result by its call, or an error by its content.
fn of_result(
    document: &Document<'_>,
    result: &ToolResultBlock,
    tools: &dyn Describe,
    run: impl Fn(&Document<'_>, &ToolUseBlock) -> Option<CallRun>,
) -> Line {
    let is_error = result.kind == ResultKind::Final { is_error: true };
    let content = || first_words(document, result.body.clone(), 0);
    let turn = document.turn_at(result.lines.start);
    let mut calls = turn.iter().flat_map(|turn| &turn.calls);
    // Without its call, which the user may have deleted, only the content describes a result.
    let Some(call) = calls.find(|call| call.result == Some(result)) else {
        let (label, group) = if is_error {
            ("✗ result", "FlemmaToolError")
        } else {
            ("✓ result", "FlemmaToolResult")
        };
        return (label.into(), group, content());
    };
    let call = call.tool_use;
    let known = known_counts(document, call, tools);
    let ended = outcome(document, call, result, run(document, call).as_ref(), known);
    // The content of an error says more than the call does.
    let text = if is_error {
        content()
    } else {
        described(document, call, tools)
    };
    (
        format!("{} {}", ended.sign(), ended.summary).into(),
        ended.group(),
        text,
    )
}

fn of_message(
    document: &Document<'_>,
    message: &Message,
    tools: &dyn Describe,
    run: impl Fn(&Document<'_>, &ToolUseBlock) -> Option<CallRun>,
) -> Line {
    let group = match message.role {
        Role::System => "FlemmaSystem",
        Role::You => "FlemmaUser",
        Role::Assistant => "FlemmaAssistant",
    };
    let blocks = document.blocks_of(message);
    let said = blocks.iter().find_map(|block| match block {
        Block::Prose(lines) => {
            // Text may begin on the marker's line, behind the marker.
            let beside = lines.start == message.lines.start;
            let column = message.inline.filter(|_| beside).unwrap_or(0);
            Some(first_words(document, lines.clone(), column)).filter(|text| !text.is_empty())
        }
        _ => None,
    });
    let parts = said.into_iter().chain(calls(document, blocks, tools));
    let parts = parts.chain(results(document, blocks, run));
    let text = parts.collect::<Vec<_>>().join(" | ");
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

/// Lists what became of the first calls whose results are in a message, and counts the others.
fn results(
    document: &Document<'_>,
    blocks: &[Block],
    run: impl Fn(&Document<'_>, &ToolUseBlock) -> Option<CallRun>,
) -> Vec<String> {
    let results = blocks.iter().filter_map(|block| match block {
        Block::ToolResult(result) => Some(result),
        _ => None,
    });
    let turn = { results.clone() }.next();
    let turn = turn.and_then(|result| document.turn_at(result.lines.start));
    let calls = turn.as_ref().map_or(&[][..], |turn| &turn.calls);
    let ended = results.map(|result| {
        let call = calls.iter().find(|call| call.result == Some(result));
        let call = call.map(|call| call.tool_use);
        ended(document, call, result, &run)
    });
    let mut listed: Vec<(bool, String)> = ended.collect();
    let others = listed.split_off(RESULTS.min(listed.len()));
    let failed = others.iter().filter(|(failed, _)| *failed).count();
    let more = match (others.len(), failed) {
        (0, _) => None,
        (more, 0) => Some(format!("+{more} more")),
        (more, failed) => Some(format!("+{more} more, {failed} failed")),
    };
    listed
        .into_iter()
        .map(|(_, text)| text)
        .chain(more)
        .collect()
}

/// Returns whether a call failed, and a sign with its tool's name and exit code.
fn ended(
    document: &Document<'_>,
    call: Option<&ToolUseBlock>,
    result: &ToolResultBlock,
    run: impl Fn(&Document<'_>, &ToolUseBlock) -> Option<CallRun>,
) -> (bool, String) {
    let name = call.map_or_else(|| "result".to_owned(), |call| one_line(&call.name, LABEL));
    match (result.kind, call) {
        (ResultKind::Placeholder(_), _) => (false, format!("● {name}")),
        (ResultKind::Final { .. }, Some(call)) => {
            let ended = outcome(document, call, result, run(document, call).as_ref(), None);
            (ended.failed, format!("{} {}", ended.sign(), ended.brief))
        }
        (ResultKind::Final { is_error }, None) => (
            is_error,
            format!("{} {name}", if is_error { "✗" } else { "✓" }),
        ),
    }
}

/// Returns the first words of some lines, starting at `column` of the first.
fn first_words(document: &Document<'_>, lines: Lines, column: usize) -> String {
    let mut words = String::new();
    for line in lines.clone().take(LINES) {
        let skip = if line == lines.start { column } else { 0 };
        let bytes = document.text().line(line).get(skip..).unwrap_or_default();
        // A line may be megabytes long. The cut may be inside a character, which becomes U+FFFD.
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
