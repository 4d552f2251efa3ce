//! Words the notice about a long output: which part is shown, and where the rest is.

use chat::truncate::{Limit, MAX_BYTES, Truncated, format_size, truncate_tail};

use super::capture::{Captured, FullOutput};
use super::whole::TextEnd;

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
pub(super) fn which(kept: &Truncated<'_>, end: TextEnd, total: usize) -> String {
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
pub(super) fn whereabouts(full: &FullOutput) -> String {
    match full {
        FullOutput::Whole(path) => format!("Full output: {}", path.display()),
        FullOutput::Start(path) => format!("The first 100 MB: {}", path.display()),
        FullOutput::Lost(reason) => format!("The full output could not be kept: {reason}"),
    }
}
