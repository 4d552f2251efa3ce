//! The search tools `grep`, `find`, and `ls`.
//!
//! This module has what they share: the search root, the deadline, and the display of paths.
//! Paths are printed relative to the path in the call, so that the next call can use them.

mod find;
mod grep;
mod list;
mod walk;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ignore::overrides::Override;
use platform::files::FileKind;
use platform::paths::slashed;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub(crate) use self::find::BUILT_IN as FIND;
pub(crate) use self::grep::BUILT_IN as GREP;
pub(crate) use self::list::BUILT_IN as LIST;
use self::walk::Tree;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::file_access::FileAccess;
use crate::files::{RealPath, blocking, file_error, resolve};
use crate::secrets::Secrets;
use crate::tool::ToolResult;

/// Folders that contain nothing of the user's. They are searched only if a call names them.
const SKIPPED: [&str; 7] = [
    ".git",
    ".hg",
    ".jj",
    ".svn",
    ".venv",
    "__pycache__",
    "node_modules",
];

/// Added to a call's time limit before the supervisor gives it up, so that partial results are
/// returned.
const SLACK: Duration = Duration::from_secs(5);

/// Maximum number of secrets that a result names.
const MOST_NAMED: usize = 10;

/// The path that a call names, or the working directory.
fn named(input: &Value, cwd: &Path) -> PathBuf {
    // Some models fill arguments that they don't use with empty strings.
    let path = input["path"].as_str().filter(|it| !it.is_empty());
    let path = path.and_then(|it| resolve(cwd, it).ok());
    path.unwrap_or_else(|| cwd.to_owned())
}

/// The search root for [`crate::Tool::describe`], if the call names one.
fn described_place(path: Option<&str>) -> String {
    let place = path.map(|path| format!("  in {}", crate::builtin::visible_ends(path)));
    place.unwrap_or_default()
}

/// Runs a search on a blocking thread. A cancelled call has no result.
async fn look(
    cancel: CancellationToken,
    work: impl FnOnce() -> Result<String, ToolError> + Send + 'static,
) -> Result<ToolResult, ToolError> {
    let text = blocking(work).await?;
    // A cancelled search returns what it has, which would look complete.
    if cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    Ok(ToolResult::text(text))
}

/// The folder or file that a call searches.
struct SearchRoot {
    /// The path as written in the call; empty for the working directory.
    written: String,
    /// The resolved path.
    path: RealPath,
    is_folder: bool,
    /// Decides what is left out below the root. `None` if the call may read everything there.
    secrets: Option<Arc<Secrets>>,
}

/// Returns true if the path is a folder.
///
/// # Errors
///
/// It does not exist or is not accessible.
fn is_folder(path: &RealPath) -> Result<bool, ToolError> {
    let error = |error| file_error("looked at", path.as_path(), &error);
    let status = path.status().map_err(error)?;
    let status = status.ok_or_else(|| error(io::ErrorKind::NotFound.into()))?;
    Ok(status.kind == FileKind::Folder)
}

impl SearchRoot {
    /// Resolves `path`, which must be a folder.
    ///
    /// # Errors
    ///
    /// As for [`SearchRoot::find`], or it is not a folder.
    async fn folder(files: &FileAccess, path: Option<&str>) -> Result<Self, ToolError> {
        let place = Self::find(files, path).await?;
        if place.is_folder {
            return Ok(place);
        }
        let why = format!("{} is not a folder; use read.", place.path().display());
        Err(ToolError::InvalidInput(why))
    }

    /// Resolves `path`, or the working directory without one.
    ///
    /// # Errors
    ///
    /// It does not exist or is not accessible.
    async fn find(files: &FileAccess, path: Option<&str>) -> Result<Self, ToolError> {
        let written = match path {
            None | Some("" | "." | "./") => String::new(),
            Some(path) => path.to_owned(),
        };
        let named = if written.is_empty() { "." } else { &written };
        let path = files.real_path(named).await?;
        let looked = blocking({
            let (path, secrets) = (path.clone(), files.secrets.clone());
            move || {
                // A call that names a secret has been approved for it, so nothing below is left
                // out.
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

    /// Opens the folder for a walk that leaves out secrets.
    ///
    /// # Errors
    ///
    /// It can't be read.
    fn tree(&self, until: &Deadline) -> Result<Tree, ToolError> {
        Tree::open(&self.path, until, self.secrets.clone())
    }

    /// The remark about skipped secrets: folders, and the files that match `glob`.
    fn skipped(&self, skipped: &[(PathBuf, bool)], glob: Option<&Override>) -> Option<String> {
        let fits = |path: &Path| glob.is_none_or(|it| it.matched(path, false).is_whitelist());
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        // Sorted, because the order on disk is arbitrary.
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

    /// A path below the root as the call would write it, on one line.
    fn shown(&self, path: &Path) -> String {
        let inner = path.strip_prefix(self.path()).unwrap_or(path);
        let inner = slashed(inner);
        let outer = self.written.strip_suffix('/').unwrap_or(&self.written);
        let whole = match (outer, &*inner) {
            // An empty `outer` is "/" without its slash if the call did name a path.
            ("", inner) if self.written.is_empty() => inner.to_owned(),
            (outer, "") => outer.to_owned(),
            (outer, inner) => format!("{outer}/{inner}"),
        };
        on_one_line(&whole)
    }
}

/// Escapes control characters, which file names may contain, so that a path stays on its line.
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

/// The time at which a search must stop.
#[derive(Clone)]
pub(crate) struct Deadline {
    cancel: CancellationToken,
    limit: Duration,
    end: Instant,
}

/// The parts of a call's environment that a search needs.
type Needs = (FileAccess, Deadline);

impl From<ToolContext> for Needs {
    fn from(ctx: ToolContext) -> Self {
        let until = Deadline {
            cancel: ctx.cancel,
            limit: ctx.timeout,
            end: Instant::now() + ctx.timeout,
        };
        (ctx.files, until)
    }
}

impl Deadline {
    fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.end
    }

    /// The remark about a search that did not finish.
    fn remark(&self) -> String {
        format!(
            "[Stopped after {} seconds, so this is not all. Name a smaller path.]",
            self.limit.as_secs_f64()
        )
    }
}

/// A text, followed by remarks if there are any.
fn with_remarks(text: String, remarks: &[String]) -> String {
    match remarks {
        [] => text,
        remarks => format!("{text}\n\n{}", remarks.join("\n")),
    }
}

/// The remark about folders that could not be read.
fn unread(folders: usize) -> Option<String> {
    let folders = (folders > 0).then(|| counted(folders, "folder", "folders"))?;
    Some(format!("[{folders} could not be read.]"))
}

/// The remark for the case that ignore files exclude everything.
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
