//! Text that the command line writes into a chat: data, a rejection, or a call.

use chat::document::{PairedCall, Role, Status};
use chat::write::{self, TextEdit};

/// Returns data as a fenced block that it cannot close.
pub fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max();
    // Longer than any run of backticks inside, and at least the three that Markdown needs.
    let ticks = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    let text = text.trim_end_matches('\n');
    format!("{ticks}\n{text}\n{ticks}")
}

/// Returns the edit that rejects a pending call with a reason for the model.
pub fn rejection(call: &PairedCall<'_>, reason: &str) -> Option<TextEdit> {
    let result = call.result?;
    let mut block = write::placeholder(call.tool_use.id.as_str(), Status::Rejected, "");
    // The last line closes the block, and the reason goes inside.
    let closing = block.len() - 1;
    block.insert(closing, reason.to_owned());
    Some(TextEdit {
        lines: result.lines.clone(),
        replacement: block,
    })
}

/// Returns a chat in which the user calls a tool. `input` is a JSON object.
pub fn call(name: &str, input: &str) -> Vec<String> {
    let mut lines = vec![Role::Assistant.marker().to_owned()];
    lines.extend(write::tool_use(name, "call", input));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_close_its_fence() {
        assert_eq!(fenced("a\n```\nb\n"), "````\na\n```\nb\n````");
    }
}
