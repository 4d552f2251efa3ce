//! A project with its index, for all chats of this program.

#[cfg(test)]
pub(in crate::checkpoints) mod testing;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Group;
use super::coverage::{Coverage, IndexState};
use super::others::OtherChanges;
use super::registry::{self, Registered};
use super::report::Ended;
use crate::checkpoints::image::Name;
use crate::checkpoints::index::{self, Bound, Index, Passed, TooManyFiles, now_ns};
use crate::checkpoints::journal::Span;
use crate::checkpoints::recorder::Recording;
use crate::checkpoints::store::Store;
use crate::objects::Hash;

/// How long the first command waits for the index. Small projects take milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// Least time between two writes of the index.
const SAVE_EVERY: Duration = Duration::from_secs(60);
/// Divisor of the store's limit that gives the limit of the index. The rest is for changes.
const PART: u64 = 2;
/// Why a project has no index.
const TOO_MANY: &str = "the project has more than 200,000 files";

static PROJECTS: Mutex<BTreeMap<PathBuf, Arc<Project>>> = Mutex::new(BTreeMap::new());
/// The projects of the folders of chats.
static OF_FOLDERS: Mutex<BTreeMap<PathBuf, Arc<Project>>> = Mutex::new(BTreeMap::new());
/// Folders whose lack of checkpoints was reported to the user.
static REPORTED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A project.
pub(super) struct Project {
    root: PathBuf,
    state: Mutex<State>,
    /// Signals that the index was made.
    made: Condvar,
    /// What is known of the index, beside the state, which is locked while files are read.
    index: Mutex<IndexState>,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    group: Option<Group>,
    /// Bytes that were stored since the size of the store was checked.
    added: u64,
    /// When the index was written.
    saved: Option<Instant>,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Unknown,
    Building,
    Ready(Box<Index>),
    /// It cannot have an index; the reason.
    Refused(String),
}

