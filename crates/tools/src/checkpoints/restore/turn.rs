//! Changes by the calls since a message, file by file, and restores of parts of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chat::diff::review::ReviewedFile;
use platform::paths;

use super::item::{Item, net, shown};
use super::{Chains, FileArgument, Request, Restore, Restored};
use crate::buffers::OpenBuffers;
use crate::checkpoints::file_state::{FileState, StoredPath};
use crate::checkpoints::journal::{CallLabel, FileChange, JournalScope};
use crate::checkpoints::recorder::{NEW_FILE, capture};
use crate::checkpoints::store::Store;
use crate::files::{RealPath, Unshown, blocking};
use crate::objects::{Hash, Objects};

/// Largest text of a file that is shown, in bytes.
const MOST_OF_FILE: usize = 1024 * 1024;
/// Maximum bytes of all texts that are shown.
const MOST: usize = 8 * 1024 * 1024;

/// Changes by calls since a message, without files that are again as they were before.
#[derive(Debug)]
pub struct TurnChanges {
    store: Arc<Store>,
    /// The files, by path.
    pub files: Vec<TurnFile>,
    /// Remarks for the user: damage of the journal, and what it lacks.
    pub problem: Option<String>,
}

/// A file that calls changed.
#[derive(Debug, Clone)]
pub struct TurnFile {
    /// Its name before, below the project's folder if it is there.
    pub name: String,
    /// The name to which it was moved.
    pub moved_to: Option<String>,
    /// Its text before the first and after the last call; `None` if it did not exist, or if its
    /// text is not shown.
    pub before: Option<String>,
    /// See `before`.
    pub after: Option<String>,
    /// Git's extended header, such as `old mode 100644`.
    pub head: String,
    pub(super) change: FileChange,
    /// The other place of a file that was moved.
    pub(super) moved: Option<FileChange>,
    /// Why its texts are not shown, if it has contents.
    pub(super) unshown: Option<Unshown>,
    /// True if others changed it between the calls, and that cannot be told apart.
    pub(super) is_mixed: bool,
}

/// Changes of files, of which only the wanted state and what the calls left are known.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// For each file one change, from the wanted state to what the calls left.
    pub(super) changes: Chains,
    /// Old and new places of files that were moved.
    pairs: Vec<(PathBuf, PathBuf)>,
}

impl Parts {
    /// Moves a file back only if both of its places are as the calls left them.
    pub(super) fn hold_back(&self, items: &mut [Item]) {
        for (from, to) in &self.pairs {
            let both = items.iter().filter(|it| it.path == *from || it.path == *to);
            let why = both
                .filter_map(|it| it.target.as_ref().err())
                .next()
                .cloned();
            let Some(why) = why else {
                continue;
            };
            let both = items.iter_mut();
            both.filter(|it| it.path == *from || it.path == *to)
                .for_each(|it| it.target = Err(why.clone()));
        }
    }
}

impl TurnChanges {
    /// Finds what the calls of a request changed in the project that `folder` is in. `None` if
    /// that is nothing.
    ///
    /// # Errors
    ///
    /// The store cannot be used, or has nothing any more; a sentence.
    pub async fn find(
        folder: PathBuf,
        scope: JournalScope,
        request: Request,
        buffers: &dyn OpenBuffers,
    ) -> Result<Option<Self>, String> {
        let Some(restore) = Restore::find(folder, scope, request).await? else {
            return Ok(None);
        };
        let chains = restore.chains().await?;
        let store = restore.store;
        let mut changed = Vec::new();
        for (path, chain) in chains {
            let now = capture(&RealPath::exact(path.0.clone()), buffers)
                .await
                .file_state;
            changed.push((path, chain, now));
        }
        let objects = store.clone();
        let files = blocking(move || Ok(files(&objects, changed)));
        let files = files.await.map_err(|error| error.to_string())?;
        Ok((!files.is_empty()).then_some(Self {
            store,
            files,
            problem: restore.problem,
        }))
    }

    /// Leaves only the file that the user named, or those in a folder of this name. Returns false
    /// if there are none.
    pub fn keep_only(&mut self, file: &FileArgument) -> bool {
        let places = file.places(&self.store.root);
        self.files.retain(|it| {
            let moved = it.moved.iter().map(|it| &it.path);
            let mut paths = moved.chain([&it.change.path]);
            paths.any(|path| places.iter().any(|it| path.0.starts_with(&it.0)))
        });
        !self.files.is_empty()
    }

    /// The project's folder.
    pub fn root(&self) -> &Path {
        &self.store.root
    }

