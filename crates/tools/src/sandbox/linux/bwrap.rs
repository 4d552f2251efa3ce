//! Converts limits to arguments of bubblewrap.
//!
//! Pure. The order matters: a later mount covers an earlier one. Source: bwrap(1).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::{fs, io};

use super::identity::Machine;
use super::outlet::Outlet;
use super::tree::{Root, Tree};
use crate::files::{Fingerprint, RealPath};
use crate::sandbox::{DIE_WITH_PARENT, Network, SandboxLimits};
use crate::secrets::Concealed;

/// Its name in the log.
pub(in crate::sandbox) const NAME: &str = "bwrap";

/// Paths below `/run` that ordinary programs need: addresses of name servers, and programs on
/// NixOS.
const NEEDED: [&str; 5] = [
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/nscd",
    "/run/current-system",
    "/run/opengl-driver",
];

/// Capabilities that root keeps if the user lets commands keep privileges. None of them leads out
/// of the sandbox or into the kernel.
const ROOTS: [&str; 9] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
    "CAP_SETGID",
    "CAP_SETUID",
];

/// The restrictions of one command.
pub(super) struct MountPlan<'a> {
    /// The chat's limits, with real paths.
    pub limits: &'a SandboxLimits,
    /// The secrets to hide.
    pub concealed: &'a [Concealed],
    /// The machine's sockets and kernel files.
    pub machine: &'a Machine,
    /// Files and folders below `/tmp` that the command needs in addition to the limits.
    pub needed: &'a [&'a Path],
    /// Its working directory.
    pub cwd: &'a Path,
    /// A file that takes the place of `/etc/resolv.conf`.
    pub resolver: Option<&'a Path>,
    /// The way to the hosts that the limits list.
    pub outlet: Option<&'a Outlet>,
}

/// The words that precede a command.
pub(super) fn words(program: &Path, extra: &[String], held: &MountPlan<'_>) -> Vec<OsString> {
    let limits = held.limits;
    let mut words = Words(vec![program.into()]);
    words.system(held);
    words.temporary(held);
    words.home(limits);
    words.writable(limits);
    words.hide(held);
    words.resolver(held);
    if let Some(outlet) = held.outlet {
        words.0.extend(outlet.mounts());
    }
    words.close(limits);
    // Commands can neither signal the user's processes nor share memory with them.
    words.all(["--unshare-pid", "--unshare-uts", "--unshare-ipc"]);
    words.all([match limits.network {
        Network::Everything => "--share-net",
        // The proxy is reached through a socket that is passed out.
        Network::Listed(_) | Network::Nothing => "--unshare-net",
    }]);
    words.all(["--cap-drop", "ALL"]);
    if !limits.privileged {
        // In a user namespace of its own, a command would have all capabilities again, and
        // could use much more of the kernel.
        words.all(["--unshare-user", "--disable-userns"]);
    } else if held.machine.is_root {
        for capability in ROOTS {
            words.all(["--cap-add", capability]);
        }
    }
    // Without a new session, a command could type into the user's terminal by TIOCSTI
    // (CVE-2017-5226).
    words.all([DIE_WITH_PARENT, "--new-session", "--chdir"]);
    let cwd = limits.view().map(|view| view.inside(held.cwd));
    words.0.push(cwd.unwrap_or_else(|| held.cwd.into()).into());
    // The user's own arguments come last, so that they take precedence.
    words.0.extend(extra.iter().map(OsString::from));
    words.all(["--"]);
    words
        .0
        .extend(held.outlet.into_iter().flat_map(Outlet::words));
    words.0
}

/// The folders between the writable folder that contains `path` and `path`, without both.
fn between<'a>(path: &'a Path, writable: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
    let root = writable.iter().find(|root| path.starts_with(root));
    let above = path.ancestors().skip(1);
    above.take_while(move |folder| root.is_some_and(|root| *folder != root.as_path()))
}

struct Words(Vec<OsString>);

impl Words {
    fn all<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    /// Adds a mount of a path at the same path.
    fn path(&mut self, word: &str, path: &Path) {
        self.0.extend([word.into(), path.into(), path.into()]);
    }

