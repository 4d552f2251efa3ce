//! Files that the results of calls show: images, and pages of documents.
//!
//! A result in the chat has a line about each file, never its bytes. The host keeps the bytes by
//! the id of the call and this line, so the same line in the output of another call is only text.

use crate::prompt::{Attachment, Part, Prompt};
use crate::tool::ToolUseId;
use crate::truncate::format_size;

/// A file that the result of a call shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultFile {
    /// The line about it in the result's text.
    pub line: String,
    /// The file.
    pub file: Attachment,
}

/// A file that cannot be attached to a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unattached {
    /// The call showed no such file, as far as is known.
    Unknown,
    /// It did, and the bytes are gone.
    Lost,
}

/// The last fact of a line, before the digest.
const DIGEST: &str = ", blake3 ";

/// Added to a result whose file is not there.
pub const NOT_ATTACHED: &str = "[The file is not stored on this machine, so it is not attached.]";

/// Returns the line about a file: its kind and name, facts such as "2 pages", its size, and the
/// BLAKE3 digest of its bytes, of which the beginning is shown.
pub fn line(kind: &str, name: &str, facts: &[String], bytes: u64, digest: &str) -> String {
    let facts: String = facts.iter().map(|it| format!(", {it}")).collect();
    let digest = &digest[..digest.len().min(16)];
    format!(
        "[{kind} {name}{facts}, {}{DIGEST}{digest}]",
        format_size(bytes)
    )
}

/// Returns true if a line may be about a file.
fn is_line(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']') && line.contains(DIGEST)
}

/// Adds their files to the results of a request. `find` returns the file about which a call's
/// result has a line.
pub fn attach(
    prompt: &mut Prompt,
    find: impl Fn(&ToolUseId, &str) -> Result<Attachment, Unattached>,
) {
    let parts = prompt.messages.iter_mut().flat_map(|it| &mut it.parts);
    for part in parts {
        if let Part::ToolResult {
            tool_use_id,
            content,
            files,
            is_error: false,
            ..
        } = part
        {
            let found = found(tool_use_id, content, &find);
            // A result that is nothing but such lines is of a chat from another machine, or looks
            // like one. Elsewhere, a line without a file is text like any other.
            let is_missing = found.iter().any(|it| match it {
                Ok(_) => false,
                Err(Unattached::Lost) => true,
                Err(Unattached::Unknown) => content.lines().all(is_line),
            });
            files.extend(found.into_iter().flatten());
            if is_missing {
                content.push('\n');
                content.push_str(NOT_ATTACHED);
            }
        }
    }
}

/// Returns the files of a result, each once, in the order of its lines.
pub fn found<T>(id: &ToolUseId, content: &str, find: impl Fn(&ToolUseId, &str) -> T) -> Vec<T> {
    let mut lines: Vec<&str> = content.lines().filter(|it| is_line(it)).collect();
    let mut seen = std::collections::HashSet::new();
    lines.retain(|it| seen.insert(*it));
    lines.into_iter().map(|line| find(id, line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_about_a_file_counts_once() {
        let digest = "1f0c0ad0f8f2a6b1c3".to_owned();
        let line = |name: &str| line("image", name, &["1 x 1 pixels".to_owned()], 67, &digest);
        let (a, b) = (line("a.png"), line("b.png"));
        assert_eq!(
            a,
            "[image a.png, 1 x 1 pixels, 67 B, blake3 1f0c0ad0f8f2a6b1]"
        );
        let content = format!("Look:\n{a}\n{b}\n{a}\n {a}\n[image]\n");
        let lines = found(&ToolUseId::new("t_1"), &content, |_, line| line.to_owned());
        assert_eq!(lines, [a, b]);
    }
}
