use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::UnresolvedPath;

/// Maximum number of symbolic links followed, as in the kernel.
const MAX_LINKS: usize = 40;

pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

pub fn resolve(path: &Path) -> Result<PathBuf, UnresolvedPath> {
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
                // It is not a link, or it does not exist.
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

/// Returns true if `folder` is `/proc/PID` or below it. Links there lead to whatever the process has
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

pub fn bytes(text: &OsStr) -> Cow<'_, [u8]> {
    text.as_bytes().into()
}

pub fn from_bytes(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

pub fn of_reference(path: &str) -> &str {
    path
}
