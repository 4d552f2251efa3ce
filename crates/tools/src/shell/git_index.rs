//! The index of a Git repository: its files, their folders, and submodules.
//!
//! Source: gitformat-index(5), versions 2 to 4.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Largest index that is read (64 MB).
const MOST: u64 = 64 * 1024 * 1024;
/// The mode of a submodule.
const SUBMODULE: u32 = 0o160_000;
/// The mode of a symbolic link.
const LINK: u32 = 0o120_000;
/// Size of an entry's fixed fields: ten numbers. An object name and two bytes of flags follow.
const FIXED: usize = 40;

/// The files and folders in an index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GitIndex {
    /// Files, relative to the top, and the names of their contents. A file with conflicts has
    /// several. Without symbolic links, because Git does not follow them.
    pub files: Vec<(PathBuf, ObjectName)>,
    /// Folders that contain files, relative to the top. The top itself is the empty path.
    pub folders: BTreeSet<PathBuf>,
    /// Submodules.
    pub links: Vec<PathBuf>,
}

/// The hash that names an object, with zeros behind it if it is a SHA-1.
pub(super) type ObjectName = [u8; 32];

/// Reads an index, or returns `None` if its format is unknown. A missing index is empty.
pub(super) fn read(file: &Path) -> Option<GitIndex> {
    match file.symlink_metadata() {
        Err(_) => {
            return Some(GitIndex {
                folders: [PathBuf::new()].into(),
                ..GitIndex::default()
            });
        }
        Ok(found) if !found.is_file() || found.len() > MOST => return None,
        Ok(_) => {}
    }
    let bytes = fs::read(file).ok()?;
    // Object names are SHA-1, or SHA-256 if the repository's configuration says so.
    parse(&bytes, 20).or_else(|| parse(&bytes, 32))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

/// Parses an index whose object names have `hash` bytes.
pub(super) fn parse(bytes: &[u8], hash: usize) -> Option<GitIndex> {
    let version = number(bytes, 4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut found = GitIndex::default();
    found.folders.insert(PathBuf::new());
    // The header has twelve bytes: signature, version, and number of entries.
    let (mut at, mut name) = (12, Vec::new());
    for _ in 0..number(bytes, 8)? {
        // The mode is the seventh of the ten numbers.
        let mode = number(bytes, at + 24)?;
        let mut object = ObjectName::default();
        object[..hash].copy_from_slice(bytes.get(at + FIXED..at + FIXED + hash)?);
        at = entry(bytes, at, hash, version, &mut name)?;
        // With any name that is not UTF-8, the index counts as unreadable.
        let path = PathBuf::from(std::str::from_utf8(&name).ok()?);
        // With `..` or an absolute path, Git would read a file outside the repository.
        let is_inside = |it| matches!(it, Component::Normal(_));
        if !path.components().all(is_inside) {
            return None;
        }
        if mode & 0o170_000 == SUBMODULE {
            found.links.push(path.clone());
        }
        for folder in path.ancestors().skip(1) {
            if !found.folders.insert(folder.to_owned()) {
                break;
            }
        }
        if ![SUBMODULE, LINK].contains(&(mode & 0o170_000)) {
            found.files.push((path, object));
        }
    }
    extensions(bytes, at, hash).then_some(found)
}

/// Reads the entry at `start` and returns where it ends. `name` is the previous entry's name and
/// becomes this one's.
fn entry(
    bytes: &[u8],
    start: usize,
    hash: usize,
    version: u32,
    name: &mut Vec<u8>,
) -> Option<usize> {
    let flags = bytes.get(start + FIXED + hash)?;
    // A flag announces two more bytes of flags.
    let is_extended = version > 2 && flags & 0x40 != 0;
    let mut at = start + FIXED + hash + if is_extended { 4 } else { 2 };
    if version == 4 {
        // The name shares a prefix with the previous one.
        let (cut, next) = offset(bytes, at)?;
        at = next;
        name.truncate(name.len().checked_sub(cut)?);
    } else {
        name.clear();
    }
    let length = bytes.get(at..)?.iter().position(|it| *it == 0)?;
    name.extend_from_slice(&bytes[at..at + length]);
    at += length + 1;
    Some(match version {
        4 => at,
        // Older versions pad entries to a multiple of eight bytes.
        _ => start + (at - start).div_ceil(8) * 8,
    })
}

/// Whether the index contains all entries itself: a split index keeps some in another file.
fn extensions(bytes: &[u8], mut at: usize, hash: usize) -> bool {
    while at + hash < bytes.len() {
        let (Some(name), Some(length)) = (bytes.get(at..at + 4), number(bytes, at + 4)) else {
            return false;
        };
        // With `link`, entries are in another file; with `sdir`, folders are listed without the
        // files in them.
        if name == b"link" || name == b"sdir" || !name.iter().all(u8::is_ascii_alphabetic) {
            return false;
        }
        at += 8 + length as usize;
    }
    at + hash == bytes.len()
}

/// Decodes a variable-length number of seven-bit bytes, and returns it and its end.
fn offset(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        // As in Git, each further byte adds one, so that no number has two encodings.
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(byte & 0x7f);
    }
    Some((value, at + 1))
}
