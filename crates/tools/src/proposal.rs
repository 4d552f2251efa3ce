//! A call's effects on files, computed without performing them.
//!
//! A tool that changes files plans first. [`Tool::propose`](crate::Tool::propose) returns the
//! plan, and [`Tool::execute`](crate::Tool::execute) stores it, so that a preview and the
//! execution cannot differ.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::files::Unshown;

/// A call's effects on files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposal {
    /// The files, in the order of the call.
    pub files: Vec<ProposedFile>,
}

/// A call's effect on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedFile {
    /// The file as the call names it.
    pub name: String,
    /// The real path of the file.
    pub path: PathBuf,
    /// The text that the file has now: in the editor if it is open, otherwise on disk. `None` if
    /// it does not exist, or for the reason in `unshown`.
    pub before: Option<String>,
    /// Why `before` is `None` although the file exists.
    pub unshown: Option<Unshown>,
    /// The text that the file would have. `None` if the call deletes it.
    pub after: Option<String>,
    /// The real path that the file is moved to.
    pub moved_to: Option<PathBuf>,
    /// Remarks on how the change was found, a sentence each.
    pub remarks: Vec<String>,
}

impl ProposedFile {
    /// Returns true if the call creates the file.
    pub fn is_new(&self) -> bool {
        self.before.is_none() && self.unshown.is_none()
    }
}

impl From<ProposedFile> for Proposal {
    fn from(file: ProposedFile) -> Self {
        Self { files: vec![file] }
    }
}

/// A call's effects on files so far. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct AppliedFiles(Arc<Mutex<Vec<ProposedFile>>>);

impl AppliedFiles {
    pub(crate) fn add(&self, proposal: Proposal) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.extend(proposal.files);
    }

    /// Takes the list, in the order of the changes.
    pub fn take(&self) -> Vec<ProposedFile> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
