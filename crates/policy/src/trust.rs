//! The trust store: the contents that the user trusts.
//!
//! For each chat, by real path, the digest of its frontmatter and the files outside the
//! project that it may send. For each folder of programs, the digest of its content. Does
//! not know what a frontmatter says; [`escalation`] does.

mod escalation;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use platform::paths::canonicalize;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tools::{Fingerprint, state_dir};

use crate::references::Agreed;
use crate::sha256;

pub(crate) use escalation::approves_more;
pub use escalation::{Escalation, escalations, overruled};

/// The store's name in the folder of our state.
const FILE: &str = "trust.json";

/// Lock file that prevents two hosts from writing at once.
const LOCK: &str = "trust.lock";

/// Largest store that is read (4 MB); a larger one is not ours.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Maximum number of chats and of files; the oldest are removed first.
const MAX_ENTRIES: usize = 5_000;

/// A chat whose frontmatter is trusted, or a folder whose content is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFile {
    /// Its real path.
    pub path: PathBuf,
    /// SHA-256 of the frontmatter or of the content, in hexadecimal.
    pub sha256: String,
    /// When it was trusted, in seconds since 1970.
    pub since: u64,
}

impl TrustedFile {
    /// Creates the agreement to the current content.
    fn now(path: &Path, sha256: String) -> io::Result<Self> {
        Ok(Self {
            path: real_path(path)?,
            sha256,
            since: now(),
        })
    }

    /// Replaces the earlier agreement for the same path.
    fn replace_in(self, list: &mut Vec<Self>) {
        // Added at the end, because the list is in the order of agreement.
        list.retain(|it| it.path != self.path);
        list.push(self);
    }
}

/// A file outside the project that the user lets a chat send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sendable {
    /// The chat's real path.
    pub chat: PathBuf,
    /// The file's real path.
    pub file: PathBuf,
    /// The content that the user allowed. Earlier versions did not store it; their
    /// agreements are void, and a message says why.
    #[serde(default)]
    pub holds: Option<Fingerprint>,
    /// When that was allowed, in seconds since 1970.
    pub since: u64,
}

/// Content of the store.
#[derive(Debug, Default)]
struct Store {
    trusted: Vec<TrustedFile>,
    files: Vec<Sendable>,
    /// Folders whose content may run.
    folders: Vec<TrustedFile>,
}

/// The trust store. It is read anew each time, so that all Neovims agree.
#[derive(Debug, Clone)]
pub struct Trust {
    folder: PathBuf,
}

impl Trust {
    /// Returns the store in this folder, which need not exist.
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Returns true if the user trusts this frontmatter in this file. Follows symbolic
    /// links. A file that cannot be resolved is not trusted.
    pub fn is_trusted(&self, path: &Path, frontmatter: &str) -> bool {
        // A link that now leads elsewhere must not bring its trust along.
        let Ok(path) = real_path(path) else {
            return false;
        };
        // A store with a problem is empty here, and `problem` reports it.
        let digest = sha256(frontmatter.as_bytes());
        let (store, _) = self.read();
        let mut trusted = store.trusted.iter();
        trusted.any(|it| it.path == path && it.sha256 == digest)
    }

    /// Returns the files outside the project that this chat may send.
    pub fn sendable(&self, chat: &Path) -> Agreed {
        let mut agreed = Agreed::default();
        if let Ok(chat) = real_path(chat) {
            let (store, _) = self.read();
            let files = store.files.into_iter().filter(|it| it.chat == chat);
            files.for_each(|it| agreed.add(it.file, it.holds));
        }
        agreed
    }

    /// Stores that the user lets this chat send a file, named by its real path, as long as its
    /// content is `holds`.
    ///
    /// # Errors
    ///
    /// As [`Trust::trust`].
    pub fn let_send(&self, chat: &Path, file: &Path, holds: &Fingerprint) -> io::Result<()> {
        let entry = Sendable {
            chat: real_path(chat)?,
            file: file.to_owned(),
            holds: Some(holds.clone()),
            since: now(),
        };
        self.change(|store| {
            store
                .files
                .retain(|it| (&it.chat, &it.file) != (&entry.chat, &entry.file));
            store.files.push(entry);
        })
    }

    /// Stores that the user trusts this frontmatter in this file, and replaces an earlier
    /// agreement.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the path does not name a file, such as the empty name of a new buffer,
    /// or is not UTF-8; any error of the file system.
    pub fn trust(&self, path: &Path, frontmatter: &str) -> io::Result<()> {
        let entry = TrustedFile::now(path, sha256(frontmatter.as_bytes()))?;
        self.change(|store| entry.replace_in(&mut store.trusted))
    }

