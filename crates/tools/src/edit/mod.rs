//! The `edit` tool: replaces one piece of a file's text.
//!
//! `plan` locates the piece, `endings` adapts line endings, and `nearest` finds similar text
//! for the error message. All three are pure.

mod endings;
mod nearest;
mod plan;

use std::path::{Path, PathBuf};

use chat::tool::ToolUseId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::builtin::{BuiltIn, DEFAULT, FileAccess, TypedTool};
use crate::context::ToolContext;
use crate::describe;
use crate::error::ToolError;
use crate::files::{FileLocks, FileText, Target, blocking, resolve};
use crate::tool::{CallResult, ToolResult};
use plan::EditedText;

/// Replaces one unique piece of text.
pub(crate) struct Edit {
    locks: FileLocks,
}

impl Edit {
    pub(crate) fn new(locks: FileLocks) -> Self {
        Self { locks }
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Arguments {
    /// What the change is for, in a few words. The user reads it before allowing the call.
    #[serde(default)]
    label: String,
    /// The file, relative to the working directory, absolute, or starting with ~/.
    path: String,
    /// The text to replace, exactly as it is in the file. It must occur once; include
    /// lines around it if needed.
    old_text: String,
    /// The text to put in its place, taken literally. Empty to delete.
    new_text: String,
}

/// The row of `edit`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    preset: Some(DEFAULT),
    files: FileAccess::Changes,
    ..BuiltIn::new("edit", |locks| Box::new(Edit::new(locks.clone())))
};

impl TypedTool for Edit {
    type Arguments = Arguments;

    const NAME: &'static str = "edit";
    const LABEL: &'static str = "Edit";
    const DESCRIPTION: &'static str = "Replace one piece of text in a file. oldText must match the file exactly, including \
        indentation, and must occur only once. Line endings of the file are kept. Read the file \
        first.";
    const ENABLED: bool = true;

    fn changes(&self, input: &Value, cwd: &Path) -> Option<PathBuf> {
        resolve(cwd, input.get("path")?.as_str()?).ok()
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let path = describe::visible_ends(&asked.path);
        Some(format!("{path}{}", describe::label(&asked.label)))
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, ctx: ToolContext) -> CallResult {
        let path = ctx.writable_path(&arguments.path).await?;
        let target = Target::find(path, ctx.buffers.clone()).await?;
        let _lock = self.locks.lock(target.path()).await;
        let text = target.text().await?;
        let (text, change) = find_place(text, &arguments).await?;
        if ctx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let stored = ctx.store(&target, Some(text), change.text).await?;
        let mut result = ToolResult::text(format!(
            "Edited {} at line {}.{}",
            arguments.path,
            change.line,
            stored.remark()
        ));
        result.details = Some(json!({ "path": target.path(), "line": change.line }));
        Ok(result)
    }
}

/// Plans the edit on a blocking thread, because the search for similar text takes time.
async fn find_place(
    text: FileText,
    arguments: &Arguments,
) -> Result<(FileText, EditedText), ToolError> {
    let arguments = arguments.clone();
    blocking(move || {
        plan::plan(&text.text, &arguments.old_text, &arguments.new_text)
            .map(|change| (text, change))
            .map_err(|problem| problem.into_error(&arguments.path))
    })
    .await
}
