//! Plans a restore: which files are put back, merged, or left as they are, and why.

mod item;
mod turn;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use platform::paths;

pub use self::item::Item;
use self::item::{hold_back, keep_moved, shown};
use self::turn::Parts;
pub use self::turn::{TurnChanges, TurnFile};
use super::apply;
use super::aside::Aside;
use super::commands;
use super::file_state::{FileState, StoredPath};
use super::journal::{CallLabel, Checkpoint, FileChange, Journal, JournalScope, Reverted, Span};
use super::recorder::capture;
use super::store::{Store, new_id};
use crate::buffers::OpenBuffers;
use crate::error::ToolError;
use crate::files::{RealPath, blocking};

/// A request for a restore.
#[derive(Debug, Clone)]
pub enum Request {
    /// The files of the last call that is not undone.
    Undo,
    /// The files as they were before the last undo.
    Redo,
    /// The files of these calls and of all of this and later turns.
    Turns {
        /// The first turn.
        from: usize,
        /// Ids of calls, and the turns of which they are now. Turns that were above them may be
        /// gone since the calls were recorded.
        calls: Vec<(String, usize)>,
    },
    /// The files of this many turns, the last ones that are not undone.
    LastTurns(usize),
    /// This file, as it was before the last call that changed it and is not undone.
    File(FileArgument),
}

/// A file that the user named.
#[derive(Debug, Clone)]
pub struct FileArgument {
    /// The user's text.
    pub name: String,
    /// The folders that a relative name may start from, besides the project's.
    pub folders: Vec<PathBuf>,
}

impl FileArgument {
    /// The paths that it may mean in a project. Blocking.
    fn places(&self, root: &Path) -> Vec<StoredPath> {
        let folders = self.folders.iter().map(|it| &**it).chain([root]);
        let joined = folders.map(|it| it.join(&self.name));
        // A command may have changed a link, and an edit the file that it leads to.
        let real = joined.flat_map(|it| [entry(&it), paths::resolve(&it).ok()]);
        real.flatten().map(StoredPath).collect()
    }
}

/// The path of what is in a folder, also of a link.
fn entry(path: &Path) -> Option<PathBuf> {
    let folder = paths::resolve(path.parent()?).ok()?;
    Some(folder.join(path.file_name()?))
}

/// A planned restore.
#[derive(Debug)]
pub struct Restore {
    store: Arc<Store>,
    label: CallLabel,
    /// The checkpoints that it reverts. Without them, it changes [`Parts`] of files.
    reverted: Option<Reverted>,
    parts: Parts,
    /// The calls whose changes are taken back, or brought back: ids and tools.
    pub calls: Vec<(String, String)>,
    /// The files, by path.
    pub items: Vec<Item>,
    /// Remarks for the user: damage of the journal, and what it leaves.
    pub problem: Option<String>,
}

/// The outcome of a restore.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Files that were changed.
    pub changed: Vec<PathBuf>,
    /// Files that were left as they are, and why.
    pub kept: Vec<(PathBuf, String)>,
}

impl Restore {
    /// Plans a restore for the project that `folder` is in. `None` if there is nothing to
    /// restore. Changes no file.
    ///
    /// # Errors
    ///
    /// The store cannot be used; a sentence.
    pub async fn plan(
        folder: PathBuf,
        scope: JournalScope,
        request: Request,
        buffers: &dyn OpenBuffers,
    ) -> Result<Option<Self>, String> {
        let Some(mut restore) = Self::find(folder, scope, request).await? else {
            return Ok(None);
        };
        restore.plan_items(buffers).await?;
        Ok(Some(restore))
    }

    /// Finds what a request is about, without looking at the files.
    async fn find(
        folder: PathBuf,
        scope: JournalScope,
        request: Request,
    ) -> Result<Option<Self>, String> {
        let found = blocking(move || find(&folder, scope, &request).map_err(ToolError::Failed));
        found.await.map_err(|error| error.to_string())
    }

    /// Reads the changes that it reverts.
    async fn chains(&self) -> Result<Chains, String> {
        let Some(reverted) = self.reverted.clone() else {
            return Ok(self.parts.changes.clone());
        };
        let store = self.store.clone();
        let chains = blocking(move || {
            let journal = store.read();
            let journal = journal.map_err(|error| unreadable(&error))?;
            Ok(chains(&journal, &reverted))
        });
        chains.await.map_err(|error| error.to_string())
    }

