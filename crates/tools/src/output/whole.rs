//! Limits a complete result to its head or tail, with a notice and a file that has everything.

use chat::tool::ToolUseId;
use chat::truncate::{
    MAX_BYTES, Truncated, floor_char_boundary, format_size, truncate_head, truncate_tail,
};

use super::notice::{whereabouts, which};
use super::overflow::Overflow;
use crate::context::ToolContext;

/// The end of a long text that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEnd {
    /// The start, as for a list or a file.
    Head,
    /// The end, as for the output of a build.
    Tail,
}

/// Limits `text` to 2000 lines and 50 KB. The notice says which lines these are and where the
/// rest is. `tool` is the start of the file's name.
pub async fn within_limits(
    text: String,
    end: TextEnd,
    tool: &str,
    id: &ToolUseId,
    ctx: &ToolContext,
) -> String {
    // A buffer line can't contain a NUL.
    let text = text.replace('\0', "␀");
    let kept = match end {
        TextEnd::Head => truncate_head(&text),
        TextEnd::Tail => truncate_tail(&text),
    };
    if kept.truncated_by.is_none() {
        return text;
    }
    let mut overflow = Overflow::new(&ctx.output_dir, tool, id.as_str());
    overflow.open().await;
    overflow.write(&text).await;
    let full = overflow.finish(false).await;
    let full = full.as_ref().map(whereabouts).unwrap_or_default();
    let (content, shown) = part(&text, &kept, end);
    format!("{content}\n\n[{shown}. {full}]")
}

/// The part that is shown, and its description.
fn part<'a>(text: &'a str, kept: &Truncated<'a>, end: TextEnd) -> (&'a str, String) {
    if !kept.first_line_exceeds_limit {
        return (kept.content, which(kept, end, kept.total_lines));
    }
    // A single long line, as in JSON.
    let content = &text[..floor_char_boundary(text, MAX_BYTES)];
    let size = format_size(content.len() as u64);
    let shown = format!("Showing the first {size} of line 1 of {}", kept.total_lines);
    (content, shown)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What is left of `text`, without the path; and the file has all of it.
    fn limited(text: &str, end: TextEnd) -> String {
        let folder = tempfile::tempdir().unwrap();
        let ctx = ToolContext::new("/", folder.path());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let id = ToolUseId::new("t/1");
        let kept = runtime.block_on(within_limits(text.to_owned(), end, "tool", &id, &ctx));
        if let Some((shown, path)) = kept.split_once(" Full output: ") {
            let file = path.strip_suffix(']').unwrap();
            assert!(file.contains("/tool-t1-"), "{file}");
            assert_eq!(std::fs::read_to_string(file).unwrap(), text);
            return shown.to_owned();
        }
        kept
    }

    #[test]
    fn a_short_text_stays_as_it_is() {
        assert_eq!(limited("a\n", TextEnd::Head), "a\n");
        let lines = "x\n".repeat(2000);
        assert_eq!(limited(&lines, TextEnd::Tail), lines);
    }

    #[test]
    fn one_line_too_many_is_cut_and_said() {
        let lines: Vec<String> = (1..=2001).map(|it| it.to_string()).collect();
        let text = lines.join("\n");
        let head = limited(&text, TextEnd::Head);
        assert!(head.starts_with("1\n2\n"));
        assert!(head.ends_with("\n2000\n\n[Showing lines 1-2000 of 2001."));
        let tail = limited(&text, TextEnd::Tail);
        assert!(tail.starts_with("2\n3\n"));
        assert!(tail.ends_with("\n2001\n\n[Showing lines 2-2001 of 2001."));
    }

    #[test]
    fn one_byte_too_many_leaves_out_a_whole_line() {
        let text = format!("{}\n{}", "a".repeat(1000), "b".repeat(51_201 - 1001));
        assert_eq!(text.len(), 51_201);
        let head = limited(&text, TextEnd::Head);
        assert!(
            head.ends_with("aa\n\n[Showing lines 1-1 of 2 (50.0 KB limit)."),
            "{head}"
        );
    }

    #[test]
    fn one_line_that_is_too_long_is_cut_where_it_is_not_shown() {
        let text = "x".repeat(60 * 1024);
        let head = limited(&text, TextEnd::Head);
        assert!(
            head.ends_with("x\n\n[Showing the first 50.0 KB of line 1 of 1."),
            "{head}"
        );
        assert_eq!(head.matches('x').count(), MAX_BYTES);
        let tail = limited(&text, TextEnd::Tail);
        assert!(tail.ends_with("x\n\n[Showing the last 50.0 KB of line 1, the last one."));
        let wide = limited(&"é".repeat(40_000), TextEnd::Head);
        assert!(wide.ends_with("é\n\n[Showing the first 50.0 KB of line 1 of 1."));
    }
}
