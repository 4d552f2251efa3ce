//! Writes a file whole or not at all.
//!
//! A new file is written beside the old one, where the system can without a name,
//! synced, and renamed over it. Kept are
//! the mode and, where allowed, the owner; a hard link is broken, so that no other
//! name changes. Nothing is left behind after a failure, but for what [`sweep`] removes.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, Gid, Uid, access, fchown, linkat};
use rustix::process::{Pid, test_kill_process};
use tempfile::TempPath;

/// Mode of a new file before the user's umask.
const NEW_FILE: u32 = 0o666;

/// How the names of files begin that are to be renamed.
const PREFIX: &str = ".flemma-";

/// Makes `content` the content of `path`. `path` is no symbolic link and, if it
/// exists, a regular file. Missing parents are made. Returns what the new file was
/// before anybody else could see it.
///
/// # Errors
///
/// Any error of the file system; the old file is then as it was.
pub fn write(path: &Path, content: &[u8]) -> io::Result<Metadata> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let made = Parents::make(parent)?;
    let written = replace(path, parent, content)?;
    made.keep();
    // The rename has happened; that it survives a power cut is best effort.
    let _ = File::open(parent).and_then(|parent| parent.sync_all());
    Ok(written)
}

fn replace(path: &Path, parent: &Path, content: &[u8]) -> io::Result<Metadata> {
    let old = match fs::symlink_metadata(path) {
        Ok(old) => {
            // A rename asks only the directory; a read-only file means it.
            access(path, Access::WRITE_OK)?;
            Some(old)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Ok(mut new) = nameless(parent) {
        let written = fill(&mut new, content, old.as_ref())?;
        if let Ok(named) = give_name(&new, parent) {
            named.persist(path)?;
            return Ok(written);
        }
    }
    // Not every file system can do that.
    let mut new = tempfile::Builder::new()
        .prefix(&prefix())
        .permissions(Permissions::from_mode(NEW_FILE))
        .tempfile_in(parent)?;
    let written = fill(new.as_file_mut(), content, old.as_ref())?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(written)
}

/// Writes a new file, and makes it what the old one was.
fn fill(new: &mut File, content: &[u8], old: Option<&Metadata>) -> io::Result<Metadata> {
    new.write_all(content)?;
    if let Some(old) = old {
        let owner = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
        // Only the superuser may give files away; others own what they can replace.
        let _ = fchown(&*new, Some(owner.0), Some(owner.1));
        let mode = Permissions::from_mode(old.mode() & 0o7777);
        new.set_permissions(mode)?;
    }
    new.sync_all()?;
    new.metadata()
}

fn prefix() -> String {
    format!("{PREFIX}{}-", std::process::id())
}

/// Removes what programs that were killed in the middle of [`write`] left in a folder: a
/// file that had its name and was not renamed yet. Those of programs that run stay.
pub fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let pid = rest.and_then(|rest| rest.split_once('-')?.0.parse().ok());
        let is_over = |pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH);
        if pid.and_then(Pid::from_raw).is_some_and(is_over) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A file without a name: the system takes it away when we are killed.
#[cfg(target_os = "linux")]
fn nameless(parent: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(open(parent, flags, Mode::from_raw_mode(NEW_FILE))?.into())
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Names it for the moment until it is renamed over another: no file can be linked
/// over one that is there.
fn give_name(new: &File, parent: &Path) -> io::Result<TempPath> {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", new.as_raw_fd());
    let named = tempfile::Builder::new()
        .prefix(&prefix())
        .make_in(parent, |name| {
            linkat(CWD, &*link, CWD, name, AtFlags::SYMLINK_FOLLOW).map_err(Into::into)
        })?;
    Ok(named.into_temp_path())
}

/// Directories that were made on the way; removed again unless kept.
struct Parents(Vec<PathBuf>);

impl Parents {
    fn make(directory: &Path) -> io::Result<Self> {
        let missing: Vec<&Path> = directory
            .ancestors()
            .take_while(|path| !path.exists())
            .collect();
        let mut made = Self(Vec::new());
        for path in missing.into_iter().rev() {
            match fs::create_dir(path) {
                Ok(()) => made.0.push(path.to_owned()),
                // Made by somebody else meanwhile, who also keeps it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(made)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Parents {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            // Not empty: somebody else uses it by now.
            let _ = fs::remove_dir(path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_what_a_program_that_is_over_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let left = format!("{PREFIX}{}-abc", ended.id());
        let kept = [
            &*prefix(),
            ".flemma-abc",
            ".flemma-1x-abc",
            "a.flemma-held",
            "target",
        ];
        for name in kept.iter().chain([&&*left]) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        sweep(folder.path());
        assert!(!folder.path().join(left).exists());
        assert!(kept.iter().all(|name| folder.path().join(name).exists()));
        sweep(&folder.path().join("nowhere"));
    }
}