    /// Computes the items again. Stores the current and the merged contents.
    async fn plan_items(&mut self, buffers: &dyn OpenBuffers) -> Result<(), String> {
        let chains = self.chains().await?;
        let mut items = Vec::new();
        for (path, chain) in &chains {
            let (path, chain) = (path.clone(), chain.clone());
            let real = RealPath::exact(path.0.clone());
            let captured = capture(&real, buffers).await;
            let store = self.store.clone();
            let item = blocking(move || {
                let is_unsaved = captured.unsaved;
                let now = captured.store(&store.objects);
                Ok(Item::new(path.0, now, &chain, &store.objects, is_unsaved))
            });
            items.push(item.await.map_err(|error| error.to_string())?);
        }
        hold_back(&mut items);
        self.parts.hold_back(&mut items);
        let store = self.store.clone();
        let items = blocking(move || {
            keep_moved(&mut items, &chains, &store.objects, &store.root);
            Ok(items)
        });
        self.items = items.await.map_err(|error| error.to_string())?;
        Ok(())
    }

    /// The project's folder.
    pub fn root(&self) -> &Path {
        &self.store.root
    }

    /// The files that would change.
    pub fn changes(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|it| it.is_change())
    }

    /// The files that have changed since, and could be overwritten.
    pub fn conflicts(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|it| it.is_conflict())
    }

    /// The files that stay as they are, but might be restored otherwise or later.
    pub fn kept(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|it| it.is_kept())
    }

    /// Returns a line for each file that says what happens to it.
    pub fn lines(&self) -> Vec<String> {
        let items = self.items.iter();
        items
            .map(|it| it.line(self.root(), &self.store.objects))
            .collect()
    }

    /// The change of a file as a unified diff.
    pub fn diff(&self, item: &Item) -> String {
        let content = |file_state: Option<&FileState>| {
            // A content that is missing is shown as empty.
            let bytes = file_state.and_then(FileState::hash);
            let bytes = bytes.and_then(|it| self.store.objects.get(it).ok());
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        let target = item.target.as_ref().ok().or(item.forced.as_ref());
        let (old, new) = (content(Some(&item.now)), content(target));
        let name = shown(self.root(), &item.path);
        let header = Some((name.as_str(), name.as_str()));
        similar::udiff::unified_diff(similar::Algorithm::Myers, &old, &new, 3, header)
    }

    /// Restores the files, if they still are as planned. With `overwrite`, also those that
    /// have changed since.
    ///
    /// # Errors
    ///
    /// A file is not as planned, or one cannot be written; a sentence. No file is changed
    /// then.
    pub async fn apply(
        mut self,
        overwrite: bool,
        buffers: &dyn OpenBuffers,
    ) -> Result<Restored, String> {
        // Another Neovim must not restore the same files between the check and the record.
        let lock = self.store.lock_restores();
        let _lock = lock.map_err(|error| format!("The files were not restored: {error}."))?;
        let _contents = self.store.keep_contents();
        let planned = std::mem::take(&mut self.items);
        // The files may have changed while the user read the list.
        self.plan_items(buffers).await?;
        if planned != self.items || self.is_reverted()? {
            let why = "A file changed since the list was made, so nothing was restored. Try again.";
            return Err(why.to_owned());
        }
        let (mut changes, kept) = self.split(overwrite);
        // Nothing is undone by this, so there is nothing to record.
        if changes.is_empty() && self.reverted.is_none() {
            let changed = Vec::new();
            return Ok(Restored { changed, kept });
        }
        for change in &mut changes {
            let open = buffers.text(&change.path.0).await;
            change.unsaved = open.is_some_and(|it| it.modified);
        }
        let changed = changes.iter().map(|it| it.path.0.clone()).collect();
        let checkpoint = Checkpoint {
            id: new_id(),
            calls: vec![self.label],
            reverted: self.reverted,
            files: changes,
            ..Checkpoint::default()
        };
        let words = ["Nothing was restored", ":Flemma redo tries again"];
        apply::make(&self.store, checkpoint, words, buffers).await?;
        Ok(Restored { changed, kept })
    }

    /// Returns true if another program has restored the same meanwhile.
    fn is_reverted(&self) -> Result<bool, String> {
        let journal = self.store.read();
        let journal = journal.map_err(|error| unreadable(&error).to_string())?;
        Ok(self
            .reverted
            .as_ref()
            .is_some_and(|it| journal.is_undone(it)))
    }

    /// Returns the changes to make, and the files that stay, with the reasons.
    fn split(&self, overwrite: bool) -> (Vec<FileChange>, Vec<(PathBuf, String)>) {
        let (mut changes, mut kept) = (Vec::new(), Vec::new());
        for item in &self.items {
            let forced = item.forced.clone().filter(|_| overwrite);
            let target = item.target.clone().or_else(|why| forced.ok_or(why));
            match target {
                Ok(after) if after == item.now => {}
                Ok(after) => changes.push(FileChange {
                    made: item.made,
                    ..FileChange::new(StoredPath(item.path.clone()), item.now.clone(), after)
                }),
                Err(why) => kept.push((item.path.clone(), why)),
            }
        }
        (changes, kept)
    }
}

