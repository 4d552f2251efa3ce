//! Which file a protected path leads to, and with which content.
//!
//! A path that exists before and after a command need not be the same file: a command may remove it
//! and make another, or rename a folder above it. Presence alone says nothing.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use platform::files::open_no_link;

use super::tree::{Root, TICK};
use crate::objects::Hash;
use crate::sandbox::paths_in;

/// Most bytes that are read of a file. A larger one is known by its number and its times.
const MOST: u64 = 1024 * 1024;
/// Most contents that are remembered.
const MOST_KNOWN: usize = 4_000;

/// The identity of an existing path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity {
    /// A file, by its content: another file with the same content runs the same. Device and inode
    /// tell whether it is the same file with another content.
    File {
        number: (u64, u64),
        content: Content,
    },
    /// A folder, by its device and inode.
    Folder(u64, u64),
    /// A link, and its target.
    Link(PathBuf),
    /// A pipe, a socket, or a device.
    Other(Stamp),
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Hash(Hash),
    /// It is too large or cannot be read.
    Stamp(Stamp),
}

/// Device, inode, size, and the time of the last change, which no program can set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp([u64; 3], [i64; 2]);

impl Stamp {
    fn of(found: &Metadata) -> Self {
        let file = [found.dev(), found.ino(), found.size()];
        Self(file, [found.ctime(), found.ctime_nsec()])
    }
}

impl Identity {
    /// The present identity of a path, if it exists.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        let kind = found.file_type();
        Some(if kind.is_symlink() {
            Self::Link(fs::read_link(path).unwrap_or_default())
        } else if kind.is_dir() {
            Self::Folder(found.dev(), found.ino())
        } else if kind.is_file() {
            Self::File {
                number: (found.dev(), found.ino()),
                content: content(path, Stamp::of(&found)),
            }
        } else {
            Self::Other(Stamp::of(&found))
        })
    }
}

/// Returns true if something at a path is what was there before: it does the same.
pub(super) fn is_same(before: Option<&Identity>, now: &Identity) -> bool {
    match (before, now) {
        (
            Some(Identity::File { content, .. }),
            Identity::File {
                content: content_now,
                ..
            },
        ) => content == content_now,
        (before, now) => before == Some(now),
    }
}

/// Returns true if a path leads to the file that it led to before, whatever its content is.
pub(super) fn is_same_file(before: &Identity, now: &Identity) -> bool {
    match (before, now) {
        (Identity::File { number, .. }, Identity::File { number: there, .. }) => number == there,
        (before, now) => before == now,
    }
}

/// Returns the content of a file. Nothing is read if the file is as it was at the last time.
fn content(path: &Path, stamp: Stamp) -> Content {
    static KNOWN: Mutex<Option<HashMap<PathBuf, (Stamp, Hash)>>> = Mutex::new(None);
    // A poisoned lock is fine, because no change can be left half done.
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let last = known().as_ref().and_then(|it| it.get(path).copied());
    if let Some((_, hash)) = last.filter(|(then, _)| *then == stamp) {
        return Content::Hash(hash);
    }
    let Some((stamp, hash)) = read(path) else {
        return Content::Stamp(stamp);
    };
    let mut known = known();
    let known = known.get_or_insert_default();
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(path.to_owned(), (stamp, hash));
    Content::Hash(hash)
}

/// Reads a file that is not too large; its stamp is from before that.
fn read(path: &Path) -> Option<(Stamp, Hash)> {
    let file = open_no_link(path).ok()?;
    let found = file.metadata().ok()?;
    let is_readable = found.is_file() && found.size() <= MOST;
    let mut bytes = Vec::new();
    is_readable.then_some(())?;
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    Some((Stamp::of(&found), Hash::of(&bytes)))
}

/// The protected paths that existed when a command started.
pub(super) type Found = HashMap<PathBuf, Identity>;

/// The commands that run, each with where it may write and what existed before it.
static RUNNING: Mutex<Vec<(u64, Arc<Running>)>> = Mutex::new(Vec::new());

/// A command that runs.
#[derive(Debug)]
pub(super) struct Running {
    /// Where it is looked for files that it made.
    pub(super) roots: Vec<Root>,
    pub(super) before: Found,
    /// Since 1970.
    pub(super) started: Duration,
    /// True while its files are taken away.
    pub(super) is_ending: AtomicBool,
}

