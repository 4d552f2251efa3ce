//! Folders whose content may run because the user agreed to it.

use std::io;
use std::path::Path;

use super::{Trust, TrustedFile, real_path, remove};

impl Trust {
    /// Returns the digest of the content to which the user agreed in this folder.
    pub fn trusted_digest(&self, folder: &Path) -> Option<String> {
        let folder = real_path(folder).ok()?;
        let (store, _) = self.read();
        let mut folders = store.folders.into_iter();
        folders.find(|it| it.path == folder).map(|it| it.sha256)
    }

    /// Stores that the user agreed to the content of this folder with this digest.
    ///
    /// # Errors
    ///
    /// As [`Trust::trust`].
    pub fn trust_folder(&self, folder: &Path, digest: &str) -> io::Result<()> {
        let entry = TrustedFile::now(folder, digest.to_owned())?;
        self.change(|store| entry.replace_in(&mut store.folders))
    }

    /// Removes the agreement for this folder. Returns true if there was one.
    ///
    /// # Errors
    ///
    /// As [`Trust::trust`].
    pub fn revoke_folder(&self, folder: &Path) -> io::Result<bool> {
        let path = real_path(folder)?;
        let mut found = false;
        self.change(|store| found = remove(&mut store.folders, |it| it.path == path))?;
        Ok(found)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_trusted_by_what_was_in_it_until_that_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let trust = Trust::open(&folder.path().join("state"));
        let tools = folder.path().join("tools");
        std::fs::create_dir(&tools).unwrap();
        assert_eq!(trust.trusted_digest(&tools), None);
        trust.trust_folder(&tools, "one").unwrap();
        trust.trust_folder(&tools, "two").unwrap();
        assert_eq!(trust.trusted_digest(&tools).as_deref(), Some("two"));
        trust.trust(&folder.path().join("a.chat"), "x").unwrap();
        assert_eq!(
            trust.trusted_digest(&tools).as_deref(),
            Some("two"),
            "it stays"
        );
        assert!(trust.revoke_folder(&tools).unwrap());
        assert!(!trust.revoke_folder(&tools).unwrap());
        assert_eq!(trust.trusted_digest(&tools), None);
    }
}
