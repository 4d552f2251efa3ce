//! What a model gets of a long result: its head or its tail, with a notice, and a file
//! that has all of it.
//!
//! For results that are there as a whole; output that arrives bit by bit is `bash`'s.

use std::path::{Path, PathBuf};

use chat::tool::ToolUseId;
use chat::truncate::{Limit, MAX_BYTES, Truncated, format_size, truncate_head, truncate_tail};

use crate::tool::ToolContext;

/// Which end of a long text says more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The start, as of a list or a file.
    Head,
    /// The end, as of a build's output.
    Tail,
}

/// `text`, or what is kept of it: at most 2000 lines and 50 KB, and a notice that says
/// which lines these are and where all of them are.
///
/// Source: "Output truncation" in the tools specification.
pub async fn within_limits(text: String, end: End, id: &ToolUseId, ctx: &ToolContext) -> String {
    if cut(&text, end).truncated_by.is_none() {
        return text;
    }
    let (directory, prefix) = (ctx.output_dir.clone(), format!("tool-{:.40}-", safe(id)));
    let done = tokio::task::spawn_blocking(move || {
        let kept = keep(&directory, &prefix, &text);
        noted(&text, end, kept)
    });
    done.await.unwrap_or_else(|error| error.to_string())
}

fn cut(text: &str, end: End) -> Truncated<'_> {
    match end {
        End::Head => truncate_head(text),
        End::Tail => truncate_tail(text),
    }
}

fn safe(id: &ToolUseId) -> String {
    let is_plain = |it: &char| it.is_ascii_alphanumeric() || *it == '_';
    id.as_str().chars().filter(is_plain).collect()
}

fn keep(directory: &Path, prefix: &str, text: &str) -> std::io::Result<PathBuf> {
    use std::io::Write;
    use std::os::unix::fs::DirBuilderExt;
    let mut folder = std::fs::DirBuilder::new();
    folder.recursive(true).mode(0o700).create(directory)?;
    let mut file = tempfile::Builder::new()
        .prefix(prefix)
        .suffix(".log")
        .tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    let (_, path) = file.keep().map_err(|error| error.error)?;
    Ok(path)
}

fn noted(text: &str, end: End, kept: std::io::Result<PathBuf>) -> String {
    let shown = cut(text, end);
    let (total, lines) = (shown.total_lines, shown.output_lines);
    let which = if shown.first_line_exceeds_limit {
        let size = format_size(shown.total_bytes as u64);
        format!(
            "The first line of {total} is over the limit of 50 KB ({size} in all), so nothing is shown"
        )
    } else if shown.last_line_partial {
        let size = format_size(shown.output_bytes as u64);
        format!("Showing the last {size} of line {total}, the last one")
    } else {
        let by_size = match shown.truncated_by {
            Some(Limit::Bytes) => format!(" ({} limit)", format_size(MAX_BYTES as u64)),
            _ => String::new(),
        };
        let first = match end {
            End::Head => 1,
            End::Tail => total + 1 - lines,
        };
        format!(
            "Showing lines {first}-{} of {total}{by_size}",
            first + lines - 1
        )
    };
    let all = match kept {
        Ok(path) => format!("Full output: {}", path.display()),
        Err(error) => format!("The full output could not be kept: {error}"),
    };
    let notice = format!("[{which}. {all}]");
    if shown.content.is_empty() {
        notice
    } else {
        format!("{}\n\n{notice}", shown.content)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What is left of `text`, without the path; and the file has all of it.
    fn limited(text: &str, end: End) -> String {
        let folder = tempfile::tempdir().unwrap();
        let ctx = ToolContext::new("/", folder.path());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let id = ToolUseId::new("t/1");
        let kept = runtime.block_on(within_limits(text.to_owned(), end, &id, &ctx));
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
        assert_eq!(limited("a\n", End::Head), "a\n");
        let lines = "x\n".repeat(2000);
        assert_eq!(limited(&lines, End::Tail), lines);
    }

    #[test]
    fn one_line_too_many_is_cut_and_said() {
        let lines: Vec<String> = (1..=2001).map(|it| it.to_string()).collect();
        let text = lines.join("\n");
        let head = limited(&text, End::Head);
        assert!(head.starts_with("1\n2\n"));
        assert!(head.ends_with("\n2000\n\n[Showing lines 1-2000 of 2001."));
        let tail = limited(&text, End::Tail);
        assert!(tail.starts_with("2\n3\n"));
        assert!(tail.ends_with("\n2001\n\n[Showing lines 2-2001 of 2001."));
    }

    #[test]
    fn one_byte_too_many_leaves_out_a_whole_line() {
        let text = format!("{}\n{}", "a".repeat(1000), "b".repeat(51_201 - 1001));
        assert_eq!(text.len(), 51_201);
        let head = limited(&text, End::Head);
        assert!(
            head.ends_with("aa\n\n[Showing lines 1-1 of 2 (50.0 KB limit)."),
            "{head}"
        );
    }

    #[test]
    fn one_line_that_is_too_long_is_cut_at_its_start_or_not_shown() {
        let text = "x".repeat(60 * 1024);
        assert_eq!(
            limited(&text, End::Head),
            "[The first line of 1 is over the limit of 50 KB (60.0 KB in all), so nothing is shown."
        );
        let tail = limited(&text, End::Tail);
        assert!(tail.ends_with("x\n\n[Showing the last 50.0 KB of line 1, the last one."));
    }
}
