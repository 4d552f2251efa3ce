//! Makes the changes of a trial in the project.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use platform::files::{NewFileAttributes, OpenFolder};
use platform::paths::visible;

use crate::checkpoints::{Content, FileState, Made};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{Parents, RealPath, blocking};
use crate::proposal::{Proposal, ProposedFile};
use crate::tool::{CallResult, ToolResult};
use crate::trial::{FileEffect, LayerChange, Trial};

/// Makes the changes that a trial showed, or what the user left of them in a review, and returns the
/// result of its command. Nothing runs again.
///
/// # Errors
///
/// A file has changed since the trial, or can't be written. No file of a project is changed then,
/// apart from ignored ones.
pub(super) async fn take(trial: &Arc<Trial>, ctx: &ToolContext) -> CallResult {
    if ctx.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let effects = trial.effects.files.iter().zip(&trial.files);
    let review = ctx.files.reviewed.as_deref();
    let (made, applied): (Vec<_>, Vec<_>) = effects
        .filter_map(|(effect, file)| reviewed(effect, file, review))
        .unzip();
    if !made.is_empty() {
        let done = ctx.files.recorder.make(made, &*ctx.files.buffers).await;
        done.map_err(ToolError::Failed)?;
        ctx.files.applied.add(Proposal { files: applied });
    }
    let (tried, is_unasked) = (trial.clone(), ctx.exec.is_unasked);
    let notes = blocking(move || {
        let tmp = put_all(&tried.effects.tmp);
        // Nobody has seen ignored files, and no undo restores them.
        let others = if is_unasked {
            tried.keep_ignored()
        } else {
            put_all(&tried.other_changes())
        };
        Ok([tmp, others])
    });
    let notes = notes.await?;
    // Open files have changed on disk.
    ctx.files.buffers.check();
    let notes = notes.into_iter().flatten();
    Ok(result(trial, notes.chain(ctx.files.review_account.clone())))
}

/// Returns the result of a tried command of which nothing stays.
pub(super) fn discard(trial: &Trial) -> ToolResult {
    result(trial, trial.discarded())
}

fn result(trial: &Trial, notes: impl IntoIterator<Item = String>) -> ToolResult {
    let mut content = trial.output.clone();
    for note in notes {
        content.push_str("\n\n");
        content.push_str(&note);
    }
    ToolResult {
        files: Vec::new(),
        content,
        details: trial.details.clone(),
        marked_failed: trial.is_marked_failed,
        hindered: None,
    }
}

/// The change of a file as it was reviewed. `None` if nothing is left of it.
fn reviewed(
    effect: &FileEffect,
    file: &ProposedFile,
    review: Option<&Proposal>,
) -> Option<(Made, ProposedFile)> {
    let mut file = file.clone();
    let mut made = Made {
        path: effect.path.clone(),
        before: effect.before.clone(),
        after: effect.after.clone(),
        content: match (&effect.after, &effect.source) {
            (FileState::File { .. }, Some(source)) => Content::At(source.clone()),
            _ => Content::None,
        },
    };
    let Some(review) = review else {
        return Some((made, file));
    };
    let kept = review.files.iter().find(|it| it.path == effect.path)?;
    if kept.after == file.before {
        return None;
    }
    if kept.after != file.after {
        // A removed file that the user wants to keep in part has the mode that it had.
        let mode = effect.after.mode().or(effect.before.mode());
        let text = kept.after.clone().unwrap_or_default();
        made.after = FileState::file(text.as_bytes(), mode.unwrap_or(0o644));
        made.content = Content::Bytes(text.into_bytes());
        file.after.clone_from(&kept.after);
    }
    Some((made, file))
}

/// Makes the changes that need no checkpoint. Returns a sentence if some could not be made.
fn put_all(changes: &[LayerChange]) -> Option<String> {
    // Folders come before what is in them, and are removed after it.
    let removed = changes.iter().rev().filter(|it| it.source.is_none());
    let made = changes.iter().filter(|it| it.source.is_some());
    let failed: Vec<&LayerChange> = removed.chain(made).filter(|it| put(it).is_err()).collect();
    let first = failed.first()?;
    Some(match failed.len() {
        1 => format!("[{} could not be written.]", visible(&first.path)),
        count => format!(
            "[{} and {} more files could not be written.]",
            visible(&first.path),
            count - 1
        ),
    })
}

