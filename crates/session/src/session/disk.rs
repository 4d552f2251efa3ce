//! The chat on disk: its file, the lock on it, and the record of unfinished work.

mod chat_lock;
mod recovery;

use std::path::{Path, PathBuf};

use chat::approval::CallKey;
use tokio::time::Instant;
use tools::checkpoints;

use self::chat_lock::ChatLock;
use self::recovery::Recovery;

/// The chat's file and what belongs to it.
pub(super) struct Disk {
    /// Absolute; none for a buffer without a name.
    path: Option<PathBuf>,
    /// The folder that its relative paths start from.
    folder: Option<PathBuf>,
    /// Identifies this session in checkpoints, also while the chat has no file.
    session: String,
    /// The working directory of the window that shows the chat.
    cwd: PathBuf,
    lock: ChatLock,
    /// Unfinished work, until the file contains it.
    recovery: Recovery,
    /// Whether an answer or a result was written since the file was.
    pub(super) has_news: bool,
    /// Calls that ran for the file when their host ended, until a key reports it there.
    cut_off: Vec<CallKey>,
}

impl Default for Disk {
    fn default() -> Self {
        Self {
            path: None,
            folder: None,
            session: checkpoints::new_session(),
            cwd: PathBuf::from("/"),
            lock: ChatLock::default(),
            recovery: Recovery::default(),
            has_news: false,
            cut_off: Vec::new(),
        }
    }
}

impl Disk {
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Sets the chat's path; an empty one means that the buffer has no name.
    pub(super) fn set_path(&mut self, path: &str) {
        // Neovim's name for a buffer without a file is empty.
        self.path = Some(PathBuf::from(path)).filter(|it| !it.as_os_str().is_empty());
        self.folder = self.path().and_then(tools::chat_folder);
    }

    pub(super) fn session(&self) -> &str {
        &self.session
    }

    pub(super) fn cwd(&self) -> &Path {
        &self.cwd
    }

    pub(super) fn set_cwd(&mut self, cwd: &str) {
        self.cwd = PathBuf::from(cwd);
    }

    /// Returns the folder that the chat's relative paths start from.
    pub(super) fn folder(&self) -> PathBuf {
        let own = self.folder.as_deref();
        // A new chat may name a folder that does not exist yet.
        own.filter(|it| it.is_dir()).unwrap_or(&self.cwd).into()
    }

    /// Returns the folder of the chat's file.
    pub(super) fn own_folder(&self) -> PathBuf {
        let parent = self.path().and_then(Path::parent);
        parent.filter(|it| it.is_dir()).unwrap_or(&self.cwd).into()
    }

    /// Returns true if another program was seen to work on the chat.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.lock.is_elsewhere()
    }

    /// Returns true while a key waits for the chat lock. Later inputs wait too.
    pub(super) fn has_waiting_key(&self) -> bool {
        self.lock.next_try().is_some()
    }

    /// Returns when the chat lock is tried again.
    pub(super) fn next_try(&self) -> Option<Instant> {
        self.lock.next()
    }

    pub(super) fn set_cut_off(&mut self, calls: Vec<CallKey>) {
        self.cut_off = calls;
    }

    pub(super) fn take_cut_off(&mut self) -> Vec<CallKey> {
        std::mem::take(&mut self.cut_off)
    }
}
