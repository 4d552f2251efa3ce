//! Words what a model gets of a long output: its end, how much that is, and where all
//! of it is.
//!
//! Pure.

use chat::truncate::{Limit, MAX_BYTES, Truncated, format_size, truncate_tail};

use super::capture::{Captured, FullOutput};

/// The end of an output, and where the rest of it is.
pub(crate) fn tail(captured: &Captured) -> String {
    if captured.text.is_empty() {
        return "(no output)".to_owned();
    }
    let kept = truncate_tail(&captured.text);
    // The text in memory is itself only the end when there was much more.
    let is_whole = kept.output_lines == captured.total_lines && kept.truncated_by.is_none();
    if is_whole {
        return kept.content.to_owned();
    }
    format!("{}\n\n{}", kept.content, notice(&kept, captured))
}

fn notice(kept: &Truncated<'_>, captured: &Captured) -> String {
    let total = captured.total_lines;
    let shown = if kept.last_line_partial {
        let size = format_size(kept.output_bytes as u64);
        format!("Showing the last {size} of line {total}, the last one")
    } else {
        let first = total + 1 - kept.output_lines;
        let by_size = match kept.truncated_by {
            Some(Limit::Bytes) => format!(" ({} limit)", format_size(MAX_BYTES as u64)),
            _ => String::new(),
        };
        format!("Showing lines {first}-{total} of {total}{by_size}")
    };
    let full = match &captured.full {
        Some(FullOutput::Whole(path)) => format!("Full output: {}", path.display()),
        Some(FullOutput::Start(path)) => format!("The first 100 MB: {}", path.display()),
        Some(FullOutput::Lost(reason)) => format!("The full output could not be kept: {reason}"),
        None => return format!("[{shown}.]"),
    };
    format!("[{shown}. {full}]")
}