    /// Makes the files what a review left of the changes, and keeps what changed since. This is
    /// recorded as a call with this label.
    ///
    /// # Errors
    ///
    /// A file cannot be written, so that none is changed; a sentence.
    pub async fn revert(
        &self,
        reviewed: &[ReviewedFile],
        label: CallLabel,
        buffers: &dyn OpenBuffers,
    ) -> Result<Restored, String> {
        let _contents = self.store.keep_contents();
        let mut restore = Restore {
            store: self.store.clone(),
            label,
            reverted: None,
            parts: self.parts(reviewed)?,
            calls: Vec::new(),
            items: Vec::new(),
            problem: None,
        };
        restore.plan_items(buffers).await?;
        restore.apply(false, buffers).await
    }

    fn parts(&self, reviewed: &[ReviewedFile]) -> Result<Parts, String> {
        let mut parts = Parts::default();
        for (file, reviewed) in self.files.iter().zip(reviewed) {
            let last = file.moved.as_ref().unwrap_or(&file.change);
            if reviewed.is_dropped {
                if let Some(moved) = &file.moved {
                    let places = (file.change.path.0.clone(), moved.path.0.clone());
                    parts.pairs.push(places);
                }
                for change in [&file.change].into_iter().chain(&file.moved) {
                    parts.add(change.clone());
                }
            } else if reviewed.after != file.after {
                parts.add(FileChange {
                    before: stored(&self.store.objects, reviewed.after.as_deref(), last)?,
                    ..last.clone()
                });
            }
        }
        Ok(parts)
    }
}

impl Parts {
    fn add(&mut self, change: FileChange) {
        self.changes.insert(change.path.clone(), vec![change]);
    }
}

/// Stores a text that the user left of a change.
fn stored(objects: &Objects, text: Option<&str>, change: &FileChange) -> Result<FileState, String> {
    let Some(text) = text else {
        return Ok(FileState::Absent);
    };
    let hash = Hash::of(text.as_bytes());
    let stored = objects.put(hash, text.as_bytes());
    stored.map_err(|error| format!("Nothing was reverted: the text cannot be stored: {error}."))?;
    let modes = [&change.after, &change.before].into_iter();
    let mode = modes.filter_map(FileState::mode).next();
    Ok(FileState::File {
        hash,
        mode: mode.unwrap_or(NEW_FILE),
    })
}

/// Returns what changed, with the texts that are shown.
fn files(store: &Store, changed: Vec<(StoredPath, Vec<FileChange>, FileState)>) -> Vec<TurnFile> {
    let mut left = MOST;
    let files = changed.into_iter().filter_map(|(path, chain, now)| {
        let (change, is_mixed) = net(path, &chain, &store.objects)?;
        // What the user has taken back already is no change any more.
        let is_back = now == change.before && now.lack().is_none();
        (!is_back).then(|| {
            let name = shown(&store.root, &change.path.0);
            TurnFile::new(name, change, is_mixed, &store.objects, &mut left)
        })
    });
    let mut files = pair(files.collect());
    files.iter_mut().for_each(TurnFile::set_head);
    files
}

impl TurnFile {
    fn new(
        name: String,
        change: FileChange,
        is_mixed: bool,
        objects: &Objects,
        left: &mut usize,
    ) -> Self {
        let mut file = Self {
            name,
            moved_to: None,
            before: None,
            after: None,
            unshown: None,
            head: String::new(),
            change,
            moved: None,
            is_mixed,
        };
        let read = [&file.change.before, &file.change.after].map(|it| text(it, objects));
        match read {
            [Ok(before), Ok(after)] => {
                let size = [&before, &after].into_iter().flatten().map(String::len);
                let size: usize = size.sum();
                match left.checked_sub(size) {
                    Some(rest) => (file.before, file.after, *left) = (before, after, rest),
                    None => file.unshown = Some(Unshown::TooLarge),
                }
            }
            [Err(why), _] | [_, Err(why)] => file.unshown = why,
        }
        file
    }

    /// Describes what the texts do not show.
    fn set_head(&mut self) {
        let new = self.moved.as_ref().unwrap_or(&self.change);
        let (old, new) = (&self.change.before, &new.after);
        let mut lines = match (mode(old), mode(new)) {
            (None, Some(mode)) => vec![format!("new file mode {mode}")],
            (Some(mode), None) => vec![format!("deleted file mode {mode}")],
            (Some(old), Some(new)) if old != new => {
                vec![format!("old mode {old}"), format!("new mode {new}")]
            }
            _ => Vec::new(),
        };
        if self.is_mixed {
            lines.push("note: includes changes that no call made".to_owned());
        }
        for file_state in [old, new] {
            match file_state {
                FileState::NotCovered(why) => lines.push(format!("no checkpoint: {why}")),
                FileState::Link(StoredPath(target)) => {
                    lines.push(format!("link to {}", paths::visible(target)));
                }
                FileState::Absent | FileState::File { .. } => {}
            }
        }
        match self.unshown.filter(|_| old.hash() != new.hash()) {
            Some(Unshown::TooLarge) => lines.push("note: too large to be shown".to_owned()),
            Some(Unshown::Binary | Unshown::Unreadable) => {
                let side = |side: char, file_state: &FileState, name: &str| match file_state {
                    FileState::Absent => "/dev/null".to_owned(),
                    _ => format!("{side}/{name}"),
                };
                let new_name = self.moved_to.as_ref().unwrap_or(&self.name);
                let sides = [side('a', old, &self.name), side('b', new, new_name)];
                lines.push(format!("Binary files {} differ", sides.join(" and ")));
            }
            None => {}
        }
        lines.iter().for_each(|it| self.head += &format!("{it}\n"));
    }
}

