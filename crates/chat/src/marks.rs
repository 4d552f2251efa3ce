//! The marks of calls that have no result yet: their previews and states.

use std::collections::HashMap;

use crate::approval::CallKey;
use crate::cycle::Cycle;
use crate::document::{Document, PairedCall, Status};
use crate::preview::{Describe, preview};
use crate::tool::ToolUseId;

/// The mark of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Unique in the document: the call's ID, with a number if it repeats.
    pub key: String,
    /// The call.
    pub call: CallKey,
    /// Line of the call's header, zero-based.
    pub call_line: usize,
    /// The lines of the call's arguments with their fence: the first, and the line after the
    /// last.
    pub arguments: (usize, usize),
    /// Line of the result's header.
    pub header_line: usize,
    /// Line of the placeholder's opening fence.
    pub fence_line: usize,
    /// One-line description of the call; `None` if the user typed into the placeholder.
    pub preview: Option<String>,
    /// True if the call is running.
    pub running: bool,
    /// True if the call is pending.
    pub pending: bool,
}

/// Returns the marks of a document, in order. `width` is the window's text width in cells.
pub fn marks(
    document: &Document<'_>,
    cycle: &Cycle,
    tools: &dyn Describe,
    width: usize,
) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    let mut seen: HashMap<ToolUseId, usize> = HashMap::new();
    for turn in document.unanswered_turns() {
        for call in &turn.calls {
            let Some(mut mark) = mark(document, cycle, call, tools, width) else {
                continue;
            };
            let repeats = seen.entry(mark.call.id.clone()).or_insert(0);
            // Two calls of one document may have the same ID.
            *repeats += 1;
            if *repeats > 1 {
                mark.key = format!("{}#{repeats}", mark.key);
            }
            marks.push(mark);
        }
    }
    marks
}

/// Returns the mark of a call; `None` without a placeholder.
fn mark(
    document: &Document<'_>,
    cycle: &Cycle,
    call: &PairedCall<'_>,
    tools: &dyn Describe,
    width: usize,
) -> Option<Mark> {
    let (result, status) = (call.result?, call.status()?);
    let (key, input) = crate::cycle::read(document, call.tool_use);
    // The user's text in the placeholder replaces the preview.
    let input = input.filter(|_| document.is_blank(result.body.clone()));
    Some(Mark {
        key: key.id.to_string(),
        call_line: call.tool_use.lines.start,
        arguments: (
            call.tool_use.body.start.saturating_sub(1),
            call.tool_use.lines.end,
        ),
        header_line: result.lines.start,
        fence_line: result.body.start - 1,
        preview: input.map(|input| preview(tools, &key.name, &input, width)),
        running: cycle.running().contains(&key),
        pending: status == Status::Pending,
        call: key,
    })
}