    /// Adds a mount option and its target.
    fn mount(&mut self, option: &str, path: &Path) {
        self.0.extend([option.into(), path.into()]);
    }

    /// Mounts the machine's files, without those that control the kernel or the session.
    fn system(&mut self, held: &MountPlan<'_>) {
        let root = held.limits.writable.iter().any(|it| it == Path::new("/"));
        self.path(if root { "--bind" } else { "--ro-bind" }, Path::new("/"));
        // A /dev without disks, and the /proc of the new process namespace.
        self.all(["--dev", "/dev", "--proc", "/proc"]);
        // bubblewrap omits what the folder's mode forbids, but the mode doesn't restrict root.
        let machine = held.machine;
        let readings = machine.readings.iter().filter(|_| held.limits.privileged);
        for path in machine.kernel.iter().chain(readings) {
            self.path("--ro-bind-try", path);
        }
        self.path("--ro-bind-try", Path::new("/sys"));
        for path in machine.networks.iter().filter(|_| is_cut_off(held.limits)) {
            self.mount("--tmpfs", path);
            self.mount("--remount-ro", path);
        }
        // It contains the session's sockets: the editor's, D-Bus, containers.
        self.all(["--tmpfs", "/run"]);
        // Most machines have only some of them.
        for path in NEEDED {
            self.path("--ro-bind-try", Path::new(path));
        }
    }

    /// Mounts the chat's own `/tmp`, with the paths that the command needs of the machine's.
    fn temporary(&mut self, held: &MountPlan<'_>) {
        let Some(tmp) = &held.limits.tmp else { return };
        // Mounts below it create folders in it, so it is made read-only later; see
        // [`Words::close`].
        self.0.extend([
            "--bind".into(),
            (&tmp.folder).into(),
            crate::sandbox::TMP.into(),
        ]);
        self.all(["--setenv", "TMPDIR", crate::sandbox::TMP]);
        let needed = held.needed.iter().copied().chain([held.cwd]);
        let shown = held.limits.shown.iter().map(PathBuf::as_path);
        let is_below = |path: &&Path| {
            path.starts_with(crate::sandbox::TMP)
                && *path != Path::new(crate::sandbox::TMP)
                && !path.starts_with(&tmp.folder)
        };
        for path in shown
            .chain(needed)
            .filter(is_below)
            .collect::<BTreeSet<_>>()
        {
            self.path("--ro-bind-try", path);
        }
    }

    /// Mounts what is seen of the home folder. Listing a folder that can't be written fails, so that it
    /// does not look empty. Writable folders come later.
    fn home(&mut self, limits: &SandboxLimits) {
        let Some(home) = &limits.home else { return };
        self.all(["--perms", if home.is_writable { "0700" } else { "0111" }]);
        self.mount("--tmpfs", &home.folder);
        for path in &home.seen {
            self.path("--ro-bind-try", path);
        }
    }

    /// Makes the chat's `/tmp` read-only unless the limits let it be written. Mounts below it are
    /// not affected.
    fn close(&mut self, limits: &SandboxLimits) {
        if limits.tmp.as_ref().is_some_and(|tmp| !tmp.writable) {
            self.all(["--remount-ro", crate::sandbox::TMP]);
        }
        if let Some(home) = limits.home.as_ref().filter(|it| !it.is_writable) {
            self.mount("--remount-ro", &home.folder);
        }
    }

    /// Mounts the writable folders, and the paths in them that stay read-only.
    fn writable(&mut self, limits: &SandboxLimits) {
        for path in &limits.writable {
            if path != Path::new("/") {
                self.path("--bind", path);
            }
        }
        // A folder that is not a mount point could be renamed together with the mounts in it.
        // Each is mounted once, and before the kept paths, because a later mount would cover them.
        let kept = limits.kept.iter();
        let above: BTreeSet<&Path> = kept
            .flat_map(|path| between(path, &limits.writable))
            .collect();
        for folder in above {
            self.path("--bind-try", folder);
        }
        for path in &limits.kept {
            self.path("--ro-bind-try", path);
        }
    }