/// The mode of a file or link as Git writes it.
fn mode(file_state: &FileState) -> Option<String> {
    match file_state {
        FileState::File { mode, .. } => Some(format!("100{mode:03o}")),
        FileState::Link(_) => Some("120000".to_owned()),
        FileState::Absent | FileState::NotCovered(_) => None,
    }
}

/// The text of a file, `None` if it does not exist; or why it is not shown, if it has a content.
fn text(file_state: &FileState, objects: &Objects) -> Result<Option<String>, Option<Unshown>> {
    let hash = match file_state {
        FileState::Absent => return Ok(None),
        FileState::File { hash, .. } => *hash,
        FileState::Link(_) | FileState::NotCovered(_) => return Err(None),
    };
    // What cannot be read is reported when it is restored.
    let content = objects.get(hash).map_err(|_| Some(Unshown::Binary))?;
    if content.len() > MOST_OF_FILE {
        return Err(Some(Unshown::TooLarge));
    }
    let text = String::from_utf8(content).map_err(|_| Some(Unshown::Binary))?;
    // A NUL marks binary content.
    if text.contains('\0') {
        Err(Some(Unshown::Binary))
    } else {
        Ok(Some(text))
    }
}

// Finds files that were moved: one that is gone, and a new one with the same or a similar text.

/// Least percentage of lines that a moved file keeps, as in Git.
const SIMILAR: usize = 50;
/// Maximum number of pairs whose texts are compared.
const MOST_COMPARED: usize = 400;

/// Joins the two places of each file that was moved.
pub(super) fn pair(mut files: Vec<TurnFile>) -> Vec<TurnFile> {
    let mut gone = Vec::new();
    let mut made = Vec::new();
    for (at, file) in files.iter().enumerate() {
        match (&file.change.before, &file.change.after) {
            (FileState::File { .. }, FileState::Absent) => gone.push(at),
            (FileState::Absent, FileState::File { .. }) => made.push(at),
            _ => {}
        }
    }
    let mut pairs = Vec::new();
    let compares = gone.len() * made.len() <= MOST_COMPARED;
    for from in gone {
        let all = made
            .iter()
            .map(|to| (similarity(&files, from, *to, compares), *to));
        // The first of equal ones.
        let best = all.filter(|it| it.0 >= SIMILAR).rev().max_by_key(|it| it.0);
        if let Some((similarity, to)) = best {
            made.retain(|it| *it != to);
            pairs.push((from, to, similarity));
        }
    }
    for (from, to, similarity) in &pairs {
        let new = files[*to].clone();
        let old = &mut files[*from];
        old.head = format!(
            "similarity index {similarity}%\nrename from {}\nrename to {}\n",
            old.name, new.name
        );
        old.unshown = old.unshown.or(new.unshown);
        old.is_mixed |= new.is_mixed;
        (old.after, old.moved_to) = (new.after, Some(new.name));
        old.moved = Some(new.change);
        // A difference needs both texts.
        if old.unshown.is_some() {
            (old.before, old.after) = (None, None);
        }
    }
    let mut at = 0;
    files.retain(|_| {
        at += 1;
        pairs.iter().all(|(_, to, _)| *to != at - 1)
    });
    files
}

/// The percentage of lines that two files share.
fn similarity(files: &[TurnFile], from: usize, to: usize, compares: bool) -> usize {
    let (old, new) = (&files[from], &files[to]);
    if old.change.before.hash() == new.change.after.hash() {
        return 100;
    }
    let (Some(before), Some(after)) = (&old.before, &new.after) else {
        return 0;
    };
    if !compares {
        return 0;
    }
    let mut lines: HashMap<&str, usize> = HashMap::new();
    before
        .lines()
        .for_each(|it| *lines.entry(it).or_default() += 1);
    let kept = after.lines().filter(|it| match lines.get_mut(it) {
        Some(left @ 1..) => {
            *left -= 1;
            true
        }
        _ => false,
    });
    let most = before.lines().count().max(after.lines().count()).max(1);
    // Equal texts were found above.
    (kept.count() * 100 / most).min(99)
}
