use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf, Prefix};

use super::UnresolvedPath;

/// Characters that no name of a file has. A colon separates the name of a stream.
const INVALID: [char; 7] = ['<', '>', ':', '"', '|', '?', '*'];
/// Names of devices in every folder, also with an ending.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
/// Names of devices that are followed by a digit.
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    Ok(plain(path.canonicalize()?))
}

/// A path without the prefix `\\?\`, where the path means the same without it.
fn plain(path: PathBuf) -> PathBuf {
    let mut parts = path.components();
    let prefix = match parts.next() {
        Some(Component::Prefix(it)) => match it.kind() {
            Prefix::VerbatimDisk(disk) => format!("{}:\\", char::from(disk)).into(),
            Prefix::VerbatimUNC(server, share) => {
                let mut prefix = OsString::from(r"\\");
                prefix.push(server);
                prefix.push(r"\");
                prefix.push(share);
                prefix.push(r"\");
                prefix
            }
            _ => return path,
        },
        _ => return path,
    };
    let mut plain = PathBuf::from(prefix);
    for part in parts {
        match part {
            Component::Normal(name) if is_special(name) => return path,
            Component::Normal(name) => plain.push(name),
            _ => {}
        }
    }
    plain
}

pub fn of_reference(path: &str) -> &str {
    let is_drive = |rest: &&str| {
        let mut parts = Path::new(rest).components();
        matches!(parts.next(), Some(Component::Prefix(it)) if matches!(it.kind(), Prefix::Disk(_)))
    };
    path.strip_prefix('/').filter(is_drive).unwrap_or(path)
}

pub fn resolve(path: &Path) -> Result<PathBuf, UnresolvedPath> {
    // As it is written, because the system would interpret such names at once.
    for part in path.components() {
        match part {
            Component::Normal(name) if is_special(name) => return Err(UnresolvedPath::SpecialName),
            Component::Prefix(it) if !is_place(it.kind()) => {
                return Err(UnresolvedPath::SpecialName);
            }
            _ => {}
        }
    }
    // Without `.` and `..`. As for the system, `x\..` is the folder of `x`, also if `x` is a link.
    let absolute = std::path::absolute(path).map_err(|_| UnresolvedPath::SpecialName)?;
    let mut missing = Vec::new();
    let mut there = absolute.as_path();
    loop {
        match there.canonicalize() {
            Ok(real) => {
                let real = plain(real);
                return Ok(missing
                    .iter()
                    .rev()
                    .fold(real, |path, name| path.join(name)));
            }
            Err(error) if is_circle(&error) => return Err(UnresolvedPath::Circle),
            Err(_) => {}
        }
        let (Some(name), Some(parent)) = (there.file_name(), there.parent()) else {
            return Ok(plain(absolute));
        };
        missing.push(name);
        there = parent;
    }
}

/// Returns true if links form a cycle (`ERROR_CANT_RESOLVE_FILENAME`).
fn is_circle(error: &io::Error) -> bool {
    const CANNOT_RESOLVE: i32 = 1921;
    error.raw_os_error() == Some(CANNOT_RESOLVE)
}

/// Returns true if a prefix is that of a disk or of a share in the network, and not of devices.
fn is_place(prefix: Prefix<'_>) -> bool {
    matches!(
        prefix,
        Prefix::Disk(_) | Prefix::VerbatimDisk(_) | Prefix::UNC(..) | Prefix::VerbatimUNC(..)
    )
}

/// Returns true if the system takes a name for something else than a file of this name.
fn is_special(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_lowercase();
    let is_invalid = |it: char| INVALID.contains(&it) || it.is_control();
    // The system leaves out dots and spaces at the end.
    if name.contains(is_invalid) || name.ends_with(['.', ' ']) {
        return true;
    }
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let is_numbered = |device: &&str| {
        let number = stem.strip_prefix(*device).unwrap_or_default();
        // Superscript digits count, too.
        let mut digits = number.chars();
        digits.next().is_some_and(|it| it.is_numeric()) && digits.next().is_none()
    };
    DEVICES.contains(&stem) || NUMBERED_DEVICES.iter().any(is_numbered)
}

pub fn bytes(text: &OsStr) -> Cow<'_, [u8]> {
    if let Some(text) = text.to_str() {
        return text.as_bytes().into();
    }
    let mut bytes = Vec::new();
    for unit in char::decode_utf16(text.encode_wide()) {
        match unit {
            Ok(character) => bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
            // Half of a pair, which is encoded as if it were a character.
            Err(half) => {
                let unit = half.unpaired_surrogate();
                let low = |bits: u16| 0x80 | u8::try_from(bits & 0x3f).unwrap_or_default();
                bytes.extend([0xed, low(unit >> 6), low(unit)]);
            }
        }
    }
    bytes.into()
}

pub fn from_bytes(bytes: Vec<u8>) -> OsString {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return text.into(),
        Err(error) => error.into_bytes(),
    };
    let mut units = Vec::new();
    let mut rest = &bytes[..];
    while let Some(first) = rest.first() {
        if let [0xed, high @ 0xa0..=0xbf, low @ 0x80..=0xbf, ..] = rest {
            let bits = |byte: u8| u16::from(byte & 0x3f);
            units.push(0xd000 | bits(*high) << 6 | bits(*low));
            rest = &rest[3..];
            continue;
        }
        let length = match first {
            0..0xc0 => 1,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        let (character, after) = rest.split_at(length.min(rest.len()));
        units.extend(String::from_utf8_lossy(character).encode_utf16());
        rest = after;
    }
    OsString::from_wide(&units)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_follows_no_slash() {
        for (path, expected) in [
            ("/C:/x", "C:/x"),
            ("/c:x", "c:x"),
            ("/share/x", "/share/x"),
            ("./C:/x", "./C:/x"),
        ] {
            assert_eq!(of_reference(path), expected);
        }
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for path in [
            r"C:\x\NUL",
            r"C:\x\nul.txt",
            r"C:\x\COM1",
            r"C:\x\a:b",
            r"C:\x\.git::$INDEX_ALLOCATION\config",
            r"C:\x\a.",
            r"C:\x\a \b",
            r"C:\x\a?",
            r"\\.\pipe\x",
            r"\\?\GLOBALROOT\x",
        ] {
            let refused = resolve(Path::new(path));
            assert_eq!(refused, Err(UnresolvedPath::SpecialName), "{path}");
        }
    }

    #[test]
    fn a_path_becomes_the_one_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let root = canonicalize(folder.path()).unwrap();
        assert!(!root.to_str().unwrap().starts_with(r"\\?\"));
        std::fs::create_dir(root.join("Folder")).unwrap();
        for (path, expected) in [
            ("folder", "Folder"),
            ("FOLDER/none/x", r"Folder\none\x"),
            (r"Folder\..\Folder\.\y", r"Folder\y"),
            (r"none\..\z", "z"),
        ] {
            let resolved = resolve(&root.join(path)).unwrap();
            assert_eq!(resolved, root.join(expected), "{path}");
            // By letter, which comparing paths ignores for some.
            assert!(resolved.to_str().unwrap().ends_with(expected), "{path}");
        }
    }

    #[test]
    fn a_name_with_half_a_character_keeps_its_units() {
        let units = [0x61, 0xd83d, 0x62, 0xde00, 0xd83d, 0xde00];
        let text = OsString::from_wide(&units);
        let again = from_bytes(bytes(&text).into_owned());
        assert_eq!(again.encode_wide().collect::<Vec<_>>(), units);
    }
}
