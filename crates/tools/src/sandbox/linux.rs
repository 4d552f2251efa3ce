//! The sandbox of Linux: `bwrap` enforces the limits with bubblewrap, `scope` adds what it lacks,
//! `probe` tests that it works, and `watch` finds files that commands may not make, by `identity`.

mod aside;
mod bwrap;
mod git;
mod identity;
mod machine;
mod memory;
#[cfg(target_endian = "little")]
mod modes;
mod overlay;
mod probe;
mod scope;
mod tmp;
mod todo;
mod tree;
mod watch;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub(super) use bwrap::NAME;
use machine::Machine;
pub(crate) use overlay::report as view_report;
pub(super) use overlay::words as view_words;
pub use overlay::{VIEW, hold_view};
pub use probe::find_out;
pub(super) use probe::known;
pub(crate) use scope::run as run_restricted;
pub use scope::{cuts_off_abstract_sockets, keeps_from_setuid};
pub(super) use tmp::make as make_tmp;
pub use tmp::{chats_tmp, tmp_folder};
pub use watch::Watch;

use super::{Backend, SandboxLimits};
use crate::secrets::Concealed;

/// What to do without a sandbox, if one is required.
pub(super) const ADVICE: &str = "Install bubblewrap, or set sandbox.backend to \"auto\".";

/// The program that is the sandbox, for messages. `None` where no program is one.
pub const PROGRAM: Option<&str> = Some("bubblewrap (`bwrap`)");

/// The words that start a command in the sandbox of `program`; see [`super::Sandbox::prefix`].
pub(super) fn prefix(
    program: &Path,
    backend: &Backend,
    limits: &SandboxLimits,
    cwd: &Path,
    needed: &[&Path],
    resolver: Option<&Path>,
) -> Result<Vec<OsString>, String> {
    if let Some(tmp) = &limits.tmp {
        make_tmp(&tmp.folder).map_err(|error| {
            format!("Nothing was run, because the chat's /tmp could not be made: {error}.")
        })?;
    }
    // Known if `watch` has just searched for them.
    let known = limits.concealed.clone();
    let mut concealed = known.unwrap_or_else(|| limits.secrets_to_hide(Vec::new()));
    // A mount would create a file that has been deleted since.
    concealed.retain(|it| it.path.symlink_metadata().is_ok());
    let held = bwrap::MountPlan {
        limits,
        concealed: &concealed,
        machine: &Machine::look(),
        needed,
        cwd,
        resolver,
    };
    Ok(bwrap::words(program, &backend.extra, &held))
}

/// Whether a path has a protected name; see [`super::Names`].
pub(super) fn is_kept(limits: &SandboxLimits, path: &Path) -> bool {
    let mut above = OsStr::new("");
    let mut parts = path.components().map(|it| it.as_os_str());
    parts.any(|name| {
        limits
            .names
            .keeps(std::mem::replace(&mut above, name), name)
    })
}

/// Records a file that a file tool is about to write; see [`super::Sandbox::writes`].
pub(super) fn add_written(limits: &SandboxLimits, path: &Path, text: &str) {
    let mut parts = path.components().map(|it| it.as_os_str());
    // A watch looks for no other files, so they need no record.
    if is_kept(limits, path)
        || parts.any(|name| name == git::FOLDER)
        || limits.never_made.iter().any(|it| path.starts_with(it))
    {
        memory::add_written(path, text);
    }
}

impl SandboxLimits {
    /// The secrets that exist in the home folder, in the working folders, and among `suspects`.
    fn secrets_to_hide(&self, suspects: Vec<PathBuf>) -> Vec<Concealed> {
        let secrets = self.secrets.as_ref();
        secrets.map_or_else(Vec::new, |it| it.concealed(&self.work, suspects))
    }
}
