//! Checkpoints of commands: the index of each project, and the commands that run in it.
//!
//! Everything here blocks, so it runs on threads of its own. Commands that overlap share one
//! checkpoint, because nothing shows which of them changed a file.

mod overlap;
mod project;
mod report;

use std::collections::HashSet;
use std::sync::Arc;

use self::overlap::Registered;
pub(super) use self::overlap::find_lost;
pub use self::overlap::user_saved;
use self::project::Project;
pub use self::project::{Coverage, Projects};
use self::report::Report;
use super::aside::{Aside, GitState};
use super::recorder::{Recorder, Recording};
use super::store::Store;
use crate::files::blocking;
use crate::objects::Hash;

/// A call whose commands may change files.
pub(crate) struct CommandRun(Option<Running>);

struct Running {
    recording: Arc<Recording>,
    store: Store,
    /// Shows other programs that it runs, until its changes are in the journal.
    registered: Registered,
    /// The project, which finds its changes. `None` if it has no index.
    project: Option<Arc<Project>>,
    /// Git before it began.
    git: Option<GitState>,
}

impl CommandRun {
    /// Brings the index of the project up to date before a call's commands start.
    pub(crate) async fn begin(recorder: &Recorder) -> Self {
        let Some(recording) = recorder.0.clone() else {
            return Self(None);
        };
        let begun = blocking(move || Ok(begin(recording)));
        // If the thread panicked, the call goes on without a checkpoint.
        Self(begun.await.ok().flatten())
    }

    /// Records what changed since.
    pub(crate) async fn end(mut self) {
        if let Some(running) = self.0.take() {
            let ended = blocking(move || {
                running.end();
                Ok(())
            });
            // Fails only if the thread panicked.
            let _ = ended.await;
        }
    }
}

impl Drop for CommandRun {
    fn drop(&mut self) {
        // The call was dropped with its future, which must not block.
        if let Some(running) = self.0.take() {
            std::thread::spawn(move || running.end());
        }
    }
}

impl Recorder {
    /// Starts to index the project in the background, unless it is indexed.
    pub fn prepare(&self) {
        let Some(recording) = self.0.clone() else {
            return;
        };
        std::thread::spawn(move || {
            if let Some(root) = recording.root() {
                let project = recording.projects.add(&recording.folder, root);
                project.prepare(recording.limit);
            }
        });
    }

    /// Returns what an undo of the next command could restore, as far as is known. Does not access
    /// the disk.
    pub fn coverage(&self) -> Coverage {
        let recording = self.0.as_ref();
        let project = recording.and_then(|it| it.projects.of_folder(&it.folder));
        project.map_or(Coverage::Full, |it| it.coverage())
    }
}

fn begin(recording: Arc<Recording>) -> Option<Running> {
    if recording.root().is_none() {
        let projects = &recording.projects;
        projects.refuse(&recording, "this folder is not a project");
        return None;
    }
    // `open` has added a remark.
    let store = recording.open().ok()?;
    // Before anything else, so that commands of other programs know of this one while it runs, and
    // so that the user's saves are recorded.
    let registered = match Registered::begin(&store, &recording.label) {
        Ok(registered) => registered,
        Err(error) => {
            recording.remark(format!(
                "This command cannot be listed as running ({error}), so :Flemma undo cannot restore what it changed."
            ));
            return None;
        }
    };
    let project = recording.projects.add(&recording.folder, &store.root);
    let begun = project.begin(&store, &recording, &registered);
    Some(Running {
        git: GitState::of(&store.root, &project.last_index),
        project: begun.then_some(project),
        recording,
        store,
        registered,
    })
}

impl Running {
    fn end(self) {
        let Self {
            recording,
            store,
            registered,
            project,
            git,
        } = self;
        let Some(project) = project else {
            return;
        };
        let bound = recording.projects.bound();
        let mut ended = project.end(&store, registered.file_clock, bound);
        let stored = ended.stored;
        // Most commands change nothing.
        if ended.has_news() {
            let folders = std::mem::take(&mut ended.folders);
            let now = GitState::of(&store.root, &project.last_index);
            Report {
                aside: Aside::new(git, now, folders),
                recording: &recording,
                store: &store,
                ended,
            }
            .make();
        }
        drop(registered);
        recording.shrink(&store, stored);
        project.save(store);
    }
}

/// Returns the hashes of the contents that a project's index needs; `None` while the index is
/// being built.
pub(super) fn needed(projects: &Projects, store: &Store) -> Option<HashSet<Hash>> {
    let project = projects.known(&store.root);
    project.map_or_else(|| Some(project::saved_hashes(store)), |it| it.hashes(store))
}
