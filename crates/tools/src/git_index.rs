//! The index of a Git repository: its files and submodules.
//!
//! Sources: gitformat-index(5), versions 2 to 4, and gitrepository-layout(5).

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::objects::Hash;

/// Largest index that is read (64 MB).
pub(crate) const MAX_INDEX: u64 = 64 * 1024 * 1024;
/// Longest `.git` file that is read (4 KB).
const MOST_LINK: u64 = 4096;
/// The mode of a submodule.
const SUBMODULE: u32 = 0o160_000;
/// Size of an entry's fixed fields: ten numbers. An object name and two bytes of flags follow.
const FIXED: usize = 40;

/// The entries of an index, relative to the top of the working tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GitIndex {
    /// Files. One with conflicts is there several times.
    pub files: Vec<PathBuf>,
    /// Submodules.
    pub modules: Vec<PathBuf>,
}

impl GitIndex {
    /// The index of the repository whose top is `root`; see [`git_folder`]. `None` if it can't be read.
    pub(crate) fn of(root: &Path) -> Option<Self> {
        read(&git_folder(root)?.join("index"))
    }
}

/// The Git folder of the repository whose top is `root`: its `.git`, or the folder which that names if
/// it is a file, as in linked working trees and submodules.
pub(crate) fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let is_small = git
        .metadata()
        .is_ok_and(|it| it.is_file() && it.len() <= MOST_LINK);
    let text = is_small.then(|| fs::read_to_string(&git).ok())??;
    let place = text.strip_prefix("gitdir: ")?;
    Some(root.join(place.trim_end_matches(['\n', '\r'])))
}

/// Reads an index, or returns `None` if its format is unknown. A missing index is empty.
fn read(file: &Path) -> Option<GitIndex> {
    match file.symlink_metadata() {
        Err(_) => return Some(GitIndex::default()),
        Ok(found) if !found.is_file() || found.len() > MAX_INDEX => return None,
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
fn parse(bytes: &[u8], hash: usize) -> Option<GitIndex> {
    let mut found = GitIndex::default();
    let is_whole = entries(bytes, hash, |mode, _, name| {
        // With any name that is not UTF-8, the index counts as unreadable.
        let path = PathBuf::from(std::str::from_utf8(name).ok()?);
        // With `..` or an absolute path, Git would read a file outside the repository.
        let is_inside = |it| matches!(it, Component::Normal(_));
        if !path.components().all(is_inside) {
            return None;
        }
        if mode & 0o170_000 == SUBMODULE {
            found.modules.push(path)
        } else {
            found.files.push(path)
        }
        Some(())
    })?;
    is_whole.then_some(found)
}

/// Identifies what is staged in an index, without the status of the files, which Git refreshes.
/// `None` if its format is unknown.
pub(crate) fn staged(bytes: &[u8]) -> Option<Hash> {
    let of = |hash: usize| {
        let mut staged = Vec::new();
        entries(bytes, hash, |mode, id, name| {
            staged.extend_from_slice(&mode.to_be_bytes());
            staged.extend_from_slice(id);
            staged.extend_from_slice(name);
            staged.push(0);
            Some(())
        })?;
        Some(Hash::of(&staged))
    };
    of(20).or_else(|| of(32))
}

/// Visits the entries of an index whose object names have `hash` bytes: the mode, the object name with
/// the flags, and the name. Returns true if the index contains all entries itself. `None` if it has
/// another format, or once `visit` returns `None`.
fn entries(
    bytes: &[u8],
    hash: usize,
    mut visit: impl FnMut(u32, &[u8], &[u8]) -> Option<()>,
) -> Option<bool> {
    let version = number(bytes, 4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    // The header has twelve bytes: signature, version, and number of entries.
    let (mut at, mut name) = (12, Vec::new());
    for _ in 0..number(bytes, 8)? {
        // The mode is the seventh of the ten numbers.
        let mode = number(bytes, at + 24)?;
        let id = bytes.get(at + FIXED..at + FIXED + hash + 2)?;
        at = entry(bytes, at, hash, version, &mut name)?;
        visit(mode, id, &name)?;
    }
    extensions(bytes, at, hash)
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

/// Returns true if the index contains all entries itself: a split index keeps some in another file.
/// `None` if something else than extensions and a hash follows the entries.
fn extensions(bytes: &[u8], mut at: usize, hash: usize) -> Option<bool> {
    let mut is_whole = true;
    while at + hash < bytes.len() {
        let (name, length) = (bytes.get(at..at + 4)?, number(bytes, at + 4)?);
        if !name.iter().all(u8::is_ascii_alphabetic) {
            return None;
        }
        // With `link`, entries are in another file; with `sdir`, folders are listed without the
        // files in them.
        is_whole &= name != b"link" && name != b"sdir";
        at += 8 + length as usize;
    }
    (at + hash == bytes.len()).then_some(is_whole)
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
