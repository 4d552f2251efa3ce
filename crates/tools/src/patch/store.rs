//! Changes all files of a patch or none.

use platform::paths;

use super::PatchedFile;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{Before, Expected, FileTarget, FileText};
use crate::planned::PlannedFile;
use crate::proposal::Proposal;

/// Stores all files. Returns a remark for each. The caller holds the locks.
///
/// # Errors
///
/// One of them cannot be stored. Those before it are restored then, or the error says which are
/// not.
pub(super) async fn store_all(
    planned: Vec<PatchedFile>,
    ctx: &ToolContext,
) -> Result<Vec<String>, ToolError> {
    let mut done = Vec::new();
    let mut remarks = vec![String::new(); planned.len()];
    let mut files = Vec::new();
    for (number, PatchedFile { file, .. }) in planned.into_iter().enumerate() {
        let (after, moves) = file.approved(ctx)?;
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
        match store(file, ctx, &mut done).await {
            Ok(remark) => remarks[number] = remark,
            Err(error) => return Err(roll_back(error, done, ctx).await),
        }
    }
    ctx.applied.add(Proposal { files: applied });
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
    ctx: &ToolContext,
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
                Some(to) => rename(target, to, &before, ctx, done).await?,
                None => target,
            };
            change(target, before, after, ctx, done).await
        }
        (Before::Text(before), None) => {
            let mode = ctx.remove(&target, &before).await?;
            done.push(Done::Deleted(target, before, mode));
            Ok(String::new())
        }
        (Before::Absent | Before::Other(_), Some(after)) => {
            // A patch creates a file only where none is.
            let stored = ctx.store(&target, Expected::Absent, after.clone());
            let stored = stored.await?;
            ctx.seen.add(target.path(), &after);
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
    ctx: &ToolContext,
    done: &mut Vec<Done>,
) -> Result<FileTarget, ToolError> {
    ctx.rename(&from, &to, text).await?;
    done.push(Done::Moved(from, to.clone(), text.clone()));
    Ok(to)
}

/// Stores the new text of a file. Returns remarks.
async fn change(
    target: FileTarget,
    before: FileText,
    after: String,
    ctx: &ToolContext,
    done: &mut Vec<Done>,
) -> Result<String, ToolError> {
    // A patch may only move a file.
    if before.text == after {
        return Ok(String::new());
    }
    let expected = Expected::Changed(before.clone());
    let stored = ctx.store(&target, expected, after.clone()).await?;
    ctx.seen.replace(target.path(), &before.text, &after);
    done.push(Done::Changed(target, before, after));
    Ok(stored.remark())
}

/// Reverts what was done, the last change first. Returns the error with what became of it.
async fn roll_back(error: ToolError, done: Vec<Done>, ctx: &ToolContext) -> ToolError {
    let (mut restored, mut lost) = (0, Vec::new());
    for it in done.into_iter().rev() {
        let path = it.path();
        match it.revert(ctx).await {
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

    async fn revert(self, ctx: &ToolContext) -> Result<(), ToolError> {
        match self {
            Self::Created(target, after) => {
                // Only with the text that was written: a later change by the user must stay.
                ctx.remove(&target, &FileText::utf8(after)).await?;
                Ok(())
            }
            Self::Changed(target, before, after) => {
                // A later change by the user must stay.
                let expected = Expected::Changed(before.with(after));
                ctx.store(&target, expected, before.text).await?;
                Ok(())
            }
            Self::Moved(from, to, before) => ctx.rename(&to, &from, &before).await,
            Self::Deleted(target, before, mode) => target.recreate(before, mode).await,
        }
    }
}