fn put(change: &LayerChange) -> io::Result<()> {
    let path = RealPath::exact(change.path.clone());
    let Some(source) = &change.source else {
        let (folder, name) = match path.open_parent() {
            // It is gone with its folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let removed = if change.is_folder {
            folder.remove_folder(name)
        } else {
            folder.remove_file(name)
        };
        return match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        };
    };
    let parents = Parents::make(&path)?;
    let name = change.path.file_name().unwrap_or_default();
    if change.is_folder {
        make_folder(&parents.folder, name)?;
    } else {
        put_file(source, change.is_shared, &parents.folder, name)?;
    }
    parents.keep();
    Ok(())
}

/// Makes a folder, unless it is there.
fn make_folder(folder: &OpenFolder, name: &OsStr) -> io::Result<()> {
    match folder.make_folder(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Moves a file or a link of a layer into a folder, in the place of the file that may be there. Copies
/// it if it is shared.
fn put_file(source: &Path, is_shared: bool, folder: &OpenFolder, name: &OsStr) -> io::Result<()> {
    if let Err(error) = folder.remove_file(name)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let status = source.symlink_metadata()?;
    if status.is_symlink() {
        return folder.make_link(&fs::read_link(source)?, name);
    }
    let layer = RealPath::exact(source.to_owned());
    let (from, old) = layer.open_parent()?;
    if !is_shared {
        match from.rename_to_free(old, folder, name) {
            // The layer is on another file system.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
            renamed => return renamed,
        }
    }
    let mode = layer.status()?.map(|it| it.permissions());
    let mut file = folder.create(name, NewFileAttributes::Usual)?;
    io::copy(&mut fs::File::open(source)?, &mut file)?;
    // Builds compare times.
    file.set_modified(status.modified()?)?;
    folder.set_permissions(name, mode.unwrap_or(0o644))
}

// Remembers the files that a command showed as a whole, as `read` does, so that a later `write` does
// not overwrite what was changed since.
//
// Only where that is certain: the command is a plain `cat`, and its result is the files.

/// Characters of a path that mean the same to a shell and to the file system.
const PLAIN: &str = "/._-+,:@%";

/// Returns the files that a command prints, if it is a `cat` without options, quotes, and anything
/// that a shell expands.
fn shown_by(command: &str) -> Option<Vec<&str>> {
    let mut words = command.split_ascii_whitespace();
    let is_plain = |word: &&str| {
        let is_plain = |c: char| c.is_alphanumeric() || PLAIN.contains(c);
        !word.starts_with('-') && word.chars().all(is_plain)
    };
    let is_one_line = !command.trim().contains('\n');
    let program = words.next().filter(|it| *it == "cat" && is_one_line);
    let files: Vec<&str> = program.map(|_| words)?.collect();
    (!files.is_empty() && files.iter().all(is_plain)).then_some(files)
}

/// Remembers the files that `command` showed in `cwd`, if `output` is all of their text. A result
/// lacks the last line end.
pub(super) async fn remember(command: &str, cwd: &Path, output: &str, ctx: &ToolContext) {
    let mut files = Vec::new();
    for file in shown_by(command).into_iter().flatten() {
        let path = cwd.join(file);
        let real = match path.to_str() {
            Some(path) => ctx.files.real_path(path).await,
            None => return,
        };
        let limit = output.len() as u64 + 1;
        let read = real.ok().map(|real| {
            tokio::task::spawn_blocking(move || text(&real, limit).map(|text| (real, text)))
        });
        match read {
            Some(read) => match read.await {
                Ok(Some(file)) => files.push(file),
                _ => return,
            },
            None => return,
        }
    }
    let whole: String = files.iter().map(|(_, text)| text.as_str()).collect();
    let is_whole = whole == output || whole.strip_suffix('\n') == Some(output);
    for (path, text) in files.into_iter().filter(|_| is_whole) {
        ctx.files.seen.add(path.as_path(), &text);
    }
}

/// Returns the text of a file on disk that has at most `limit` bytes.
fn text(path: &RealPath, limit: u64) -> Option<String> {
    let file = path.open_file().ok()??;
    let mut text = String::new();
    file.take(limit + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= limit).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_cat_shows_whole_files() {
        assert_eq!(shown_by("cat a"), Some(vec!["a"]));
        assert_eq!(shown_by(" cat ./a/b.rs ü\n"), Some(vec!["./a/b.rs", "ü"]));
        for command in [
            "cat",
            "cat -n a",
            "cat a | head",
            "cat a > b",
            "cat a; rm a",
            "cat 'a'",
            "cat $A",
            "cat ~/a",
            "cat *",
            "cat a\nrm a",
            "cat a & rm a",
            "cat a\\ b",
            "bat a",
            "",
        ] {
            assert_eq!(shown_by(command), None, "{command}");
        }
    }
}
