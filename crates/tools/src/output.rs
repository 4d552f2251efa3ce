//! Output of programs: kept within bounds, on disk if it is long, and passed on live.

mod capture;

use std::future::pending;
use std::time::Duration;

use chat::tool::ToolUseId;
use chat::truncate::{
    Limit, MAX_BYTES, Truncated, ceil_char_boundary, floor_char_boundary, format_size,
    truncate_head, truncate_tail,
};
use tokio::time::{Instant, sleep_until};

use self::capture::Overflow;
pub(crate) use self::capture::{Capture, Captured, FullOutput, keep};
use crate::context::{Progress, ToolContext};

// Words the notice about a long output: which part is shown, and where the rest is.

/// Says that earlier states of lines are missing.
const DRAWN_OVER: &str = "\n\n[Of lines that were drawn over, only the last state is shown.]";

/// The end of an output, with notices about the rest.
pub(crate) fn tail(captured: &Captured) -> String {
    if captured.text.is_empty() {
        return "(no output)".to_owned();
    }
    let drawn_over = if captured.is_drawn_over {
        DRAWN_OVER
    } else {
        ""
    };
    end(captured) + drawn_over
}

/// The end of an output, with a notice about what precedes it.
fn end(captured: &Captured) -> String {
    let kept = truncate_tail(&captured.text);
    // The captured text may itself be only the end.
    let is_whole = kept.output_lines == captured.total_lines && kept.truncated_by.is_none();
    if is_whole {
        return kept.content.to_owned();
    }
    let shown = which(&kept, TextEnd::Tail, captured.total_lines);
    match &captured.full {
        Some(full) => format!("{}\n\n[{shown}. {}]", kept.content, whereabouts(full)),
        None => format!("{}\n\n[{shown}.]", kept.content),
    }
}

/// Says which part of a text of `total` lines is shown.
fn which(kept: &Truncated<'_>, end: TextEnd, total: usize) -> String {
    if kept.last_line_partial {
        let size = format_size(kept.output_bytes as u64);
        return format!("Showing the last {size} of line {total}, the last one");
    }
    let by_size = match kept.truncated_by {
        Some(Limit::Bytes) => format!(" ({} limit)", format_size(MAX_BYTES as u64)),
        _ => String::new(),
    };
    let first = match end {
        TextEnd::Head => 1,
        TextEnd::Tail => total + 1 - kept.output_lines,
    };
    let last = first + kept.output_lines - 1;
    format!("Showing lines {first}-{last} of {total}{by_size}")
}

/// Says where the whole output is.
fn whereabouts(full: &FullOutput) -> String {
    match full {
        FullOutput::Whole(path) => format!("Full output: {}", path.display()),
        FullOutput::Start(path) => format!("The first 100 MB: {}", path.display()),
        FullOutput::Lost(reason) => format!("The full output could not be kept: {reason}"),
    }
}

// Limits a complete result to its head or tail, with a notice and a file that has everything.

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

// Passes output on while a command runs, at a rate that an editor can draw.
//
// Live output may skip the middle of a flood. The result does not depend on it.

/// Time between two batches: three frames of an editor.
const EVERY: Duration = Duration::from_millis(50);
/// Maximum bytes of a batch, more than a screen.
const BATCH: usize = 16 * 1024;

/// Output that has not been shown yet.
pub(crate) struct Live {
    progress: Progress,
    waiting: String,
    next: Instant,
}

impl Live {
    pub(crate) fn new(progress: Progress) -> Self {
        Self {
            progress,
            waiting: String::new(),
            next: Instant::now(),
        }
    }

    /// Adds output. Keeps only the last [`BATCH`] bytes.
    pub(crate) fn push(&mut self, text: &str) {
        // Without a listener, the text would only pile up.
        if !self.progress.is_heard() {
            return;
        }
        let last = text.len().saturating_sub(BATCH);
        self.waiting
            .push_str(&text[ceil_char_boundary(text, last)..]);
        let over = self.waiting.len().saturating_sub(BATCH);
        self.waiting
            .drain(..ceil_char_boundary(&self.waiting, over));
    }

    /// Waits until there is output and the next batch is due.
    pub(crate) async fn due(&self) {
        if self.waiting.is_empty() {
            pending::<()>().await;
        }
        sleep_until(self.next).await;
    }

    /// Sends the pending output, if any.
    pub(crate) fn send(&mut self) {
        if !self.waiting.is_empty() {
            self.progress.output(&self.waiting);
            self.waiting.clear();
        }
        self.next = Instant::now() + EVERY;
    }
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