/// Result of [`Project::begin`].
pub(super) enum Begun {
    /// Its changes will be found.
    Yes,
    /// The index is still being made.
    NotYet,
    /// The project has none; the reason.
    Never(String),
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic of one command must not end the checkpoints of all others.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Project {
    /// The project with this folder.
    pub(super) fn of(root: &Path) -> Arc<Self> {
        let mut projects = locked(&PROJECTS);
        let project = projects.entry(root.to_owned()).or_insert_with(|| {
            Arc::new(Self {
                root: root.to_owned(),
                state: Mutex::default(),
                made: Condvar::new(),
                index: Mutex::default(),
            })
        });
        project.clone()
    }

    /// Returns the project of a chat's folder, if it is known. Does not access the disk.
    pub(super) fn of_folder(folder: &Path) -> Option<Arc<Self>> {
        locked(&OF_FOLDERS).get(folder).cloned()
    }

    /// Remembers the project that a folder is in.
    pub(super) fn add_folder(self: &Arc<Self>, folder: &Path) {
        locked(&OF_FOLDERS).insert(folder.to_owned(), self.clone());
    }

    /// The project with this folder, if commands ran in it.
    pub(super) fn known(root: &Path) -> Option<Arc<Self>> {
        locked(&PROJECTS).get(root).cloned()
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
        *locked(&self.index) = match &phase {
            Phase::Unknown => IndexState::Unknown,
            Phase::Building => IndexState::Building(Instant::now()),
            Phase::Ready(index) => ready(index),
            Phase::Refused(_) => IndexState::Refused,
        };
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
                    Err(_) => Phase::Refused(TOO_MANY.to_owned()),
                }
            }
        };
        let mut state = locked(&self.state);
        self.set(&mut state, phase);
        state.saved = Some(Instant::now());
        drop(state);
        self.made.notify_all();
    }

    /// Begins a command: brings the index up to date, unless another command runs.
    pub(super) fn begin(
        self: &Arc<Self>,
        store: &Store,
        recording: &Recording,
        registered: &Registered,
    ) -> Begun {
        self.prepare(recording.limit);
        let state = locked(&self.state);
        let waited = self
            .made
            .wait_timeout_while(state, PATIENCE, |it| matches!(it.phase, Phase::Building));
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let State { phase, group, .. } = &mut *state;
        let index = match phase {
            Phase::Ready(index) => index,
            Phase::Refused(why) => return Begun::Never(why.clone()),
            Phase::Unknown | Phase::Building => return Begun::NotYet,
        };
        // Of commands that overlap, it is unknown which one made a change, so they share a
        // checkpoint.
        if let Some(group) = group {
            group.add(&recording.label);
            return Begun::Yes;
        }
        let journal = store.length();
        // What changed before the command is not its change.
        let Ok(passed) = index.refresh(&store.objects, None) else {
            self.set(&mut state, Phase::Refused(TOO_MANY.to_owned()));
            return Begun::Never(TOO_MANY.to_owned());
        };
        if let Some(since) = registered.others_since {
            let at = now_ns();
            let paths = index.changed_since(since).chain(passed.read);
            let seen = paths.filter_map(|it| {
                let image = index.image(&it)?;
                Some((Name(it), at, Some(image)))
            });
            registry::note_seen(store, &seen.collect::<Vec<_>>());
        }
        let mut new = Group {
            id: registered.checkpoint.clone(),
            since: registered.since,
            passed: now_ns(),
            journal,
            ..Group::default()
        };
        new.add(&recording.label);
        *group = Some(new);
        Begun::Yes
    }

    /// Ends a command. Returns the commands that overlap with it, what they changed since the
    /// last of them ended, and which ignored files changed at `began` or later, by the clock of
    /// the file system.
    pub(super) fn end(&self, store: &Store, began: i64) -> Ended {
        let mut state = locked(&self.state);
        let Some(mut group) = state.group.take() else {
            return Ended::default();
        };
        group.running = group.running.saturating_sub(1);
        let mut ended = Ended {
            group,
            ..Ended::default()
        };
        let (until, journal) = (now_ns(), store.length());
        let mut is_lost = false;
        if let Phase::Ready(index) = &mut state.phase {
            match index.refresh(&store.objects, Some(ended.group.since)) {
                Ok(Passed {
                    changes,
                    removed,
                    folders,
                    ..
                }) => {
                    ended.folders = folders;
                    // After the pass, because a call records its changes after it has made them.
                    ended.others = OtherChanges::read(store, &ended.group);
                    let from = ended.group.passed;
                    let span = Span { from, until };
                    ended.changes = ended.others.without(changes, index, span);
                    (ended.group.passed, ended.group.journal) = (now_ns(), journal);
                    let bound = Bound::OF_COMMAND;
                    ended.ignored = index.ignored_changes(began, removed, bound);
                    self.count(index);
                }
                Err(TooManyFiles) => is_lost = true,
            }
        }
        if is_lost {
            self.set(&mut state, Phase::Refused(TOO_MANY.to_owned()));
        }
        if let Phase::Refused(why) = &state.phase {
            ended.lost = Some(why.clone());
        }
        let hashes = ended.changes.iter().filter_map(|it| it.after.hash());
        state.added += hashes.map(|it| store.objects.size(it)).sum::<u64>();
        if ended.group.running > 0 {
            state.group = Some(ended.group.clone());
        }
        ended
    }

    fn count(&self, index: &Index) {
        *locked(&self.index) = ready(index);
    }

    /// Returns the hashes of the contents that the index needs; `None` while it is being built.
    pub(super) fn hashes(&self, store: &Store) -> Option<HashSet<Hash>> {
        match &locked(&self.state).phase {
            Phase::Ready(index) => Some(index.hashes()),
            // Deleting contents now could remove what the new index is about to use.
            Phase::Building => None,
            Phase::Unknown | Phase::Refused(_) => Some(saved_hashes(store)),
        }
    }

    /// Returns what an undo of a command would lack, as far as is known.
    pub(super) fn coverage(&self) -> Coverage {
        locked(&self.index).coverage(Instant::now())
    }

    /// Returns the bytes that were stored since the last call.
    pub(super) fn take_added(&self) -> u64 {
        std::mem::take(&mut locked(&self.state).added)
    }

    /// Writes the index on a thread, at most once a minute. The next process that reads it
    /// detects later changes.
    pub(super) fn save(self: Arc<Self>, store: Store) {
        let mut state = locked(&self.state);
        let is_due = state.saved.is_none_or(|it| it.elapsed() > SAVE_EVERY);
        if is_due {
            state.saved = Some(Instant::now());
            drop(state);
            std::thread::spawn(move || self.write(&store));
        }
    }

    fn write(&self, store: &Store) {
        // A copy, so that commands don't wait for the disk.
        let index = match &locked(&self.state).phase {
            Phase::Ready(index) => index.clone(),
            _ => return,
        };
        save(&index, store);
    }
}

fn ready(index: &Index) -> IndexState {
    IndexState::Ready {
        lacks: index.not_covered(),
        has_ignored: index.has_ignored(),
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

/// Reports once why commands in a folder have no checkpoints.
pub(super) fn say_once(recording: &Recording, why: &str) {
    let mut reported = locked(&REPORTED);
    if !reported.contains(&recording.folder) {
        reported.push(recording.folder.clone());
        recording.remark(format!(
            ":Flemma undo cannot restore what commands change in {}: {why}.",
            recording.folder.display()
        ));
    }
}
