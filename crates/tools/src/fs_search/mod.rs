//! The tools that look around: `grep`, `find` and `ls`.
//!
//! Here is what they have in common: how folders are walked, how long that may take,
//! and how a path is shown. They only read, and what they print are paths as the
//! call wrote them, so that the next call can use them.

mod find;
mod glob;
mod grep;
mod ignored;
mod list;
mod matches;
mod walk;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ignore::overrides::Override;
use rustix::fs::FileType;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub(crate) use find::BUILT_IN as FIND;
pub(crate) use grep::BUILT_IN as GREP;
pub(crate) use list::BUILT_IN as LIST;

use walk::Tree;

use crate::context::ToolContext;
use crate::describe;
use crate::error::ToolError;
use crate::files::{RealPath, blocking, file_error, resolve};
use crate::secrets::Secrets;
use crate::tool::ToolResult;

/// Folders that hold no work of the user's: never looked into, unless a call names
/// them.
const SKIPPED: [&str; 7] = [
    ".git",
    ".hg",
    ".jj",
    ".svn",
    ".venv",
    "__pycache__",
    "node_modules",
];

/// On top of a call's time limit before anybody else gives it up: what was found by
/// then is worth something.
const SLACK: Duration = Duration::from_secs(5);

/// Most secrets that a result names.
const MOST_NAMED: usize = 10;

/// The file or folder that the arguments of a call name; the working directory if none.
fn named(input: &Value, cwd: &Path) -> PathBuf {
    let path = input["path"].as_str().filter(|it| !it.is_empty());
    let path = path.and_then(|it| resolve(cwd, it).ok());
    path.unwrap_or_else(|| cwd.to_owned())
}

/// Where a call looks, if it says so, for [`crate::Tool::describe`].
fn described_place(input: &describe::Arguments) -> Option<String> {
    let path = describe::optional(input, "path", Value::as_str)?;
    let place = path.map(|path| format!("  in {}", describe::visible_ends(path)));
    Some(place.unwrap_or_default())
}

/// Looks on a thread that may wait; of a call that was cancelled nothing is told.
async fn look(
    ctx: &ToolContext,
    work: impl FnOnce() -> Result<String, ToolError> + Send + 'static,
) -> Result<ToolResult, ToolError> {
    let text = blocking(work).await?;
    if ctx.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    Ok(ToolResult::text(text))
}

/// The place that a call looks in.
struct SearchRoot {
    /// As the call wrote it; empty for the working directory.
    written: String,
    /// Where that is.
    path: RealPath,
    is_folder: bool,
    /// What is left out below it because it is secret; nothing where the call may read all
    /// of it.
    secrets: Option<Arc<Secrets>>,
}

