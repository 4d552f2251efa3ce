//! The trial view: mounts overlays over the writable folders, then starts bubblewrap.
//!
//! A program of its own does this, because only a process that has left the machine's mount namespace
//! can mount something, and leaving is for good: `flemma-leash --view`. It needs no privileges: a
//! new user namespace gives it the right to mount in it, and it loses that right when it starts
//! bubblewrap. Sources: user_namespaces(7), mount_namespaces(7), the kernel's overlayfs.rst, bwrap(1).

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::{ExitStatusExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Once;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use platform::paths;
use rustix::process::{
    Resource, Rlimit, Signal, getgid, getuid, set_parent_process_death_signal, setrlimit,
};

use crate::files::leads_to;
use crate::sandbox::View;
use crate::sandbox::trying::{Overlay, TrialView, ViewReport};
use crate::state_dir::{self, OF_PROCESS, make_own_folder, sweep_chats};

/// The first argument of the program that sets up a trial view.
pub const VIEW: &str = "--view";
/// Most processes of one trial at a time. The kernel counts those of the view only (since 5.14).
const PROCESSES: u64 = 4096;
/// Precedes the reason in the report of a view that could not be set up.
const FAILED: &str = "failed ";
/// Precedes the number of refused packets in the report of a command that ended.
const REFUSED: &str = "refused ";

/// The words that start `sandboxed`, the words of bubblewrap, in a trial view.
pub(in crate::sandbox) fn words(
    view: &TrialView<'_>,
    overlays: &[Overlay],
    sandboxed: Vec<OsString>,
) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![
        view.program.into(),
        VIEW.into(),
        std::process::id().to_string().into(),
        TrialView::report(view.layer).into(),
        view.bytes.to_string().into(),
        overlays.len().to_string().into(),
    ];
    for overlay in overlays {
        words.push((&overlay.folder).into());
        words.push(options(overlay));
    }
    words.extend(sandboxed);
    words
}

/// The mount options of an overlay.
fn options(overlay: &Overlay) -> OsString {
    let mut options = OsString::from("userxattr,lowerdir=");
    for path in &overlay.scratch {
        options.push(escaped(path));
        options.push(":");
    }
    for (name, path) in [
        ("", &overlay.folder),
        (",upperdir=", &overlay.upper),
        (",workdir=", &overlay.work),
    ] {
        options.push(name);
        options.push(escaped(path));
    }
    options
}

/// A path as it stands in mount options.
fn escaped(path: &Path) -> OsString {
    let mut bytes = Vec::new();
    for byte in paths::bytes(path.as_os_str()).iter() {
        if matches!(byte, b'\\' | b':' | b',') {
            bytes.push(b'\\');
        }
        bytes.push(*byte);
    }
    paths::from_bytes(bytes)
}

/// Reads the report of a view. `None` if it was killed.
pub(crate) fn report(path: &Path) -> Option<ViewReport> {
    let text = fs::read_to_string(path).ok()?;
    match text.strip_prefix(REFUSED) {
        Some(count) => Some(ViewReport::Ran(count.parse().ok()?)),
        None => Some(ViewReport::Failed(text.strip_prefix(FAILED)?.to_owned())),
    }
}

/// Sets up a trial view and runs bubblewrap in it. `words` are the arguments after [`VIEW`].
pub fn hold_view(words: &[OsString]) -> ExitCode {
    let [host, report, bytes, count, rest @ ..] = words else {
        return ExitCode::FAILURE;
    };
    let number = |word: &OsStr| word.to_str().and_then(|it| it.parse::<u64>().ok());
    let (Some(host), Some(bytes), Some(count)) = (number(host), number(bytes), number(count))
    else {
        return ExitCode::FAILURE;
    };
    let ended = enter(host, bytes)
        .and_then(|()| mount_all(count, rest))
        .and_then(run);
    let (text, code) = match ended {
        Ok((refused, code)) => (format!("{REFUSED}{refused}"), code),
        Err(error) => (format!("{FAILED}{error}"), ExitCode::FAILURE),
    };
    // Without a report, the host takes the view for killed.
    let _ = File::create(report).and_then(|mut it| it.write_all(text.as_bytes()));
    code
}