    /// Hides what the limits name, the secrets, and every socket that is not granted.
    fn hide(&mut self, held: &MountPlan<'_>) {
        let limits = held.limits;
        let view = limits.view();
        let home = limits.home.as_ref();
        let is_seen = |path: &Path| {
            view.as_ref().is_none_or(|view| view.is_seen(path))
                && home.is_none_or(|home| !home.hides(path))
        };
        for path in limits.hidden.iter().filter(|path| is_seen(path)) {
            self.mount("--tmpfs", path);
        }
        // Nothing below `/run` is visible in any case.
        let concealed = held.concealed.iter().filter(|it| {
            let path = &it.path;
            is_seen(path) && !path.starts_with("/run") && !is_in(path, &limits.hidden)
        });
        let (folders, files): (Vec<_>, Vec<_>) = concealed.partition(|it| it.is_folder);
        for folder in &folders {
            self.mount("--tmpfs", &folder.path);
        }
        let is_concealed = |path: &Path| folders.iter().any(|it| path.starts_with(&it.path));
        let sockets = held.machine.sockets.iter().filter(|path| {
            is_seen(path)
                && (!path.starts_with("/run") || is_cut_off(limits) && is_needed(path))
                && !is_in(path, &limits.hidden)
                && !is_concealed(path)
                && !limits.masked.contains(path)
        });
        let masked = limits.masked.iter().filter(|path| is_seen(path));
        let all = masked.chain(sockets).chain(files.iter().map(|it| &it.path));
        for path in all.filter(|path| !limits.sockets.contains(path)) {
            self.0
                .extend(["--ro-bind-try".into(), "/dev/null".into(), path.into()]);
        }
        // Granted sockets come after the masks, which would cover them.
        for path in &limits.sockets {
            self.path("--bind-try", path);
        }
        folders.iter().for_each(|it| self.show(it));
    }

    /// Replaces the addresses of name servers. The file may be a link.
    fn resolver(&mut self, held: &MountPlan<'_>) {
        let file = Path::new("/etc/resolv.conf").canonicalize().ok();
        if let Some((resolver, file)) = held.resolver.zip(file) {
            let words = ["--ro-bind-try".into(), resolver.into(), file.into()];
            self.0.extend(words);
        }
    }

    /// Mounts the visible paths of a concealed folder, and makes the rest read-only.
    fn show(&mut self, folder: &Concealed) {
        for path in &folder.seen {
            self.path("--ro-bind-try", path);
        }
        // A file that a command wrote there would be lost.
        self.mount("--remount-ro", &folder.path);
    }
}

/// Returns true if commands have a network of their own, with nothing in it.
fn is_cut_off(limits: &SandboxLimits) -> bool {
    limits.network != Network::Everything
}

fn is_in(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|it| path.starts_with(it))
}

/// Returns true if a path below `/run` is visible. Sockets of name servers are among these paths, and
/// would lead to the network.
fn is_needed(path: &Path) -> bool {
    NEEDED.iter().any(|needed| path.starts_with(needed))
}

// A thread that starts sandboxed commands under two restrictions that bubblewrap lacks.
//
// - Abstract sockets have no path that a mount could hide. Landlock (Linux 6.12) blocks them.
// - Setuid and setgid bits outlive the sandbox. A seccomp filter keeps commands from setting
// them.
//
// A thread's children inherit both, so no helper program is needed.

type Job = Box<dyn FnOnce() + Send>;

/// The thread, started on first use. `None` if the system supports neither restriction.
static THREAD: OnceLock<Option<Thread>> = OnceLock::new();
/// Set if bubblewrap does not start from such a thread.
static REFUSED: AtomicBool = AtomicBool::new(false);

struct Thread {
    jobs: Sender<Job>,
    restrictions: Restrictions,
}

/// The restrictions that are active on the thread.
#[derive(Debug, Clone, Copy)]
struct Restrictions {
    abstract_sockets: bool,
    modes: bool,
}

/// Returns true if sandboxed commands can't reach abstract sockets, even with network access.
pub fn cuts_off_abstract_sockets() -> bool {
    available().is_some_and(|thread| thread.restrictions.abstract_sockets)
}

/// Returns true if sandboxed commands can't set setuid and setgid bits.
pub fn keeps_from_setuid() -> bool {
    available().is_some_and(|thread| thread.restrictions.modes)
}

