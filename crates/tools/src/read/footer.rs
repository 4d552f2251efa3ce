//! Formats the lines of a file, with notices about lines that were left out.

use std::borrow::Cow;

use chat::truncate::{Limit, MAX_BYTES, format_size};

use super::window::{LineRange, Window};
use crate::error::ToolError;

/// The text of the window, followed by notices if something is missing.
///
/// # Errors
///
/// [`ToolError::Failed`] if the file ends before the first requested line.
pub(super) fn with_footer(
    window: &Window,
    asked: LineRange,
    path: &str,
) -> Result<String, ToolError> {
    if let Some(bytes) = window.oversized_line {
        return Ok(oversized(bytes, asked.offset, path));
    }
    if window.lines == 0 {
        return nothing(window, asked, path);
    }
    let (text, notice) = decoded(&window.bytes);
    let mut notices: Vec<String> = notice.into_iter().map(str::to_owned).collect();
    notices.extend(missing(window, asked));
    if notices.is_empty() {
        return Ok(as_shown(&text));
    }
    Ok(format!("{}\n\n{}", as_shown(&text), notices.join("\n")))
}

/// Decodes lines, with a notice if they are not UTF-8. They are taken for Latin-1 if no byte
/// beyond ASCII is part of valid UTF-8; otherwise for UTF-8 with a few wrong bytes.
fn decoded(bytes: &[u8]) -> (Cow<'_, str>, Option<&'static str>) {
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, Cow::Borrowed(_)) {
        return (text, None);
    }
    if bytes.utf8_chunks().all(|chunk| chunk.valid().is_ascii()) {
        let text = bytes.iter().copied().map(char::from).collect();
        return (
            text,
            Some("[The file is not UTF-8 and is shown as Latin-1.]"),
        );
    }
    let notice = "[Some bytes are not UTF-8 and are shown as \u{fffd}.]";
    (text, Some(notice))
}

/// Makes text displayable: a buffer line cannot contain a NUL, and a result of blank lines
/// would look empty.
fn as_shown(text: &str) -> String {
    if text.bytes().all(|byte| byte == b'\n') {
        return match text.len() + 1 {
            1 => "(1 blank line)".to_owned(),
            lines => format!("({lines} blank lines)"),
        };
    }
    text.replace('\0', "␀")
}

fn nothing(window: &Window, asked: LineRange, path: &str) -> Result<String, ToolError> {
    if window.total_lines == 0 && asked.offset == 1 {
        return Ok("(empty file)".to_owned());
    }
    let lines = match window.total_lines {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    Err(ToolError::Failed(format!(
        "Offset {} is beyond the end of {path}, which has {lines}.",
        asked.offset
    )))
}

fn missing(window: &Window, asked: LineRange) -> Option<String> {
    let last = asked.offset + window.lines - 1;
    // Cannot underflow, because the lines of the window are counted, too.
    let more = window.total_lines - last;
    if more == 0 && !window.is_total_open {
        return None;
    }
    let open = if window.is_total_open {
        "more than "
    } else {
        ""
    };
    let total = window.total_lines;
    let next = format!("Continue with offset={}.", last + 1);
    Some(match window.limited_by {
        Some(Limit::Lines) => {
            format!(
                "[Showing lines {}-{last} of {open}{total}. {next}]",
                asked.offset
            )
        }
        Some(Limit::Bytes) => format!(
            "[Showing lines {}-{last} of {open}{total} ({} limit). {next}]",
            asked.offset,
            format_size(MAX_BYTES as u64)
        ),
        None if more == 1 && !window.is_total_open => format!("[1 more line. {next}]"),
        None => format!("[{open}{more} more lines. {next}]"),
    })
}

fn oversized(bytes: u64, line: usize, path: &str) -> String {
    // Single quotes hide everything from a shell but themselves.
    let quoted = path.replace('\'', r"'\''");
    format!(
        "[Line {line} is {}, over the {} limit. Read a part of it with bash: \
         sed -n {line}p '{quoted}' | head -c {MAX_BYTES}]",
        format_size(bytes),
        format_size(MAX_BYTES as u64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(total_lines: usize, lines: usize, limited_by: Option<Limit>) -> Option<String> {
        let window = Window {
            lines,
            total_lines,
            limited_by,
            ..Window::default()
        };
        missing(
            &window,
            LineRange {
                offset: 11,
                limit: None,
            },
        )
    }

    #[test]
    fn the_footer_names_the_next_offset() {
        assert_eq!(shown(20, 10, None), None);
        assert_eq!(
            shown(21, 10, None).as_deref(),
            Some("[1 more line. Continue with offset=21.]")
        );
        assert_eq!(
            shown(50, 10, None).as_deref(),
            Some("[30 more lines. Continue with offset=21.]")
        );
        assert_eq!(
            shown(50, 10, Some(Limit::Lines)).as_deref(),
            Some("[Showing lines 11-20 of 50. Continue with offset=21.]")
        );
        assert_eq!(
            shown(50, 10, Some(Limit::Bytes)).as_deref(),
            Some("[Showing lines 11-20 of 50 (50.0 KB limit). Continue with offset=21.]")
        );
    }

    #[test]
    fn the_command_for_an_oversized_line_quotes_the_path() {
        let hint = oversized(1_572_864, 3, "it's; rm -rf ~");

        assert_eq!(
            hint,
            r"[Line 3 is 1.5 MB, over the 50.0 KB limit. Read a part of it with bash: sed -n 3p 'it'\''s; rm -rf ~' | head -c 51200]"
        );
    }
}
