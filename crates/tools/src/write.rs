//! The `write` tool: creates a file or replaces its text.

mod write_file;

use std::path::{Path, PathBuf};

use chat::tool::ToolUseId;
use chat::truncate::format_size;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use write_file::WriteFile;

use crate::builtin::{BuiltIn, DEFAULT, FileAccess, TypedTool};
use crate::context::ToolContext;
use crate::describe;
use crate::error::ToolError;
use crate::files::{FileLocks, Target, resolve};
use crate::tool::{CallResult, ToolResult};

/// Creates or overwrites a file.
pub(crate) struct Write {
    locks: FileLocks,
}

impl Write {
    pub(crate) fn new(locks: FileLocks) -> Self {
        Self { locks }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What the file is for, in a few words. The user reads it before allowing the call.
    #[serde(default)]
    label: String,
    /// The file, relative to the working directory, absolute, or starting with ~/.
    path: String,
    /// The whole new text of the file, exactly as it is to be stored.
    content: String,
}

/// The row of `write`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    preset: Some(DEFAULT),
    files: FileAccess::Changes,
    alias: Some(("write_file", |locks| Box::new(WriteFile::new(locks)))),
    ..BuiltIn::new("write", |locks| Box::new(Write::new(locks.clone())))
};

impl TypedTool for Write {
    type Arguments = Arguments;

    const NAME: &'static str = "write";
    const LABEL: &'static str = "Write";
    const DESCRIPTION: &'static str = "Create a file or replace all of its text. Missing directories are created. The file is \
        written whole or not at all. To change a part of an existing file, use edit.";
    const ENABLED: bool = true;

    fn changes(&self, input: &Value, cwd: &Path) -> Option<PathBuf> {
        resolve(cwd, input.get("path")?.as_str()?).ok()
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let size = format_size(asked.content.len() as u64);
        let path = describe::visible_ends(&asked.path);
        Some(format!("{path}  ({size}){}", describe::label(&asked.label)))
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, ctx: ToolContext) -> CallResult {
        let path = ctx.writable_path(&arguments.path).await?;
        let target = Target::find(path, ctx.buffers.clone()).await?;
        let _lock = self.locks.lock(target.path()).await;
        if ctx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let stored = ctx.store(&target, None, arguments.content).await?;
        Ok(ToolResult::text(format!(
            "Wrote {} to {}.{}",
            stored.size(),
            arguments.path,
            stored.remark()
        )))
    }
}
