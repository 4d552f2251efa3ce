//! Formats blocks for the document; `place` decides where they go.
//!
//! Every change of the document is a list of [`TextEdit`]s: sorted, without overlaps, in
//! whole lines of the document they were computed for. Results and arguments are never
//! escaped; their fence is longer than any run of backticks inside.
//!
//! What the host writes goes to its place: results below their calls, messages at the end, after
//! the closing lines of open fences. Nothing already in the document changes its meaning.

use std::collections::BTreeMap;

use crate::document::{Block, Document, Message, OpenFence, Role, Status, ToolResultBlock, Turn};
use crate::scan::escape_line;
use crate::server_tools::ServerToolUse;
use crate::status::with_status;
use crate::text::Lines;
use crate::{prompt, scan};

/// A replacement of whole lines; an empty range inserts before its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The replaced lines.
    pub lines: Lines,
    /// The new lines.
    pub replacement: Vec<String>,
}

/// Lines of a block, without blank lines around it.
pub type BlockLines = Vec<String>;

/// Returns a call as a provider issued it, with [`writable`] name and ID.
pub fn tool_use(name: &str, id: &str, input: &str) -> BlockLines {
    let header = format!("**Tool Use:** `{}` (`{}`)", writable(name), writable(id));
    fenced(header, "json", input)
}

/// Returns a final result. `Document::lossy` gives `content` back byte for byte.
pub fn tool_result(id: &str, content: &str, is_error: bool) -> BlockLines {
    let error = if is_error { " (error)" } else { "" };
    fenced(format!("**Tool Result:** `{id}`{error}"), "", content)
}

/// Returns a use of a server tool.
pub fn server_tool(used: &ServerToolUse) -> BlockLines {
    let (name, id) = (writable(&used.name), writable(&used.id));
    let error = if used.is_failed() { " (error)" } else { "" };
    fenced(
        format!("**Server Tool:** `{name}` (`{id}`){error}"),
        "",
        &used.text(),
    )
}

/// Returns an empty placeholder with a status. `words` is the previous text after
/// `flemma:tool`; its words other than the status are kept.
pub fn placeholder(id: &str, status: Status, words: &str) -> BlockLines {
    fenced(
        format!("**Tool Result:** `{id}`"),
        &with_status(words, status),
        "",
    )
}

/// Returns the comment of a cut-off answer: one line, whatever the reason contains.
pub fn aborted(reason: &str) -> String {
    // A `>` could end the comment.
    let reason = reason.replace(|c: char| c == '>' || c.is_control(), " ");
    format!("<!-- flemma:aborted: {} -->", reason.trim())
}

/// Replaces what a header can't contain in a name or ID. Only a provider that violates its
/// own rules sends such a name, and the call then names an unknown tool.
pub fn writable(name: &str) -> String {
    let clean: String = name
        .chars()
        .map(|c| if c == '`' || c.is_control() { '_' } else { c })
        .collect();
    if clean.is_empty() {
        "unnamed".to_owned()
    } else {
        clean
    }
}

fn fenced(header: String, language: &str, content: &str) -> BlockLines {
    // Fewer than three backticks would not be a fence.
    let ticks = "`".repeat(longest_run(content, '`').max(2) + 1);
    let mut lines = vec![header, String::new(), format!("{ticks}{language}")];
    // Splitting empty content would give one empty line.
    if !content.is_empty() {
        lines.extend(content.split('\n').map(str::to_owned));
    }
    lines.push(ticks);
    lines
}

fn longest_run(text: &str, mark: char) -> usize {
    let (longest, _) = text.chars().fold((0, 0), |(longest, run), c| {
        let run = if c == mark { run + 1 } else { 0 };
        (longest.max(run), run)
    });
    longest
}

/// Places results of one turn's calls in the `@You:` message after it, in the order of the
/// calls, above the user's own text. The edits are sorted and don't overlap.
///
/// `answers` holds each call's index in the turn and its block, in call order.
pub fn place(
    document: &Document<'_>,
    turn: &Turn<'_>,
    answers: &[(usize, BlockLines)],
) -> Vec<TextEdit> {
    let Some(message) = turn.answers.map(|at| &document.messages[at]) else {
        return new_answers(document, turn, answers);
    };
    let top = message.lines.start + 1;
    let (mut edits, mut inserted) = replaced_and_inserted(turn, answers, top);
    if let Some(column) = message.inline {
        beside_marker(document, message, column, inserted.remove(&top), &mut edits);
    }
    edits.extend(inserted.into_iter().map(|(at, blocks)| {
        let mut replacement = Vec::new();
        // Directly below the marker, no blank line is needed.
        if at > top {
            replacement.push(String::new());
        }
        replacement.extend(blocks);
        // A blank line separates the block from the user's text.
        if at < document.text().line_count() && !document.is_blank(at..at + 1) {
            replacement.push(String::new());
        }
        TextEdit {
            lines: at..at,
            replacement,
        }
    }));
    // An insertion before a line sorts before a replacement of that line.
    edits.sort_by_key(|edit| (edit.lines.start, edit.lines.end));
    edits
}

