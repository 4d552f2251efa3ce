//! A project with its index, for all chats of this program.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::overlap::{Overlap, Registered, note_seen};
use super::report::Ended;
use crate::checkpoints::aside::LastIndex;
use crate::checkpoints::index::{self, Bound, Index, TooManyFiles, now_ns};
use crate::checkpoints::journal::Span;
use crate::checkpoints::recorder::Recording;
use crate::checkpoints::store::Store;
use crate::objects::Hash;

/// How long the first command waits for the index. Small projects take milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// Least time between two writes of the index.
const SAVE_EVERY: Duration = Duration::from_secs(60);
/// How long an index may take before a command is said to have no checkpoint. The first command
/// waits a little longer.
const SOON: Duration = Duration::from_secs(1);
/// Divisor of the store's limit that gives the limit of the index. The rest is for changes.
const PART: u64 = 2;
/// Bytes after which the size of a store is checked.
const CHECK_EVERY: u64 = 4 * 1024 * 1024;
/// Why a project has no index.
pub(super) const TOO_MANY: &str = "the project has more than 200,000 files";

const NOT_YET: &str = "The project was not indexed yet when this command began, so :Flemma undo cannot restore what it changed.";

/// The projects that a program knows, with their indexes and the commands that run in them. Clones
/// share them.
#[derive(Debug, Clone, Default)]
pub struct Projects(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    by_root: Mutex<BTreeMap<PathBuf, Arc<Project>>>,
    /// The projects of the folders of chats.
    by_folder: Mutex<BTreeMap<PathBuf, Arc<Project>>>,
    /// Folders whose lack of checkpoints was reported to the user.
    reported: Mutex<Vec<PathBuf>>,
    /// Bytes that were stored since the size of a store was checked; `None` before the first time.
    stored: Mutex<Option<u64>>,
    /// How much a command looks at ignored files.
    bound: Bound,
}

impl Projects {
    /// The project with this folder.
    pub(super) fn of(&self, root: &Path) -> Arc<Project> {
        let mut projects = locked(&self.0.by_root);
        let project = projects
            .entry(root.to_owned())
            .or_insert_with(|| Arc::new(Project::new(root.to_owned())));
        project.clone()
    }

    /// The project of a chat's folder, with this top. From now on, [`Projects::of_folder`] knows it.
    pub(super) fn add(&self, folder: &Path, root: &Path) -> Arc<Project> {
        let project = self.of(root);
        locked(&self.0.by_folder).insert(folder.to_owned(), project.clone());
        project
    }

    /// Returns the project of a chat's folder, if it is known. Does not access the disk.
    pub(super) fn of_folder(&self, folder: &Path) -> Option<Arc<Project>> {
        locked(&self.0.by_folder).get(folder).cloned()
    }

    /// The project with this folder, if commands ran in it.
    pub(super) fn known(&self, root: &Path) -> Option<Arc<Project>> {
        locked(&self.0.by_root).get(root).cloned()
    }

    pub(super) fn bound(&self) -> Bound {
        self.0.bound
    }

    /// Reports once why commands in a folder have no checkpoints, and returns false.
    pub(super) fn refuse(&self, recording: &Recording, why: &str) -> bool {
        let mut reported = locked(&self.0.reported);
        if !reported.contains(&recording.folder) {
            reported.push(recording.folder.clone());
            recording.remark(format!(
                ":Flemma undo cannot restore what commands change in {}: {why}.",
                recording.folder.display()
            ));
        }
        false
    }

    /// Counts bytes that were stored. Returns true each time that about [`CHECK_EVERY`] were, and the
    /// first time.
    pub(in crate::checkpoints) fn count_stored(&self, bytes: u64) -> bool {
        let mut stored = locked(&self.0.stored);
        // The first time in any case, because the program before may have filled the store.
        let now = stored.map(|it| it + bytes).filter(|it| *it < CHECK_EVERY);
        *stored = Some(now.unwrap_or_default());
        now.is_none()
    }
}

/// A project.
#[derive(Debug)]
pub(super) struct Project {
    root: PathBuf,
    state: Mutex<State>,
    /// Signals that the index was made.
    made: Condvar,
    /// What an undo could restore, outside of the state, which is locked while files are read; and since
    /// when.
    coverage: Mutex<(Coverage, Option<Instant>)>,
    /// The index of its Git repository.
    pub(super) last_index: LastIndex,
}