/// The error for a journal that cannot be read.
fn unreadable(error: &std::io::Error) -> ToolError {
    ToolError::Failed(format!("The checkpoints cannot be read: {error}."))
}

// Finds the checkpoints that a restore reverts.

/// The changes of each file, the newest first.
type Chains = BTreeMap<StoredPath, Vec<FileChange>>;

/// Finds the checkpoints that a request is about.
fn find(folder: &Path, scope: JournalScope, request: &Request) -> Result<Option<Restore>, String> {
    let store = Arc::new(Store::open(folder)?);
    if let Err(error) = commands::find_lost(&store) {
        tracing::warn!(%error, "calls whose program ended may be missing in the journal");
    }
    let journal = store.read();
    let journal = journal.map_err(|error| unreadable(&error).to_string())?;
    let request = &recorded(&journal, &scope, request);
    let (found, only) = requested(&journal, &scope, request, &store.root);
    let lost = match request {
        Request::Redo => Vec::new(),
        _ => journal.lost_after(&scope, found.first().copied()).collect(),
    };
    let mut remarks = problems(&journal, lacking(&journal, &scope, request, &found), &lost);
    if found.is_empty() {
        // Damage may be why nothing was found, so the user must read about it.
        let problem = remarks.join(" ");
        return if problem.is_empty() {
            Ok(None)
        } else {
            Err(problem)
        };
    }
    let ids: Vec<String> = found.iter().map(|it| it.id.clone()).collect();
    if journal.is_half_reverted(&ids) {
        let half = "An earlier restore of these files did not end, so some of them may be restored already.";
        remarks.insert(0, half.to_owned());
    }
    let mut aside = Aside::default();
    found.iter().for_each(|it| aside.add(it.aside.clone()));
    remarks.extend(aside.remarks(&store.root));
    let problem = (!remarks.is_empty()).then(|| remarks.join(" "));
    let labels = found.iter().flat_map(|it| &it.calls);
    let calls = labels
        .map(|it| (it.call.clone(), it.tool.clone()))
        .collect();
    let reverted = Reverted {
        of: ids,
        redo: matches!(request, Request::Redo),
        only,
    };
    let first = found.first().and_then(|it| it.calls.first());
    Ok(Some(Restore {
        store,
        label: match scope {
            JournalScope::Chat(label) => label,
            // A restore from a shell has no chat of its own, so it is recorded for that of the
            // call.
            JournalScope::Project => first.cloned().unwrap_or_default(),
        },
        reverted: Some(reverted),
        parts: Parts::default(),
        calls,
        items: Vec::new(),
        problem,
    }))
}

/// The request with the number that its turn had when its calls were recorded.
fn recorded(journal: &Journal, scope: &JournalScope, request: &Request) -> Request {
    match request {
        Request::Turns { from, calls } => Request::Turns {
            from: journal.recorded_turn(scope, *from, calls),
            calls: calls.clone(),
        },
        other => other.clone(),
    }
}