/// Returns the edits that replace results, and the blocks to insert before a line,
/// separated by blank lines. Without an earlier result, blocks go to line `top`.
fn replaced_and_inserted(
    turn: &Turn<'_>,
    answers: &[(usize, BlockLines)],
    top: usize,
) -> (Vec<TextEdit>, BTreeMap<usize, BlockLines>) {
    let mut edits: Vec<TextEdit> = Vec::new();
    let mut inserted: BTreeMap<usize, BlockLines> = BTreeMap::new();
    for (index, block) in answers {
        // A placeholder is replaced where it is.
        if let Some(result) = turn.calls[*index].result {
            edits.push(TextEdit {
                lines: result.lines.clone(),
                replacement: block.clone(),
            });
            continue;
        }
        // Below the nearest earlier result, so that results keep the order of their calls.
        let earlier = turn.calls[..*index].iter().rev();
        let after = earlier.filter_map(|call| call.result).next();
        let blocks = inserted
            .entry(after.map_or(top, |result| result.lines.end))
            .or_default();
        if !blocks.is_empty() {
            blocks.push(String::new());
        }
        blocks.extend_from_slice(block);
    }
    (edits, inserted)
}

/// Takes the user's text below the last calls out of the prompt, if it still is `words`.
pub fn take_words(document: &Document<'_>, words: &str) -> Vec<TextEdit> {
    let last = document.messages.last();
    let Some(last) = last.filter(|it| it.role == Role::You) else {
        return Vec::new();
    };
    if prompt::own_text(document, last).as_deref() != Some(words) {
        return Vec::new();
    }
    let paragraphs = document.own_paragraphs(last);
    let edits = paragraphs.map(|(line, text)| TextEdit {
        lines: line..line + text.lines().count(),
        // Text may begin behind the marker.
        replacement: if line == last.lines.start {
            vec![Role::You.marker().to_owned()]
        } else {
            Vec::new()
        },
    });
    edits.collect()
}

/// Keeps text that the user typed into placeholders while their calls ran: it stays on its
/// lines, below the result, escaped so that it does not become structure. `edits` are those
/// of [`place`].
pub fn keep_words(
    document: &Document<'_>,
    edits: Vec<TextEdit>,
    placeholders: &[&ToolResultBlock],
) -> Vec<TextEdit> {
    let mut kept = Vec::new();
    for mut edit in edits {
        let typed = placeholders.iter().find(|it| it.lines == edit.lines);
        let Some(typed) = typed else {
            kept.push(edit);
            continue;
        };
        edit.lines.end = typed.body.start;
        edit.replacement.push(String::new());
        kept.push(edit);
        kept.extend(typed.body.clone().filter_map(|line| {
            let words = document.text().line_str(line);
            let harmless = match scan::fence(words.as_bytes()) {
                // Outside the placeholder this fence would open a block; indented it is
                // text.
                Some(_) => format!(" {words}").into(),
                None => escape_line(&words),
            };
            (harmless != words).then(|| TextEdit {
                lines: line..line + 1,
                replacement: vec![harmless.into_owned()],
            })
        }));
        // Removes the closing fence of the placeholder; the text above it stays.
        kept.push(TextEdit {
            lines: typed.body.end..typed.lines.end,
            replacement: Vec::new(),
        });
    }
    kept
}

/// Handles content on the marker's line, as other tools write it: a result stays on that
/// line, and text moves below the inserted blocks.
fn beside_marker(
    document: &Document<'_>,
    message: &Message,
    column: usize,
    first: Option<BlockLines>,
    edits: &mut Vec<TextEdit>,
) {
    let line = message.lines.start;
    let whole = document.text().line_str(line);
    let (marker, content) = whole.split_at(column);
    let replaced = edits.iter_mut().find(|edit| edit.lines.start == line);
    // Nothing is inserted, but a result beside the marker may be replaced.
    let Some(mut above) = first else {
        // A block is never empty: it begins with its header.
        if let Some(edit) = replaced {
            edit.replacement[0].insert_str(0, marker);
        }
        return;
    };
    above.insert(0, marker.trim_end().to_owned());
    above.push(String::new());
    match replaced {
        Some(edit) => {
            edit.replacement.splice(0..0, above);
        }
        None => {
            above.push(moved(document, message, content));
            edits.push(TextEdit {
                lines: line..line + 1,
                replacement: above,
            });
        }
    }
}

/// Returns the content of a marker's line for a separate line, where it must not become
/// structure.
fn moved(document: &Document<'_>, message: &Message, content: &str) -> String {
    let is_result = document.blocks_of(message).first().is_some_and(
        |block| matches!(block, Block::ToolResult(it) if it.lines.start == message.lines.start),
    );
    // A result is meant as structure, and a backslash already escapes the line.
    if is_result || content.starts_with('\\') {
        content.to_owned()
    } else if scan::fence(content.as_bytes()).is_some() {
        // A fence that is indented by a blank is text.
        format!(" {content}")
    } else {
        escape_line(content).into_owned()
    }
}