/// Commands of this program that overlap, and their common checkpoint. Times are in nanoseconds since
/// 1970.
#[derive(Debug)]
pub(super) struct Group {
    /// The id of the checkpoint.
    pub(super) id: String,
    /// Number of commands that run.
    running: usize,
    /// When the first one began.
    pub(super) since: i64,
    /// When the project was compared last.
    pub(super) passed: i64,
    /// The length of the journal then.
    pub(super) journal: u64,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    group: Option<Group>,
    /// When the index was written.
    saved: Option<Instant>,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Unknown,
    Building,
    Ready(Box<Index>),
    /// It cannot have an index.
    Refused,
}

/// The files that an undo of the next command could restore.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Coverage {
    /// All files.
    #[default]
    Full,
    /// All but some files.
    Lacks {
        /// Number of files that are not ignored and not covered.
        files: usize,
        /// True if there are ignored files.
        ignored: bool,
    },
    /// Nothing until the project is indexed.
    NotYet,
    /// Nothing.
    Nothing,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic of one command must not end the checkpoints of all others.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Project {
    fn new(root: PathBuf) -> Self {
        Self {
            root,
            state: Mutex::default(),
            made: Condvar::new(),
            coverage: Mutex::default(),
            last_index: LastIndex::default(),
        }
    }

    /// Starts building the index on a thread, unless it exists or is being built.
    pub(super) fn prepare(self: &Arc<Self>, limit: u64) {
        let mut state = locked(&self.state);
        if matches!(state.phase, Phase::Unknown) {
            self.set(&mut state, Phase::Building);
            let project = self.clone();
            std::thread::spawn(move || project.build(limit));
        }
    }

    fn set(&self, state: &mut State, phase: Phase) {
        let coverage = match &phase {
            Phase::Unknown => Coverage::Full,
            Phase::Building => Coverage::NotYet,
            Phase::Ready(index) => coverage(index),
            Phase::Refused => Coverage::Nothing,
        };
        *locked(&self.coverage) = (coverage, Some(Instant::now()));
        state.phase = phase;
    }

    fn build(&self, limit: u64) {
        let phase = match Store::of(self.root.clone()) {
            // The next command tries again.
            Err(_) => Phase::Unknown,
            Ok(store) => {
                // Until the index on disk names them.
                let _contents = store.keep_contents();
                let (path, root) = (store.index_path(), self.root.clone());
                let mut index = Index::load(&path, root, limit / PART, &store.objects);
                match index.refresh(&store.objects, None) {
                    Ok(_) => {
                        save(&index, &store);
                        Phase::Ready(Box::new(index))
                    }
                    // Final, so that not every command walks a large project.
                    Err(_) => Phase::Refused,
                }
            }
        };
        let mut state = locked(&self.state);
        self.set(&mut state, phase);
        state.saved = Some(Instant::now());
        drop(state);
        self.made.notify_all();
    }

    /// Begins a command: brings the index up to date, unless another command runs. Returns false, and
    /// reports it, if the command's changes will not be found.
    pub(super) fn begin(
        self: &Arc<Self>,
        store: &Store,
        recording: &Recording,
        registered: &Registered,
    ) -> bool {
        self.prepare(recording.limit);
        let state = locked(&self.state);
        let waited = self
            .made
            .wait_timeout_while(state, PATIENCE, |it| matches!(it.phase, Phase::Building));
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let State { phase, group, .. } = &mut *state;
        let index = match phase {
            Phase::Ready(index) => index,
            Phase::Refused => return recording.projects.refuse(recording, TOO_MANY),
            Phase::Unknown | Phase::Building => {
                recording.remark(NOT_YET.to_owned());
                return false;
            }
        };
        if let Some(group) = group {
            group.running += 1;
            return true;
        }
        let journal = store.length();
        // What changed before the command is not its change.
        let Ok(passed) = index.refresh(&store.objects, None) else {
            self.set(&mut state, Phase::Refused);
            return recording.projects.refuse(recording, TOO_MANY);
        };
        if let Some(since) = registered.others_since {
            let paths = index.changed_since(since).chain(passed.read);
            note_seen(
                store,
                paths.filter_map(|it| Some((it.clone(), index.file_state(&it)?))),
            );
        }
        *group = Some(Group {
            id: registered.checkpoint.clone(),
            running: 1,
            since: registered.since,
            passed: now_ns(),
            journal,
        });
        true
    }

    /// Ends a command. Returns what changed since the last of the commands ended that overlap with it,
    /// and which ignored files changed at `began` or later, by the clock of the file system.
    pub(super) fn end(&self, store: &Store, began: i64, bound: Bound) -> Ended {
        let mut ended = Ended::default();
        let mut guard = locked(&self.state);
        let state = &mut *guard;
        let Some(group) = &mut state.group else {
            return ended;
        };
        ended.checkpoint.clone_from(&group.id);
        let (until, journal) = (now_ns(), store.length());
        let mut is_lost = false;
        if let Phase::Ready(index) = &mut state.phase {
            match index.refresh(&store.objects, Some(group.since)) {
                Ok(passed) => {
                    // After the pass, because a call records its changes after it has made them.
                    ended.overlap = Overlap::read(store, group);
                    let from = group.passed;
                    let span = Span { from, until };
                    ended.changes = ended.overlap.without(passed.changes, index, span);
                    (group.passed, group.journal) = (now_ns(), journal);
                    ended.ignored = index.ignored_changes(began, passed.removed, bound);
                    ended.folders = passed.folders;
                    locked(&self.coverage).0 = coverage(index);
                }
                Err(TooManyFiles) => is_lost = true,
            }
        }
        group.running = group.running.saturating_sub(1);
        if group.running == 0 {
            state.group = None;
        }
        let hashes = ended.changes.iter().filter_map(|it| it.after.hash());
        ended.stored = hashes.map(|it| store.objects.size(it)).sum();
        if is_lost {
            self.set(state, Phase::Refused);
        }
        ended.is_lost = matches!(state.phase, Phase::Refused);
        ended
    }

    /// Returns the hashes of the contents that the index needs; `None` while it is being built.
    pub(super) fn hashes(&self, store: &Store) -> Option<HashSet<Hash>> {
        match &locked(&self.state).phase {
            Phase::Ready(index) => Some(index.hashes()),
            // Deleting contents now could remove what the new index is about to use.
            Phase::Building => None,
            Phase::Unknown | Phase::Refused => Some(saved_hashes(store)),
        }
    }

    /// Returns what an undo of a command would lack, as far as is known.
    pub(super) fn coverage(&self) -> Coverage {
        match *locked(&self.coverage) {
            // Nearly all projects are indexed soon.
            (Coverage::NotYet, Some(since)) if since.elapsed() < SOON => Coverage::Full,
            (coverage, _) => coverage,
        }
    }

    /// Writes the index on a thread, at most once a minute. The next process that reads it
    /// detects later changes.
    pub(super) fn save(self: Arc<Self>, store: Store) {
        let mut state = locked(&self.state);
        let is_due = state.saved.is_none_or(|it| it.elapsed() > SAVE_EVERY);
        if is_due {
            state.saved = Some(Instant::now());
            drop(state);
            std::thread::spawn(move || {
                // A copy, so that commands don't wait for the disk.
                let index = match &locked(&self.state).phase {
                    Phase::Ready(index) => index.clone(),
                    Phase::Unknown | Phase::Building | Phase::Refused => return,
                };
                save(&index, &store);
            });
        }
    }
}

