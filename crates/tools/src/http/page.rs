//! Formats a response for the model: status, text, and notices about missing parts. If the text
//! is cut, everything fetched is kept in a file.

use std::path::Path;

use chat::tool::ToolUseId;
use chat::truncate::{MAX_BYTES, floor_char_boundary, format_size, truncate_head};

use super::SIZE;
use super::charset;
use super::fetch::Fetched;
use crate::output::keep;

/// A NUL in this many first bytes marks a body as binary, as for `read`.
const SNIFFED: usize = 8 * 1024;

/// Formats a response of which at most `most` bytes were requested.
pub(super) fn page(fetched: &Fetched, most: usize, id: &ToolUseId, folder: &Path) -> String {
    let head = head(fetched);
    if let Some(next) = &fetched.leads {
        return format!(
            "{head}\n\n[It leads to another host: {next}. That was not followed, because the rule that let this call \
             run doesn't cover it. Call http_get with that address.]"
        );
    }
    if fetched.body.is_empty() {
        return format!("{head}\n\n(empty)");
    }
    if is_binary(fetched) {
        let size = format_size(fetched.body.len() as u64);
        let file = kept(fetched, id, folder);
        return format!("{head}\n\n(no text: {size} of binary data)\n\n[{file}]");
    }
    let text = charset::decode(&fetched.kind, &fetched.body).replace('\0', "␀");
    let (content, mut notices) = start(&text, || kept(fetched, id, folder));
    if fetched.is_cut {
        notices.push(format!(
            "[Only the first {} were fetched. Set max_size for more, at most {}.]",
            format_size(most as u64),
            SIZE.1
        ));
    }
    if notices.is_empty() {
        return format!("{head}\n\n{content}");
    }
    format!("{head}\n\n{content}\n\n{}", notices.join("\n"))
}

/// The start of the text that is shown, and a notice if it is not everything. `file` keeps
/// the rest and says where.
fn start(text: &str, file: impl FnOnce() -> String) -> (&str, Vec<String>) {
    let shown = truncate_head(text);
    if shown.truncated_by.is_none() {
        return (shown.content, Vec::new());
    }
    // One long line, as in minified scripts, is cut within the line.
    let (content, lines) = if shown.first_line_exceeds_limit {
        (
            &text[..floor_char_boundary(text, MAX_BYTES)],
            format!("the first {} of a line", format_size(MAX_BYTES as u64)),
        )
    } else {
        (
            shown.content,
            format!(
                "the first {} of {} lines",
                shown.output_lines, shown.total_lines
            ),
        )
    };
    (content, vec![format!("[Showing {lines}. {}]", file())])
}

/// Status and type on one line. Removes control characters, which could break the line.
fn head(fetched: &Fetched) -> String {
    let kind = match fetched.kind.as_str() {
        "" => "of no type",
        kind => kind,
    };
    let kind: String = kind
        .chars()
        .filter(|it| !it.is_control())
        // A server may send a type of any length.
        .take(80)
        .collect();
    format!("HTTP {}, {kind}, from {}", fetched.status, fetched.url)
}

fn is_binary(fetched: &Fetched) -> bool {
    let kind = fetched.kind.split('/').next().unwrap_or_default();
    let start = &fetched.body[..fetched.body.len().min(SNIFFED)];
    // The sample may end within a character, which is not an error.
    let is_broken = std::str::from_utf8(start).is_err_and(|it| it.error_len().is_some());
    (start.contains(&0) && !charset::is_wide(&fetched.kind, start))
        // A declared charset explains bytes that are not UTF-8.
        || (is_broken && !matches!(kind, "text") && !fetched.kind.contains("charset"))
        // An SVG image is text.
        || (matches!(kind, "image" | "audio" | "video" | "font") && !fetched.kind.contains("xml"))
}

/// Keeps the body in a file and says where it is.
fn kept(fetched: &Fetched, id: &ToolUseId, folder: &Path) -> String {
    match keep(folder, "http", id.as_str(), &fetched.body) {
        Ok(path) => format!("What was fetched: {}", path.display()),
        Err(error) => format!("What was fetched could not be kept: {error}."),
    }
}
