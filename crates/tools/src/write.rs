//! The `write` tool: creates a file or replaces its text.

mod write_file;

use std::path::{Path, PathBuf};

use chat::tool::ToolUseId;
use chat::truncate::format_size;
use platform::paths;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use write_file::WriteFile;

use crate::builtin::{BuiltIn, DEFAULT, FileAccess, TypedTool};
use crate::context::ToolContext;
use crate::describe;
use crate::error::ToolError;
use crate::files::{FileLocks, FileTarget, named_path};
use crate::merge::merge;
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
        let planned = plan_write(target, arguments, ctx).await?;
        Ok(Some(planned.proposed().into()))
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, ctx: ToolContext) -> CallResult {
        let target = ctx.target(&arguments.path).await?;
        // Another call must not change the file between planning and storing.
        let _lock = self.locks.lock(target.path()).await;
        let planned = plan_write(target, arguments, &ctx).await?;
        let (name, remarks) = (planned.name.clone(), planned.remarks());
        let stored = planned.store(&ctx).await?;
        let (size, remark) = (stored.size(), stored.remark());
        let account = ctx.review_account.as_ref();
        let account = account.map(|it| format!("\n{it}")).unwrap_or_default();
        Ok(ToolResult::text(format!(
            "Wrote {size} to {name}.{remarks}{remark}{account}"
        )))
    }
}

/// Plans to write the text, merged with what others changed since the model read the file.
async fn plan_write(
    target: FileTarget,
    arguments: Arguments,
    ctx: &ToolContext,
) -> Result<PlannedFile, ToolError> {
    let before = target.before().await?;
    let seen = ctx.seen.text(target.path());
    let mut planned = PlannedFile {
        before,
        target,
        name: paths::visible(Path::new(&arguments.path)),
        after: Some(arguments.content),
        moved_to: None,
        // Any content is replaced, in UTF-8, unless changes are merged below.
        keeps: false,
        remarks: Vec::new(),
    };
    // A file that the model has not read is replaced as a whole.
    if let Some(seen) = seen {
        merge_changes(&mut planned, &seen)?;
    }
    Ok(planned)
}

fn merge_changes(planned: &mut PlannedFile, seen: &str) -> Result<(), ToolError> {
    let (Some(now), Some(after)) = (planned.before.text(), &planned.after) else {
        return Ok(());
    };
    // Nothing changed since the model read it, or its text is there already.
    if now.text == seen || now.text == *after {
        return Ok(());
    }
    let name = &planned.name;
    let merged = merge(seen, &now.text, after).map_err(|line| {
        ToolError::Failed(format!(
            "{name} has changed since you read it, also where your text changes it (line {line} as you read it). \
             Nothing was written. Read it again."
        ))
    })?;
    planned.remarks.push(format!(
        "{name} had changed since you read it, and these changes were kept. Read it again before you write it."
    ));
    planned.after = Some(merged);
    planned.keeps = true;
    Ok(())
}
