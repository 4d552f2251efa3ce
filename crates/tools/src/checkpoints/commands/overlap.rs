//! Commands that overlap, in any program, and what else happened to files while they ran.
//!
//! The commands that run in a project are lines of one file. Each keeps the contents of the store
//! while it runs, so a command whose program was killed is found when nothing keeps them.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::project::Group;
use crate::checkpoints::file_state::{FileState, StoredPath};
use crate::checkpoints::index::{Index, changed_at, now_ns};
use crate::checkpoints::journal::{CallLabel, Checkpoint, FileChange, Span};
use crate::checkpoints::store::{Store, folder_of, new_id, now};
use crate::files::leads_to;
use crate::state_dir::{self, Lock};

/// File of the commands in a project's store.
const RUNNING: &str = "running.jsonl";

/// A command, as a line of the file describes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Command {
    id: String,
    /// The id of its checkpoint.
    checkpoint: String,
    label: CallLabel,
    /// When it began, in nanoseconds since 1970.
    began: i64,
}

/// A line of the file. Times are in nanoseconds since 1970.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Began(Command),
    /// The command with this id has ended.
    Ended(String),
    /// The user saved a file in any Neovim.
    Saved(StoredPath, i64),
    /// The state of a file when a command of another program began, which shows what those before had
    /// changed.
    Seen(StoredPath, i64, FileState),
}

/// The lines of the file, which is locked until this is dropped.
struct Registry {
    file: Lock,
    lines: Vec<Line>,
}

impl Registry {
    /// Waits for the registry in a store's folder.
    ///
    /// # Errors
    ///
    /// As for [`state_dir::lock`].
    fn open(folder: &Path) -> io::Result<Self> {
        let file = state_dir::lock(folder, RUNNING)?;
        let mut text = Vec::new();
        file.file().read_to_end(&mut text)?;
        let lines = text.split(|it| *it == b'\n');
        // A line that a crash tore says nothing about the others.
        let lines = lines.filter_map(|it| serde_json::from_slice(it).ok());
        let lines = lines.collect();
        Ok(Self { file, lines })
    }

    /// Returns the commands that have not ended, the first one first.
    fn running(&self) -> Vec<&Command> {
        let mut running: Vec<&Command> = Vec::new();
        for line in &self.lines {
            match line {
                Line::Began(command) => running.push(command),
                Line::Ended(id) => running.retain(|it| it.id != *id),
                Line::Saved(..) | Line::Seen(..) => {}
            }
        }
        running
    }

    fn add(&mut self, lines: Vec<Line>) -> io::Result<()> {
        // A line that a crash tore ends before the new one begins.
        let mut bytes = vec![b'\n'];
        for line in &lines {
            serde_json::to_writer(&mut bytes, line)?;
            bytes.push(b'\n');
        }
        self.lines.extend(lines);
        // All was read, so this is the end of the file.
        self.file.file().write_all(&bytes)
    }

    /// Marks a command as ended. Nobody needs the lines of those that overlapped after the last one.
    fn end(&mut self, id: &str) -> io::Result<()> {
        let mut others = self.running().into_iter();
        if others.all(|it| it.id == id) {
            return self.clear();
        }
        self.add(vec![Line::Ended(id.to_owned())])
    }

    /// Removes all lines.
    fn clear(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.lines).is_empty() {
            self.file.file().set_len(0)?;
            self.file.file().rewind()?;
        }
        Ok(())
    }

    /// Adds the calls to the journal whose programs ended before them, and removes all lines once
    /// no command runs.
    fn record_lost(&mut self, store: &Store) -> io::Result<()> {
        let left = self.running();
        if !left.is_empty() && store.are_contents_kept()? {
            return Ok(());
        }
        for command in left {
            store.append(&Checkpoint {
                id: new_id(),
                at: now(),
                calls: vec![command.label.clone()],
                lost: true,
                ..Checkpoint::default()
            })?;
        }
        self.clear()
    }
}

