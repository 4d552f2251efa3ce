//! Unsent messages on disk: messages that the user queued and the chat does not contain
//! yet. They are put into the prompt when the chat is opened again.
//!
//! One file per chat, named after the chat's real path, in the state folder. Only the
//! holder of the chat lock reads or writes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chat::Problem;
use chat::cycle::CycleEvent;
use policy::digest::sha256;
use serde::{Deserialize, Serialize};
use tools::state_dir;

use crate::lease;
use crate::session::Session;

/// Folder of the files, in the state folder.
const FOLDER: &str = "unsaid";
/// Extension of a file that cannot be read.
const UNREADABLE: &str = "unreadable";

/// The session's copy of the file.
#[derive(Debug, Default)]
pub(super) struct QueueStore {
    /// The chat whose file was read.
    path: Option<PathBuf>,
    /// Messages in the file.
    texts: Vec<String>,
    /// Whether the message that the file cannot be written was shown.
    is_failure_shown: bool,
}

impl Session {
    /// Writes the messages that wait now, if this session holds the chat lock.
    pub(crate) fn store_queue(&mut self) {
        // Only a user at an editor can queue messages.
        if self.editor.is_headless() || self.buffer.is_loading() || !self.has_chat() {
            return;
        }
        if self.queue.store.path.as_deref() != self.disk.path() {
            self.change_store();
        }
        let texts = self.unsent();
        if texts != self.queue.store.texts {
            self.write_store(texts);
        }
    }

    /// Moves the messages to the chat's file, because the chat is new here or was renamed.
    fn change_store(&mut self) {
        if !self.queue.store.texts.is_empty() {
            // Under its old name, the chat must not restore these messages.
            self.write_store(Vec::new());
        }
        self.queue.store.path = self.disk.path().map(PathBuf::from);
        let Some(path) = self.disk.path() else { return };
        match find(&state_dir::path(), path) {
            Ok(texts) => self.restore(texts),
            Err(place) => self.editor.report_problem(&Problem::new(
                format!("Unsent messages of this chat cannot be read; they are in {place}."),
                "",
            )),
        }
    }

    /// Puts messages of a host that ended into the prompt.
    fn restore(&mut self, texts: Vec<String>) {
        // Neovim passed messages that it still shows along with the chat; they are not added
        // twice.
        let mut here = self.unsent();
        self.queue.store.texts.clone_from(&texts);
        let lost = texts.into_iter().filter(|text| {
            let at = here.iter().position(|it| it == text);
            at.map(|at| here.swap_remove(at)).is_none()
        });
        let lost: Vec<String> = lost.collect();
        let what = match lost.len() {
            0 => return,
            1 => "An unsent message is".to_owned(),
            count => format!("{count} unsent messages are"),
        };
        self.inform(&format!(
            "{what} in the prompt again. Ctrl-] sends, u removes."
        ));
        self.queue.push(CycleEvent::TakeBack(lost));
    }

    fn write_store(&mut self, texts: Vec<String>) {
        let Some(path) = &self.queue.store.path else {
            return;
        };
        let written = keep(&state_dir::path(), path, &texts);
        // After a failure too, so that only the next change tries again.
        self.queue.store.texts = texts;
        if let Err(error) = written
            && !std::mem::replace(&mut self.queue.store.is_failure_shown, true)
        {
            self.editor.report_problem(&Problem::new(
                format!(
                    "Your unsent messages cannot be stored in {} ({error}), so they are lost if Neovim ends first.",
                    state_dir::path().display()
                ),
                "Free disk space or correct its permissions.",
            ));
        }
    }

    /// Returns the messages that the chat does not contain yet, in order.
    fn unsent(&self) -> Vec<String> {
        let known = self.cycle.steering().iter().cloned();
        let known = known.chain(self.cycle.follow_ups().map(str::to_owned));
        // Waiting events count too, because no typed text may be lost.
        let coming = self.queue.events.iter().flat_map(|event| match event {
            CycleEvent::Steer(text) | CycleEvent::FollowUp(text) | CycleEvent::Ask { text, .. } => {
                std::slice::from_ref(text)
            }
            CycleEvent::TakeBack(texts) => texts,
            _ => &[],
        });
        known.chain(coming.cloned()).collect()
    }
}

/// The contents of a file.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// Path of the chat, for users who look into the folder.
    chat: String,
    /// In the order in which they were queued.
    texts: Vec<String>,
}

/// Replaces the messages of the chat at `path`, or deletes the file if there are none.
/// `state` is the state folder.
///
/// # Errors
///
/// The file cannot be written; the messages in it are then the old ones.
fn keep(state: &Path, path: &Path, texts: &[String]) -> io::Result<()> {
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

/// Returns the messages of the chat at `path`. A file that cannot be read is renamed.
///
/// # Errors
///
/// The file cannot be read: where it is now, and why.
fn find(state: &Path, path: &Path) -> Result<Vec<String>, String> {
    let file = file(state, path);
    let read = match fs::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read,
    };
    let record = read.and_then(|text| Ok(serde_json::from_slice::<Record>(&text)?));
    record.map(|it| it.texts).map_err(|error| {
        let aside = file.with_extension(UNREADABLE);
        // The next write would replace the file, and with it what can still be saved by hand.
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
    fn stored_messages_are_found_for_their_chat_until_they_are_sent() {
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
    fn an_unreadable_file_is_renamed_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let chat = folder.path().join("a.chat");
        keep(folder.path(), &chat, &["One".to_owned()]).unwrap();
        fs::write(file(folder.path(), &chat), "{\"chat\": 1}").unwrap();
        let why_not = find(folder.path(), &chat).unwrap_err();
        let (path, why) = why_not.split_once(" (").unwrap();
        assert!(why.contains("expected a string"), "{why_not}");
        assert_eq!(fs::read_to_string(path).unwrap(), "{\"chat\": 1}");
        assert_eq!(find(folder.path(), &chat), Ok(vec![]));
    }
}