/// What an undo of a command could restore with this index.
fn coverage(index: &Index) -> Coverage {
    match (index.not_covered(), index.has_ignored()) {
        (0, false) => Coverage::Full,
        (files, ignored) => Coverage::Lacks { files, ignored },
    }
}

fn save(index: &Index, store: &Store) {
    if let Err(error) = store.save_index(index) {
        tracing::warn!(%error, "the index of a project could not be written");
    }
}

/// The contents that the index on disk needs.
pub(super) fn saved_hashes(store: &Store) -> HashSet<Hash> {
    index::saved_hashes(&store.index_path())
}

#[cfg(test)]
impl Projects {
    /// Those of a program whose commands look at all ignored files, because a test must not depend on
    /// how busy the machine is.
    pub(in crate::checkpoints) fn unhurried() -> Self {
        let bound = Bound {
            time: Duration::from_secs(600),
            ..Bound::default()
        };
        Self(Arc::new(Known {
            bound,
            ..Known::default()
        }))
    }

    /// Makes a project have too many files.
    pub(in crate::checkpoints) fn outgrow(&self, root: &Path) {
        let project = self.of(root);
        let mut state = locked(&project.state);
        project.set(&mut state, Phase::Refused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_that_is_not_indexed_soon_is_not_covered_yet() {
        let project = Project::new(PathBuf::new());
        let phase = |phase| {
            project.set(&mut locked(&project.state), phase);
            project.coverage()
        };
        assert_eq!(phase(Phase::Building), Coverage::Full);
        let begun = Instant::now().checked_sub(SOON);
        locked(&project.coverage).1 = begun;
        assert_eq!(project.coverage(), Coverage::NotYet);
        assert_eq!(phase(Phase::Ready(Box::default())), Coverage::Full);
        assert_eq!(phase(Phase::Refused), Coverage::Nothing);
    }
}
