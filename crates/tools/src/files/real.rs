//! Paths that are resolved once and then opened without following links.
//!
//! A decision about a path would be worthless if the path could become a link before the file
//! is opened. So links are followed once, the decision is about the result, and every later
//! open refuses links.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, statat};

use crate::error::ToolError;

/// Maximum number of symbolic links followed, as in the kernel.
const MAX_LINKS: usize = 40;

/// Flags for opening a folder only to traverse it, which needs no read permission.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// An absolute path without links, `.`, and `..` at the time it was resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RealPath(PathBuf);

/// Why a path could not be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnresolvedPath {
    /// Its links form a cycle.
    Circle,
    /// It leads through a link of a process in /proc, such as `/proc/self/root`.
    MagicLink,
}

impl RealPath {
    /// Follows the links of an absolute path. Components that don't exist are kept as they are.
    /// Blocking.
    ///
    /// # Errors
    ///
    /// [`ToolError::Failed`]; see [`UnresolvedPath`].
    pub fn of(path: &Path) -> Result<Self, ToolError> {
        follow(path).map(Self).map_err(|why| {
            let path = path.display();
            ToolError::Failed(match why {
                UnresolvedPath::Circle => {
                    format!("{path} is a symbolic link that leads to itself.")
                }
                UnresolvedPath::MagicLink => format!(
                    "{path} leads through a link of a process in /proc, which is not followed. \
                     Name the file itself."
                ),
            })
        })
    }

    /// A path that was resolved before. If a component has become a link since, opening it
    /// fails.
    pub(crate) fn exact(path: PathBuf) -> Self {
        Self(path)
    }

    /// The path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Opens the path without following links.
    ///
    /// # Errors
    ///
    /// Any error of the system; `ELOOP` or `ENOTDIR` if a component has become a link.
    pub(crate) fn open(&self, flags: OFlags) -> io::Result<OwnedFd> {
        Ok(open_exactly(&self.0, flags)?)
    }

    /// Opens a regular file for reading without following links. Returns `None` for anything
    /// else. Never blocks.
    ///
    /// # Errors
    ///
    /// As for [`RealPath::open`]; `NotFound` if it does not exist.
    pub fn open_file(&self) -> io::Result<Option<File>> {
        // Checked before opening, because opening a device can already have an effect.
        let stat = self.stat()?.ok_or(io::ErrorKind::NotFound)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        // Since the check, it may have become a pipe, which must not block.
        let file = File::from(self.open(OFlags::RDONLY | OFlags::NONBLOCK)?);
        Ok(file.metadata()?.is_file().then_some(file))
    }

    /// Replaces the content of the file atomically. Missing folders are created. Returns the
    /// metadata of the new file from before it became visible.
    ///
    /// # Errors
    ///
    /// Any error of the system, also if a component has become a link. The old file is
    /// unchanged then.
    pub fn write(&self, content: &[u8]) -> io::Result<Metadata> {
        super::atomic::write_real(self, content)
    }

    /// Opens the containing folder. Also returns the name in it.
    ///
    /// # Errors
    ///
    /// As for [`RealPath::open`]; also for `/`, which has no parent.
    pub(crate) fn open_parent(&self) -> io::Result<(OwnedFd, &OsStr)> {
        let (parent, name) = self.split()?;
        Ok((open_exactly(parent, STEP)?, name))
    }

    /// The containing folder and the name in it.
    ///
    /// # Errors
    ///
    /// The path is `/`.
    pub(super) fn split(&self) -> io::Result<(&Path, &OsStr)> {
        let parts = self.0.parent().zip(self.0.file_name());
        parts.ok_or_else(|| io::ErrorKind::IsADirectory.into())
    }

    /// The status of the file, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Any other error of the system.
    pub fn stat(&self) -> io::Result<Option<Stat>> {
        // It has no parent to look it up in.
        if self.0 == Path::new("/") {
            return Ok(Some(statat(CWD, "/", AtFlags::empty())?));
        }
        let found = self.open_parent().and_then(|(parent, name)| {
            statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(Into::into)
        });
        match found {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The path with all links followed. Components that don't exist are kept as they are, and a
/// dangling link leads to its target. A path that can't be resolved is returned unchanged; it
/// can't be written to either.
pub fn leads_to(path: &Path) -> PathBuf {
    follow(path).unwrap_or_else(|_| path.to_owned())
}

/// Follows the links of an absolute path. A dangling link leads to its target.
fn follow(path: &Path) -> Result<PathBuf, UnresolvedPath> {
    let mut links = MAX_LINKS;
    let mut real = PathBuf::from("/");
    let mut rest: Vec<PathBuf> = parts(path);
    while let Some(next) = rest.pop() {
        match next.components().next() {
            // The target of an absolute link begins at the root.
            Some(Component::RootDir | Component::Prefix(_)) => real = PathBuf::from("/"),
            // `real` has no links, so its parent is the one that the kernel would find.
            Some(Component::ParentDir) => {
                real.pop();
            }
            Some(Component::Normal(name)) => match real.join(name).read_link() {
                Ok(_) if is_process(&real) => return Err(UnresolvedPath::MagicLink),
                Ok(_) if links == 0 => return Err(UnresolvedPath::Circle),
                Ok(target) => {
                    links -= 1;
                    rest.extend(parts(&target));
                }
                // It is no link, or it does not exist.
                Err(_) => real.push(name),
            },
            Some(Component::CurDir) | None => {}
        }
    }
    Ok(real)
}

/// The components of a path in reverse order.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().rev();
    parts.map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// Whether `folder` is `/proc/PID` or below it. Links there lead to whatever the process has
/// open, not to their text.
fn is_process(folder: &Path) -> bool {
    let Ok(inner) = folder.strip_prefix("/proc") else {
        return false;
    };
    let process = inner.components().next();
    process.is_some_and(|it| {
        let name = it.as_os_str().as_encoded_bytes();
        name.iter().all(u8::is_ascii_digit)
    })
}

/// Opens an absolute path without following links.
fn open_exactly(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let root = rustix::fs::open("/", STEP | OFlags::CLOEXEC, Mode::empty())?;
    let inner = path.strip_prefix("/").unwrap_or(path);
    open_below(&root, inner, flags)
}

/// Opens a relative path without `..` below a folder, without following links.
///
/// # Errors
///
/// Any error of the system; `ELOOP` or `ENOTDIR` if a component is a link.
pub(crate) fn open_below(
    folder: &OwnedFd,
    path: &Path,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if path.as_os_str().is_empty() {
        return openat(folder, ".", flags, Mode::empty());
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        use rustix::io::Errno;
        let how = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        match openat2(folder, path, flags, Mode::empty(), how) {
            // The kernel is too old, a system call filter does not know the call, or a folder
            // was renamed during it (EAGAIN).
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    step_by_step(folder, path, flags)
}

/// [`open_below`] for kernels without `openat2`.
fn step_by_step(folder: &OwnedFd, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let mut step: Option<OwnedFd> = None;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let how = if is_last {
            flags
        } else {
            STEP | OFlags::NOFOLLOW | OFlags::CLOEXEC
        };
        let within = step.as_ref().unwrap_or(folder);
        step = Some(openat(within, part.as_os_str(), how, Mode::empty())?);
    }
    step.ok_or(rustix::io::Errno::INVAL)
}

#[cfg(test)]
#[path = "real_tests.rs"]
mod tests;