    /// Removes the agreements for this file. Returns true if there were any.
    ///
    /// # Errors
    ///
    /// As [`Trust::trust`].
    pub fn revoke(&self, path: &Path) -> io::Result<bool> {
        let path = real_path(path)?;
        let mut found = false;
        self.change(|store| {
            found = remove(&mut store.trusted, |it| it.path == path)
                // Not `||`: both lists must be changed.
                | remove(&mut store.files, |it| it.chat == path);
        })?;
        Ok(found)
    }

    /// Returns everything that is trusted, oldest first.
    #[cfg(test)]
    pub fn list(&self) -> Vec<TrustedFile> {
        self.read().0.trusted
    }

    /// Returns why the store cannot be used, if so. Until it is repaired, nothing in it is
    /// trusted.
    pub fn problem(&self) -> Option<String> {
        self.read().1
    }

    fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    fn read(&self) -> (Store, Option<String>) {
        match read_store(&self.file()) {
            Ok(store) => (store, None),
            // There is no store before the first agreement.
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Store::default(), None),
            Err(error) => {
                let path = self.file();
                let problem = format!(
                    "The trust store {} cannot be used ({error}), so no frontmatter is trusted. \
                     Remove it, or trust a chat again with :Flemma trust.",
                    path.display()
                );
                (Store::default(), Some(problem))
            }
        }
    }

    fn change(&self, edit: impl FnOnce(&mut Store)) -> io::Result<()> {
        // Held from reading to writing, so that two Neovims do not lose each other's entries.
        let _lock = state_dir::lock(&self.folder, LOCK)?;
        let (mut store, problem) = self.read();
        if problem.is_some() {
            // Keep the damaged file, so that the user can find out what happened.
            fs::rename(self.file(), self.folder.join("trust.json.damaged"))?;
        }
        edit(&mut store);
        let Store {
            trusted,
            files,
            folders,
        } = &mut store;
        // The oldest are at the front.
        trusted.drain(..trusted.len().saturating_sub(MAX_ENTRIES));
        files.drain(..files.len().saturating_sub(MAX_ENTRIES));
        folders.drain(..folders.len().saturating_sub(MAX_ENTRIES));
        let store = serde_json::json!(
            {"version": 1, "trusted": trusted, "files": files, "folders": folders}
        );
        state_dir::replace(&self.file(), format!("{store:#}\n").as_bytes())
    }
}

/// Removes some entries and returns true if there were any.
fn remove<T>(list: &mut Vec<T>, is_gone: impl Fn(&T) -> bool) -> bool {
    let before = list.len();
    list.retain(|it| !is_gone(it));
    list.len() < before
}

/// Returns the seconds since 1970.
fn now() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    time.map_or(0, |time| time.as_secs())
}

fn read_store(path: &Path) -> io::Result<Store> {
    let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    // Opened before it is checked, so that the checked file is the one that is read.
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(damaged("it is not a file"));
    }
    // Another user of the machine could otherwise trust a chat in this user's name.
    if !platform::user::wrote_alone(&metadata) {
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
    let list = |name: &str| store.get(name).and_then(Value::as_array);
    Ok(Store {
        trusted: readable(entries),
        files: list("files").map_or_else(Vec::new, |it| readable(it)),
        folders: list("folders").map_or_else(Vec::new, |it| readable(it)),
    })
}

/// Reads all valid entries. An invalid one trusts nothing and must not discard the others.
fn readable<'a, T: Deserialize<'a>>(entries: &'a [Value]) -> Vec<T> {
    let read = |entry| T::deserialize(entry).ok();
    entries.iter().filter_map(read).collect()
}

/// Returns the path without symbolic links. The file itself need not exist.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let refuse = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
    let (Some(name), true) = (path.file_name(), path.is_absolute()) else {
        return Err(refuse("a chat without a file cannot be remembered"));
    };
    // The store is JSON, and a lossy path could name another file.
    if path.to_str().is_none() {
        return Err(refuse("its path is not UTF-8"));
    }
    match canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A new chat has no file yet, but the links of its folder count.
            let folder = path.parent().unwrap_or(Path::new("/"));
            Ok(canonicalize(folder)?.join(name))
        }
        found => found,
    }
}

impl Trust {
    /// Returns the digest of the content to which the user agreed in this folder.
    pub fn trusted_digest(&self, folder: &Path) -> Option<String> {
        let folder = real_path(folder).ok()?;
        let (store, _) = self.read();
        let mut folders = store.folders.into_iter();
        folders.find(|it| it.path == folder).map(|it| it.sha256)
    }

    /// Stores that the user trusts the content of this folder with this digest.
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
mod tests;