/// # Errors
///
/// Nothing is there, or it cannot be looked at.
fn is_folder(path: &RealPath) -> Result<bool, ToolError> {
    let error = |error| file_error("looked at", path.as_path(), &error);
    let stat = path.stat().map_err(error)?;
    let stat = stat.ok_or_else(|| error(io::ErrorKind::NotFound.into()))?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

impl SearchRoot {
    /// The folder that `path` names.
    ///
    /// # Errors
    ///
    /// As of [`SearchRoot::find`]; or it is no folder.
    async fn folder(ctx: &ToolContext, path: Option<&str>) -> Result<Self, ToolError> {
        let place = Self::find(ctx, path).await?;
        if place.is_folder {
            return Ok(place);
        }
        let why = format!("{} is no folder; use read.", place.path().display());
        Err(ToolError::InvalidInput(why))
    }

    /// The place that `path` names, which must exist; none is the working directory.
    ///
    /// # Errors
    ///
    /// It does not exist, or cannot be looked at.
    async fn find(ctx: &ToolContext, path: Option<&str>) -> Result<Self, ToolError> {
        let written = match path {
            None | Some("" | "." | "./") => String::new(),
            Some(path) => path.to_owned(),
        };
        let named = if written.is_empty() { "." } else { &written };
        let path = ctx.real_path(named).await?;
        let looked = blocking({
            let (path, secrets) = (path.clone(), ctx.secrets.clone());
            move || {
                let is_secret = secrets.find(path.as_path()).is_some();
                Ok((is_folder(&path)?, (!is_secret).then_some(secrets)))
            }
        });
        let (is_folder, secrets) = looked.await?;
        Ok(Self {
            written,
            path,
            is_folder,
            secrets,
        })
    }

    /// The folder and all that is in it, without what is secret.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    fn tree(&self, until: &Deadline) -> Result<Tree, ToolError> {
        Tree::open(&self.path, until, self.secrets.clone())
    }

    /// What is said of secrets that were left out: folders, and the files that fit `glob`.
    fn skipped(&self, skipped: &[(PathBuf, bool)], glob: Option<&Override>) -> Option<String> {
        let fits = |path: &Path| glob.is_none_or(|it| it.matched(path, false).is_whitelist());
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        // In the order of their paths and not in that of the disk.
        let skipped: BTreeMap<_, _> = skipped.iter().map(|(path, kind)| (path, kind)).collect();
        for (path, is_folder) in skipped {
            let path = self.path().join(path);
            if *is_folder {
                folders.push(format!("{}/", self.shown(&path)));
            } else if fits(&path) {
                files.push(self.shown(&path));
            }
        }
        let counts = [
            (files.len(), "secret file", "secret files"),
            (folders.len(), "secret folder", "secret folders"),
        ];
        let counts = counts.iter().filter(|(count, ..)| *count > 0);
        let counts: Vec<_> = counts
            .map(|(count, one, many)| counted(*count, one, many))
            .collect();
        let mut names = [files, folders].concat();
        if names.len() > MOST_NAMED {
            names.truncate(MOST_NAMED);
            names.push("…".to_owned());
        }
        (!names.is_empty()).then(|| {
            format!(
                "[Skipped {}: {}. sandbox.reveal grants what it names.]",
                counts.join(" and "),
                names.join(", ")
            )
        })
    }

    fn path(&self) -> &Path {
        self.path.as_path()
    }

    /// A path below this one as the call would write it, on one line.
    fn shown(&self, path: &Path) -> String {
        let inner = path.strip_prefix(self.path()).unwrap_or(path);
        let inner = inner.to_string_lossy();
        let outer = self.written.strip_suffix('/').unwrap_or(&self.written);
        let whole = match (outer, &*inner) {
            // Of the root only the slash was cut off.
            ("", inner) if self.written.is_empty() => inner.to_owned(),
            (outer, "") => outer.to_owned(),
            (outer, inner) => format!("{outer}/{inner}"),
        };
        on_one_line(&whole)
    }
}

/// A name with what would break its line spelled out: a file name may contain any
/// character.
fn on_one_line(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

fn is_skipped(name: &std::ffi::OsStr) -> bool {
    SKIPPED.iter().any(|skipped| name == *skipped)
}

/// When a look around has to end.
#[derive(Clone)]
struct Deadline {
    cancel: CancellationToken,
    limit: Duration,
    end: Instant,
}

impl Deadline {
    fn new(ctx: &ToolContext) -> Self {
        Self {
            cancel: ctx.cancel.clone(),
            limit: ctx.timeout,
            end: Instant::now() + ctx.timeout,
        }
    }

    fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.end
    }

    /// What is said of a look that did not get to its end.
    fn remark(&self) -> String {
        format!(
            "[Stopped after {} seconds, so this is not all. Name a smaller path.]",
            self.limit.as_secs_f64()
        )
    }
}

/// A limit that a call asks for, from 1 to `most`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, which is what is wanted"
)]
fn limit(asked: Option<f64>, usual: usize, most: usize) -> usize {
    asked.map_or(usual, |it| it as usize).clamp(1, most)
}

/// What is said of folders that could not be read.
fn unread(folders: usize) -> Option<String> {
    let folders = (folders > 0).then(|| counted(folders, "folder", "folders"))?;
    Some(format!("[{folders} could not be read.]"))
}

/// What is said when ignore files left nothing of a tree.
fn left_out(tree: &Tree) -> Option<String> {
    let entries = counted(tree.all_ignored()?, "name is", "names are");
    Some(format!(
        "[Everything there is ignored: {entries} left out by .gitignore or .ignore. Use bash to \
         look at them.]"
    ))
}

/// `1 match`, `2 matches`.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