impl Running {
    /// Returns true if this command cannot have made the file at `path`, or no one looks for what it
    /// makes there: then the file would stay without another command, too.
    fn has_not_made(&self, path: &Path, now: &Identity) -> bool {
        let is_looked_for = self.roots.iter().any(|root| {
            if root.is_deep {
                path.starts_with(&root.path)
            } else {
                path.parent() == Some(&root.path)
            }
        });
        !is_looked_for
            || is_same(self.before.get(path), now)
            // Only so many folders are looked through.
            || last_change(path).is_some_and(|change| change + TICK < self.started)
    }
}

/// When a file was made, renamed, or written, since 1970. No program can set this back.
fn last_change(path: &Path) -> Option<Duration> {
    let found = fs::symlink_metadata(path).ok()?;
    let seconds = u64::try_from(found.ctime()).ok()?;
    // Less than a second, so the cast loses nothing.
    Some(Duration::new(seconds, found.ctime_nsec() as u32))
}

/// The commands that ran at one moment. What they made counts for no other command as having been
/// there before it.
pub(super) struct Others(Vec<Arc<Running>>);

impl Others {
    /// Returns the commands that run now. Call it before looking for files: a command that ends
    /// meanwhile may have made one that was seen.
    pub(super) fn now() -> Self {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        Self(running.iter().map(|(_, it)| it.clone()).collect())
    }

    /// Returns true if none of the commands can have made the file at `path`.
    pub(super) fn have_not_made(&self, path: &Path, now: &Identity) -> bool {
        self.0.iter().all(|it| it.has_not_made(path, now))
    }
}

/// The entry of a running command, removed on drop.
#[derive(Debug)]
pub(super) struct Registered {
    number: u64,
    pub(super) running: Arc<Running>,
}

impl Registered {
    /// Registers a command that is about to start.
    pub(super) fn new(running: Running) -> Self {
        let running = Arc::new(running);
        let mut all = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let number = all.last().map_or(0, |(number, _)| number + 1);
        all.push((number, running.clone()));
        Self { number, running }
    }
}

impl Registered {
    /// Notes that the command has ended. From now on, its files are looked for; until all are taken
    /// away, they still do not count as having been there before other commands.
    pub(super) fn end(&self) {
        self.running.is_ending.store(true, Ordering::SeqCst);
    }

    /// Returns true if another command may have made the file at `path`, which is taken away when
    /// that command ends.
    pub(super) fn others_may_have_made(&self, path: &Path, now: &Identity) -> bool {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut others = running
            .iter()
            .filter(|(number, it)| *number != self.number && !it.is_ending.load(Ordering::SeqCst));
        others.any(|(_, it)| !it.has_not_made(path, now))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut all = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(number, _)| *number != self.number);
    }
}

// Finds what a sandbox must block on this machine besides files: kernel settings, and sockets
// that programs listen on.
//
// This module only searches; `bwrap` blocks what was found.

/// Features of this machine that a sandbox must block.
#[derive(Debug, Clone, Default)]
pub(super) struct Machine {
    /// Entries of `/proc` that control the kernel.
    pub kernel: Vec<PathBuf>,
    /// The other files of `/proc` that belong to no process. Root may open them for writing.
    pub readings: Vec<PathBuf>,
    /// Folders of `/sys` that describe the machine's network devices: their names, addresses, and
    /// traffic.
    pub networks: Vec<PathBuf>,
    /// Sockets that have a path.
    pub sockets: Vec<PathBuf>,
    /// True if this process runs as root.
    pub is_root: bool,
}

impl Machine {
    /// Examines the machine as it is now.
    pub(super) fn look() -> Self {
        // Cached, because they hardly change while the system runs.
        static KERNEL: OnceLock<[Vec<PathBuf>; 2]> = OnceLock::new();
        let [kernel, readings] = KERNEL.get_or_init(kernel).clone();
        Self {
            kernel,
            readings,
            networks: networks(),
            sockets: sockets(),
            is_root: rustix::process::geteuid().is_root(),
        }
    }
}

/// The entries of `/proc` that belong to no process: first folders and writable files, then the
/// rest. A folder counts as writable whatever its mode, because it may contain writable files.
fn kernel() -> [Vec<PathBuf>; 2] {
    let (mut switches, mut readings) = (Vec::new(), Vec::new());
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        match entry.metadata() {
            // Links such as `/proc/self` and `/proc/net` lead to processes.
            Ok(found) if is_process || found.is_symlink() => {}
            Ok(found) if found.is_dir() || found.mode() & 0o222 != 0 => switches.push(entry.path()),
            Ok(_) => readings.push(entry.path()),
            // The process has ended since it was listed.
            Err(_) => {}
        }
    }
    switches.sort();
    readings.sort();
    [switches, readings]
}

