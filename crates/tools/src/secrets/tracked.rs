//! Finds files whose content is in Git's index. Hiding them would be useless, because commands can
//! read the content from the repository, and Git could not compare the files.
//!
//! Compares content instead of names, because a command could add a name to the index without
//! reading the file. Source: gitformat-index(5).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha1::{Digest, Sha1};

/// Maximum size of a file that is compared, in bytes.
const MOST: u64 = 64 * 1024;
/// Maximum size of an index that is read, in bytes.
const MOST_INDEX: u64 = 32 * 1024 * 1024;
/// Maximum size of a `.git` file, which contains the path of the Git directory, in bytes.
const MOST_LINK: u64 = 4096;

/// The indexes of repositories, read on first use.
#[derive(Default)]
pub(super) struct Indexes(HashMap<PathBuf, Vec<u8>>);

impl Indexes {
    /// Whether the content of the file at `path` is in the index of its repository.
    pub(super) fn hold(&mut self, path: &Path) -> bool {
        let Some((index, text)) = path.parent().and_then(index_above).zip(read(path, MOST)) else {
            return false;
        };
        let index = self.0.entry(index);
        let index = index.or_insert_with_key(|index| {
            let bytes = read(index, MOST_INDEX).unwrap_or_default();
            // An index begins with these bytes.
            if bytes.starts_with(b"DIRC") {
                bytes
            } else {
                Vec::new()
            }
        });
        let id = blob_name(&text);
        // An index holds IDs as raw bytes. In a repository with SHA-256, none is found, and the
        // file stays hidden.
        memchr::memmem::find(index, &id).is_some()
    }
}

/// The SHA-1 under which Git stores a content.
fn blob_name(text: &[u8]) -> [u8; 20] {
    let mut blob = Sha1::new();
    blob.update(format!("blob {}\0", text.len()));
    blob.update(text);
    blob.finalize().into()
}

/// The index of the repository that a folder is in.
fn index_above(folder: &Path) -> Option<PathBuf> {
    let git = folder.ancestors().map(|it| it.join(".git"));
    let git = git.into_iter().find(|it| it.symlink_metadata().is_ok())?;
    if git.is_dir() {
        return Some(git.join("index"));
    }
    // In worktrees and submodules, `.git` is a file.
    let link = String::from_utf8(read(&git, MOST_LINK)?).ok()?;
    let to = link.strip_prefix("gitdir: ")?.trim_end();
    Some(git.parent()?.join(to).join("index"))
}

/// The content of a regular file, unless it is larger than the limit.
fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let metadata = path.metadata().ok()?;
    let is_fine = metadata.is_file() && metadata.len() <= most;
    is_fine.then(|| fs::read(path).ok())?
}
