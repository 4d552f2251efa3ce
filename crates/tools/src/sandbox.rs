//! Restricts which files commands can write and see, and whether they reach the network.
//!
//! This module refers to no option and no tool. [`SandboxLimits`] define what is allowed, and `linux`
//! enforces it. `elsewhere` is for the other systems, where commands run without a sandbox.

pub(crate) mod explain;
pub(crate) mod lacking;
mod limits;
mod paths;
mod reading;
mod trying;
mod view;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

pub use explain::Missing;
pub use limits::{Names, SandboxLimits, Tmp};
pub use paths::paths_in;
pub use system::{
    PROGRAM as SANDBOX_PROGRAM, VIEW, Watch, chats_tmp, cuts_off_abstract_sockets, find_out,
    hold_view, keeps_from_setuid, tmp_folder,
};
pub(crate) use system::{run_restricted, view_report};
pub(crate) use trying::{Overlay, TrialView, ViewReport};

use crate::secrets::Secrets;

/// How often a command is restarted if its sandbox could not be set up.
pub(crate) const RETRIES: usize = 16;

/// How limits are enforced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backend {
    /// The path of bubblewrap. `None` to search `PATH`.
    pub program: Option<PathBuf>,
    /// Additional arguments.
    pub extra: Vec<String>,
    /// Whether commands must not run without a sandbox.
    pub required: bool,
}

impl Backend {
    /// Why commands can't be sandboxed with it, a clause. `None` if they can, or if it is not known
    /// yet.
    pub fn problem(&self) -> Option<String> {
        system::known(self)?.err()
    }
}

/// Limits that are made on first use.
type LazyLimits = Arc<LazyLock<SandboxLimits, Box<dyn FnOnce() -> SandboxLimits + Send>>>;

/// The sandbox of one chat's calls.
#[derive(Debug, Clone, Default)]
pub struct Sandbox {
    /// The limits as given. `None` if the user turned the sandbox off.
    given: Option<LazyLimits>,
    /// The limits of read-only calls if the user turned the sandbox off for other calls.
    reserve: Option<LazyLimits>,
    /// `given` with real paths, computed on first use.
    limits: OnceLock<SandboxLimits>,
    /// The secrets of the limits, which apply without a sandbox as well.
    secrets: Option<Arc<Secrets>>,
    backend: Backend,
}

impl Sandbox {
    /// A sandbox that restricts nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// A sandbox with these limits. Their paths are resolved on first use; those that don't exist
    /// then are left out.
    pub fn new(limits: SandboxLimits, backend: Backend) -> Self {
        let secrets = limits.secrets.clone();
        Self::with(secrets, || limits, backend)
    }

    /// A sandbox that hides `secrets`, and whose other limits `make` makes on first use.
    pub fn lazy(
        secrets: Arc<Secrets>,
        make: impl FnOnce() -> SandboxLimits + Send + 'static,
        backend: Backend,
    ) -> Self {
        let limits = {
            let secrets = Some(secrets.clone());
            move || SandboxLimits { secrets, ..make() }
        };
        Self::with(Some(secrets), limits, backend)
    }

    fn with(
        secrets: Option<Arc<Secrets>>,
        limits: impl FnOnce() -> SandboxLimits + Send + 'static,
        backend: Backend,
    ) -> Self {
        Self {
            given: Some(Arc::new(LazyLock::new(Box::new(limits)))),
            reserve: None,
            limits: OnceLock::new(),
            secrets,
            backend,
        }
    }

    /// The limits with real paths. `None` if everything is allowed.
    pub fn limits(&self) -> Option<&SandboxLimits> {
        let given = self.given.as_ref()?;
        Some(self.limits.get_or_init(|| given.real()))
    }

    /// The files that a call reads only if the user approved it. They also apply if the user turned
    /// the sandbox off.
    pub fn secrets(&self) -> Arc<Secrets> {
        self.secrets.clone().unwrap_or_else(Secrets::usual)
    }

    /// The path of a working backend. `None` if there is none or the sandbox is off. The first call
    /// in a process blocks for about 30 ms.
    fn program(&self) -> Option<PathBuf> {
        self.given.as_ref()?;
        find_out(&self.backend).ok()
    }

    /// The writable folders, as paths in the sandbox. `None` if every folder is writable.
    pub fn writable(&self) -> Option<Vec<PathBuf>> {
        let limits = self.limits()?;
        let tmp = limits.tmp.as_ref().filter(|tmp| tmp.writable);
        let tmp = tmp.map(|_| PathBuf::from(view::TMP));
        Some(limits.writable.iter().cloned().chain(tmp).collect())
    }

    /// The folders of [`Sandbox::writable`], as paths on the machine. The first call in a process
    /// blocks like [`Sandbox::prefix`].
    pub fn writable_outside(&self) -> Option<Vec<PathBuf>> {
        let folders = self.writable()?.into_iter();
        Some(folders.map(|folder| self.outside(&folder)).collect())
    }

