//! Unsent messages on disk: messages that the user queued and the chat does not contain
//! yet. They are put into the prompt when the chat is opened again.
//!
//! One file per chat, named after the chat's real path, in the state folder. Only the
//! holder of the chat lock reads or writes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chat::Problem;
use chat::cycle::{Cycle, CycleEvent};
use policy::sha256;
use serde::{Deserialize, Serialize};
use tools::state_dir;

use super::Queue;
use crate::lease;
use crate::session::ctx::Ctx;

/// Folder of the files, in the state folder.
const FOLDER: &str = "unsaid";
/// Extension of a file that cannot be read.
const UNREADABLE: &str = "unreadable";

/// The queue's copy of the file.
#[derive(Debug, Default)]
pub(super) struct QueueStore {
    /// The chat whose file was read.
    path: Option<PathBuf>,
    /// Messages in the file.
    texts: Vec<String>,
    /// True if the message that the file cannot be written was shown.
    is_failure_shown: bool,
}

impl Queue {
    /// Writes the messages that wait now. Only the holder of the chat lock may do that.
    pub(in crate::session) fn store(&mut self, ctx: &Ctx) {
        // Only a user at an editor can queue messages.
        if ctx.editor.is_headless() || ctx.buffer.is_loading() {
            return;
        }
        if self.store.path.as_deref() != ctx.place.path() {
            self.change_store(ctx);
        }
        let texts = self.unsent(&ctx.cycle);
        if texts != self.store.texts {
            self.write_store(ctx, texts);
        }
    }

    /// Moves the messages to the chat's file, because the chat is new here or was renamed.
    fn change_store(&mut self, ctx: &Ctx) {
        if !self.store.texts.is_empty() {
            // Under its old name, the chat must not restore these messages.
            self.write_store(ctx, Vec::new());
        }
        self.store.path = ctx.place.path().map(PathBuf::from);
        let Some(path) = ctx.place.path() else { return };
        match find(&state_dir::path(), path) {
            Ok(texts) => self.restore(ctx, texts),
            Err(place) => ctx.editor.report_problem(&Problem::new(
                format!("Unsent messages of this chat cannot be read; they are in {place}."),
                "",
            )),
        }
    }

    /// Puts messages of a host that ended into the prompt.
    fn restore(&mut self, ctx: &Ctx, texts: Vec<String>) {
        // Neovim passed messages that it still shows along with the chat; they are not added
        // twice.
        let mut here = self.unsent(&ctx.cycle);
        self.store.texts.clone_from(&texts);
        let mut lost = texts;
        lost.retain(|text| match here.iter().position(|it| it == text) {
            Some(at) => {
                here.swap_remove(at);
                false
            }
            None => true,
        });
        let what = match lost.len() {
            0 => return,
            1 => "An unsent message is".to_owned(),
            count => format!("{count} unsent messages are"),
        };
        ctx.inform(&format!(
            "{what} in the prompt again. Ctrl-] sends, u removes."
        ));
        self.push(CycleEvent::TakeBack(lost));
    }

    fn write_store(&mut self, ctx: &Ctx, texts: Vec<String>) {
        let Some(path) = &self.store.path else {
            return;
        };
        let written = keep(&state_dir::path(), path, &texts);
        // After a failure too, so that only the next change tries again.
        self.store.texts = texts;
        let Err(error) = written else { return };
        if !self.store.is_failure_shown {
            self.store.is_failure_shown = true;
            ctx.editor.report_problem(&Problem::new(
                format!(
                    "Your unsent messages cannot be stored in {} ({error}), so they are lost if Neovim ends first.",
                    state_dir::path().display()
                ),
                "Free disk space or correct its permissions.",
            ));
        }
    }

    /// Returns the messages that the chat does not contain yet, in order.
    fn unsent(&self, cycle: &Cycle) -> Vec<String> {
        let known = cycle.steering().iter().cloned();
        let known = known.chain(cycle.follow_ups().map(str::to_owned));
        // Waiting events count too, because no typed text may be lost.
        let coming = self.events.iter().flat_map(|event| match event {
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