/// Leaves the machine's namespaces of users and mounts, with the same user and group.
fn enter(host: u64, bytes: u64) -> io::Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let named = |what: &str, error: io::Error| io::Error::other(format!("{what}: {error}"));
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)
        .map_err(|error| named("no namespace of its own", error.into()))?;
    // The kernel requires this before the group.
    fs::write("/proc/self/setgroups", "deny")?;
    // The same ids, so that bubblewrap has no privileges here.
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    // Bubblewrap ends with this process, and this process with the host.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if u64::from(parent_id()) != host {
        return Err(io::Error::other("the host has ended"));
    }
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>)?;
    for (resource, most) in [(Resource::Fsize, bytes), (Resource::Nproc, PROCESSES)] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit)?;
    }
    Ok(())
}

/// Mounts overlays: a folder and its options each. Returns the remaining words.
fn mount_all(count: u64, words: &[OsString]) -> io::Result<&[OsString]> {
    let mut rest = words;
    for _ in 0..count {
        let [folder, options, more @ ..] = rest else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        let (kind, folder) = (Some("overlay"), folder.as_os_str());
        mount(kind, folder, kind, flags, Some(options.as_os_str())).map_err(|error| {
            let folder = paths::visible(Path::new(folder));
            io::Error::other(format!(
                "{folder} cannot be overlaid: {}",
                io::Error::from(error)
            ))
        })?;
        rest = more;
    }
    Ok(rest)
}

/// Runs bubblewrap. Returns how many packets its command sent in vain, and its exit code.
fn run(words: &[OsString]) -> io::Result<(u64, ExitCode)> {
    let [program, arguments @ ..] = words else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // The command starts once its counters are open: they last as long as they are.
    let (mut about, info) = io::pipe()?;
    let (block, mut start) = io::pipe()?;
    for kept in [info.as_fd(), block.as_fd()] {
        rustix::io::fcntl_setfd(kept, rustix::io::FdFlags::empty())?;
    }
    let mut command = Command::new(program);
    command
        .args(["--info-fd", &info.as_raw_fd().to_string()])
        .args(["--block-fd", &block.as_raw_fd().to_string()])
        .args(arguments);
    let mut child = command.spawn()?;
    drop((info, block));
    let mut text = String::new();
    about.read_to_string(&mut text)?;
    let mut counters = text_number(&text, "\"child-pid\":").map(Counters::open);
    let before = counters.as_mut().map_or(0, Counters::refused);
    // Fails if bubblewrap has ended already, which then says why.
    let _ = start.write_all(b"1");
    drop(start);
    let status = child.wait()?;
    let after = counters.as_mut().map_or(0, Counters::refused);
    let signal = status.signal().map(|it| 128 + it);
    let code = status
        .code()
        .or(signal)
        .and_then(|it| u8::try_from(it).ok());
    Ok((
        after.saturating_sub(before),
        code.map_or(ExitCode::FAILURE, ExitCode::from),
    ))
}

