//! The `read` tool: returns lines of a text file, an image, or pages of a PDF.
//!
//! Unsaved text in the editor takes precedence over the file. `window` selects the lines; the others
//! are described after them.

mod window;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Cursor, Read as _, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chat::result_files::ResultFile;
use chat::tool::ToolUseId;
use chat::truncate::{Limit, MAX_BYTES, format_size};
use platform::paths;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::window::{LineRange, Window};
use crate::alias::{Alias, text};
use crate::builtin::{BuiltIn, FileUse, READONLY, TypedTool};
use crate::context::Files;
use crate::error::ToolError;
use crate::files::{
    Encoding, MAX_SIZE, Opened, RealPath, blocking, check_size, file_error, open_regular,
    read_text, resolve,
};
use crate::pdf::{self, Pages};
use crate::pictures::{MAX_FILE, result_file, sniffed};
use crate::schema;
use crate::tool::{CallResult, ToolResult};

/// Reads a text file, an image, or a PDF.
pub(crate) struct Read;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What the file is read for, in a few words.
    #[serde(default)]
    label: String,
    /// The file, relative to the working directory, absolute, or starting with ~/.
    path: String,
    /// The first line to read, counted from 1. Null to start at the top.
    offset: Option<f64>,
    /// How many lines to read. Null for as many as fit.
    limit: Option<f64>,
    /// The pages of a PDF to look at, such as "3" or "1-5". Null for all, which must be at most 20.
    pages: Option<String>,
}

/// The row of `read`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    preset: Some(READONLY),
    files: FileUse::Reads,
    alias: Some(("read_file", |_| Box::new(read_file()))),
    ..BuiltIn::new("read", |_| Box::new(Read))
};

impl TypedTool for Read {
    type Arguments = Arguments;
    type Needs = Files;

    const NAME: &'static str = "read";
    const LABEL: &'static str = "Read";
    const DESCRIPTION: &'static str = "Read a text file, or look at an image (PNG, JPEG, GIF, WebP) or pages of a PDF. At most 2000 lines or 50 KB are returned; when there is more, the text \
        ends with the offset to go on from. Use offset and limit to read a part of a large file.";
    const ENABLED: bool = true;

    fn reads(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        let path = input["path"].as_str();
        path.and_then(|it| resolve(cwd, it).ok())
            .into_iter()
            .collect()
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let range = match (asked.offset, asked.limit) {
            (None, None) => String::new(),
            (Some(offset), None) => format!("  +{offset}"),
            (offset, Some(limit)) => format!("  +{},{limit}", offset.unwrap_or(0.0)),
        };
        let path = crate::builtin::visible_ends(&asked.path);
        let pages = asked.pages.as_deref().and_then(Pages::parse);
        let pages = pages.map(|it| format!("  {it}")).unwrap_or_default();
        Some(format!(
            "{path}{range}{pages}{}",
            crate::builtin::label(&asked.label)
        ))
    }

    fn content_of(&self, asked: &Arguments) -> Option<String> {
        Some(asked.path.clone())
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, needs: Files) -> CallResult {
        let (files, cancel) = needs;
        let path = files.real_path(&arguments.path).await?;
        let asked = LineRange::new(arguments.offset, arguments.limit);
        let pages = arguments.pages.as_deref().map(pages).transpose()?;
        let open = files.buffers.text(path.as_path()).await;
        let (stop, name, seen) = (cancel.clone(), arguments.path.clone(), files.seen.clone());
        let found = blocking(move || {
            let found = match &open {
                // Otherwise the file counts, because it may be newer than the buffer.
                Some(open) if open.modified => window::read(Cursor::new(&open.text), asked, &stop)
                    .map(Found::Lines)
                    .map_err(|error| file_error("read", path.as_path(), &error)),
                _ => from_disk(&path, &name, asked, pages, &stop),
            }?;
            // A later `write` merges its text with what changed since.
            if matches!(found, Found::Lines(_)) && !stop.is_cancelled() {
                let on_disk = || read_text(&path).ok().map(|it| it.text);
                if let Some(text) = open.map(|it| it.text).or_else(on_disk) {
                    seen.add(path.as_path(), &text);
                }
            }
            Ok(found)
        })
        .await?;
        // A cancelled read returns early with what it has, which must not look like the file.
        if cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let window = match found {
            Found::Lines(window) => window,
            Found::File(file) => return Ok(ToolResult::file(file)),
        };
        let mut text = with_footer(&window, asked, &arguments.path)?;
        if is_named_as_image(Path::new(&arguments.path)) {
            text.push_str("\n\n[In spite of its name, the file is not an image but text.]");
        }
        Ok(ToolResult::text(text))
    }
}

