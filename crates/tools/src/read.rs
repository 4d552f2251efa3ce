//! The `read` tool: returns lines of a text file.
//!
//! Unsaved text in the editor takes precedence over the file. `window` selects the lines and
//! `footer` describes the others.

mod footer;
mod window;

use std::fs::File;
use std::io::{self, Cursor, Read as _, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chat::tool::ToolUseId;
use chat::truncate::format_size;
use platform::paths;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::alias::{Alias, text};
use crate::builtin::{BuiltIn, FileAccess, READONLY, TypedTool};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{
    Encoding, FileTarget, MAX_SIZE, RealPath, blocking, check_size, file_error, open_regular,
    resolve,
};
use crate::tool::{CallResult, ToolResult};
use crate::{describe, schema};
use window::{LineRange, Window};

/// Reads a text file.
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
}

/// The row of `read`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    preset: Some(READONLY),
    files: FileAccess::Reads,
    alias: Some(("read_file", |_| Box::new(read_file()))),
    ..BuiltIn::new("read", |_| Box::new(Read))
};

impl TypedTool for Read {
    type Arguments = Arguments;

    const NAME: &'static str = "read";
    const LABEL: &'static str = "Read";
    const DESCRIPTION: &'static str = "Read a text file. At most 2000 lines or 50 KB are returned; when there is more, the text \
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
        let path = describe::visible_ends(&asked.path);
        Some(format!("{path}{range}{}", describe::label(&asked.label)))
    }

    fn content_of(&self, asked: &Arguments) -> Option<String> {
        Some(asked.path.clone())
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, ctx: ToolContext) -> CallResult {
        let path = ctx.real_path(&arguments.path).await?;
        let asked = LineRange::new(arguments.offset, arguments.limit);
        let unsaved = unsaved_text(&path, &ctx).await;
        let (cancel, real) = (ctx.cancel.clone(), path.clone());
        let window = blocking(move || match unsaved {
            Some(text) => window::read(Cursor::new(text), asked, &cancel)
                .map_err(|error| file_error("read", path.as_path(), &error)),
            None => from_disk(&path, asked, &cancel),
        })
        .await?;
        // A cancelled read returns early with what it has, which must not look like the file.
        if ctx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        // A later `write` merges its text with what changed since.
        remember(real, &ctx).await;
        footer::with_footer(&window, asked, &arguments.path).map(ToolResult::text)
    }
}

/// Remembers the text of a file that the model reads.
async fn remember(path: RealPath, ctx: &ToolContext) {
    if let Ok(target) = FileTarget::find(path, ctx.buffers.clone()).await
        && let Ok(text) = target.text().await
    {
        ctx.seen.add(target.path(), &text.text);
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
        schema: schema::object(properties, &["path"]),
        tool: |_| Arc::new(Read),
        translate: |input, _| {
            let (path, limit) = (text("path", input)?, &input["max_lines"]);
            Ok(json!({"label": "", "path": path, "offset": null, "limit": limit}))
        },
    }
}

/// The text of the buffer, if it has unsaved changes.
async fn unsaved_text(path: &RealPath, ctx: &ToolContext) -> Option<String> {
    let open = ctx.buffers.text(path.as_path()).await?;
    // Otherwise the file counts, because it may be newer than the buffer.
    open.modified.then_some(open.text)
}

/// Reads the requested lines from disk.
fn from_disk(
    path: &RealPath,
    asked: LineRange,
    cancel: &CancellationToken,
) -> Result<Window, ToolError> {
    let mut opened = open_regular(path)?;
    let path = path.as_path();
    check_size(path, opened.status.size)?;
    let error = |error| file_error("read", path, &error);
    let wide = wide_text(&mut opened.file).map_err(error)?;
    let window = match wide {
        Some(text) => window::read(Cursor::new(text), asked, cancel),
        // The file may grow after its size was checked.
        None => window::read(opened.file.take(MAX_SIZE), asked, cancel),
    };
    let window = window.map_err(error)?;
    if window.is_binary {
        let size = format_size(opened.status.size);
        return Err(ToolError::Failed(format!(
            "{} is a binary file of {size}, so there is no text to read. Use bash, for example \
             with file or xxd.",
            paths::visible(path)
        )));
    }
    Ok(window)
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
