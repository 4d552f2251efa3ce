//! A path resolved once, and files opened by exactly that path.
//!
//! A decision about a path is worth nothing if the file is opened by a name that has
//! become a link since. So links are followed once, what comes out is decided on, and
//! every later open walks it without following any link.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, statat};

use crate::error::ToolError;

/// Most symbolic links that are followed, as in the kernel.
const MAX_LINKS: usize = 40;

/// How a folder is opened that is only a step of a path: it need not be readable.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// An absolute path without links, `.` and `..`, as it was when it was resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RealPath(PathBuf);

/// Why a path was not resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unresolved {
    /// Its links go in circles.
    Circle,
    /// It leads through a link of another process in /proc, such as `/proc/self/root`.
    MagicLink,
}

impl RealPath {
    /// Follows the links of an absolute path, as far as something exists. What is
    /// missing is taken as it is spelled. Blocking.
    ///
    /// # Errors
    ///
    /// [`ToolError::Failed`]; see [`Unresolved`].
    pub fn of(path: &Path) -> Result<Self, ToolError> {
        follow(path).map(Self).map_err(|why| {
            let path = path.display();
            ToolError::Failed(match why {
                Unresolved::Circle => {
                    format!("{path} is a symbolic link that leads to itself.")
                }
                Unresolved::MagicLink => format!(
                    "{path} leads through a link of a process in /proc, which is not followed. \
                     Name the file itself."
                ),
            })
        })
    }

    /// The path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Opens it without following a link.
    ///
    /// # Errors
    ///
    /// Any error of the system; `ELOOP` or `ENOTDIR` when a part has become a link.
    pub(crate) fn open(&self, flags: OFlags) -> io::Result<OwnedFd> {
        Ok(open_exactly(&self.0, flags)?)
    }

    /// Opens a regular file for reading, without following a link; `None` for anything
    /// else. Never waits.
    ///
    /// # Errors
    ///
    /// As [`RealPath::open`]; `NotFound` when nothing is there.
    pub fn open_file(&self) -> io::Result<Option<File>> {
        // Looked at before it is opened: opening a device can already do something.
        let stat = self.stat()?.ok_or(io::ErrorKind::NotFound)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        let file = File::from(self.open(OFlags::RDONLY | OFlags::NONBLOCK)?);
        Ok(file.metadata()?.is_file().then_some(file))
    }

    /// Makes `content` the content of the file, whole or not at all; missing folders are
    /// made. Returns what the new file was before anybody else could see it.
    ///
    /// # Errors
    ///
    /// Any error of the system, also when a part of the path has become a link; the old
    /// file is then as it was.
    pub fn write(&self, content: &[u8]) -> io::Result<Metadata> {
        super::atomic::write_real(self, content)
    }

    /// Opens the folder that it is in; also returns its name there.
    ///
    /// # Errors
    ///
    /// As [`RealPath::open`]; also for `/`, which is in no folder.
    pub(crate) fn open_parent(&self) -> io::Result<(OwnedFd, &OsStr)> {
        let (parent, name) = self.split()?;
        Ok((open_exactly(parent, STEP)?, name))
    }

    /// Its folder and its name there.
    ///
    /// # Errors
    ///
    /// `/` is in no folder.
    pub(super) fn split(&self) -> io::Result<(&Path, &OsStr)> {
        let parts = self.0.parent().zip(self.0.file_name());
        parts.ok_or_else(|| io::ErrorKind::IsADirectory.into())
    }

    /// What is there now, or `None` when nothing is.
    ///
    /// # Errors
    ///
    /// Any other error of the system.
    pub fn stat(&self) -> io::Result<Option<Stat>> {
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

/// The path with every symbolic link followed, as far as there is something; what
/// is missing is taken as it is spelled, for it will be made so. A link to nothing
/// leads to what it names. A path that cannot be resolved is itself: nothing can be
/// written there either.
pub fn leads_to(path: &Path) -> PathBuf {
    follow(path).unwrap_or_else(|_| path.to_owned())
}

/// Follows the links of `path`, which is absolute; a link to nothing leads to what it
/// names.
fn follow(path: &Path) -> Result<PathBuf, Unresolved> {
    let mut links = MAX_LINKS;
    let mut real = PathBuf::from("/");
    let mut rest: Vec<PathBuf> = parts(path);
    while let Some(next) = rest.pop() {
        match next.components().next() {
            Some(Component::RootDir | Component::Prefix(_)) => real = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                real.pop();
            }
            Some(Component::Normal(name)) => match real.join(name).read_link() {
                Ok(_) if is_process(&real) => return Err(Unresolved::MagicLink),
                Ok(_) if links == 0 => return Err(Unresolved::Circle),
                Ok(target) => {
                    links -= 1;
                    rest.extend(parts(&target));
                }
                Err(_) => real.push(name),
            },
            Some(Component::CurDir) | None => {}
        }
    }
    Ok(real)
}

/// The components of a path, the first one last.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().rev();
    parts.map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// Returns true for `/proc/PID` and what is below it: links there lead to whatever a
/// process has open, whatever they say.
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

/// Opens an absolute path and follows no link on the way.
fn open_exactly(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let root = rustix::fs::open("/", STEP | OFlags::CLOEXEC, Mode::empty())?;
    let inner = path.strip_prefix("/").unwrap_or(path);
    open_below(&root, inner, flags)
}

/// Opens `path`, which is relative and has no `..`, below a folder, and follows no link
/// on the way.
///
/// # Errors
///
/// Any error of the system; `ELOOP` or `ENOTDIR` when a part is a link.
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
            // An old kernel, or one whose filter does not know the call.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    step_by_step(folder, path, flags)
}

/// As [`open_below`], where the kernel has no call for it.
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