/// The alias `read_file`, which returns the first lines.
fn read_file() -> Alias {
    let properties = json!({
        "path": {"type": "string", "description": "The file."},
        "max_lines": {"type": ["number", "null"], "description": "Most lines to read."},
    });
    Alias {
        name: "read_file",
        label: "Read file",
        description: "Read a text file, or its first lines.",
        schema: schema::object(&properties, &["path"]),
        tool: |_| Arc::new(Read),
        translate: |input, _| {
            let (path, limit) = (text("path", input)?, &input["max_lines"]);
            Ok(json!({"label": "", "path": path, "offset": null, "limit": limit, "pages": null}))
        },
    }
}

/// Reads the pages that the model asks for.
fn pages(text: &str) -> Result<Pages, ToolError> {
    Pages::parse(text).ok_or_else(|| {
        ToolError::InvalidInput(format!(
            "The pages {text:?} are not a number, such as \"3\", or two, such as \"1-5\"."
        ))
    })
}

/// What a file has for the model.
enum Found {
    Lines(Window),
    File(ResultFile),
}

/// Reads the requested lines from disk, or the image or the pages that the file has. `name` is its
/// path as the model wrote it.
fn from_disk(
    path: &RealPath,
    name: &str,
    asked: LineRange,
    pages: Option<Pages>,
    cancel: &CancellationToken,
) -> Result<Found, ToolError> {
    let mut opened = open_regular(path)?;
    let path = path.as_path();
    let error = |error| file_error("read", path, &error);
    let head = head(&mut opened.file).map_err(error)?;
    match sniffed(&head) {
        Some("application/pdf") => {
            let most = (pdf::MAX_FILE, "Read a smaller copy of it, made with bash.");
            let bytes = whole(opened, path, "a PDF", most)?;
            return shown(path, name, |name| pdf::result_file(name, bytes, pages));
        }
        Some(_) => {
            let most = (MAX_FILE, "Read a copy of it, scaled down with bash.");
            let bytes = whole(opened, path, "an image", most)?;
            return shown(path, name, |name| result_file(name, bytes));
        }
        None => {}
    }
    check_size(path, opened.status.size)?;
    let wide = wide_text(&mut opened.file).map_err(error)?;
    let window = match wide {
        Some(text) => window::read(Cursor::new(text), asked, cancel),
        // The file may grow after its size was checked.
        None => window::read(opened.file.take(MAX_SIZE), asked, cancel),
    };
    let window = window.map_err(error)?;
    if window.is_binary {
        let size = format_size(opened.status.size);
        let claim = if is_named_as_image(path) {
            " and, in spite of its name, not an image"
        } else {
            ""
        };
        return Err(ToolError::Failed(format!(
            "{} is a binary file of {size}{claim}, so its text cannot be read. Use bash, for \
             example with file or xxd.",
            paths::visible(path)
        )));
    }
    Ok(Found::Lines(window))
}

/// Bytes by which the type of a file is recognized.
const HEAD: u64 = 16;

/// Reads the first bytes of a file, and leaves it at its start.
fn head(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(head)
}

/// Reads a file of this kind that has at most so many bytes; otherwise, the error ends with advice.
fn whole(
    opened: Opened,
    path: &Path,
    kind: &str,
    (most, advice): (u64, &str),
) -> Result<Vec<u8>, ToolError> {
    if opened.status.size > most {
        return Err(ToolError::Failed(format!(
            "{} is {kind} of {}, over the limit of {}. {advice}",
            paths::visible(path),
            format_size(opened.status.size),
            format_size(most)
        )));
    }
    let mut bytes = Vec::new();
    // The file may grow after its size was checked.
    let read = opened.file.take(most).read_to_end(&mut bytes);
    read.map_err(|error| file_error("read", path, &error))?;
    Ok(bytes)
}

fn shown(
    path: &Path,
    name: &str,
    show: impl FnOnce(&str) -> Result<ResultFile, String>,
) -> Result<Found, ToolError> {
    let name = paths::visible(Path::new(name)).to_string();
    show(&name)
        .map(Found::File)
        .map_err(|why| ToolError::Failed(format!("{} {why}", paths::visible(path))))
}

/// Returns true if a file has the name of an image that can be read.
fn is_named_as_image(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    extension.is_some_and(|it| {
        let names = ["png", "jpg", "jpeg", "gif", "webp"];
        names.contains(&it.to_ascii_lowercase().as_str())
    })
}

/// The text of a UTF-16 file, recognized by its byte order mark. Leaves other files at their
/// start.
fn wide_text(file: &mut File) -> io::Result<Option<String>> {
    let mut start = [0; 2];
    let read = file.read(&mut start)?;
    file.rewind()?;
    if read < 2 || !matches!(start, [0xff, 0xfe] | [0xfe, 0xff]) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(MAX_SIZE).read_to_end(&mut bytes)?;
    file.rewind()?;
    Ok(Encoding::decode(bytes).map(|(text, _)| text))
}

// Formats the lines of a file, with notices about lines that were left out.

/// The text of the window, followed by notices if something is missing.
///
/// # Errors
///
/// [`ToolError::Failed`] if the file ends before the first requested line.
fn with_footer(window: &Window, asked: LineRange, path: &str) -> Result<String, ToolError> {
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
