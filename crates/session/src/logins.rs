//! The user's logins at MCP servers: a file in the state folder that only the user can read. It is a
//! secret for tools and commands, as everything in that folder is.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use mcp::Logins;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tools::state_dir;

const FILE: &str = "mcp-logins.json";
/// Held while the file is changed.
const LOCK: &str = "mcp-logins.lock";
/// Held while a login is renewed, made, or removed, which can take a request.
const RENEWAL: &str = "mcp-renewal.lock";
/// How often to wait for another process, a second each. A renewal takes at most 30 seconds.
const ATTEMPTS: usize = 40;
const VERSION: u64 = 1;

/// The logins in one folder. The file is read each time, so that all processes agree.
pub struct LoginFile {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u64,
    /// Logins by the key of the server, as JSON in a string.
    logins: BTreeMap<String, String>,
}

impl Default for Stored {
    fn default() -> Self {
        Self {
            version: VERSION,
            logins: BTreeMap::new(),
        }
    }
}

impl LoginFile {
    /// Opens the file in a folder, neither of which need exist.
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Reads the file.
    ///
    /// # Errors
    ///
    /// It has logins that this version can't read, so it must not be replaced; a phrase.
    fn read(&self) -> Result<Stored, String> {
        let path = self.folder.join(FILE);
        let shown = path.display();
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stored::default()),
            read => read.map_err(|error| format!("{shown} cannot be read: {error}"))?,
        };
        // Without the parser's error, which could quote a token.
        let broken = |_| format!("{shown} is damaged; correct it, or remove it and log in again");
        let stored: Value = serde_json::from_slice(&bytes).map_err(broken)?;
        if stored["version"].as_u64().is_some_and(|it| it > VERSION) {
            return Err(format!("{shown} was written by a newer version of Flemma"));
        }
        serde_json::from_value(stored).map_err(broken)
    }

    fn change(&self, key: &str, login: Option<&str>) -> Result<(), String> {
        let unwritable = |error| {
            format!(
                "{} cannot be written: {error}",
                self.folder.join(FILE).display()
            )
        };
        let _lock = state_dir::lock(&self.folder, LOCK).map_err(unwritable)?;
        let mut stored = self.read()?;
        match login {
            Some(login) => drop(stored.logins.insert(key.to_owned(), login.to_owned())),
            None if stored.logins.remove(key).is_none() => return Ok(()),
            None => {}
        }
        let text = serde_json::to_vec(&stored).map_err(|error| error.to_string())?;
        state_dir::replace(&self.folder.join(FILE), &text).map_err(unwritable)
    }
}

impl Logins for LoginFile {
    fn load(&self, key: &str) -> Result<Option<String>, String> {
        Ok(self.read()?.logins.remove(key))
    }

    fn store(&self, key: &str, login: Option<&str>) -> Result<(), String> {
        self.change(key, login)
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
    fn a_damaged_or_newer_file_is_kept_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = LoginFile::open(folder.path());
        let path = folder.path().join(FILE);
        for (text, why) in [
            ("{", "is damaged"),
            ("", "is damaged"),
            (r#"{"version":1,"logins":{"a":7}}"#, "is damaged"),
            (r#"{"logins":{"a":"one"}}"#, "is damaged"),
            (r#"{"version":2,"logins":["one"]}"#, "a newer version"),
        ] {
            fs::write(&path, text).unwrap();
            for done in [
                file.load("a").map(drop),
                file.store("a", Some("two")),
                file.store("a", None),
            ] {
                assert!(done.unwrap_err().contains(why), "{text}");
            }
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let why = file.store("a", Some("two")).unwrap_err();
        assert!(why.contains("cannot be read"), "{why}");
    }
}
