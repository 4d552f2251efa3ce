//! Which file a protected path leads to, and with which content.
//!
//! A path that exists before and after a command need not be the same file: a command may remove it
//! and make another, or rename a folder above it. Presence alone says nothing.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use platform::files::open_no_link;

use super::tree::{Root, TICK};
use crate::objects::Hash;

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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
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
}