/// Says what cannot be restored: what is in damaged lines, what was removed, and what was never
/// found.
fn problems(journal: &Journal, lacking: usize, lost: &[&CallLabel]) -> Vec<String> {
    let mut problems = Vec::new();
    if journal.damaged > 0 {
        problems.push(format!(
            "{} lines of the checkpoints' journal are damaged; what they say cannot be restored.",
            journal.damaged
        ));
    }
    if lacking > 0 {
        let (calls, it) = match lacking {
            1 => ("checkpoint of 1 earlier call was".to_owned(), "it"),
            _ => (
                format!("checkpoints of {lacking} earlier calls were"),
                "they",
            ),
        };
        problems.push(format!(
            "The {calls} removed to make room (checkpoints.limit), so what {it} changed stays."
        ));
    }
    if let Some(last) = lost.first() {
        let others = match lost.len() - 1 {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        problems.push(format!(
            "No checkpoint for {} ({}){others}: Flemma exited during the command.",
            last.tool, last.call
        ));
    }
    problems
}

/// Number of calls that a request is about and whose changes were removed.
fn lacking(
    journal: &Journal,
    scope: &JournalScope,
    request: &Request,
    found: &[&Checkpoint],
) -> usize {
    let removed = journal.removed(scope);
    match request {
        Request::Turns { from, calls } => removed.filter(|it| it.is_since(*from, calls)).count(),
        // Without changes that are left, the last turns are those that were removed.
        Request::Undo | Request::File(_) | Request::LastTurns(_) if found.is_empty() => {
            removed.count()
        }
        Request::Undo | Request::File(_) | Request::LastTurns(_) | Request::Redo => 0,
    }
}

/// The checkpoints that a request selects, the oldest first, and the file if it is about one.
fn requested<'a>(
    journal: &'a Journal,
    scope: &JournalScope,
    request: &Request,
    root: &Path,
) -> (Vec<&'a Checkpoint>, Vec<StoredPath>) {
    let found = match request {
        Request::File(file) => {
            let found = journal.last_of(scope, &file.places(root));
            let found = found.map(|(it, path)| (vec![it], vec![path.clone()]));
            return found.unwrap_or_default();
        }
        Request::Undo => journal.calls(scope).pop().into_iter().collect(),
        Request::Redo => journal.last_undo(scope).into_iter().collect(),
        Request::Turns { from, calls } => {
            let mut found = journal.calls(scope);
            found.retain(|it| it.is_since(*from, calls));
            found
        }
        Request::LastTurns(count) => last_turns(journal.calls(scope), *count),
    };
    (found, Vec::new())
}

/// The checkpoints of the last turns.
fn last_turns(mut calls: Vec<&Checkpoint>, count: usize) -> Vec<&Checkpoint> {
    let mut turns = Vec::new();
    let mut is_recent = |checkpoint: &&&Checkpoint| {
        let label = checkpoint.calls.first();
        let turn = label.map(|it| (it.chat.clone(), it.session.clone(), it.turn));
        if !turns.contains(&turn) {
            turns.push(turn);
        }
        turns.len() <= count
    };
    let kept = calls.iter().rev().take_while(|it| is_recent(it)).count();
    calls.drain(..calls.len() - kept);
    calls
}

/// The changes of each file that a restore reverts, the newest first.
fn chains(journal: &Journal, reverted: &Reverted) -> Chains {
    let mut chains = Chains::new();
    for change in journal.changes(reverted) {
        let chain = chains.entry(change.path.clone()).or_default();
        chain.push(change.clone());
    }
    for chain in chains.values_mut() {
        *chain = joined(std::mem::take(chain));
        chain.reverse();
    }
    chains
}

/// Joins what several programs found of the same changes, the oldest first: if the spans of two
/// overlap, both show parts of one change.
fn joined(mut changes: Vec<FileChange>) -> Vec<FileChange> {
    changes.sort_by_key(|it| (it.span.from, it.span.until));
    let mut joined: Vec<FileChange> = Vec::new();
    for change in changes {
        let last = joined.last_mut();
        let Span { from, until } = change.span;
        // An edit of text that is only in the editor is within no change of the file.
        let is_found = from < until;
        match last.filter(|it| is_found && from < it.span.until) {
            Some(last) => {
                if until > last.span.until {
                    (last.span.until, last.after) = (until, change.after);
                }
                last.made = last.made.max(change.made);
            }
            None => joined.push(change),
        }
    }
    joined
}
