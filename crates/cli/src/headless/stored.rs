//! The chat's place on disk: its folder, its file, and the lease on it.

use std::path::{Path, PathBuf};

use chat::text::Text;
use session::lease::{self, Lease, LeaseError, LeaseHolder};
use tokio::time::Instant;

use super::file::ChatFile;
use super::saving::Saving;

/// A chat on disk. In a dry run, the file is neither locked nor written.
#[derive(Debug)]
pub struct StoredChat {
    folder: PathBuf,
    file: Option<ChatFile>,
    /// Keeps other programs from working on the file.
    lease: Option<Lease>,
    saving: Saving,
    is_dry_run: bool,
}

impl StoredChat {
    /// Creates a chat without a file.
    pub fn new(folder: PathBuf, is_dry_run: bool) -> Self {
        Self {
            folder,
            file: None,
            lease: None,
            saving: Saving::default(),
            is_dry_run,
        }
    }

    /// Returns the folder of the chat, or the current one if the chat was not read from a file.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the file's path.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(ChatFile::path)
    }

    /// Locks a file before it is read, so that no other program works on it.
    pub fn lock(&mut self, path: &Path) -> Result<(), String> {
        if !self.is_dry_run {
            self.lease = take_lease(path)?;
        }
        Ok(())
    }

    /// Unlocks the file.
    pub fn unlock(&mut self) {
        self.lease.take();
    }

    /// Sets the file that the chat was read from.
    pub fn read_from(&mut self, file: ChatFile) {
        if let Some(folder) = tools::chat_folder(file.path()) {
            self.folder = folder;
        }
        self.file = Some(file);
    }

    /// Sets the file of a new chat, whose folder stays the current one.
    pub fn keep_in(&mut self, file: ChatFile) {
        self.file = Some(file);
    }

    /// Records that the text has changed.
    pub fn changed(&mut self) {
        // Otherwise a write that never happens would be due all the time.
        if self.file.is_some() && !self.is_dry_run {
            self.saving.changed();
        }
    }

    /// Returns when the next write is due.
    pub fn due(&self) -> Option<Instant> {
        self.saving.due()
    }

    /// Returns true if a write failed.
    pub fn is_lost(&self) -> bool {
        self.saving.is_lost()
    }

    /// Writes the file if the text has changed. An error says what happened and is the last.
    pub fn write(&mut self, text: &Text) -> Result<(), String> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        // Copied, because the file is borrowed while it is written.
        let path = file.path().to_owned();
        let written = self.saving.write(|| file.write(text));
        written.map_err(|error| {
            format!(
                "{} cannot be written: {error}. The file is unchanged and the run stops.",
                path.display()
            )
        })
    }

    /// Writes the text to another file, and returns a message about it.
    pub fn write_beside(&self, text: &Text) -> Option<String> {
        Some(match self.file.as_ref()?.write_beside(text) {
            Ok(path) => format!("The chat of this run was written to {}.", path.display()),
            Err(error) => format!("The chat of this run cannot be written anywhere: {error}."),
        })
    }
}

fn take_lease(path: &Path) -> Result<Option<Lease>, String> {
    let program = LeaseHolder {
        name: "flemma send".to_owned(),
        pid: std::process::id(),
    };
    match lease::take(&tools::state_dir::path(), path, &program) {
        Ok(lease) => Ok(Some(lease)),
        Err(LeaseError::Held(by)) => Err(format!(
            "{} is open in {by}, so nothing was sent. Continue there, or write or close it there first.",
            path.display()
        )),
        // As in Neovim, this is no reason to stop. If the state folder is the problem, the
        // audit log cannot be written, and then no call runs.
        Err(LeaseError::Unknown(error)) => {
            tracing::warn!(%error, "the chat cannot be locked");
            Ok(None)
        }
    }
}
