//! The `apply_patch` tool: changes, creates, moves, and deletes files in the patch format that
//! OpenAI's models are trained on.
//!
//! `parse` reads the patch and decides where hunks apply, and `parts` plans its files. All files are
//! changed or none. The engine is that of `edit`.

mod parse;
mod parts;

use std::path::{Path, PathBuf};

use chat::diff::StatedChange;
use chat::tool::ToolUseId;
use platform::paths;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::parts::{Part, parts, plan_patch};
use crate::builtin::{BuiltIn, DEFAULT, FileUse, TypedTool};
use crate::context::Files;
use crate::error::ToolError;
use crate::file_access::FileAccess;
use crate::files::{Before, Expected, FileLock, FileLocks, FileTarget, FileText, resolve};
use crate::planned::PlannedFile;
use crate::proposal::Proposal;
use crate::replace::listed;
use crate::tool::{CallResult, ProposalResult, ToolResult};

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
    files: FileUse::Changes,
    ..BuiltIn::new("apply_patch", |locks| {
        Box::new(ApplyPatch::new(locks.clone()))
    })
};

impl TypedTool for ApplyPatch {
    type Arguments = Arguments;
    type Needs = Files;

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
        let mut shown: Vec<String> = paths.map(crate::builtin::visible_ends).collect();
        // Some models repeat the name of the file for each hunk.
        shown.dedup();
        Some(format!(
            "{}{}",
            shown.join(", "),
            crate::builtin::label(&asked.label)
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

    async fn plan(&self, arguments: Arguments, (files, _): Files) -> ProposalResult {
        let planned = plan_patch(parts(&arguments.input, &files).await?, &files).await?;
        let files = planned.into_iter().map(|it| it.file.proposed());
        Ok(Some(Proposal {
            files: files.collect(),
        }))
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, needs: Files) -> CallResult {
        let (files, cancel) = needs;
        let parts = parts(&arguments.input, &files).await?;
        let _locks = self.lock(&parts).await;
        let planned = plan_patch(parts, &files).await?;
        // Planning may have taken long, and nothing has been stored yet.
        if cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let paths = planned.iter().map(|it| it.file.target.path());
        let details = json!({ "paths": paths.collect::<Vec<_>>() });
        let words: Vec<String> = planned.iter().map(PatchedFile::words).collect();
        let remarks = store_all(planned, &files).await?;
        let lines = words.into_iter().zip(remarks);
        if let Some(account) = &files.review_account {
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

// Changes all files of a patch or none.

/// Stores all files. Returns a remark for each. The caller holds the locks.
///
/// # Errors
///
/// One of them cannot be stored. Those before it are restored then, or the error says which are
/// not.
async fn store_all(
    planned: Vec<PatchedFile>,
    access: &FileAccess,
) -> Result<Vec<String>, ToolError> {
    let mut done = Vec::new();
    let mut remarks = vec![String::new(); planned.len()];
    let mut files = Vec::new();
    for (number, PatchedFile { file, .. }) in planned.into_iter().enumerate() {
        let (after, moves) = file.approved(access)?;
        let moved_to = file.moved_to.clone().filter(|_| moves);
        let file = PlannedFile {
            after,
            moved_to,
            ..file
        };
        files.push((number, file));
    }
    let applied = files.iter().map(|(_, file)| file.proposed()).collect();
    // Deletions are last, because they are the hardest to revert.
    files.sort_by_key(|(_, file)| file.after.is_none());
    for (number, file) in files {
        match store(file, access, &mut done).await {
            Ok(remark) => remarks[number] = remark,
            Err(error) => return Err(roll_back(error, done, access).await),
        }
    }
    access.applied.add(Proposal { files: applied });
    Ok(remarks)
}

/// A change that was made, with what reverts it.
enum Done {
    Created(FileTarget, String),
    Changed(FileTarget, FileText, String),
    Moved(FileTarget, FileTarget, FileText),
    Deleted(FileTarget, FileText, u32),
}

async fn store(
    file: PlannedFile,
    access: &FileAccess,
    done: &mut Vec<Done>,
) -> Result<String, ToolError> {
    let PlannedFile {
        target,
        before,
        after,
        moved_to,
        ..
    } = file;
    match (before, after) {
        (Before::Text(before), Some(after)) => {
            let target = match moved_to {
                Some(to) => rename(target, to, &before, access, done).await?,
                None => target,
            };
            change(target, before, after, access, done).await
        }
        (Before::Text(before), None) => {
            let mode = access.remove(&target, &before).await?;
            done.push(Done::Deleted(target, before, mode));
            Ok(String::new())
        }
        (Before::Absent | Before::Other(_), Some(after)) => {
            // A patch creates a file only where none is.
            let stored = access.store(&target, Expected::Absent, after.clone());
            let stored = stored.await?;
            access.seen.add(target.path(), &after);
            done.push(Done::Created(target, after));
            Ok(stored.remark())
        }
        // The user dropped the new file in a review.
        (Before::Absent | Before::Other(_), None) => Ok(String::new()),
    }
}

/// Renames a file. Returns the file at its new place.
async fn rename(
    from: FileTarget,
    to: FileTarget,
    text: &FileText,
    access: &FileAccess,
    done: &mut Vec<Done>,
) -> Result<FileTarget, ToolError> {
    access.rename(&from, &to, text).await?;
    done.push(Done::Moved(from, to.clone(), text.clone()));
    Ok(to)
}

/// Stores the new text of a file. Returns remarks.
async fn change(
    target: FileTarget,
    before: FileText,
    after: String,
    access: &FileAccess,
    done: &mut Vec<Done>,
) -> Result<String, ToolError> {
    // A patch may only move a file.
    if before.text == after {
        return Ok(String::new());
    }
    let expected = Expected::Changed(before.clone());
    let stored = access.store(&target, expected, after.clone()).await?;
    access.seen.replace(target.path(), &before.text, &after);
    done.push(Done::Changed(target, before, after));
    Ok(stored.remark())
}

/// Reverts what was done, the last change first. Returns the error with what became of it.
async fn roll_back(error: ToolError, done: Vec<Done>, access: &FileAccess) -> ToolError {
    let (mut restored, mut lost) = (0, Vec::new());
    for it in done.into_iter().rev() {
        let path = it.path();
        match it.revert(access).await {
            Ok(()) => restored += 1,
            Err(why) => lost.push(format!("{path} ({why})")),
        }
    }
    let fate = match (restored, lost.is_empty()) {
        (0, true) => "Nothing else was changed.".to_owned(),
        (_, true) => "The changes before it were reverted.".to_owned(),
        (_, false) => format!("These changes could not be reverted: {}.", lost.join("; ")),
    };
    ToolError::Failed(format!("{error} {fate}"))
}

impl Done {
    fn path(&self) -> String {
        let (Self::Created(target, _)
        | Self::Changed(target, ..)
        | Self::Moved(target, ..)
        | Self::Deleted(target, ..)) = self;
        paths::visible(target.path())
    }

    async fn revert(self, access: &FileAccess) -> Result<(), ToolError> {
        match self {
            Self::Created(target, after) => {
                // Only with the text that was written: a later change by the user must stay.
                access.remove(&target, &FileText::utf8(after)).await?;
                Ok(())
            }
            Self::Changed(target, before, after) => {
                // A later change by the user must stay.
                let expected = Expected::Changed(before.with(after));
                access.store(&target, expected, before.text).await?;
                Ok(())
            }
            Self::Moved(from, to, before) => access.rename(&to, &from, &before).await,
            Self::Deleted(target, before, mode) => target.recreate(before, mode).await,
        }
    }
}
