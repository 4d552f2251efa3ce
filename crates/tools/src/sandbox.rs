//! Restricts which files commands can write and see, and whether they reach the network.
//!
//! This module refers to no option and no tool. [`SandboxLimits`] define what is allowed, and `linux`
//! enforces it. `elsewhere` is for the other systems, where commands run without a sandbox.

pub(crate) mod explain;
mod trying;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use platform::paths::canonicalize;
pub use system::{
    OUTLET, PROGRAM as SANDBOX_PROGRAM, VIEW, Watch, chats_tmp, cuts_off_abstract_sockets,
    find_out, hold_view, keeps_from_setuid, open_outlet, tmp_folder,
};
pub(crate) use system::{Outlet, run_restricted, view_report};

pub use self::explain::Missing;
pub(crate) use self::trying::{Overlay, TrialView, ViewReport};
use crate::address::HostList;
use crate::secrets::{Concealed, Secrets};

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

/// bubblewrap's option that ends the sandbox with the process that started it, and with its own shell.
/// Source: bwrap(1).
pub(crate) const DIE_WITH_PARENT: &str = "--die-with-parent";
/// How often a command is restarted if its sandbox could not be set up.
pub(crate) const RETRIES: usize = 16;

/// How limits are enforced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backend {
    /// The path of bubblewrap. `None` to search `PATH`.
    pub program: Option<PathBuf>,
    /// Additional arguments.
    pub extra: Vec<String>,
    /// True if commands must not run without a sandbox.
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
    /// The way to the hosts that the limits list; see [`Sandbox::with_outlet`].
    outlet: Option<Arc<Outlet>>,
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
            outlet: None,
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
        let tmp = tmp.map(|_| PathBuf::from(TMP));
        Some(limits.writable.iter().cloned().chain(tmp).collect())
    }

    /// The folders of [`Sandbox::writable`], as paths on the machine. The first call in a process
    /// blocks like [`Sandbox::prefix`].
    pub fn writable_outside(&self) -> Option<Vec<PathBuf>> {
        let folders = self.writable()?.into_iter();
        Some(folders.map(|folder| self.outside(&folder)).collect())
    }

    /// Returns true if a file tool may write to `path`: a path on the machine, without links, that need not
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
                Path::new(TMP)
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
            Some(folder) => text.replace(folder, TMP),
            None => text,
        }
    }

    /// Returns true if commands see another folder as `/tmp`. Creates that folder if it is missing. Without
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
        let outlet = self.outlet.as_deref();
        system::prefix(&program, &self.backend, limits, cwd, needed, None, outlet)
    }

    /// The sandbox with a way to the hosts that its limits list, as long as the returned outlet exists.
    /// `None` if they list none. Without it, commands reach no host then. `helper` is the program
    /// that is started with [`OUTLET`]. Blocks like [`Sandbox::prefix`], in a runtime.
    ///
    /// # Errors
    ///
    /// There is no helper, or a socket can't be made.
    pub(crate) fn with_outlet(
        &self,
        helper: Option<PathBuf>,
    ) -> io::Result<Option<(Self, Arc<Outlet>)>> {
        let limits = self.program().and_then(|_| self.limits());
        let Some(Network::Listed(hosts)) = limits.map(|it| &it.network) else {
            return Ok(None);
        };
        let outlet = Arc::new(Outlet::new(helper, hosts.clone())?);
        let held = Self {
            outlet: Some(outlet.clone()),
            ..self.clone()
        };
        Ok(Some((held, outlet)))
    }

    /// Returns true if bubblewrap failed before the command started, so that the command can be restarted.
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

    /// Returns true if commands run without a sandbox although they should have one. The first call in a
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

    /// Returns true if the sandbox is off.
    pub fn is_off(&self) -> bool {
        self.given.is_none()
    }

    /// How the limits are enforced.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }
}

// The limits of the commands of one chat.

