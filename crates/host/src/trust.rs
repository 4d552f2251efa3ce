//! Which frontmatter the user trusts: a file that remembers, for the real path of
//! a chat, the digest of the frontmatter that was read and agreed to.
//!
//! Knows nothing of what a frontmatter says; [`loosening`] does. What of a text came
//! with its file is told by [`Origin`].

mod loosening;
mod origin;

pub use loosening::{Loosening, loosening};
pub use origin::Origin;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::sha256;
use crate::private;

/// The store's name in the folder of our state.
const FILE: &str = "trust.json";
/// What keeps two hosts from writing at once.
const LOCK: &str = "trust.lock";
/// Largest store that is read (4 MB); a larger one is not ours.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Most chats that are remembered; the oldest are forgotten first.
const MAX_ENTRIES: usize = 5_000;

/// A chat whose frontmatter is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trusted {
    /// The chat's real path.
    pub path: PathBuf,
    /// SHA-256 of the frontmatter, in hexadecimal.
    pub sha256: String,
    /// When it was agreed to, in seconds since 1970.
    pub since: u64,
}

/// The trust store. It is read anew each time, so that all Neovims agree.
#[derive(Debug, Clone)]
pub struct Trust {
    folder: PathBuf,
}

impl Trust {
    /// The store in this folder, which need not exist.
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Whether the user agreed to this frontmatter in this file. Symbolic links
    /// are followed; whatever cannot be told is not trusted.
    pub fn is_trusted(&self, path: &Path, frontmatter: &str) -> bool {
        let Ok(path) = real_path(path) else {
            return false;
        };
        let digest = sha256(frontmatter.as_bytes());
        let (trusted, _) = self.read();
        trusted
            .iter()
            .any(|it| it.path == path && it.sha256 == digest)
    }

    /// Remembers that the user agreed to this frontmatter in this file. What was
    /// agreed to before in this file is forgotten.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the path is not that of a file, such as the empty name
    /// of a new buffer, or is not UTF-8; any error of the file system.
    pub fn trust(&self, path: &Path, frontmatter: &str) -> io::Result<()> {
        let entry = Trusted {
            path: real_path(path)?,
            sha256: sha256(frontmatter.as_bytes()),
            since: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |time| time.as_secs()),
        };
        self.change(|trusted| {
            trusted.retain(|it| it.path != entry.path);
            trusted.push(entry);
        })
    }

    /// Forgets what was agreed to in this file; whether there was anything.
    ///
    /// # Errors
    ///
    /// As [`Trust::trust`].
    pub fn revoke(&self, path: &Path) -> io::Result<bool> {
        let path = real_path(path)?;
        let mut found = false;
        self.change(|trusted| {
            trusted.retain(|it| {
                found |= it.path == path;
                it.path != path
            });
        })?;
        Ok(found)
    }

    /// Everything that is trusted, the oldest first.
    #[cfg(test)]
    pub fn list(&self) -> Vec<Trusted> {
        self.read().0
    }

    /// Why the store cannot be used as it stands. Until it is mended nothing in it
    /// is trusted.
    pub fn problem(&self) -> Option<String> {
        self.read().1
    }

    fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    fn read(&self) -> (Vec<Trusted>, Option<String>) {
        match read_store(&self.file()) {
            Ok(trusted) => (trusted, None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), None),
            Err(error) => {
                let path = self.file();
                let problem = format!(
                    "The trust store {} cannot be used ({error}), so no frontmatter is trusted. \
                     Remove it, or trust a chat again with :Flemma trust.",
                    path.display()
                );
                (Vec::new(), Some(problem))
            }
        }
    }

    fn change(&self, edit: impl FnOnce(&mut Vec<Trusted>)) -> io::Result<()> {
        let _lock = private::lock(&self.folder, LOCK)?;
        let (mut trusted, problem) = self.read();
        if problem.is_some() {
            // Kept for whoever wants to know what happened to it.
            fs::rename(self.file(), self.folder.join("trust.json.damaged"))?;
        }
        edit(&mut trusted);
        let surplus = trusted.len().saturating_sub(MAX_ENTRIES);
        trusted.drain(..surplus);
        let store = serde_json::json!({"version": 1, "trusted": trusted});
        private::replace(&self.file(), format!("{store:#}\n").as_bytes())
    }
}

fn read_store(path: &Path) -> io::Result<Vec<Trusted>> {
    let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(damaged("it is not a file"));
    }
    if metadata.mode() & 0o022 != 0 || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(damaged("others than you may have written it"));
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(damaged("it is larger than 4 MB"));
    }
    let store: Value = serde_json::from_str(&text).map_err(|_| damaged("it is not JSON"))?;
    let Some(entries) = store.get("trusted").and_then(Value::as_array) else {
        return Err(damaged("it has no list of trusted chats"));
    };
    // An entry of another shape trusts nothing and takes none of the others along.
    let readable = entries
        .iter()
        .filter_map(|entry| Trusted::deserialize(entry).ok());
    Ok(readable.collect())
}

/// The path without symbolic links. The file itself need not exist yet.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let refuse = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
    let (Some(name), true) = (path.file_name(), path.is_absolute()) else {
        return Err(refuse("a chat without a file cannot be remembered"));
    };
    if path.to_str().is_none() {
        return Err(refuse("its path is not UTF-8"));
    }
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(Path::new("/"));
            Ok(folder.canonicalize()?.join(name))
        }
        found => found,
    }
}

#[cfg(test)]
#[path = "trust/tests.rs"]
mod tests;
