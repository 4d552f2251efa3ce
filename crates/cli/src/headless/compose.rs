//! What a user does to the text of a chat from the command line: data given, a call
//! refused. What follows from it is the cycle's business.

use chat::document::{Call, Role, Status};
use chat::write::{self, TextEdit};

/// Text that is data, as a fenced block.
pub fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max();
    let ticks = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    let text = text.trim_end_matches('\n');
    format!("{ticks}\n{text}\n{ticks}")
}

/// Refuses a waiting call, with the reason that the model gets.
pub fn refusal(call: &Call<'_>, reason: &str) -> Option<TextEdit> {
    let result = call.result?;
    let mut block = write::placeholder(call.tool_use.id.as_str(), Status::Rejected, "");
    let closing = block.len() - 1;
    block.insert(closing, reason.to_owned());
    Some(TextEdit {
        lines: result.lines.clone(),
        replacement: block,
    })
}

/// A chat in which the user asks for one tool. `input` is one JSON object.
pub fn call(name: &str, input: &str) -> Vec<String> {
    let mut lines = vec![Role::Assistant.marker().to_owned()];
    lines.extend(write::tool_use(name, "call", input));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_stands_in_a_fence_that_it_cannot_close() {
        assert_eq!(fenced("a\n```\nb\n"), "````\na\n```\nb\n````");
    }
}
