//! Files whose text Git holds: a command that reads the repository reads them there, so a
//! sandbox that hides them hides nothing, and Git cannot compare what it cannot read.
//!
//! Goes by the text and not by the name, which a command can add to the index without
//! being able to read the file. Source: gitformat-index(5).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha1::{Digest, Sha1};

/// Longest file that is looked for, in bytes.
const MOST: u64 = 64 * 1024;
/// Largest index that is read, in bytes.
const MOST_INDEX: u64 = 32 * 1024 * 1024;
/// Longest path in a file that says where Git's folder is, in bytes.
const MOST_LINK: u64 = 4096;

/// The indexes of repositories, read when a file of one is met.
#[derive(Default)]
pub(super) struct Indexes(HashMap<PathBuf, Vec<u8>>);

impl Indexes {
    /// Whether the text of the file at `path` is in the index of its repository.
    pub(super) fn hold(&mut self, path: &Path) -> bool {
        let Some((index, text)) = path.parent().and_then(index_above).zip(read(path, MOST)) else {
            return false;
        };
        let index = self.0.entry(index);
        let index = index.or_insert_with_key(|index| {
            let bytes = read(index, MOST_INDEX).unwrap_or_default();
            if bytes.starts_with(b"DIRC") {
                bytes
            } else {
                Vec::new()
            }
        });
        let mut blob = Sha1::new();
        blob.update(format!("blob {}\0", text.len()));
        blob.update(&text);
        let id = blob.finalize();
        memchr::memmem::find(index, &id).is_some()
    }
}

/// The index of the repository that a folder is in.
fn index_above(folder: &Path) -> Option<PathBuf> {
    let git = folder.ancestors().map(|it| it.join(".git"));
    let git = git.into_iter().find(|it| it.symlink_metadata().is_ok())?;
    if git.is_dir() {
        return Some(git.join("index"));
    }
    // Of further worktrees and of submodules it is a file.
    let link = String::from_utf8(read(&git, MOST_LINK)?).ok()?;
    let to = link.strip_prefix("gitdir: ")?.trim_end();
    Some(git.parent()?.join(to).join("index"))
}

/// The bytes of a regular file that has at most so many.
fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let metadata = path.metadata().ok()?;
    let is_fine = metadata.is_file() && metadata.len() <= most;
    is_fine.then(|| fs::read(path).ok())?
}
