//! Formats blocks for the document; `place` decides where they go.
//!
//! Every change of the document is a list of [`TextEdit`]s: sorted, without overlaps, in
//! whole lines of the document they were computed for. Results and arguments are never
//! escaped; their fence is longer than any run of backticks inside.

mod place;

pub use self::place::{abort_last, append_message, close_fences, keep_words, place, take_words};
use crate::document::Status;
use crate::status::with_status;
use crate::text::Lines;

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
