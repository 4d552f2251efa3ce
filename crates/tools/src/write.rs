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
use crate::files::{FileLocks, Target, named_path};
use crate::planned::PlannedFile;
use crate::tool::{CallResult, ProposalResult, ToolResult};

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

    fn changes(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        named_path(input, cwd)
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let size = format_size(asked.content.len() as u64);
        let path = describe::visible_ends(&asked.path);
        Some(format!("{path}  ({size}){}", describe::label(&asked.label)))
    }

    async fn plan(&self, arguments: Arguments, ctx: &ToolContext) -> ProposalResult {
        let target = ctx.target(&arguments.path).await?;
        Ok(Some(plan_write(target, arguments).await?.proposal()))
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, ctx: ToolContext) -> CallResult {
        let target = ctx.target(&arguments.path).await?;
        let _lock = self.locks.lock(target.path()).await;
        let planned = plan_write(target, arguments).await?;
        let name = planned.name.clone();
        let stored = planned.store(&ctx).await?;
        let (size, remark) = (stored.size(), stored.remark());
        Ok(ToolResult::text(format!("Wrote {size} to {name}.{remark}")))
    }
}

async fn plan_write(target: Target, arguments: Arguments) -> Result<PlannedFile, ToolError> {
    Ok(PlannedFile {
        before: target.before().await?,
        target,
        name: arguments.path,
        after: arguments.content,
        keeps: false,
        remarks: Vec::new(),
    })
}
