//! What the calls since a message changed, file by file, and restores of parts of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chat::diff::review::ReviewedFile;
use platform::paths;

use super::find::{Chains, find};
use super::item::{Item, net, shown};
use super::renames::pair;
use super::{FileArgument, Request, Restore, Restored, chains_of};
use crate::buffers::OpenBuffers;
use crate::checkpoints::image::{Image, Name};
use crate::checkpoints::journal::{CallLabel, FileChange, JournalScope};
use crate::checkpoints::recorder::{NEW_FILE, capture};
use crate::checkpoints::store::Store;
use crate::error::ToolError;
use crate::files::{RealPath, blocking};
use crate::objects::{Hash, Objects};

/// Largest text of a file that is shown, in bytes.
const MOST_OF_FILE: usize = 1024 * 1024;
/// Maximum bytes of all texts that are shown.
const MOST: usize = 8 * 1024 * 1024;

/// What calls changed since a message, without what is as it was before them.
#[derive(Debug)]
pub struct TurnChanges {
    store: Arc<Store>,
    /// The files, by path.
    pub files: Vec<TurnFile>,
    /// What the user needs to know about it: damage of the journal, and what it lacks.
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
    /// What its texts do not show, in lines as in Git's diffs.
    pub head: String,
    pub(super) change: FileChange,
    /// The other place of a file that was moved.
    pub(super) moved: Option<FileChange>,
    /// Why its texts are not shown, if it has contents.
    pub(super) unshown: Option<Unshown>,
    /// Whether others changed it between the calls, and that cannot be told apart.
    pub(super) is_mixed: bool,
}

/// Why a text is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unshown {
    Binary,
    Large,
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
        let found = blocking(move || find(&folder, scope, &request).map_err(ToolError::Failed));
        let found = found.await.map_err(|error| error.to_string())?;
        let Some((restore, reverted)) = found.and_then(|mut it| {
            let reverted = it.reverted.take()?;
            Some((it, reverted))
        }) else {
            return Ok(None);
        };
        let store = restore.store;
        let chains = chains_of(store.clone(), reverted).await?;
        let mut changed = Vec::new();
        for (path, chain) in chains {
            let now = capture(&RealPath::exact(path.0.clone()), buffers)
                .await
                .image;
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
fn stored(objects: &Objects, text: Option<&str>, change: &FileChange) -> Result<Image, String> {
    let Some(text) = text else {
        return Ok(Image::Absent);
    };
    let hash = Hash::of(text.as_bytes());
    let stored = objects.put(hash, text.as_bytes());
    stored.map_err(|error| format!("Nothing was reverted: the text cannot be stored: {error}."))?;
    let modes = [&change.after, &change.before].into_iter();
    let mode = modes.filter_map(Image::mode).next();
    Ok(Image::File {
        hash,
        mode: mode.unwrap_or(NEW_FILE),
    })
}

/// Returns what changed, with the texts that are shown.
fn files(store: &Store, changed: Vec<(Name, Vec<FileChange>, Image)>) -> Vec<TurnFile> {
    let mut left = MOST;
    let files = changed.into_iter().filter_map(|(path, chain, now)| {
        let (change, is_mixed) = net(path, &chain, &store.objects)?;
        // What the user has taken back already is no change any more.
        let is_back = now == change.before && !matches!(now, Image::NotCovered(_));
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
                    None => file.unshown = Some(Unshown::Large),
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
        let mut lines = modes(old, new);
        if self.is_mixed {
            lines.push("note: includes changes that no call made".to_owned());
        }
        lines.extend([old, new].into_iter().filter_map(place));
        let differs = old.hash() != new.hash();
        if self.unshown == Some(Unshown::Large) && differs {
            lines.push("note: too large to be shown".to_owned());
        }
        if self.unshown == Some(Unshown::Binary) && differs {
            let side = |side: char, image: &Image, name: &str| match image {
                Image::Absent => "/dev/null".to_owned(),
                _ => format!("{side}/{name}"),
            };
            let new_name = self.moved_to.as_ref().unwrap_or(&self.name);
            let sides = [side('a', old, &self.name), side('b', new, new_name)];
            lines.push(format!("Binary files {} differ", sides.join(" and ")));
        }
        self.head
            .extend(lines.into_iter().map(|it| format!("{it}\n")));
    }
}

/// The lines about the modes of a file before and after.
fn modes(old: &Image, new: &Image) -> Vec<String> {
    match (mode(old), mode(new)) {
        (None, Some(mode)) => vec![format!("new file mode {mode}")],
        (Some(mode), None) => vec![format!("deleted file mode {mode}")],
        (Some(old), Some(new)) if old != new => {
            vec![format!("old mode {old}"), format!("new mode {new}")]
        }
        _ => Vec::new(),
    }
}

/// The line about what has no content.
fn place(image: &Image) -> Option<String> {
    match image {
        Image::NotCovered(why) => Some(format!("no checkpoint: {why}")),
        Image::Link(Name(target)) => Some(format!("link to {}", paths::visible(target))),
        Image::Absent | Image::File { .. } => None,
    }
}

/// The mode of a file or link as Git writes it.
fn mode(image: &Image) -> Option<String> {
    match image {
        Image::File { mode, .. } => Some(format!("100{mode:03o}")),
        Image::Link(_) => Some("120000".to_owned()),
        Image::Absent | Image::NotCovered(_) => None,
    }
}

/// The text of a file, `None` if it does not exist; or why it is not shown, if it has a content.
fn text(image: &Image, objects: &Objects) -> Result<Option<String>, Option<Unshown>> {
    let hash = match image {
        Image::Absent => return Ok(None),
        Image::File { hash, .. } => *hash,
        Image::Link(_) | Image::NotCovered(_) => return Err(None),
    };
    // What cannot be read is reported when it is restored.
    let content = objects.get(hash).map_err(|_| Some(Unshown::Binary))?;
    if content.len() > MOST_OF_FILE {
        return Err(Some(Unshown::Large));
    }
    let text = String::from_utf8(content).map_err(|_| Some(Unshown::Binary))?;
    // A NUL marks binary content.
    if text.contains('\0') {
        Err(Some(Unshown::Binary))
    } else {
        Ok(Some(text))
    }
}
