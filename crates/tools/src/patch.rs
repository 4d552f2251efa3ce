//! The `apply_patch` tool: changes, creates, moves, and deletes files in the patch format that
//! OpenAI's models are trained on.
//!
//! `parse` reads the patch, `parts` plans its files, `hunks` decides where hunks apply, and `store`
//! changes all files or none. The engine is that of `edit`.

mod hunks;
mod parse;
mod parts;
mod store;

use std::path::{Path, PathBuf};

use chat::diff::StatedChange;
use chat::tool::ToolUseId;
use platform::paths;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::builtin::{BuiltIn, DEFAULT, FileAccess, TypedTool};
use crate::context::ToolContext;
use crate::describe;
use crate::error::ToolError;
use crate::files::{Before, FileLock, FileLocks, FileTarget, resolve};
use crate::planned::PlannedFile;
use crate::proposal::Proposal;
use crate::replace::listed;
use crate::tool::{CallResult, ProposalResult, ToolResult};
use parts::{Part, parts, plan_patch};

/// Applies a patch to files.
pub(crate) struct ApplyPatch {
    locks: FileLocks,
}

impl ApplyPatch {
    pub(crate) fn new(locks: FileLocks) -> Self {
        Self { locks }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What the change is for, in a few words. The user reads it before allowing the call.
    #[serde(default)]
    label: String,
    /// The whole patch, from *** Begin Patch to *** End Patch.
    input: String,
}

/// The row of `apply_patch`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    preset: Some(DEFAULT),
    files: FileAccess::Changes,
    ..BuiltIn::new("apply_patch", |locks| {
        Box::new(ApplyPatch::new(locks.clone()))
    })
};

impl TypedTool for ApplyPatch {
    type Arguments = Arguments;

    const NAME: &'static str = "apply_patch";
    const LABEL: &'static str = "Patch";
    const DESCRIPTION: &'static str = "Change, create, move, or delete files with a patch: *** Begin Patch, then for each \
        file *** Add File: path, *** Delete File: path, or *** Update File: path with an optional *** Move to: path, \
        then *** End Patch. Hunks start with @@ and optionally a line that the hunk is below. Their lines start with a \
        space (context), -, or +. Each hunk must fit in exactly one place; include lines around it if needed. All \
        files are changed or none.";

    fn changes(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        let patch = input.get("input").and_then(Value::as_str);
        let mut paths = Vec::new();
        for path in parse::paths(patch.unwrap_or_default()) {
            let path = resolve(cwd, path).ok().filter(|it| !paths.contains(it));
            paths.extend(path);
        }
        paths
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let paths = parse::paths(&asked.input).into_iter();
        let mut shown: Vec<String> = paths.map(describe::visible_ends).collect();
        // Some models repeat the name of the file for each hunk.
        shown.dedup();
        Some(format!(
            "{}{}",
            shown.join(", "),
            describe::label(&asked.label)
        ))
    }

    fn stated_change(&self, asked: &Arguments) -> Option<StatedChange> {
        // A patch that cannot be parsed changes nothing, and its call will fail.
        let sections = parse::parse(&asked.input).ok()?.into_iter();
        Some(StatedChange {
            arguments: &["input"],
            files: sections.map(parse::Section::stated).collect(),
        })
    }

    async fn plan(&self, arguments: Arguments, ctx: &ToolContext) -> ProposalResult {
        let planned = plan_patch(parts(&arguments.input, ctx).await?, ctx).await?;
        let files = planned.into_iter().map(|it| it.file.proposed());
        Ok(Some(Proposal {
            files: files.collect(),
        }))
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, ctx: ToolContext) -> CallResult {
        let parts = parts(&arguments.input, &ctx).await?;
        let _locks = self.lock(&parts).await;
        let planned = plan_patch(parts, &ctx).await?;
        // Planning may have taken long, and nothing has been stored yet.
        if ctx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let paths = planned.iter().map(|it| it.file.target.path());
        let details = json!({ "paths": paths.collect::<Vec<_>>() });
        let words: Vec<String> = planned.iter().map(PatchedFile::words).collect();
        let remarks = store::store_all(planned, &ctx).await?;
        let lines = words.into_iter().zip(remarks);
        if let Some(account) = &ctx.review_account {
            // What the user changed is said there, and the plan is not what was applied.
            let remarks: String = lines.map(|(_, remark)| remark).collect();
            let text = format!("Applied the patch as the user changed it.{remarks}\n{account}");
            let mut result = ToolResult::text(text);
            result.details = Some(details);
            return Ok(result);
        }
        let lines: String = lines
            .map(|(words, remark)| format!("\n{words}{remark}"))
            .collect();
        let mut result = ToolResult::text(format!("Applied the patch:{lines}"));
        result.details = Some(details);
        Ok(result)
    }
}

impl ApplyPatch {
    /// Locks all files, in an order that cannot end in a deadlock.
    async fn lock(&self, parts: &[Part]) -> Vec<FileLock> {
        let targets = parts
            .iter()
            .flat_map(|it| [Some(&it.target), it.moved_to.as_ref()]);
        let mut paths: Vec<&Path> = targets.flatten().map(FileTarget::path).collect();
        paths.sort_unstable();
        paths.dedup();
        let mut locks = Vec::new();
        for path in paths {
            locks.push(self.locks.lock(path).await);
        }
        locks
    }
}

/// A file as the patch leaves it.
struct PatchedFile {
    file: PlannedFile,
    /// The lines of the original text where hunks start.
    lines: Vec<usize>,
}

impl PatchedFile {
    /// Says what is done to the file.
    fn words(&self) -> String {
        let name = &self.file.name;
        let change = match (&self.file.before, &self.file.after, &self.file.moved_to) {
            (Before::Absent, ..) => "created".to_owned(),
            (_, None, _) => "deleted".to_owned(),
            (_, _, Some(to)) => format!("moved to {}", paths::visible(to.path())),
            _ => format!("changed at {}", listed(&self.lines)),
        };
        format!("{name}: {change}.{}", self.file.remarks())
    }
}
