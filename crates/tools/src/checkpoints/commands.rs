//! Checkpoints of commands: the index of each project, and the commands that run in it.
//!
//! Everything here blocks, so it runs on threads of its own. Commands that overlap share one
//! checkpoint, because nothing shows which of them changed a file.

mod coverage;
mod ignored;
mod others;
mod project;
mod registry;
mod report;

use std::collections::HashSet;
use std::sync::Arc;

pub use self::coverage::Coverage;
use self::project::{Begun, Project};
use self::registry::Registered;
pub(super) use self::registry::find_lost;
pub use self::registry::user_saved;
use self::report::Report;
use super::aside::{Aside, GitState};
use super::journal::CallLabel;
use super::recorder::{Recorder, Recording};
use super::store::Store;
use crate::files::blocking;
use crate::objects::Hash;
use crate::state_dir::Lock;

/// Commands that overlap, and their common checkpoint.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    /// The id of the checkpoint.
    pub(super) id: String,
    pub(super) labels: Vec<CallLabel>,
    /// Number of commands that run in this program.
    running: usize,
    /// When the first one began, in nanoseconds since 1970.
    since: i64,
    /// When the project was compared last, in nanoseconds since 1970.
    passed: i64,
    /// The length of the journal then.
    journal: u64,
}

impl Group {
    fn add(&mut self, label: &CallLabel) {
        self.running += 1;
        self.add_labels([label.clone()]);
    }

    fn add_labels(&mut self, labels: impl IntoIterator<Item = CallLabel>) {
        for label in labels {
            if !self.labels.contains(&label) {
                self.labels.push(label);
            }
        }
    }
}

/// A call whose commands may change files.
pub(crate) struct CommandRun(Option<Running>);

struct Running {
    recording: Arc<Recording>,
    store: Store,
    /// Shows other programs that it runs, until its changes are in the journal.
    registered: Registered,
    /// What finds its changes, unless the project has no index.
    comparison: Option<Comparison>,
    /// Git before it began.
    git: Option<GitState>,
}

/// What finds the changes of a command.
struct Comparison {
    project: Arc<Project>,
    /// When the command began, by the clock of the file system.
    began: i64,
    /// Keeps the contents that the index needs to find changes, until they are in the journal.
    contents: Option<Lock>,
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
                let project = Project::of(root);
                project.add_folder(&recording.folder);
                project.prepare(recording.limit);
            }
        });
    }

    /// Returns what an undo of the next command could restore, as far as is known. Does not access
    /// the disk.
    pub fn coverage(&self) -> Coverage {
        let folder = self.0.as_ref().map(|it| &*it.folder);
        let project = folder.and_then(Project::of_folder);
        project.map_or(Coverage::Full, |it| it.coverage())
    }
}

fn begin(recording: Arc<Recording>) -> Option<Running> {
    if recording.root().is_none() {
        project::say_once(&recording, "this folder is no project");
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
    let comparison = compare(&recording, &store, &registered);
    Some(Running {
        git: GitState::of(&store.root),
        recording,
        store,
        registered,
        comparison,
    })
}

/// Brings the index up to date. `None` if there is none, which is reported.
fn compare(recording: &Recording, store: &Store, registered: &Registered) -> Option<Comparison> {
    let project = Project::of(&store.root);
    project.add_folder(&recording.folder);
    let contents = store.keep_contents();
    match project.begin(store, recording, registered) {
        Begun::Yes => Some(Comparison {
            began: store.clock(),
            project,
            contents,
        }),
        Begun::NotYet => {
            recording.remark(
                "The project was not indexed yet when this command began, so :Flemma undo cannot restore what it changed."
                    .to_owned(),
            );
            None
        }
        Begun::Never(why) => {
            project::say_once(recording, &why);
            None
        }
    }
}

impl Running {
    fn end(self) {
        let Self {
            recording,
            store,
            registered,
            comparison,
            git,
        } = self;
        let Some(Comparison {
            project,
            began,
            contents,
        }) = comparison
        else {
            return;
        };
        let mut ended = project.end(&store, began);
        // Most commands change nothing.
        if ended.has_news() {
            ended.group.add_labels(registry::labels(&store));
            let folders = std::mem::take(&mut ended.folders);
            Report {
                aside: Aside::since(git.as_ref(), &store.root, folders),
                recording: &recording,
                store: &store,
                ended,
            }
            .make();
        }
        drop((registered, contents));
        let added = project.take_added();
        recording.shrink(&store, added);
        project.save(store);
    }
}

/// Returns the hashes of the contents that a project's index needs; `None` while the index is
/// being built.
pub(super) fn needed(store: &Store) -> Option<HashSet<Hash>> {
    let project = Project::known(&store.root);
    project.map_or_else(|| Some(project::saved_hashes(store)), |it| it.hashes(store))
}

#[cfg(test)]
pub(super) use self::project::testing::{OtherProgram, forget, outgrow};
