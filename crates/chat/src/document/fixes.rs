//! Fixes for calls and results that lack each other, and for arguments that cannot be read.

use super::{Document, Message, ToolResultBlock, ToolUseBlock};
use crate::diagnostic::Fix;
use crate::json;

/// Gives a call an id that no other call has.
pub(super) fn unique(call: &ToolUseBlock) -> Fix {
    let header = call.lines.start..call.lines.start + 1;
    // The line number makes the new ID unique.
    let id = format!("{}_{}", call.id, header.start + 1);
    Fix {
        title: "Give this call a unique id".to_owned(),
        lines: header,
        replacement: vec![format!("**Tool Use:** `{}` (`{id}`)", call.name)],
    }
}

/// Deletes a result that no call has.
pub(super) fn without_result(document: &Document<'_>, result: &ToolResultBlock) -> Fix {
    let mut lines = result.lines.clone();
    // The blank line below it would be a second one.
    let is_inside = lines.end < document.text.line_count();
    if is_inside && document.is_blank(lines.end..lines.end + 1) {
        lines.end += 1;
    }
    Fix {
        title: "Delete this result".to_owned(),
        lines,
        replacement: Vec::new(),
    }
}

/// Adds a result for a call to the message after it. `None` if that has text on its marker
/// line.
pub(super) fn with_result(
    document: &Document<'_>,
    call: &ToolUseBlock,
    answers: &Message,
) -> Option<Fix> {
    let marker = answers.lines.start..answers.lines.start + 1;
    let mut replacement = vec![document.lossy(marker.clone()).into_owned()];
    let header = format!("**Tool Result:** `{}` (error)", call.id);
    let block = [&*header, "", "```", "The call was not run.", "```", ""];
    replacement.extend(block.map(str::to_owned));
    answers.inline.is_none().then(|| Fix {
        title: "Add an error result for this call".to_owned(),
        lines: marker,
        replacement,
    })
}

/// Makes the arguments of a call readable. `None` if only the user can.
pub(super) fn readable(document: &Document<'_>, call: &ToolUseBlock) -> Option<Fix> {
    let text = document.lossy(call.body.clone());
    if call.other_language.is_none() {
        let repaired = json::repaired(&text)?;
        return Some(Fix {
            title: "Repair the JSON".to_owned(),
            lines: call.body.clone(),
            replacement: repaired.split('\n').map(str::to_owned).collect(),
        });
    }
    json::parse_object(&text).ok()?;
    let fence = call.body.start.checked_sub(1)?;
    let line = document.lossy(fence..fence + 1);
    let ticks: String = line.chars().take_while(|it| "`~".contains(*it)).collect();
    Some(Fix {
        title: "Write \"json\" behind the fence".to_owned(),
        lines: fence..fence + 1,
        replacement: vec![format!("{ticks}json")],
    })
}