/// Returns true when what [`run`] starts is restricted.
pub(super) fn is_available() -> bool {
    available().is_some()
}

fn available() -> Option<&'static Thread> {
    thread().filter(|_| !REFUSED.load(Ordering::Relaxed))
}

/// Stops using the thread: from now on, [`run`] runs everything on the calling thread.
pub(super) fn give_up() {
    REFUSED.store(true, Ordering::Relaxed);
}

/// Runs `work` on the thread, or on the calling thread if there is none.
///
/// The thread lives as long as the process, because bubblewrap ends with the thread that
/// started it.
///
/// # Errors
///
/// `work` panicked.
pub(crate) fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let Some(thread) = available() else {
        return Ok(work());
    };
    let (sender, receiver) = channel();
    let job: Job = Box::new(move || {
        // The receiver waits below, so this cannot fail.
        let _ = sender.send(work());
    });
    let gone = || io::Error::other("the thread that starts sandboxed programs is gone");
    thread.jobs.send(job).map_err(|_| gone())?;
    receiver.recv().map_err(|_| gone())
}

fn thread() -> Option<&'static Thread> {
    THREAD.get_or_init(start).as_ref()
}

fn start() -> Option<Thread> {
    let (jobs, queue) = channel::<Job>();
    let (ready, is_ready) = channel();
    let serve = move || {
        let works = |result: Result<(), String>, effect| {
            if let Err(why) = &result {
                tracing::info!(why, effect, "the sandbox lacks a restriction");
            }
            result.is_ok()
        };
        let restrictions = Restrictions {
            abstract_sockets: works(restrict_sockets(), "abstract sockets stay reachable"),
            modes: works(restrict_modes(), "commands can set setuid bits"),
        };
        // The receiver waits in `start`, so this cannot fail.
        let _ = ready.send(restrictions);
        for job in queue {
            // A panic in one job must not end the thread, because all later commands would then
            // fail to start.
            drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)));
        }
    };
    let thread = std::thread::Builder::new().name("sandboxed".to_owned());
    // Without a thread, commands run without the two restrictions.
    thread.spawn(serve).ok()?;
    let restrictions = is_ready.recv().ok()?;
    let restricts = restrictions.abstract_sockets || restrictions.modes;
    restricts.then_some(Thread { jobs, restrictions })
}

fn restrict_sockets() -> Result<(), String> {
    use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
    // Without this, a kernel that lacks the restriction would silently apply none.
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let scoped = ruleset.scope(Scope::AbstractUnixSocket);
    let created = scoped.and_then(Ruleset::create);
    let restricted = created.and_then(landlock::RulesetCreated::restrict_self);
    restricted.map(drop).map_err(|error| error.to_string())
}

#[cfg(target_endian = "little")]
fn restrict_modes() -> Result<(), String> {
    super::modes::restrict()
}

#[cfg(target_endian = "big")]
fn restrict_modes() -> Result<(), String> {
    Err("there is no filter of system calls for this system".to_owned())
}

// State that this process keeps between commands: scans of folders, files that commands created
// and could keep, and files that file tools wrote.
//
// This module decides nothing. All of it may be dropped: then folders are scanned again, and files
// of commands count as the user's.

/// Maximum number of scans, and of paths.
const MOST: (usize, usize) = (16, 1_000);

#[derive(Default)]
struct Memory {
    seen: HashMap<PathBuf, Arc<Tree>>,
    made: HashSet<PathBuf>,
    written: HashMap<PathBuf, Fingerprint>,
}

static MEMORY: Mutex<Option<Memory>> = Mutex::new(None);

fn locked() -> MutexGuard<'static, Option<Memory>> {
    // A poisoned lock is fine, because no change can be left half done.
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last scan of this root.
pub(super) fn seen(root: &Root) -> Arc<Tree> {
    let memory = locked();
    let found = memory.as_ref().and_then(|it| it.seen.get(&root.path));
    found.cloned().unwrap_or_default()
}

/// Stores a scan.
pub(super) fn remember(root: &Root, tree: Arc<Tree>) {
    if !root.is_deep {
        return;
    }
    let mut memory = locked();
    let seen = &mut memory.get_or_insert_default().seen;
    // Dropping all of them is enough, because another scan takes milliseconds.
    if seen.len() >= MOST.0 && !seen.contains_key(&root.path) {
        seen.clear();
    }
    seen.insert(root.path.clone(), tree);
}