/// The number that follows a word.
fn text_number(text: &str, word: &str) -> Option<u64> {
    let rest = text.split_once(word)?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// The counters of packets of a network namespace, also once its processes have ended.
struct Counters(Vec<File>);

impl Counters {
    /// Opens the counters of the network that this process is in.
    fn open(process: u64) -> Self {
        let files = ["snmp", "snmp6"].map(|it| format!("/proc/{process}/net/{it}"));
        Self(files.iter().flat_map(File::open).collect())
    }

    /// The number of packets for which there was no route.
    fn refused(&mut self) -> u64 {
        let files = self.0.iter_mut();
        files
            .map(|it| read_again(it).map_or(0, |text| no_routes(&text)))
            .sum()
    }
}

fn read_again(file: &mut File) -> io::Result<String> {
    use std::io::Seek;
    file.rewind()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// The number of packets without a route in `/proc/net/snmp`, which has a line of names above one of
/// numbers, or in `/proc/net/snmp6`, which has a line for each.
fn no_routes(text: &str) -> u64 {
    let lines = text.lines().map(|it| it.split_ascii_whitespace());
    let lines: Vec<Vec<&str>> = lines.map(Iterator::collect).collect();
    let of_six = lines.iter().find_map(|it| match it.as_slice() {
        ["Ip6OutNoRoutes", count] => count.parse().ok(),
        _ => None,
    });
    let of_four = || {
        let pairs = lines.iter().zip(lines.iter().skip(1));
        let (names, numbers) = pairs.into_iter().find(|it| it.0.first() == Some(&"Ip:"))?;
        let at = names.iter().position(|it| *it == "OutNoRoutes")?;
        numbers.get(at)?.parse().ok()
    };
    of_six.or_else(of_four).unwrap_or_default()
}

// The folders that are mounted as `/tmp`, one per chat.
//
// They are in the state folder, which only the user can enter and no command can write, and outlive
// the host, so that a reopened chat finds its files. Folders that were not used for ten days are removed.

/// The folder of all chats, in the state folder.
const FOLDER: &str = "chat-tmp";

/// The folder that is mounted as `/tmp` in the chat with this key. Without a key, the folder
/// belongs to this process and is removed after it ends. Does not create the folder.
pub fn tmp_folder(key: Option<&str>) -> PathBuf {
    let name = match key {
        Some(key) => key.to_owned(),
        None => format!("{OF_PROCESS}{}", std::process::id()),
    };
    chats_tmp().join(name)
}

/// The folder that contains the folders of all chats.
pub fn chats_tmp() -> PathBuf {
    let state = state_dir::path();
    // Before the first start the folder is missing, and no link leads to it either.
    leads_to(&state).join(FOLDER)
}

/// Creates a folder of [`tmp_folder`]. The first call in a process also removes unused folders.
///
/// # Errors
///
/// It can't be created, or a link or another user's folder has its name.
pub(in crate::sandbox) fn make(folder: &Path) -> io::Result<()> {
    static SWEPT: Once = Once::new();
    let parent = folder.parent().unwrap_or(folder);
    // A folder that the user configured elsewhere may hold other files.
    let is_ours = parent == chats_tmp();
    if is_ours {
        state_dir::make_folder(&state_dir::path())?;
    }
    make_own_folder(parent)?;
    make_own_folder(folder)?;
    if is_ours {
        SWEPT.call_once(|| sweep_chats(parent));
    }
    Ok(())
}

impl View<'_> {
    /// Translates a path on the machine to a path in the sandbox.
    pub(super) fn inside(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(self.tmp) {
            Ok(rest) if rest.as_os_str().is_empty() => crate::sandbox::TMP.into(),
            Ok(rest) => Path::new(crate::sandbox::TMP).join(rest),
            Err(_) => path.to_owned(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn paths_are_escaped_in_mount_options() {
        let overlay = Overlay {
            folder: "/p/a:b,c\\d".into(),
            upper: "/l/u".into(),
            work: "/l/w".into(),
            scratch: vec!["/s/1:2".into(), "/s/3".into()],
        };
        assert_eq!(
            options(&overlay).to_str().unwrap(),
            r"userxattr,lowerdir=/s/1\:2:/s/3:/p/a\:b\,c\\d,upperdir=/l/u,workdir=/l/w"
        );
    }

    #[test]
    fn packets_without_a_route_are_counted() {
        let four = "Ip: Forwarding OutDiscards OutNoRoutes ReasmTimeout\nIp: 2 0 7 0\nIcmp: InMsgs\nIcmp: 1\n";
        assert_eq!(no_routes(four), 7);
        let six = "Ip6InReceives   \t0\nIp6OutNoRoutes \t3\n";
        assert_eq!(no_routes(six), 3);
        assert_eq!(no_routes(""), 0);
    }

    #[test]
    fn a_report_says_what_ran_or_why_nothing_did() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        assert_eq!(report(&path), None);
        for (text, expected) in [
            ("refused 3", Some(ViewReport::Ran(3))),
            ("failed why", Some(ViewReport::Failed("why".to_owned()))),
            ("refused", None),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(report(&path), expected);
        }
    }

    #[test]
    fn a_link_is_refused_and_others_lose_access() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base");
        make(&base.join("chat")).unwrap();
        fs::set_permissions(&base, fs::Permissions::from_mode(0o755)).unwrap();
        make(&base.join("chat")).unwrap();
        let mode = fs::metadata(&base).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let link = folder.path().join("link");
        symlink(folder.path().join("base"), &link).unwrap();
        assert!(make(&link.join("other")).is_err());
        symlink(folder.path().join("base"), base.join("link")).unwrap();
        assert!(make(&base.join("link")).is_err());
    }
}
