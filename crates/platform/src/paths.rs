//! Paths: where links lead, and how a path is spelled.

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is exported")]
mod unix;
#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is exported")]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::borrow::Cow;
use std::path::{MAIN_SEPARATOR, Path};

/// Why a path could not be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnresolvedPath {
    /// Its links form a cycle.
    Circle,
    /// It leads through a link of a process in /proc, such as `/proc/self/root`.
    MagicLink,
    /// A name in it means something else than a file of this name to Windows: a device, a stream
    /// of another file, or a name without its last dots and spaces.
    SpecialName,
}

/// Follows the links of an absolute path. Components that don't exist are kept as they are. On
/// Unix a dangling link leads to its target; on Windows it stays, and short names and names in
/// another case become the names on disk. Blocking.
///
/// # Errors
///
/// See [`UnresolvedPath`].
pub use system::resolve;

/// The path of an existing file without links, in the form in which users write paths.
///
/// # Errors
///
/// Any error of the system; `NotFound` if it does not exist.
pub use system::canonicalize;

/// A path with slashes between its components, as in chats.
pub fn slashed(path: &Path) -> Cow<'_, str> {
    match path.to_string_lossy() {
        text if MAIN_SEPARATOR == '/' => text,
        text => text.replace(MAIN_SEPARATOR, "/").into(),
    }
}

/// A path below a folder as chats show it: relative, with slashes, and on one line. Any other path
/// is absolute.
pub fn below(path: &Path, folder: &Path) -> String {
    match path.strip_prefix(folder) {
        Ok(inner) => visible(Path::new(&*slashed(inner))),
        Err(_) => visible(path),
    }
}

/// The path that a reference such as `@//etc/hosts` or `@//C:/x` in a chat names, given without
/// `@` and with one slash at its start: a drive follows no slash.
pub use system::of_reference;

/// A path for a message, on one line: control characters are escaped.
pub fn visible(path: &Path) -> String {
    let text = path.display().to_string();
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            MAIN_SEPARATOR | '\'' | '"' => visible.push(character),
            _ => visible.extend(character.escape_debug()),
        }
    }
    visible
}

/// The bytes of a name or a variable; UTF-8 if it is that.
pub use system::bytes;

/// The name or variable with these [`bytes`].
pub use system::from_bytes;

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn a_text_has_its_bytes() {
        let text = OsString::from("a/ü\u{1f600}");
        assert_eq!(&*bytes(&text), text.as_encoded_bytes());
        assert_eq!(from_bytes(bytes(&text).into_owned()), text);
    }
}