    /// Whether a file tool may write to `path`: a path on the machine, without links, that need not
    /// exist. See [`Sandbox::outside`].
    pub fn is_writable(&self, path: &Path) -> bool {
        let Some(limits) = self.limits() else {
            return true;
        };
        let has_own_tmp = self.has_own_tmp();
        let tmp = limits.tmp.as_ref().filter(|tmp| tmp.writable);
        let in_tmp = tmp.is_some_and(|tmp| {
            path.starts_with(if has_own_tmp {
                &tmp.folder
            } else {
                Path::new(view::TMP)
            })
        });
        // Commands can't see what their own `/tmp` covers, so file tools don't write there either.
        let view = limits.view().filter(|_| has_own_tmp);
        let is_seen = view.is_none_or(|view| view.is_seen(path));
        let mut writable = limits.writable.iter();
        in_tmp || is_seen && writable.any(|folder| path.starts_with(folder))
    }

    /// Translates a path in the sandbox to a path on the machine. They differ below `/tmp`, which is
    /// the chat's own folder in the sandbox. The first call in a process blocks like
    /// [`Sandbox::prefix`].
    pub fn outside(&self, path: &Path) -> PathBuf {
        if !self.has_own_tmp() {
            return path.to_owned();
        }
        let view = self.limits().and_then(SandboxLimits::view);
        view.map_or_else(|| path.to_owned(), |view| view.outside(path))
    }

    /// Replaces paths of the chat's own `/tmp` in a text by paths in the sandbox.
    pub(crate) fn named_inside(&self, text: String) -> String {
        let limits = self.program().and_then(|_| self.limits());
        let tmp = limits.and_then(|limits| limits.tmp.as_ref());
        let folder = tmp.and_then(|tmp| tmp.folder.to_str());
        match folder.filter(|folder| text.contains(folder)) {
            Some(folder) => text.replace(folder, view::TMP),
            None => text,
        }
    }

    /// Whether commands see another folder as `/tmp`. Creates that folder if it is missing. Without
    /// a working bubblewrap, commands see the machine's.
    fn has_own_tmp(&self) -> bool {
        let limits = self.program().and_then(|_| self.limits());
        let tmp = limits.and_then(|limits| limits.tmp.as_ref());
        tmp.is_some_and(|tmp| system::make_tmp(&tmp.folder).is_ok())
    }

    /// The words that start a command in the sandbox; empty without a sandbox. The command runs in
    /// `cwd` and needs the files or folders `needed`. The first call in a process takes about 30 ms.
    ///
    /// # Errors
    ///
    /// A sandbox is required and there is none. The text is a sentence for the model and the user.
    pub fn prefix(&self, cwd: &Path, needed: &[&Path]) -> Result<Vec<OsString>, String> {
        let Some(given) = &self.given else {
            return Ok(Vec::new());
        };
        let program = match find_out(&self.backend) {
            Ok(program) => program,
            Err(why) if self.backend.required => {
                return Err(format!(
                    "Nothing was run, because a sandbox is required and there is none: {why}. {}",
                    system::ADVICE
                ));
            }
            // The user allows commands without a sandbox. Front ends mark such calls (`lacking`).
            Err(_) => return Ok(Vec::new()),
        };
        let limits = self.limits.get_or_init(|| given.real());
        system::prefix(&program, &self.backend, limits, cwd, needed, None)
    }

    /// Whether bubblewrap failed before the command started, so that the command can be restarted.
    /// This happens when a file is replaced while it is being mounted, for example a chat that is
    /// saved. A command that prints the same error is restarted as well; that is harmless, because
    /// a command can repeat its own work anyway.
    pub(crate) fn is_failed_start(&self, code: Option<i32>, stderr: &str) -> bool {
        let is_one_line = stderr.trim_end().lines().count() == 1;
        !self.is_off() && code == Some(1) && is_one_line && stderr.starts_with("bwrap: Can't ")
    }

    /// Records that a file tool is about to write `text` to `path`, so that the watch of a command
    /// that runs at the same time doesn't attribute the file to the command.
    pub(crate) fn writes(&self, path: &Path, text: &str) {
        let Some(limits) = self.limits() else { return };
        system::add_written(limits, path, text);
    }

    /// Scans for protected files right before a command. Returns the sandbox for it, and a watch
    /// that finds the files it created; `None` without a sandbox. Blocks like [`Sandbox::prefix`].
    pub fn watch(&self) -> Option<(Self, Watch)> {
        self.program()?;
        let watch = Watch::begin(self.limits()?)?;
        let held = Self {
            limits: OnceLock::from(watch.limits()),
            ..self.clone()
        };
        Some((held, watch))
    }

    /// Why commands run without a sandbox although they should have one. `None` if they have one,
    /// should have none, or it is not known yet.
    pub fn lacking(&self) -> Option<String> {
        self.given.as_ref()?;
        self.backend.problem()
    }

    /// Whether commands run without a sandbox although they should have one. The first call in a
    /// process blocks like [`Sandbox::prefix`].
    pub fn is_lacking(&self) -> bool {
        !self.is_off() && !self.backend.required && find_out(&self.backend).is_err()
    }

    /// The name of the backend for the log, or `none`. The first call in a process blocks like
    /// [`Sandbox::prefix`].
    pub fn held_by(&self) -> &'static str {
        let found = self.given.as_ref().map(|_| find_out(&self.backend));
        match found {
            Some(Ok(_)) => system::NAME,
            _ => "none",
        }
    }

    /// Whether the sandbox is off.
    pub fn is_off(&self) -> bool {
        self.given.is_none()
    }

    /// How the limits are enforced.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }
}