/// A command that runs until this is dropped.
#[derive(Debug)]
pub(super) struct Registered {
    /// The id of its checkpoint: that of the commands that it overlaps with, or a new one.
    pub(super) checkpoint: String,
    /// When it began, in nanoseconds since 1970. The user's saves are known since.
    pub(super) since: i64,
    /// The same by the clock of the file system, which is coarser: no file that changes from now
    /// on is older.
    pub(super) file_clock: i64,
    /// When the first of those began that it overlaps with.
    pub(super) others_since: Option<i64>,
    id: String,
    /// The folder of the store.
    folder: PathBuf,
    /// Shows that the command runs, and keeps the contents that the index needs to find changes,
    /// until they are in the journal.
    _contents: Option<Lock>,
}

impl Registered {
    /// Registers a command that begins.
    ///
    /// # Errors
    ///
    /// Any error of the file system. Commands of other programs do not know of this one then.
    pub(super) fn begin(store: &Store, label: &CallLabel) -> io::Result<Self> {
        let mut registry = Registry::open(store.folder())?;
        registry.record_lost(store)?;
        let running = registry.running();
        let checkpoint = running.first().map(|it| it.checkpoint.clone());
        let others_since = running.iter().map(|it| it.began).min();
        let command = Command {
            id: new_id(),
            checkpoint: checkpoint.unwrap_or_else(new_id),
            label: label.clone(),
            began: now_ns(),
        };
        // Before the line, without which nobody misses the lock.
        let contents = store.keep_contents();
        let (id, checkpoint) = (command.id.clone(), command.checkpoint.clone());
        registry.add(vec![Line::Began(command)])?;
        let file = registry.file.file();
        // The file system itself sets the time of this change.
        let touched = file.set_modified(SystemTime::now());
        let file_clock = touched.and_then(|()| changed_at(file));
        Ok(Self {
            checkpoint,
            since: now_ns(),
            file_clock: file_clock.unwrap_or_else(|_| now_ns()),
            others_since,
            id,
            folder: store.folder().to_owned(),
            _contents: contents,
        })
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let ended = Registry::open(&self.folder).and_then(|mut it| it.end(&self.id));
        // The next command finds that nothing keeps the contents, and takes it for a lost one.
        if let Err(error) = ended {
            tracing::warn!(%error, "a command that has ended is listed as running");
        }
    }
}

/// Adds the calls to the journal whose programs ended before them.
pub(in crate::checkpoints) fn find_lost(store: &Store) -> io::Result<()> {
    Registry::open(store.folder())?.record_lost(store)
}

/// Records that the user saved a file, for the commands that run in a folder above it, in any
/// program. The change is the user's, even if a command also changed the file.
pub fn user_saved(path: &Path) {
    let path = leads_to(path);
    for root in path.ancestors().skip(1) {
        let folder = folder_of(root);
        if folder.join(RUNNING).is_file()
            && let Err(error) = note(&folder, || {
                vec![Line::Saved(StoredPath(path.clone()), now_ns())]
            })
        {
            tracing::warn!(%error, "commands that run do not know that a file was saved");
        }
    }
}

/// Notes how files are when a command begins.
pub(super) fn note_seen(store: &Store, seen: impl Iterator<Item = (PathBuf, FileState)>) {
    let at = now_ns();
    let lines = || {
        seen.map(|(path, file_state)| Line::Seen(StoredPath(path), at, file_state))
            .collect()
    };
    if let Err(error) = note(store.folder(), lines) {
        tracing::warn!(%error, "other programs do not know what their commands have changed");
    }
}

/// Adds lines for the commands that run. Their time is taken before the wait for the registry.
fn note(folder: &Path, lines: impl FnOnce() -> Vec<Line>) -> io::Result<()> {
    let lines = lines();
    let mut registry = Registry::open(folder)?;
    if registry.running().is_empty() {
        return Ok(());
    }
    registry.add(lines)
}

