//! A folder in `.flemma` whose files are used only as the user trusted them.

use std::io;
use std::path::{Path, PathBuf};

use super::nearest;
use crate::trust::Trust;

/// A folder of a project, such as `.flemma/skills`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFolder {
    /// Its path.
    pub path: PathBuf,
    /// Whether the user trusts its current content.
    pub trusted: bool,
    /// Digest of its content.
    digest: String,
}

impl ProjectFolder {
    /// Returns `.flemma/NAME` of the project that contains a folder. Blocking.
    ///
    /// # Errors
    ///
    /// The folder contains links or too much, or cannot be read: a message for the user.
    pub fn around(folder: &Path, name: &str, trust: &Trust) -> Option<Result<Self, String>> {
        let path = nearest(folder, name).filter(|it| it.is_dir())?;
        let digest = match tools::digest(&path) {
            Ok(digest) => digest,
            Err(error) => {
                let shown = path.display();
                return Some(Err(format!("{shown} cannot be used: {error}.")));
            }
        };
        Some(Ok(Self {
            trusted: trust.trusted_digest(&path).as_deref() == Some(&digest),
            path,
            digest,
        }))
    }

    /// Stores that the user trusts the content as it was read.
    ///
    /// # Errors
    ///
    /// The store cannot be written.
    pub fn trust(&self, trust: &Trust) -> io::Result<()> {
        trust.trust_folder(&self.path, &self.digest)
    }
}