/// Adds files that commands created.
pub(super) fn add_made_by_commands(paths: impl Iterator<Item = PathBuf>) {
    let mut memory = locked();
    let made = &mut memory.get_or_insert_default().made;
    made.extend(paths);
    if made.len() > MOST.1 {
        made.clear();
    }
}

/// The files that commands created, without those that no longer satisfy `is_still`.
pub(super) fn made_by_commands(is_still: impl Fn(&Path) -> bool) -> HashSet<PathBuf> {
    let mut memory = locked();
    let made = &mut memory.get_or_insert_default().made;
    made.retain(|path| is_still(path));
    made.clone()
}

/// Records what a file tool writes to `path`.
pub(super) fn add_written(path: &Path, text: &str) {
    let mut memory = locked();
    let written = &mut memory.get_or_insert_default().written;
    if written.len() >= MOST.1 {
        written.clear();
    }
    written.insert(path.to_owned(), Fingerprint::of(text.as_bytes()));
}

/// Returns true if a file, or everything in a folder, is as a file tool wrote it.
pub(super) fn is_as_written(path: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else {
        return false;
    };
    if found.is_dir() {
        let Ok(mut entries) = fs::read_dir(path) else {
            return false;
        };
        // File tools create no empty folders, so a command made it.
        let mut is_written = false;
        return entries.all(|entry| {
            is_written = entry.is_ok_and(|entry| is_as_written(&entry.path()));
            is_written
        }) && is_written;
    }
    let written = locked()
        .as_ref()
        .and_then(|it| it.written.get(path).cloned());
    found.is_file() && written.is_some_and(|it| fingerprint(path) == Some(it))
}

