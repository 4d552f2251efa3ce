//! Checkpoints of commands: the index of each project, and the commands that run in it.
//!
//! Everything here blocks, so it runs on threads of its own. Commands that overlap share one
//! checkpoint, because nothing shows which of them changed a file.

mod coverage;
mod ignored;
mod project;
mod saves;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::coverage::Coverage;
use self::project::{Begun, Ended, Project};
use self::saves::SaveWatch;
pub use self::saves::user_saved;
use super::journal::{CallLabel, FileChange};
use super::objects::Hash;
use super::recorder::{Recorder, Recording};
use super::store::{Store, new_id};
use crate::files::blocking;
use crate::state_dir::Lock;

/// Commands that overlap, and their common checkpoint.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    /// The id of the checkpoint.
    pub(super) id: String,
    pub(super) labels: Vec<CallLabel>,
    /// Number of commands that run.
    running: usize,
    /// When the first one began, in nanoseconds since 1970. The user's saves are known since.
    since: i64,
    /// Files that other calls changed meanwhile.
    noted: HashSet<PathBuf>,
}

impl Group {
    /// A group of one call.
    pub(super) fn of_one(id: String, label: CallLabel) -> Self {
        Self {
            id,
            labels: vec![label],
            ..Self::default()
        }
    }

    /// The group of a command that begins.
    fn begin(label: &CallLabel, since: i64) -> Self {
        let mut group = Self {
            id: new_id(),
            since,
            ..Self::default()
        };
        group.add(label);
        group
    }

    fn add(&mut self, label: &CallLabel) {
        self.running += 1;
        if !self.labels.contains(label) {
            self.labels.push(label.clone());
        }
    }
}

/// A call whose commands may change files.
pub(crate) struct CommandRun(Option<Running>);

struct Running {
    recording: Arc<Recording>,
    store: Store,
    project: Arc<Project>,
    saves: SaveWatch,
    /// When it began, by the clock of the file system.
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
    let project = Project::of(&store.root);
    project.add_folder(&recording.folder);
    // Before the index is brought up to date, because the user may save a file meanwhile.
    let saves = SaveWatch::begin();
    let contents = store.keep_contents();
    match project.begin(&store, &recording, saves.since) {
        Begun::Yes => Some(Running {
            began: store.clock(),
            recording,
            store,
            project,
            saves,
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
            project::say_once(&recording, &why);
            None
        }
    }
}

impl Running {
    fn end(self) {
        let ended = self.project.end(&self.store, self.began);
        let Ended { group, ignored, .. } = &ended;
        let chats = group.labels.iter().filter_map(CallLabel::chat_path);
        // The session itself writes chats while their commands run. What the user saved
        // meanwhile is not the command's change, so an undo must not revert it.
        let chats: HashSet<PathBuf> = chats.map(Path::to_owned).collect();
        let saved = saves::since(group.since);
        // A file that became ignored only now has a checkpoint.
        let covered = ended.changes.iter().map(|it| &it.path.0);
        let explained = [&chats, &saved, &group.noted].into_iter().flatten();
        let explained = explained.chain(covered).cloned().collect();
        if let Some(text) = ignored::describe(ignored, &explained, &self.store.root) {
            self.recording.report_ignored(text);
        }
        if let Some(why) = &ended.lost {
            self.recording.remark(format!(
                ":Flemma undo cannot restore what this command changed: {why}."
            ));
        }
        self.record(ended, &chats, &saved);
        let added = self.project.take_added();
        let Self {
            recording,
            store,
            project,
            contents,
            saves,
            ..
        } = self;
        drop((saves, contents));
        recording.shrink(&store, added);
        project.save(store);
    }

    /// Adds what changed to the checkpoint, without the chats and what the user saved.
    fn record(&self, ended: Ended, chats: &HashSet<PathBuf>, saved: &HashSet<PathBuf>) {
        let Ended { group, changes, .. } = ended;
        let changes = changes.into_iter().filter(|it| !chats.contains(&it.path.0));
        let (of_user, changes): (Vec<FileChange>, Vec<FileChange>) =
            changes.partition(|it| saved.contains(&it.path.0));
        for FileChange { path, .. } in of_user {
            let path = path.0.strip_prefix(&self.store.root).unwrap_or(&path.0);
            self.recording.remark(format!(
                "You saved {} while a command ran, so :Flemma undo leaves it as it is.",
                path.display()
            ));
        }
        if !changes.is_empty() {
            self.recording.append(&self.store, &group, changes);
        }
    }
}

/// Updates the index with a change that another call recorded, so that no running command
/// counts as its author.
pub(super) fn note(store: &Store, path: &Path) {
    if let Some(project) = Project::known(&store.root) {
        project.note(store, path);
    }
}

/// Returns the hashes of the contents that a project's index needs; `None` while the index is
/// being built.
pub(super) fn needed(store: &Store) -> Option<HashSet<Hash>> {
    let project = Project::known(&store.root);
    project.map_or_else(|| Some(project::saved_hashes(store)), |it| it.hashes(store))
}

#[cfg(test)]
pub(super) use project::{forget, outgrow};