/// The limits of one chat's commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Writable folders, as absolute paths.
    pub writable: Vec<PathBuf>,
    /// Paths below `writable` that are read-only. A path that does not exist can still be created.
    pub kept: Vec<PathBuf>,
    /// Paths below `writable` that are renamed if a command creates them.
    pub never_made: Vec<PathBuf>,
    /// Folders that the user works in. Below them, `names` can be neither written nor created.
    pub work: Vec<PathBuf>,
    /// Names of protected files.
    pub names: Names,
    /// Folders that look empty, such as those with sockets of the editor.
    pub hidden: Vec<PathBuf>,
    /// Files and sockets that look empty.
    pub masked: Vec<PathBuf>,
    /// Decides which files are hidden because they are secret. `None` if none are.
    pub secrets: Option<Arc<Secrets>>,
    /// The hidden secrets that exist, once they were searched.
    pub concealed: Option<Vec<Concealed>>,
    /// The folder that commands see as `/tmp`; the machine's own if absent.
    pub tmp: Option<Tmp>,
    /// Files and folders below the machine's `/tmp` that remain visible.
    pub shown: Vec<PathBuf>,
    /// Sockets that can be reached. All others that exist when a command starts can't.
    pub sockets: Vec<PathBuf>,
    /// Permissions that the user could grant, and how a result names a missing one.
    pub missing: Vec<Missing>,
    /// The home folder, if little of it is seen.
    pub home: Option<NarrowHome>,
    /// What can be reached of the network.
    pub network: Network,
    /// True if a command keeps the user's privileges.
    pub privileged: bool,
}

/// What commands can reach of the network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Network {
    /// Nothing.
    #[default]
    Nothing,
    /// These hosts, through a proxy.
    Listed(HostList),
    /// Everything.
    Everything,
}

/// A home folder of which only some files and folders are seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NarrowHome {
    /// The folder.
    pub folder: PathBuf,
    /// Real paths in it that are seen.
    pub seen: Vec<PathBuf>,
    /// True if commands can list it, and write files in it that are lost when they end.
    pub is_writable: bool,
}

impl NarrowHome {
    /// Returns true if a path is in the folder and not seen.
    fn hides(&self, path: &Path) -> bool {
        path.starts_with(&self.folder) && !self.seen.iter().any(|it| path.starts_with(it))
    }
}

/// A folder that is mounted as `/tmp`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tmp {
    /// The folder, which is created on first use; see [`tmp_folder`].
    pub folder: PathBuf,
    /// True if it is writable. It also is if [`SandboxLimits::writable`] contains `/tmp`.
    pub writable: bool,
}

impl SandboxLimits {
    /// The limits with real paths. If another folder is mounted as `/tmp`, `writable` no longer
    /// contains `/tmp` itself.
    fn real(&self) -> Self {
        let is_tmp = |path: &Path| Path::new(TMP).starts_with(path);
        let tmp = self.tmp.clone().map(|tmp| Tmp {
            writable: tmp.writable || self.writable.iter().any(|path| is_tmp(path)),
            ..tmp
        });
        // The chat's folder takes its place.
        let is_replaced = |path: &&PathBuf| tmp.is_some() && *path == Path::new(TMP);
        let (below, others): (Vec<_>, Vec<_>) = each_real(&self.writable)
            .filter(|path| !is_replaced(&path))
            .partition(|path| tmp.is_some() && path.starts_with(TMP));
        // Kept apart, because a writable "/" doesn't include folders below the machine's `/tmp`.
        let mut writable = outermost(others);
        writable.extend(outermost(below));
        Self {
            writable,
            kept: real(&self.kept),
            hidden: real(&self.hidden),
            masked: real(&self.masked),
            shown: real(&self.shown),
            sockets: real(&self.sockets),
            tmp,
            ..self.clone()
        }
    }

    /// The `/tmp` that commands see. `None` if they see the machine's.
    fn view(&self) -> Option<View<'_>> {
        let shown = self.shown.iter().chain(&self.writable);
        let is_below = |path: &&Path| path.starts_with(TMP);
        Some(View {
            tmp: &self.tmp.as_ref()?.folder,
            shown: shown.map(PathBuf::as_path).filter(is_below).collect(),
        })
    }
}

/// Names of protected files and folders, besides those of Git.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Names that can be neither written nor created, in any folder.
    pub kept: Vec<String>,
    /// Folders of generated or installed files, whose subfolders are not scanned.
    pub shallow: Vec<String>,
}

// Real paths of limits.

/// Maximum number of symbolic links that are followed, as in the kernel.
const MAX_LINKS: usize = 40;

/// The real paths of existing files and folders, without those below another one.
fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    outermost(each_real(paths).collect())
}

/// The real paths of existing files and folders.
fn each_real(paths: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let absolute = paths.iter().filter(|path| path.is_absolute());
    // What does not exist cannot be mounted.
    absolute.filter_map(|path| canonicalize(path).ok())
}

/// The paths that are not below another one, sorted.
fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    // Compared by component, so the paths below another one directly follow it.
    paths.sort();
    paths.dedup_by(|path, above| path.starts_with(above));
    paths
}

/// The components of a path in reverse order.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().rev();
    parts.map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// The absolute paths in a value such as `unix:path=/run/bus,guid=1` or