/// Other events while commands ran: the user's saves, and edits and restores of
/// other calls in any program. These have checkpoints of their own. Also what commands of other
/// programs found when they began.
#[derive(Debug, Default)]
pub(super) struct Overlap {
    /// The calls of all commands of the checkpoint, also of those that have ended.
    pub(super) labels: Vec<CallLabel>,
    /// The files that the user saved.
    pub(super) saved: HashSet<PathBuf>,
    /// The changes of each file by other calls, in their order.
    by_path: HashMap<PathBuf, Vec<FileChange>>,
    /// True if anything was added to the journal meanwhile.
    pub(super) is_recorded: bool,
}

impl Overlap {
    /// Reads what happened since a group of commands began.
    pub(super) fn read(store: &Store, group: &Group) -> Self {
        let recorded = store.read_from(group.journal).unwrap_or_default();
        let mut overlap = Self {
            is_recorded: !recorded.checkpoints.is_empty(),
            ..Self::default()
        };
        let others = recorded.checkpoints.into_iter();
        let others = others.filter(|it| !it.continues(&group.id));
        // Text that is only in the editor is no change of the project.
        for change in others.flat_map(|it| it.files).filter(|it| !it.unsaved) {
            overlap.add(change);
        }
        let lines = Registry::open(store.folder()).map(|it| it.lines);
        for line in lines.unwrap_or_default() {
            match line {
                Line::Began(it) if it.checkpoint == group.id => {
                    if !overlap.labels.contains(&it.label) {
                        overlap.labels.push(it.label);
                    }
                }
                Line::Saved(path, at) if at >= group.since => {
                    overlap.saved.insert(path.0);
                }
                Line::Seen(path, at, file_state) if at >= group.passed => overlap.add(FileChange {
                    span: Span {
                        from: at,
                        until: at,
                    },
                    ..FileChange::new(path, file_state.clone(), file_state)
                }),
                Line::Began(_) | Line::Ended(_) | Line::Saved(..) | Line::Seen(..) => {}
            }
        }
        let by_path = overlap.by_path.values_mut();
        by_path.for_each(|it| it.sort_by_key(|it| it.span.from));
        overlap
    }

    fn add(&mut self, change: FileChange) {
        let changes = self.by_path.entry(change.path.0.clone());
        changes.or_default().push(change);
    }

    /// The files that other calls changed.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.by_path.keys()
    }

    /// Returns what commands changed, of all that was found in a span of time: of a file that both
    /// changed, the parts before, between, and after.
    pub(super) fn without(
        &self,
        mut found: Vec<FileChange>,
        index: &Index,
        span: Span,
    ) -> Vec<FileChange> {
        // Commands may have changed these, too, and changed them back.
        let others = self.paths();
        let same = others.filter(|path| found.iter().all(|it| it.path.0 != **path));
        let same = same.filter_map(|path| {
            let file_state = index.file_state(path)?;
            Some(FileChange::new(
                StoredPath(path.clone()),
                file_state.clone(),
                file_state,
            ))
        });
        found.extend(same.collect::<Vec<_>>());
        let parts = found.into_iter().flat_map(|it| self.split(&it, span));
        parts.collect()
    }

    fn split(&self, found: &FileChange, span: Span) -> Vec<FileChange> {
        let mut parts = Vec::new();
        let Span { mut from, until } = span;
        let mut part = |before: &FileState, after: &FileState, from, until| {
            parts.push(FileChange {
                before: before.clone(),
                after: after.clone(),
                span: Span { from, until },
                ..found.clone()
            });
        };
        let mut now = &found.before;
        for change in self.by_path.get(&found.path.0).into_iter().flatten() {
            let at = change.span.from;
            // The look at the start or the end of the span was before or after it.
            let is_seen = at < from || *now == change.after;
            if is_seen {
                continue;
            } else if at >= until && found.after == change.before {
                break;
            }
            // Of what no checkpoint holds, it is unknown whether it is the same.
            if *now != change.before && !matches!(now, FileState::NotCovered(_)) {
                part(now, &change.before, from, at.min(until));
            }
            (now, from) = (&change.after, at.min(until));
        }
        if *now != found.after || found.is_rewritten() {
            part(now, &found.after, from, until);
        }
        parts
    }
}
