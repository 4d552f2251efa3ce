//! What a user said to a chat that does not hold it yet: kept in the folder of our state,
//! so that it is there when Neovim ended first.
//!
//! One file a chat, named after the chat's real path. Only the holder of the chat's lease
//! writes or reads it. Knows nothing of when something is said.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::digest::sha256;
use crate::{lease, state_dir};

/// Where the files are, in the folder of our state.
const FOLDER: &str = "unsaid";
/// What a file is called that cannot be read.
const UNREADABLE: &str = "unreadable";

/// What stands in a file.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// For who looks into the folder.
    chat: String,
    /// In the order in which they were said.
    texts: Vec<String>,
}

/// Keeps these texts for the chat at `path`, in place of those that were kept; without
/// any there is no file. `state` is the folder of our state.
///
/// # Errors
///
/// The file cannot be written; what was kept before is still there then.
pub fn keep(state: &Path, path: &Path, texts: &[String]) -> io::Result<()> {
    let file = file(state, path);
    if texts.is_empty() {
        return match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    let record = Record {
        chat: lease::real(path).to_string_lossy().into_owned(),
        texts: texts.to_vec(),
    };
    state_dir::make_folder(&state.join(FOLDER))?;
    state_dir::replace(&file, &serde_json::to_vec(&record)?)
}

/// What is kept for the chat at `path`. A file that cannot be read is set aside.
///
/// # Errors
///
/// There is one that cannot be read; where it is now, and why.
pub fn find(state: &Path, path: &Path) -> Result<Vec<String>, String> {
    let file = file(state, path);
    let read = match fs::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read,
    };
    let record = read.and_then(|text| Ok(serde_json::from_slice::<Record>(&text)?));
    record.map(|it| it.texts).map_err(|error| {
        let aside = file.with_extension(UNREADABLE);
        let now = fs::rename(&file, &aside).map_or(file, |()| aside);
        format!("{} ({error})", now.display())
    })
}

fn file(state: &Path, path: &Path) -> PathBuf {
    let name = sha256(lease::real(path).as_os_str().as_encoded_bytes());
    state.join(FOLDER).join(format!("{name}.json"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_for_its_chat_and_gone_when_it_was_said() {
        let folder = tempfile::tempdir().unwrap();
        let (state, chat) = (folder.path().join("state"), folder.path().join("a.chat"));
        assert_eq!(find(&state, &chat), Ok(vec![]));
        keep(&state, &chat, &[]).unwrap();
        let texts = ["One\ntwo".to_owned(), "\"}ä".to_owned()];
        keep(&state, &chat, &texts).unwrap();
        assert_eq!(find(&state, &chat).unwrap(), texts);
        assert_eq!(find(&state, &folder.path().join("b.chat")), Ok(vec![]));
        std::os::unix::fs::symlink(&chat, folder.path().join("link")).unwrap();
        fs::write(&chat, "").unwrap();
        assert_eq!(find(&state, &folder.path().join("link")).unwrap(), texts);
        keep(&state, &chat, &[]).unwrap();
        assert_eq!(find(&state, &chat), Ok(vec![]));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_set_aside_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let chat = folder.path().join("a.chat");
        keep(folder.path(), &chat, &["One".to_owned()]).unwrap();
        fs::write(file(folder.path(), &chat), "{\"chat\": 1}").unwrap();
        let told = find(folder.path(), &chat).unwrap_err();
        let (path, why) = told.split_once(" (").unwrap();
        assert!(why.contains("expected a string"), "{told}");
        assert_eq!(fs::read_to_string(path).unwrap(), "{\"chat\": 1}");
        assert_eq!(find(folder.path(), &chat), Ok(vec![]));
    }
}