/// `/tmp/tmux-0/default,12,0`. May contain empty strings.
pub fn paths_in(value: &str) -> impl Iterator<Item = &str> {
    let words = value.split([',', ';', '=', ':']);
    let words = words.map(|word| word.find('/').map_or("", |at| &word[at..]));
    // In "unix:///run/x" the path follows two more slashes.
    words.map(|word| {
        let path = word.trim_start_matches('/');
        &word[(word.len() - path.len()).saturating_sub(1)..]
    })
}

// Translates paths below `/tmp` between sandboxed commands and the machine.
//
// Commands have a `/tmp` of their own. File tools run outside the sandbox and use these
// translated paths to access the same files.

/// The folder that differs between commands and the machine.
const TMP: &str = "/tmp";

/// The `/tmp` that commands see.
#[derive(Debug)]
struct View<'a> {
    /// The folder that commands see as `/tmp`.
    pub tmp: &'a Path,
    /// Folders and files below the machine's `/tmp` that commands see nevertheless.
    pub shown: Vec<&'a Path>,
}

impl View<'_> {
    /// Returns true if commands see the machine's own file at `path`.
    fn is_seen(&self, path: &Path) -> bool {
        !path.starts_with(TMP) || self.shown.iter().any(|shown| path.starts_with(shown))
    }

    /// Translates a path in the sandbox to a path on the machine. Symbolic links are resolved as
    /// in the sandbox. A path that doesn't lead through the chat's `/tmp` is returned unchanged.
    fn outside(&self, path: &Path) -> PathBuf {
        // Already translated.
        if path.starts_with(self.tmp) {
            return path.to_owned();
        }
        let (mut links, mut is_private) = (MAX_LINKS, false);
        let mut seen = PathBuf::from("/");
        let mut rest = parts(path);
        while let Some(next) = rest.pop() {
            match next.components().next() {
                Some(Component::RootDir | Component::Prefix(_)) => seen = PathBuf::from("/"),
                Some(Component::ParentDir) => drop(seen.pop()),
                Some(Component::Normal(name)) => {
                    seen.push(name);
                    is_private |= !self.is_seen(&seen);
                    // A link is resolved where the command would read it.
                    let target = self.real(&seen).read_link();
                    // After as many links as the kernel follows, the next one stays, and
                    // opening the path fails.
                    if let Some(target) = target.ok().filter(|_| links > 0) {
                        links -= 1;
                        seen.pop();
                        rest.extend(parts(&target));
                    }
                }
                Some(Component::CurDir) | None => {}
            }
        }
        if is_private {
            self.real(&seen)
        } else {
            path.to_owned()
        }
    }

    fn real(&self, seen: &Path) -> PathBuf {
        match seen.strip_prefix(TMP) {
            Ok(rest) if !self.is_seen(seen) => self.tmp.join(rest),
            _ => seen.to_owned(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn missing_and_nested_paths_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        let given = [
            root.join("a/b"),
            root.join("none"),
            root.join("a"),
            "rel".into(),
        ];
        assert_eq!(real(&given), [root.join("a")]);
    }

    #[test]
    fn paths_lead_through_the_chats_tmp_as_they_do_for_commands() {
        let folder = tempfile::tempdir().unwrap();
        let tmp = folder.path().canonicalize().unwrap();
        std::fs::create_dir(tmp.join("sub")).unwrap();
        for (name, target) in [
            ("relative", "sub/file"),
            ("absolute", "/tmp/sub"),
            ("out", "/etc"),
            ("up", "../etc/hostname"),
            ("shown", "/tmp/project/file"),
            ("circle", "circle"),
        ] {
            symlink(target, tmp.join(name)).unwrap();
        }
        let view = View {
            tmp: &tmp,
            shown: vec![Path::new("/tmp/project")],
        };
        for (path, expected) in [
            ("/tmp/x/y", tmp.join("x/y")),
            ("/tmp", tmp.clone()),
            ("/tmp/relative", tmp.join("sub/file")),
            ("/tmp/absolute/new", tmp.join("sub/new")),
            ("/tmp/out/hosts", "/etc/hosts".into()),
            ("/tmp/up", "/etc/hostname".into()),
            ("/tmp/shown", "/tmp/project/file".into()),
            ("/tmp/circle", tmp.join("circle")),
            ("/etc/../tmp/x", tmp.join("x")),
            ("/tmp/project/a", "/tmp/project/a".into()),
            ("/tmp/project/../x", tmp.join("x")),
            ("/tmp/projects", tmp.join("projects")),
            ("/etc/hosts", "/etc/hosts".into()),
        ] {
            assert_eq!(view.outside(Path::new(path)), expected, "{path}");
        }
        let once = view.outside(Path::new("/tmp/x"));
        assert_eq!(view.outside(&once), once);
    }
}
