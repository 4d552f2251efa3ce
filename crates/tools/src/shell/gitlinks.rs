//! What the index of a repository says about folders: those of its files, and those of
//! its submodules.
//!
//! Source: gitformat-index(5), versions 2 to 4.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Largest index that is read (64 MB).
const MOST: u64 = 64 * 1024 * 1024;
/// The mode of a submodule.
const LINK: u32 = 0o160_000;
/// The fields of an entry before its name: ten numbers, an object's name, flags.
const FIXED: usize = 40;

/// The folders of an index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Folders {
    /// Each folder that holds files, relative to the top; the top itself is empty.
    pub folders: BTreeSet<PathBuf>,
    /// Each submodule.
    pub links: Vec<PathBuf>,
}

/// Reads an index; nothing when it has another form. One that does not exist is empty.
pub(super) fn read(file: &Path) -> Option<Folders> {
    match file.symlink_metadata() {
        Err(_) => {
            return Some(Folders {
                folders: [PathBuf::new()].into(),
                ..Folders::default()
            });
        }
        Ok(found) if !found.is_file() || found.len() > MOST => return None,
        Ok(_) => {}
    }
    let bytes = fs::read(file).ok()?;
    // Objects are named by SHA-1, or SHA-256 where the configuration says so.
    parse(&bytes, 20).or_else(|| parse(&bytes, 32))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

pub(super) fn parse(bytes: &[u8], hash: usize) -> Option<Folders> {
    let version = number(bytes, 4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut found = Folders::default();
    found.folders.insert(PathBuf::new());
    let (mut at, mut name) = (12, Vec::new());
    for _ in 0..number(bytes, 8)? {
        let start = at;
        let mode = number(bytes, at + 24)?;
        let flags = bytes.get(at + FIXED + hash)?;
        at += FIXED + hash + 2;
        // A flag says that there are two more bytes of flags.
        at += if version > 2 && flags & 0x40 != 0 {
            2
        } else {
            0
        };
        if version == 4 {
            let (cut, next) = offset(bytes, at)?;
            at = next;
            name.truncate(name.len().checked_sub(cut)?);
        } else {
            name.clear();
        }
        let length = bytes.get(at..)?.iter().position(|it| *it == 0)?;
        name.extend_from_slice(&bytes[at..at + length]);
        at += length + 1;
        if version < 4 {
            at = start + (at - start).div_ceil(8) * 8;
        }
        let path = PathBuf::from(std::str::from_utf8(&name).ok()?);
        // Git would read a file outside of the repository.
        let is_inside = |it| matches!(it, Component::Normal(_));
        if !path.components().all(is_inside) {
            return None;
        }
        if mode & 0o170_000 == LINK {
            found.links.push(path.clone());
        }
        for folder in path.ancestors().skip(1) {
            if !found.folders.insert(folder.to_owned()) {
                break;
            }
        }
    }
    extensions(bytes, at, hash).then_some(found)
}

/// Whether what follows the entries adds none: a split index keeps them elsewhere.
fn extensions(bytes: &[u8], mut at: usize, hash: usize) -> bool {
    while at + hash < bytes.len() {
        let (Some(name), Some(length)) = (bytes.get(at..at + 4), number(bytes, at + 4)) else {
            return false;
        };
        if name == b"link" || name == b"sdir" || !name.iter().all(u8::is_ascii_alphabetic) {
            return false;
        }
        at += 8 + length as usize;
    }
    at + hash == bytes.len()
}

/// A number in bytes of seven bits, and where it ends.
fn offset(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(byte & 0x7f);
    }
    Some((value, at + 1))
}
