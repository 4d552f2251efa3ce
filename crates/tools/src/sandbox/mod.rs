//! What keeps commands from writing, and from reaching the network, beyond what the
//! user allowed.
//!
//! Knows no option's name and no tool. [`Limits`] say what is allowed; `bwrap` has it
//! enforced by bubblewrap, and `probe` finds out whether it really is.

mod aside;
mod bwrap;
mod git;
mod memory;
mod paths;
mod probe;
mod reading;
mod tree;
mod watch;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use paths::leads_to;
pub use probe::find_out;
pub use watch::Watch;

/// What commands of one chat may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Below these, files can be written. Absolute.
    pub writable: Vec<PathBuf>,
    /// Below `writable`, and yet not written. What is not there cannot be kept from
    /// being made.
    pub kept: Vec<PathBuf>,
    /// Below `writable`, and taken out of the way when a command made it.
    pub never_made: Vec<PathBuf>,
    /// Folders that the user works in: below them, `names` are neither written nor made.
    pub work: Vec<PathBuf>,
    /// What is neither written nor made by its name.
    pub names: Names,
    /// Folders that look empty: sockets of the editor are in them.
    pub hidden: Vec<PathBuf>,
    /// Files and sockets that look empty.
    pub masked: Vec<PathBuf>,
    /// Whether the network can be reached.
    pub network: bool,
    /// Whether a command keeps the privileges that the user has.
    pub privileged: bool,
}

/// Names of files and folders, beside those of Git's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// What is neither written nor made, wherever it stands.
    pub kept: Vec<String>,
    /// Folders that nobody works in: below those in them, nothing is looked at.
    pub shallow: Vec<String>,
}

impl Names {
    fn keeps(&self, name: &OsStr) -> bool {
        self.kept.iter().any(|it| is_same(it, name))
    }

    fn is_shallow(&self, name: &OsStr) -> bool {
        self.shallow.iter().any(|it| is_same(it, name))
    }
}

/// Some file systems do not tell letters of either case apart.
fn is_same(one: &str, other: &OsStr) -> bool {
    one.as_bytes()
        .eq_ignore_ascii_case(other.as_encoded_bytes())
}

/// How limits are enforced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backend {
    /// The bubblewrap to use; looked for in `PATH` when absent.
    pub program: Option<PathBuf>,
    /// Added to its arguments.
    pub extra: Vec<String>,
    /// Whether nothing may run that it does not hold.
    pub required: bool,
}

/// What holds the calls of one chat.
#[derive(Debug, Clone, Default)]
pub struct Sandbox {
    /// As they were given; absent when the user turned it off.
    given: Option<Limits>,
    /// What holds calls that may only read, where the user turned it off for the others.
    reserve: Option<Limits>,
    /// With real paths, once somebody asked.
    limits: OnceLock<Limits>,
    backend: Backend,
}

impl Sandbox {
    /// Nothing is held.
    pub fn off() -> Self {
        Self::default()
    }

    /// Holds calls to `limits`. Links in paths are followed when they are first needed;
    /// what is not there then is left out.
    pub fn new(limits: Limits, backend: Backend) -> Self {
        Self {
            given: Some(limits),
            reserve: None,
            limits: OnceLock::new(),
            backend,
        }
    }

    /// What is allowed, in real paths; `None` when everything is.
    pub fn limits(&self) -> Option<&Limits> {
        let given = self.given.as_ref()?;
        Some(self.limits.get_or_init(|| Limits {
            writable: paths::real(&given.writable),
            kept: paths::real(&given.kept),
            hidden: paths::real(&given.hidden),
            masked: paths::real(&given.masked),
            ..given.clone()
        }))
    }

    /// Below which folders files can be written; `None` when all can be.
    pub fn writable(&self) -> Option<&[PathBuf]> {
        self.limits().map(|it| it.writable.as_slice())
    }

    /// Returns true if a tool of ours may write to `path`, which has no links. Nothing
    /// need be there.
    pub fn is_writable(&self, path: &Path) -> bool {
        let writable = self.writable();
        writable.is_none_or(|it| it.iter().any(|folder| path.starts_with(folder)))
    }

    /// What stands before a command's own words to have it held, for a command that
    /// runs in `cwd`; nothing when it runs free. The first time in a process, this
    /// waits some 30 ms.
    ///
    /// # Errors
    ///
    /// It must be held and cannot be; a sentence for the model and the user.
    pub fn prefix(&self, cwd: &Path) -> Result<Vec<OsString>, String> {
        let Some(limits) = self.limits() else {
            return Ok(Vec::new());
        };
        match find_out(&self.backend) {
            Ok(program) => Ok(bwrap::words(&program, limits, &self.backend.extra, cwd)),
            Err(why) if self.backend.required => Err(format!(
                "Nothing was run, because a sandbox is required and there is none: {why}. Install bubblewrap, or set \
                 sandbox.backend to \"auto\"."
            )),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// A tool of ours is about to write `text` there, which the user agreed to where the
    /// name asks for it: a command that runs meanwhile did not make it.
    pub(crate) fn writes(&self, path: &Path, text: &str) {
        let Some(limits) = self.limits() else { return };
        let mut parts = path.components().map(|it| it.as_os_str());
        let is_kept = parts.any(|name| name == git::FOLDER || limits.names.keeps(name));
        if is_kept || limits.never_made.iter().any(|it| path.starts_with(it)) {
            memory::add_written(path, text);
        }
    }

    /// Looks for what a command may neither write nor make, right before one starts.
    /// Gives the sandbox for it, and what tells afterwards what it made; nothing when
    /// commands run free. This waits, as [`Sandbox::prefix`] does.
    pub fn watch(&self) -> Option<(Self, Watch)> {
        let limits = self.limits()?;
        find_out(&self.backend).ok()?;
        let watch = Watch::begin(limits);
        let held = Self {
            given: self.given.clone(),
            reserve: self.reserve.clone(),
            limits: OnceLock::from(watch.limits()),
            backend: self.backend.clone(),
        };
        Some((held, watch))
    }

    /// Why commands run free although they should be held; `None` when they are held,
    /// are meant to run free, or nobody found out yet.
    pub fn lacking(&self) -> Option<String> {
        self.given.as_ref()?;
        probe::known(&self.backend)?.err()
    }

    /// What holds a command, for the log: `none` or the backend's name.
    pub fn held_by(&self) -> &'static str {
        let found = self.given.as_ref();
        let found = found.and_then(|_| probe::known(&self.backend));
        match found {
            Some(Ok(_)) => bwrap::NAME,
            _ => "none",
        }
    }

    /// Whether it is off.
    pub fn is_off(&self) -> bool {
        self.given.is_none()
    }

    /// How commands are held.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }
}
