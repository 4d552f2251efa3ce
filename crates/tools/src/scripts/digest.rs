//! Digest of a folder of tools, which detects changes since the user agreed to it.

use std::io::{self, Read};
use std::path::Path;

use platform::files::{FileKind, FolderAccess, OpenFolder};
use sha2::{Digest, Sha256};

use crate::files::{RealPath, open_regular_in};

/// Maximum number of files and bytes (50 MB) of a folder that the user can agree to.
const MOST_FILES: usize = 2000;
const MOST_BYTES: u64 = 50 * 1024 * 1024;

/// The SHA-256, in hexadecimal, of the names and contents of all files below `root`.
/// Left out are folders `__pycache__`, which no script of ours reads.
///
/// # Errors
///
/// Something cannot be read, is a link or no file, or there is too much.
pub fn digest(root: &Path) -> io::Result<String> {
    let mut all = Walk {
        hash: Sha256::new(),
        files: 0,
        bytes: 0,
    };
    // Links may lead to the root, but none is followed below it.
    let real = RealPath::of(root).map_err(io::Error::other)?;
    all.folder(&real.open_folder(FolderAccess::List)?, "")?;
    let digest = all.hash.finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

struct Walk {
    hash: Sha256,
    files: usize,
    bytes: u64,
}

impl Walk {
    fn folder(&mut self, folder: &OpenFolder, shown: &str) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in folder.entries()? {
            names.push(entry?.name);
        }
        // The order on disk may differ between two copies of a folder.
        names.sort();
        for name in names {
            let shown = format!("{shown}/{}", name.to_string_lossy());
            match folder.status(&name)?.kind {
                // Python writes these when a script runs, so they would change the digest.
                FileKind::Folder if name == "__pycache__" => {}
                FileKind::Folder => {
                    let inner = folder.folder(Path::new(&name), FolderAccess::List)?;
                    self.folder(&inner, &shown)?;
                }
                FileKind::File => self.file(folder, Path::new(&name), &shown)?,
                _ => {
                    // A link could lead to files that change without the digest.
                    let why = format!("{shown} is no file of this folder");
                    return Err(io::Error::other(why));
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, folder: &OpenFolder, name: &Path, shown: &str) -> io::Result<()> {
        self.files += 1;
        let left = MOST_BYTES - self.bytes;
        let mut content = Vec::new();
        let opened = open_regular_in(folder, name, Path::new(shown)).map_err(io::Error::other)?;
        opened.file.take(left + 1).read_to_end(&mut content)?;
        if content.len() as u64 > left || self.files > MOST_FILES {
            return Err(io::Error::other("it holds too much to be agreed to"));
        }
        self.bytes += content.len() as u64;
        // Lengths first, so that no name can be taken for content.
        for part in [shown.as_bytes(), &content] {
            self.hash.update((part.len() as u64).to_le_bytes());
            self.hash.update(part);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn whatever_could_run_changes_the_digest_and_links_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("t/__pycache__")).unwrap();
        fs::write(at("t/s.py"), "a").unwrap();
        let first = digest(folder.path()).unwrap();
        assert_eq!(first.len(), 64);
        fs::write(at("t/__pycache__/s.pyc"), "x").unwrap();
        assert_eq!(digest(folder.path()).unwrap(), first);
        fs::write(at("t/s.py"), "b").unwrap();
        let second = digest(folder.path()).unwrap();
        assert_ne!(second, first);
        fs::write(at("t/more"), "").unwrap();
        assert_ne!(digest(folder.path()).unwrap(), second);
        std::os::unix::fs::symlink("/etc", at("t/link")).unwrap();
        assert!(digest(folder.path()).is_err());
    }
}
