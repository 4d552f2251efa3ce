//! The `write` tool: creates a file or replaces its text.

mod write_file;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use chat::tool::ToolUseId;
use chat::truncate::format_size;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use write_file::WriteFile;

use crate::builtin::{BuiltIn, DEFAULT, FileAccess, facts};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{FileLocks, Target, resolve};
use crate::tool::{Tool, ToolResult};
use crate::{describe, schema};

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
struct Arguments {
    /// What the file is for, in a few words. The user reads it before allowing the call.
    #[serde(default, rename = "label")]
    _label: String,
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

#[async_trait]
impl Tool for Write {
    facts! {
        name: "write",
        label: "Write",
        description: "Create a file or replace all of its text. Missing directories are created. The file is \
                      written whole or not at all. To change a part of an existing file, use edit.",
        arguments: Arguments,
        enabled: true,
    }

    fn changes(&self, input: &Value, cwd: &Path) -> Option<PathBuf> {
        resolve(cwd, input.get("path")?.as_str()?).ok()
    }

    fn describe(&self, input: &Value) -> Option<String> {
        let input = input.as_object()?;
        let size = format_size(describe::text(input, "content")?.len() as u64);
        let path = describe::path(input)?;
        Some(format!("{path}  ({size}){}", describe::label(input)?))
    }

    async fn execute(
        &self,
        _id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let arguments: Arguments = schema::arguments(self.name(), input)?;
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