/// `/sys/class/net`, and the folders to which the links in it lead. `/sys` belongs to the network
/// namespace that mounted it, so a command without network would see the devices of the machine.
fn networks() -> Vec<PathBuf> {
    let class = Path::new("/sys/class/net");
    let devices = fs::read_dir(class).into_iter().flatten().flatten();
    let real = devices.filter_map(|it| it.path().canonicalize().ok());
    let folders = real.filter_map(|it| Some(it.parent()?.to_owned()));
    let folders = folders.filter(|it| it.ends_with("net") && *it != *class);
    let folders: BTreeSet<PathBuf> = folders.collect();
    let class = class.is_dir().then(|| class.to_owned());
    class.into_iter().chain(folders).collect()
}

/// The sockets that programs listen on in our network namespace, and those that the environment
/// names, which may belong to another namespace.
fn sockets() -> Vec<PathBuf> {
    let listening = fs::read("/proc/net/unix").unwrap_or_default();
    let listening = String::from_utf8_lossy(&listening);
    let values = crate::variables().map(|(_, value)| value.to_string_lossy().into_owned());
    let values: Vec<String> = values.collect();
    let named = values.iter().flat_map(|value| paths_in(value));
    let paths: BTreeSet<&str> = listening.lines().filter_map(bound).chain(named).collect();
    let is_socket = |path: &&str| {
        // A named path may not exist, or be something else.
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|it| it.file_type().is_socket())
    };
    let there = paths.into_iter().filter(is_socket);
    let real = there.filter_map(|path| Path::new(path).canonicalize().ok());
    BTreeSet::from_iter(real).into_iter().collect()
}

/// The path in a line of `/proc/net/unix`: the eighth column, according to proc(5). Abstract
/// sockets have none.
fn bound(line: &str) -> Option<&str> {
    let path = line.split_once(" /")?.1;
    let start = line.len() - path.len() - 1;
    line.get(start..)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_file_is_the_same_only_with_the_same_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".envrc");
        assert_eq!(Identity::of(&path), None);
        fs::write(&path, "one").unwrap();
        let one = Identity::of(&path);
        assert_eq!(Identity::of(&path), one);
        let of_one = one.clone().unwrap();
        fs::write(&path, "two").unwrap();
        let two = Identity::of(&path).unwrap();
        assert!(!is_same(one.as_ref(), &two) && is_same_file(&of_one, &two));
        let other = folder.path().join("other");
        fs::write(&other, "one").unwrap();
        fs::rename(&other, &path).unwrap();
        let other = Identity::of(&path).unwrap();
        assert!(is_same(one.as_ref(), &other) && !is_same_file(&of_one, &other));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        let link = Identity::of(&path);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let of_folder = Identity::of(&path);
        assert!(link != one && of_folder != one && of_folder != link);
        fs::rename(&path, folder.path().join("moved")).unwrap();
        fs::create_dir(&path).unwrap();
        assert_ne!(Identity::of(&path), of_folder);
    }

    #[test]
    fn a_socket_with_a_listener_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a socket");
        let _listener = UnixListener::bind(&path).unwrap();
        assert!(sockets().contains(&path));
    }

    #[test]
    fn paths_in_values_of_variables_are_found() {
        let found = |value: &'static str| paths_in(value).find(|path| path.len() > 1);
        assert_eq!(found("unix:path=/run/bus,guid=1"), Some("/run/bus"));
        assert_eq!(
            found("/tmp/tmux-0/default,12,0"),
            Some("/tmp/tmux-0/default")
        );
        assert_eq!(found("unix:///run/docker.sock"), Some("/run/docker.sock"));
        assert_eq!(found("unix:@/tmp/.X11-unix/X0"), Some("/tmp/.X11-unix/X0"));
        assert_eq!(found("plain"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn kernel_settings_are_found() {
        let [switches, readings] = kernel();
        assert!(switches.contains(&PathBuf::from("/proc/sys")));
        assert!(readings.contains(&PathBuf::from("/proc/version")));
        let mut all = switches.iter().chain(&readings);
        assert!(!all.any(|path| path.ends_with("self")));
    }
}
