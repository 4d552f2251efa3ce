//! The user's logins at MCP servers: a file in the state folder that only the user can read. It is a
//! secret for tools and commands, as everything in that folder is.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use mcp::Logins;
use serde::{Deserialize, Serialize};
use tools::state_dir;

const FILE: &str = "mcp-logins.json";
/// Held while the file is changed.
const LOCK: &str = "mcp-logins.lock";
/// Held while a login is renewed, which takes a request.
const RENEWAL: &str = "mcp-renewal.lock";
/// How often to wait for another process, a second each. A renewal takes at most 30 seconds.
const ATTEMPTS: usize = 40;
const VERSION: u32 = 1;

/// The logins in one folder. The file is read each time, so that all processes agree.
pub struct LoginFile {
    folder: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    /// Logins by the key of the server, as JSON in a string.
    logins: BTreeMap<String, String>,
}

impl LoginFile {
    /// Opens the file in a folder, neither of which need exist.
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    fn read(&self) -> io::Result<Stored> {
        let bytes = match std::fs::read(self.folder.join(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stored::default()),
            read => read?,
        };
        Ok(serde_json::from_slice(&bytes)?)
    }

    fn change(&self, key: &str, login: Option<&str>) -> io::Result<()> {
        let _lock = state_dir::lock(&self.folder, LOCK)?;
        // A file that cannot be read has no login that could be used.
        let mut stored = self.read().unwrap_or_default();
        stored.version = VERSION;
        match login {
            Some(login) => drop(stored.logins.insert(key.to_owned(), login.to_owned())),
            None => drop(stored.logins.remove(key)),
        }
        let text = serde_json::to_vec(&stored)?;
        state_dir::replace(&self.folder.join(FILE), &text)
    }
}

impl Logins for LoginFile {
    fn load(&self, key: &str) -> Result<Option<String>, String> {
        let stored = self.read().map_err(|error| error.to_string())?;
        Ok(stored.logins.get(key).cloned())
    }

    fn store(&self, key: &str, login: Option<&str>) -> Result<(), String> {
        let changed = self.change(key, login);
        changed.map_err(|error| error.to_string())
    }

    fn lock(&self) -> Result<Box<dyn Send>, String> {
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            match state_dir::lock(&self.folder, RENEWAL) {
                Ok(lock) => return Ok(Box::new(lock)),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => last = error.to_string(),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(last)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_login_is_kept_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = LoginFile::open(folder.path());
        assert_eq!(file.load("a"), Ok(None));
        file.store("a", Some("one")).unwrap();
        file.store("b", Some("two")).unwrap();
        let other = LoginFile::open(folder.path());
        assert_eq!(other.load("a"), Ok(Some("one".to_owned())));
        other.store("a", None).unwrap();
        assert_eq!(file.load("a"), Ok(None));
        assert_eq!(file.load("b"), Ok(Some("two".to_owned())));
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_the_file() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        LoginFile::open(folder.path())
            .store("a", Some("token"))
            .unwrap();
        let mode = fs::metadata(folder.path().join(FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_unreadable_file_is_replaced_by_the_next_login() {
        let folder = tempfile::tempdir().unwrap();
        let file = LoginFile::open(folder.path());
        fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(file.load("a").is_err());
        file.store("a", Some("one")).unwrap();
        assert_eq!(file.load("a"), Ok(Some("one".to_owned())));
    }
}
