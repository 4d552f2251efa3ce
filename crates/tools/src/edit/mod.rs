//! The `edit` tool: replaces one piece of a file's text.
//!
//! `plan` locates the piece, `endings` adapts line endings, and `nearest` finds similar text
//! for the error message. All three are pure.

mod endings;
mod nearest;
mod plan;

use std::path::{Path, PathBuf};

use chat::diff::{Counts, FileDiff};
use chat::tool::ToolUseId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::builtin::{BuiltIn, DEFAULT, FileAccess, TypedTool};
use crate::context::ToolContext;
use crate::describe;
use crate::error::ToolError;
use crate::files::{Before, FileLocks, Target, blocking, named_path};
use crate::planned::PlannedFile;
use crate::tool::{CallResult, ProposalResult, ToolResult};

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

    fn changes(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        named_path(input, cwd)
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let path = describe::visible_ends(&asked.path);
        Some(format!("{path}{}", describe::label(&asked.label)))
    }

    fn changed_lines(&self, asked: &Arguments) -> Option<Counts> {
        Some(FileDiff::of(&asked.old_text, &asked.new_text).counts)
    }

    async fn plan(&self, arguments: Arguments, ctx: &ToolContext) -> ProposalResult {
        let target = ctx.target(&arguments.path).await?;
        let (planned, _) = plan_edit(target, arguments).await?;
        Ok(Some(planned.proposal()))
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, ctx: ToolContext) -> CallResult {
        let target = ctx.target(&arguments.path).await?;
        let path = target.path().to_owned();
        let _lock = self.locks.lock(&path).await;
        let (planned, line) = plan_edit(target, arguments).await?;
        let name = planned.name.clone();
        let stored = planned.store(&ctx).await?;
        let mut result =
            ToolResult::text(format!("Edited {name} at line {line}.{}", stored.remark()));
        result.details = Some(json!({ "path": path, "line": line }));
        Ok(result)
    }
}

/// Plans the edit. Also returns the line at which it begins. Runs on a blocking thread, because
/// the search for similar text takes time.
async fn plan_edit(
    target: Target,
    arguments: Arguments,
) -> Result<(PlannedFile, usize), ToolError> {
    let text = target.text().await?;
    blocking(move || {
        let change = plan::plan(&text.text, &arguments.old_text, &arguments.new_text)
            .map_err(|problem| problem.into_error(&arguments.path))?;
        let planned = PlannedFile {
            target,
            name: arguments.path,
            before: Before::Text(text),
            after: change.text,
            keeps: true,
            remarks: Vec::new(),
        };
        Ok((planned, change.line))
    })
    .await
}
