//! The sandbox of Linux: `bwrap` enforces the limits with bubblewrap and adds what that lacks, and
//! `watch` finds files that commands may not make, by `identity`. This module tests that it works.

mod bwrap;
mod identity;
#[cfg(target_endian = "little")]
mod modes;
mod outlet;
mod overlay;
mod proxy;
mod todo;
mod tree;
mod watch;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use platform::files::make_private_folder;

pub(super) use self::bwrap::NAME;
pub(crate) use self::bwrap::run as run_restricted;
pub use self::bwrap::{cuts_off_abstract_sockets, keeps_from_setuid};
use self::identity::Machine;
pub(crate) use self::outlet::Outlet;
pub use self::outlet::{OUTLET, open_outlet};
pub(crate) use self::overlay::report as view_report;
pub use self::overlay::{VIEW, chats_tmp, hold_view, tmp_folder};
pub(super) use self::overlay::{make as make_tmp, words as view_words};
pub use self::watch::Watch;
use super::{Backend, Network, SandboxLimits};
use crate::private::TemporaryFolder;
use crate::secrets::Concealed;
use crate::state_dir;

/// Advice if a sandbox is required and missing.
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
    outlet: Option<&Outlet>,
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
        outlet: outlet.filter(|_| matches!(limits.network, Network::Listed(_))),
    };
    Ok(bwrap::words(program, &backend.extra, &held))
}

/// Returns true if a path has a protected name; see [`super::Names`].
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
        || parts.any(|name| name == tree::FOLDER)
        || limits.never_made.iter().any(|it| path.starts_with(it))
    {
        bwrap::add_written(path, text);
    }
}

impl SandboxLimits {
    /// The secrets that exist in the home folder, in the working folders, and among `suspects`.
    fn secrets_to_hide(&self, suspects: Vec<PathBuf>) -> Vec<Concealed> {
        let secrets = self.secrets.as_ref();
        secrets.map_or_else(Vec::new, |it| it.concealed(&self.work, suspects))
    }
}

// Tests whether bubblewrap works on this machine: a command in the sandbox tries to get out.
//
// An installed bubblewrap is not enough: where user namespaces are forbidden, it fails at every
// start.

/// The path that is tried first, because the AppArmor profiles of distributions cover only it.
const USUAL: &str = "/usr/bin/bwrap";

/// The results of [`find_out`] by program and additional arguments.
static FOUND: Mutex<Option<HashMap<Key, Result<PathBuf, String>>>> = Mutex::new(None);

type Key = (Option<PathBuf>, Vec<String>);

/// The bubblewrap that works. It is tested once per process, which takes some 30 ms.
///
/// # Errors
///
/// It is missing, does not start, or a command got out. The text is a clause without a full stop.
pub fn find_out(backend: &Backend) -> Result<PathBuf, String> {
    // Held during a test, so that calls at the same time wait for one result.
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let found = found.get_or_insert_default();
    found
        .entry((backend.program.clone(), backend.extra.clone()))
        .or_insert_with(|| probe(backend))
        .clone()
}

/// The result of [`find_out`], if it is known.
pub(in crate::sandbox) fn known(backend: &Backend) -> Option<Result<PathBuf, String>> {
    // The lock is held during a test, so its result is unknown.
    let found = FOUND.try_lock().ok()?;
    let key = (backend.program.clone(), backend.extra.clone());
    found.as_ref()?.get(&key).cloned()
}

fn probe(backend: &Backend) -> Result<PathBuf, String> {
    let program = match &backend.program {
        Some(program) => program.clone(),
        None => installed().ok_or("bubblewrap (bwrap) is not installed")?,
    };
    let mut tried = tries_to_get_out(&program, &backend.extra);
    if tried.is_err() && bwrap::is_available() {
        // A bubblewrap that is setuid root does not start on such a thread.
        bwrap::give_up();
        tried = tries_to_get_out(&program, &backend.extra);
    }
    match tried {
        Ok(()) => Ok(program),
        Err(why) => Err(format!("{} does not hold: {why}", program.display())),
    }
}

fn installed() -> Option<PathBuf> {
    let usual = Path::new(USUAL);
    if usual.is_file() {
        return Some(usual.to_owned());
    }
    let path = crate::variable_os("PATH")?;
    let mut folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| Some(folder.join("bwrap")).filter(|file| file.is_file()))
}

