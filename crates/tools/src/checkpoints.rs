//! Checkpoints: every file that a call changes, as it was before and after, so that it can be
//! restored. Needs no Git.
//!
//! Tools that name their files store each file before they change it. For commands, which can
//! change any file, an index of the project is compared before and after.
//!
//! The store of a project is in the state folder. A [`Recorder`] adds the changes of one call
//! to it, and a [`Restore`] reverts changes, and is a checkpoint itself. A file is
//! restored only if it still is what the call left; otherwise later changes are merged, or
//! the file stays as it is and is reported.

mod apply;
mod aside;
mod commands;
mod file_state;
mod index;
mod journal;
mod recorder;
mod restore;
mod store;

pub(crate) use commands::CommandRun;
pub use commands::{Coverage, Projects, user_saved};
pub use file_state::StoredPath;
pub(crate) use file_state::{Captured, FileState};
pub use journal::{CallLabel, JournalScope};
pub use recorder::{Recorder, Summary};
pub use restore::{FileArgument, Item, Request, Restore, Restored, TurnChanges, TurnFile};
pub use store::{is_project, new_id as new_session, project_of};

pub use self::apply::recover;
pub(crate) use self::apply::{Content, Made, changed_at, changed_since};

#[cfg(test)]
mod tests;