fn fingerprint(path: &Path) -> Option<Fingerprint> {
    let real = RealPath::of(path).ok()?;
    Fingerprint::of_file(&real).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::secrets::SecretKind;

    fn line(limits: &SandboxLimits, machine: &Machine) -> String {
        let concealed = limits.concealed.clone().unwrap_or_default();
        let held = MountPlan {
            limits,
            concealed: &concealed,
            machine,
            needed: &[Path::new("/tmp/script")],
            cwd: Path::new("/w"),
            resolver: None,
            outlet: None,
        };
        let words = words(Path::new("/bin/bwrap"), &["--x".to_owned()], &held);
        let words: Vec<_> = words.iter().map(|it| it.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn later_words_lie_over_earlier_ones() {
        let limits = SandboxLimits {
            writable: vec!["/tmp".into(), "/w".into()],
            kept: vec!["/w/.git/config".into(), "/w/.git/hooks".into()],
            hidden: vec!["/tmp/nvim".into()],
            masked: vec!["/w/nvim.sock".into()],
            ..SandboxLimits::default()
        };
        let line = line(&limits, &Machine::default());
        let at = |word: &str| line.find(word).unwrap_or(usize::MAX);
        assert!(
            line.starts_with("/bin/bwrap --ro-bind / / --dev /dev --proc /proc --ro-bind-try ")
        );
        let kept = "--bind-try /w/.git /w/.git --ro-bind-try /w/.git/config /w/.git/config \
            --ro-bind-try /w/.git/hooks /w/.git/hooks --tmpfs";
        assert!(at("--bind /w /w") < at(kept), "{line}");
        assert!(at("--bind /tmp /tmp") < at("--tmpfs /tmp/nvim"));
        assert!(at("--bind /w /w") < at("--ro-bind-try /dev/null /w/nvim.sock"));
        assert!(line.contains("--unshare-net") && line.contains("--cap-drop ALL"));
        assert!(line.ends_with("--chdir /w --x --"));
    }

    #[test]
    fn the_root_can_be_writable_and_the_kernel_stays_as_it_is() {
        let limits = SandboxLimits {
            writable: vec!["/".into()],
            network: Network::Everything,
            privileged: true,
            ..SandboxLimits::default()
        };
        let machine = Machine {
            kernel: vec!["/proc/sys".into()],
            networks: vec!["/sys/class/net".into()],
            is_root: true,
            ..Machine::default()
        };
        let line = line(&limits, &machine);
        assert!(line.starts_with("/bin/bwrap --bind / / --dev"));
        assert!(line.contains("--share-net") && !line.contains("--unshare-user"));
        assert!(line.contains("--proc /proc --ro-bind-try /proc/sys /proc/sys"));
        assert!(line.contains("--cap-drop ALL --cap-add CAP_CHOWN"));
        // With the network, its devices are no secret.
        assert!(!line.contains("/sys/class/net"));
        assert!(!line.contains("CAP_SYS_ADMIN"));
    }

    #[test]
    fn below_the_chats_tmp_only_what_is_needed_is_seen() {
        let limits = SandboxLimits {
            writable: vec!["/tmp/project".into()],
            hidden: vec!["/tmp/tmux-0".into(), "/tmp/project/run".into()],
            tmp: Some(crate::sandbox::Tmp {
                folder: "/tmp/flemma-0/chat".into(),
                writable: true,
            }),
            sockets: vec!["/home/me/agent".into()],
            ..SandboxLimits::default()
        };
        let machine = Machine {
            sockets: [
                "/tmp/s",
                "/tmp/project/s",
                "/run/bus",
                "/run/nscd/socket",
                "/home/me/agent",
            ]
            .map(PathBuf::from)
            .to_vec(),
            ..Machine::default()
        };
        let line = line(&limits, &machine);
        let at = |word: &str| line.find(word).unwrap_or(usize::MAX);
        let tmp = at("--bind /tmp/flemma-0/chat /tmp --setenv TMPDIR /tmp");
        assert!(tmp < at("--ro-bind-try /tmp/script /tmp/script"), "{line}");
        assert!(tmp < at("--bind /tmp/project /tmp/project"), "{line}");
        assert!(
            line.contains("--tmpfs /tmp/project/run") && !line.contains("tmux"),
            "{line}"
        );
        let masked: Vec<&str> = line.split("/dev/null ").skip(1).collect();
        let masked = masked.iter().filter_map(|rest| rest.split(' ').next());
        assert_eq!(
            Vec::from_iter(masked),
            ["/tmp/project/s", "/run/nscd/socket"]
        );
        assert!(
            line.contains("--bind-try /home/me/agent /home/me/agent"),
            "{line}"
        );
    }

    #[test]
    fn a_hidden_folder_shows_what_was_granted_and_takes_nothing_in() {
        let conceal = |path: &str, seen: &[&str]| Concealed {
            path: path.into(),
            kind: SecretKind::Key,
            is_folder: path != "/w/.env",
            seen: seen.iter().map(PathBuf::from).collect(),
        };
        let limits = SandboxLimits {
            sockets: vec!["/me/.gnupg/S.gpg-agent".into()],
            concealed: Some(vec![
                conceal("/me/.gnupg", &["/me/.gnupg/pubring.kbx"]),
                conceal("/w/.env", &[]),
                conceal("/run/secrets", &[]),
            ]),
            ..SandboxLimits::default()
        };
        let machine = Machine {
            sockets: vec!["/me/.gnupg/S.scdaemon".into()],
            ..Machine::default()
        };
        let line = line(&limits, &machine);
        let at = |word: &str| {
            line.find(word)
                .unwrap_or_else(|| panic!("{word} in {line}"))
        };
        let socket = at("--bind-try /me/.gnupg/S.gpg-agent");
        assert!(at("--tmpfs /me/.gnupg") < socket, "{line}");
        let seen = at("--ro-bind-try /me/.gnupg/pubring.kbx");
        assert!(socket < at("--remount-ro /me/.gnupg") && seen < at("--remount-ro /me/.gnupg"));
        at("--ro-bind-try /dev/null /w/.env");
        // It is out of sight already, with all else that is there.
        assert!(
            !line.contains("scdaemon") && !line.contains("/run/secrets"),
            "{line}"
        );
    }

    #[test]
    fn a_job_that_panics_fails_alone() {
        if is_available() {
            assert!(run::<()>(|| panic!("no")).is_err());
        }
        assert_eq!(run(|| 7).unwrap(), 7);
    }
}