/// Runs a script in the sandbox that tries to get out and reports the first way it finds.
///
/// It works in a temporary folder of ours, so a sandbox that fails causes no damage.
fn tries_to_get_out(program: &Path, extra: &[String]) -> Result<(), String> {
    let world = World::new().map_err(|error| format!("it could not be tried: {error}"))?;
    let words = sandboxed(&world, program, extra);
    // In a process namespace of its own, the script reads another name.
    let processes = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .args(["/bin/sh", "-c", SCRIPT, "sh"])
        .args([&world.outside, &world.kept, &world.sockets, &processes])
        .stdin(Stdio::null());
    let output = bwrap::run(move || command.output()).and_then(|output| output);
    let output = output.map_err(|error| error.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    match String::from_utf8_lossy(&output.stdout).trim() {
        // The script may be wrong about what it did, so the files are checked too.
        "held" if world.is_untouched() => Ok(()),
        "held" => Err("a file outside was changed".to_owned()),
        "" => Err(stderr
            .lines()
            .next()
            .unwrap_or("it says nothing")
            .to_owned()),
        out => Err(format!("a command could {out}")),
    }
}

/// The words that put a command in a sandbox around the folders of the test.
fn sandboxed(world: &World, program: &Path, extra: &[String]) -> Vec<OsString> {
    let limits = SandboxLimits {
        writable: vec![world.inside.clone()],
        kept: vec![world.kept.clone()],
        hidden: vec![world.sockets.clone()],
        ..SandboxLimits::default()
    };
    let mut machine = Machine::look();
    // Another program may delete its socket before it is mounted, and bubblewrap then fails.
    machine.sockets = vec![world.open.clone()];
    let held = bwrap::MountPlan {
        concealed: &[],
        limits: &limits,
        machine: &machine,
        needed: &[],
        cwd: &world.inside,
        resolver: None,
        outlet: None,
    };
    bwrap::words(program, extra, &held)
}

/// Arguments: a folder outside, a read-only one inside, the folder of sockets, and the name of our
/// process namespace.
const SCRIPT: &str = r#"
out() { echo "$1"; exit; }
(echo x > here) 2>/dev/null || out "not write where it may"
(echo x > "$1/file") 2>/dev/null && out "write outside"
(echo x > "$2/file") 2>/dev/null && out "write what is kept"
(ln -s "$1" link && echo x > link/file) 2>/dev/null && out "write through a link"
(ln "$1/old" hard && echo x > hard) 2>/dev/null && out "write through a hard link"
(mv "$1/old" "$1/new") 2>/dev/null && out "rename outside"
(mount --bind "$1" .) 2>/dev/null && out "mount"
[ "$(readlink /proc/self/ns/pid)" = "$4" ] && out "signal processes outside"
[ -e "$3/socket" ] && out "reach a socket"
[ -S "$2/../open" ] && out "reach a socket that has no folder of its own"
[ -e /run/user ] && out "reach the session"
(: >> /proc/sys/kernel/core_pattern) 2>/dev/null && out "change the kernel"
(: >> /proc/sysrq-trigger) 2>/dev/null && out "stop the machine"
echo held
"#;

/// The folders and sockets of the test, removed with the folder of all.
struct World {
    _folder: TemporaryFolder,
    inside: PathBuf,
    kept: PathBuf,
    outside: PathBuf,
    sockets: PathBuf,
    /// A socket in `inside`.
    open: PathBuf,
    _listeners: [UnixListener; 2],
}

impl World {
    fn new() -> io::Result<Self> {
        let folder = state_dir::temporary_folder()?;
        let at = |name: &str| folder.path().join(name);
        let (inside, sockets) = (at("inside"), at("sockets"));
        let (kept, outside) = (inside.join("kept"), at("outside"));
        for folder in [&inside, &sockets, &kept, &outside] {
            make_private_folder(folder)?;
        }
        fs::write(outside.join("old"), "old")?;
        Ok(Self {
            _listeners: [listen(&sockets, "socket")?, listen(&inside, "open")?],
            open: inside.join("open"),
            inside,
            kept,
            outside,
            sockets,
            _folder: folder,
        })
    }

    fn is_untouched(&self) -> bool {
        let left = fs::read_dir(&self.outside).map(Iterator::count);
        let old = fs::read_to_string(self.outside.join("old"));
        matches!((left, old), (Ok(1), Ok(text)) if text == "old")
    }
}

/// Binds a socket in a folder, however long the folder's path is: that of a socket has at most 107
/// bytes according to unix(7).
fn listen(folder: &Path, name: &str) -> io::Result<UnixListener> {
    let folder = fs::File::open(folder)?;
    UnixListener::bind(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A stand-in for bubblewrap that runs the command as it is.
    fn stand_in(folder: &Path, script: &str) -> Backend {
        use std::os::unix::fs::PermissionsExt;
        let program = folder.join("bwrap");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Backend {
            program: Some(program),
            ..Backend::default()
        }
    }

    #[test]
    fn a_program_that_holds_nothing_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let free = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do [ \"$1\" = --chdir ] && cd \"$2\"; shift; done; shift; exec \"$@\"\n";
        let said = find_out(&stand_in(folder.path(), free)).unwrap_err();
        assert!(
            said.ends_with("does not hold: a command could write outside"),
            "{said}"
        );
    }

    #[test]
    fn sockets_of_other_programs_are_not_part_of_the_probe() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        let records = "#!/bin/sh\necho \"$@\" > \"$0.words\"; exit 1\n";
        assert!(find_out(&stand_in(folder.path(), records)).is_err());
        let words = fs::read_to_string(folder.path().join("bwrap.words")).unwrap();
        assert!(words.contains("/inside/open"), "{words}");
        assert!(!words.contains(socket.to_str().unwrap()), "{words}");
    }

    #[test]
    fn a_failing_or_missing_program_is_reported_with_its_error() {
        let folder = tempfile::tempdir().unwrap();
        let fails = "#!/bin/sh\necho 'setting up uid map: Permission denied' >&2; exit 1\n";
        let said = find_out(&stand_in(folder.path(), fails)).unwrap_err();
        assert!(
            said.ends_with("setting up uid map: Permission denied"),
            "{said}"
        );
        let none = Backend {
            program: Some(folder.path().join("none")),
            ..Backend::default()
        };
        assert!(find_out(&none).is_err());
    }
}
