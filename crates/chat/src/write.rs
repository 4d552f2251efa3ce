//! How the host spells blocks, and where it puts them.
//!
//! Every change of the document is a list of [`TextEdit`]s: disjoint, sorted, in
//! whole lines of the document they were computed for. Results and arguments are
//! never escaped: their fence is longer than any run of backticks inside.

use crate::document::{Block, Document, Message, Role, Status};
use crate::pairing::Turn;
use crate::text::Lines;

/// Replaces whole lines; an empty range inserts before its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The lines that go.
    pub lines: Lines,
    /// The lines that come.
    pub replacement: Vec<String>,
}

/// Lines of a block, without blank lines around it.
pub type BlockLines = Vec<String>;

/// A call as a provider issued it. `name` and `id` are made writable first.
pub fn tool_use(name: &str, id: &str, input: &str) -> BlockLines {
    let header = format!("**Tool Use:** `{}` (`{}`)", writable(name), writable(id));
    fenced(header, "json", input)
}

/// A real result; `content` comes back from [`Document::lossy`] byte for byte.
pub fn tool_result(id: &str, content: &str, is_error: bool) -> BlockLines {
    let error = if is_error { " (error)" } else { "" };
    fenced(format!("**Tool Result:** `{id}`{error}"), "", content)
}

/// A placeholder with a status and nothing inside.
pub fn placeholder(id: &str, status: Status) -> BlockLines {
    fenced(
        format!("**Tool Result:** `{id}`"),
        &format!("flemma:tool status={}", status.as_str()),
        "",
    )
}

/// A name or id without what a header cannot hold. Only a provider that breaks
/// its own rules sends such a name; the call then names an unknown tool.
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
    let ticks = "`".repeat(longest_run(content, '`').max(2) + 1);
    let mut lines = vec![header, String::new(), format!("{ticks}{language}")];
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

/// Puts answers to calls of one turn where they belong: in the `@You:` message
/// after it, in the order of the calls, above the user's own text.
///
/// `answers` holds a call's index in the turn and its block, in call order.
pub fn place(
    document: &Document<'_>,
    turn: &Turn<'_>,
    answers: &[(usize, BlockLines)],
) -> Vec<TextEdit> {
    let Some(message) = turn.answers.map(|at| &document.messages[at]) else {
        return new_answers(document, turn, answers);
    };
    let mut edits: Vec<TextEdit> = Vec::new();
    for (index, block) in answers {
        match turn.calls[*index].result {
            Some(result) => edits.push(replace(
                document,
                message,
                result.lines.clone(),
                block.clone(),
            )),
            None => {
                let before = turn.calls[..*index]
                    .iter()
                    .rev()
                    .find_map(|call| call.result);
                insert(
                    document,
                    message,
                    before.map(|result| result.lines.end),
                    block,
                    &mut edits,
                );
            }
        }
    }
    edits
}

fn replace(
    document: &Document<'_>,
    message: &Message,
    lines: Lines,
    mut block: BlockLines,
) -> TextEdit {
    if let Some(column) = message
        .inline
        .filter(|_| lines.start == message.lines.start)
    {
        let marker =
            String::from_utf8_lossy(&document.text().line(lines.start)[..column]).into_owned();
        block[0].insert_str(0, &marker);
    }
    TextEdit {
        lines,
        replacement: block,
    }
}

/// Inserts after the result of an earlier call, or first in the message.
fn insert(
    document: &Document<'_>,
    message: &Message,
    after: Option<usize>,
    block: &[String],
    edits: &mut Vec<TextEdit>,
) {
    let top = message.lines.start;
    let at = after.unwrap_or(top + 1);
    // Several new blocks at one place are one edit.
    if let Some(last) = edits.last_mut().filter(|last| is_insertion(last, at, top)) {
        let end = last.replacement.len() - trailing(last);
        last.replacement.splice(
            end..end,
            std::iter::once(String::new()).chain(block.iter().cloned()),
        );
        return;
    }
    if let (None, Some(column)) = (after, message.inline) {
        let line = document.text().line_str(top).into_owned();
        let mut replacement = vec![message.role.marker().to_owned()];
        replacement.extend_from_slice(block);
        replacement.extend([String::new(), line[column..].to_owned()]);
        edits.push(TextEdit {
            lines: top..top + 1,
            replacement,
        });
        return;
    }
    let mut replacement = Vec::new();
    if after.is_some() {
        replacement.push(String::new());
    }
    replacement.extend_from_slice(block);
    if at < document.text().line_count() && !document.is_blank(at..at + 1) {
        replacement.push(String::new());
    }
    edits.push(TextEdit {
        lines: at..at,
        replacement,
    });
}

fn is_insertion(edit: &TextEdit, at: usize, top: usize) -> bool {
    edit.lines == (at..at)
        || (edit.lines == (top..top + 1) && at == top + 1 && edit.replacement.len() > 3)
}

/// How many lines of an insertion stand behind its last block.
fn trailing(edit: &TextEdit) -> usize {
    match edit.replacement.iter().rposition(String::is_empty) {
        Some(at) if at + 1 == edit.replacement.len() => 1,
        Some(at) if !edit.lines.is_empty() => edit.replacement.len() - at,
        _ => 0,
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

/// A blank line, when the line before `line` is none.
fn separator(document: &Document<'_>, line: usize) -> Vec<String> {
    if line > 0 && !document.is_blank(line - 1..line) {
        vec![String::new()]
    } else {
        Vec::new()
    }
}

/// A message at the end of the document: its marker, then `content`.
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

/// The comment of a cut-off answer at the end of the last one, unless one stands
/// there; `None` when the document has no answer. An open fence is closed first.
pub fn abort_last(document: &Document<'_>, reason: &str) -> Option<TextEdit> {
    let last = document.messages.iter().rfind(|message| message.role == Role::Assistant)?;
    if last.blocks.iter().any(|block| matches!(block, Block::Aborted(_))) {
        return None;
    }
    let end = last.lines.clone().rev().find(|line| !document.is_blank(*line..*line + 1))? + 1;
    let mut replacement = open_fence(document, last).into_iter().collect::<Vec<_>>();
    replacement.extend([String::new(), format!("<!-- flemma:aborted: {reason} -->")]);
    Some(TextEdit { lines: end..end, replacement })
}

/// The line that closes the fence a message leaves open, if it does.
fn open_fence(document: &Document<'_>, message: &Message) -> Option<String> {
    let mut open: Option<(u8, usize)> = None;
    for line in message.lines.clone().skip(1) {
        let Some(fence) = crate::scan::fence(document.text().line(line)) else { continue };
        open = match open {
            None => Some((fence.mark, fence.length)),
            Some((mark, length)) if fence.mark == mark && fence.length >= length && fence.info.is_empty() => None,
            still => still,
        };
    }
    open.map(|(mark, length)| char::from(mark).to_string().repeat(length))
}