fn new_answers(
    document: &Document<'_>,
    turn: &Turn<'_>,
    answers: &[(usize, BlockLines)],
) -> Vec<TextEdit> {
    if answers.is_empty() {
        return Vec::new();
    }
    let end = document.messages[turn.assistant].lines.end;
    let mut replacement = separator(document, end);
    replacement.push(Role::You.marker().to_owned());
    for (at, (_, block)) in answers.iter().enumerate() {
        if at > 0 {
            replacement.push(String::new());
        }
        replacement.extend_from_slice(block);
    }
    if end < document.text().line_count() {
        replacement.push(String::new());
    }
    vec![TextEdit {
        lines: end..end,
        replacement,
    }]
}

/// Returns a blank line unless the line before `line` is blank. Blank lines at the end of
/// the model's text belong to it, so they don't count.
fn separator(document: &Document<'_>, line: usize) -> Vec<String> {
    let last = document.messages.last();
    let own_blanks = line == document.text().line_count()
        && last.is_some_and(|message| {
            message.role == Role::Assistant
                && matches!(document.blocks_of(message).last(), Some(Block::Prose(lines)) if !document.is_blank(lines.clone()))
        });
    if own_blanks || !document.is_blank(line - 1..line) {
        vec![String::new()]
    } else {
        Vec::new()
    }
}

/// Returns an edit that appends a message: its marker, then `content`.
pub fn append_message(document: &Document<'_>, role: Role, content: &[&str]) -> TextEdit {
    let end = document.text().line_count();
    // An empty buffer has one empty line, which the marker takes.
    if document.text().bytes().is_empty() {
        let lines = std::iter::once(role.marker()).chain(content.iter().copied());
        return TextEdit {
            lines: 0..1,
            replacement: lines.map(str::to_owned).collect(),
        };
    }
    let mut replacement = separator(document, end);
    replacement.push(role.marker().to_owned());
    replacement.extend(content.iter().map(|line| (*line).to_owned()));
    TextEdit {
        lines: end..end,
        replacement,
    }
}

/// Returns an edit that appends the cut-off comment to the last answer; `None` without an
/// answer or if it already has one. Closes an open fence first.
pub fn abort_last(document: &Document<'_>, reason: &str) -> Option<TextEdit> {
    let mut messages = document.messages.iter();
    let last = messages.rfind(|message| message.role == Role::Assistant)?;
    if document
        .blocks_of(last)
        .iter()
        .any(|block| matches!(block, Block::Aborted(_)))
    {
        return None;
    }
    // Above blank lines at the end, which the user may be about to fill.
    let end = end_of_content(document, last.lines.clone());
    let open = document
        .open_fences
        .iter()
        .find(|fence| last.lines.contains(&fence.lines.start));
    let closing = open.map(|fence| fence.closing.clone());
    let comment = [String::new(), aborted(reason)];
    Some(TextEdit {
        lines: end..end,
        replacement: closing.into_iter().chain(comment).collect(),
    })
}

/// Closes every fence that the text left open, so that a fence written later can't close it
/// and swallow the markers in between. Closes nothing while a tool header's fence or the
/// frontmatter is open: closing it would create a call, a result, or options.
pub fn close_fences(document: &Document<'_>) -> Vec<TextEdit> {
    let fences = &document.open_fences;
    let frontmatter = document.frontmatter.as_ref();
    if fences.iter().any(|fence| fence.below_header)
        || frontmatter.is_some_and(|it| it.problem.is_some())
    {
        return Vec::new();
    }
    fences
        .iter()
        .map(|fence| close_fence(document, fence))
        .collect()
}

fn close_fence(document: &Document<'_>, fence: &OpenFence) -> TextEdit {
    let at = end_of_content(document, fence.lines.clone());
    TextEdit {
        lines: at..at,
        replacement: vec![fence.closing.clone()],
    }
}

/// Returns the line after the last non-blank one of `lines`.
fn end_of_content(document: &Document<'_>, lines: Lines) -> usize {
    let start = lines.start;
    let last = lines
        .rev()
        .find(|line| !document.is_blank(*line..*line + 1));
    last.unwrap_or(start) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_can_contain_any_name_and_id() {
        let header = |name: &str, id: &str| tool_use(name, id, "{}").remove(0);
        assert_eq!(header("a`b", "c\nd"), "**Tool Use:** `a_b` (`c_d`)");
        assert_eq!(header("", "x"), "**Tool Use:** `unnamed` (`x`)");
    }

    #[test]
    fn a_fence_is_longer_than_any_run_of_backticks_inside() {
        for (content, ticks) in [
            ("", "```"),
            ("`` and `a`", "```"),
            ("```", "````"),
            ("a```` ```", "`````"),
        ] {
            let block = tool_result("x", content, false);
            assert_eq!(block[2], ticks, "{content:?}");
            assert_eq!(block.last().map(String::as_str), Some(ticks), "{content:?}");
        }
    }

    #[test]
    fn the_reason_of_a_cut_off_answer_is_one_line() {
        assert_eq!(
            aborted(" no --> end\n"),
            "<!-- flemma:aborted: no --  end -->"
        );
    }
}
