//! Recognizes hard links to secret files by device and inode.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use platform::files::{FileId, FileStatus};

use super::SecretKind;

/// Secret files by device and inode, read when the first file with several names is checked.
#[derive(Debug, Clone, Default)]
pub(super) struct Inodes(Arc<OnceLock<HashMap<FileId, SecretKind>>>);

impl Inodes {
    /// Why the file with this status is secret under another of its names. `secrets`
    /// lists the secret files.
    pub(super) fn find<I>(
        &self,
        status: &FileStatus,
        secrets: impl FnOnce() -> I,
    ) -> Option<SecretKind>
    where
        I: Iterator<Item = (FileStatus, SecretKind)>,
    {
        // Most files have a single name, so nothing needs to be read.
        if !status.is_file() || status.links < 2 {
            return None;
        }
        let known = self.0.get_or_init(|| {
            let files = secrets().filter(|(status, _)| status.is_file());
            files.map(|(status, kind)| (status.id, kind)).collect()
        });
        known.get(&status.id).copied()
    }
}

/// Always equal, because a cache doesn't affect which files are secret.
impl PartialEq for Inodes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Inodes {}
