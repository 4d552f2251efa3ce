//! A file of a restore: what becomes of it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use platform::paths;

use crate::checkpoints::image::Image;
use crate::checkpoints::journal::FileChange;
use crate::checkpoints::merge;
use crate::checkpoints::objects::{Hash, Objects};

/// A file of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The real path.
    pub path: PathBuf,
    pub(in crate::checkpoints) now: Image,
    /// Its state after the restore, or the reason why it stays as it is.
    pub(in crate::checkpoints) target: Result<Image, String>,
    /// Its state before the calls, which the user can choose even if it has changed since.
    pub(in crate::checkpoints) forced: Option<Image>,
    pub(in crate::checkpoints) is_merged: bool,
    /// True if no checkpoint has a state of it, so that it can never be restored.
    pub(in crate::checkpoints) is_lost: bool,
    pub(in crate::checkpoints) made: usize,
}

impl Item {
    pub(super) fn new(
        path: PathBuf,
        now: Image,
        chain: &[FileChange],
        objects: &Objects,
        is_unsaved: bool,
    ) -> Self {
        let mut is_merged = false;
        let back = |now: Result<Image, String>, change: &FileChange| {
            revert(now?, change, objects, &mut is_merged)
        };
        let mut target = chain.iter().fold(Ok(now.clone()), back);
        // The newest change is the first, so the last one is the oldest.
        let mut forced = chain.last().map(|it| it.before.clone());
        forced = forced.filter(|it| !matches!(it, Image::NotCovered(_)));
        if let Image::NotCovered(why) = &now {
            // It could not be brought back.
            (target, forced) = (Err(why.clone()), None);
        } else if is_unsaved && matches!(target, Ok(Image::Absent) | Ok(Image::Link(_))) {
            (target, forced) = (Err("it has unsaved changes in the editor".to_owned()), None);
        }
        Self {
            forced: forced.filter(|it| target.is_err() && *it != now && !is_unsaved),
            // Folders were missing only before the change that created the file.
            made: chain.iter().map(|it| it.made).max().unwrap_or_default(),
            path,
            now,
            target,
            is_merged,
            is_lost: chain.iter().any(|it| {
                let images = [&it.before, &it.after];
                images.iter().any(|it| matches!(it, Image::NotCovered(_)))
            }),
        }
    }

    /// Whether the restore changes it.
    pub(super) fn is_change(&self) -> bool {
        self.target.as_ref().is_ok_and(|it| *it != self.now)
    }

    /// Whether it has changed since, and could be overwritten.
    pub(super) fn is_conflict(&self) -> bool {
        self.forced.is_some()
    }

    /// Whether it stays as it is, although a later restore could change it.
    pub(super) fn is_kept(&self) -> bool {
        self.target.is_err() && !self.is_lost
    }

    /// Describes in one line what happens to it.
    pub(super) fn line(&self, root: &Path, objects: &Objects) -> String {
        let name = shown(root, &self.path);
        let target = match &self.target {
            Ok(target) => target,
            Err(why) => return format!("keep     {name}: {why}"),
        };
        let count = self.count(target, objects);
        match (&self.now, target) {
            (now, target) if now == target => format!("same     {name}"),
            (_, Image::Absent) => format!("remove   {name}"),
            (Image::Absent, _) => format!("create   {name}{count}"),
            _ if self.is_merged => format!("merge    {name}{count}, keeping later changes"),
            _ => format!("restore  {name}{count}"),
        }
    }

    fn count(&self, target: &Image, objects: &Objects) -> String {
        let content = |image: &Image| match image {
            Image::Absent => Some(Vec::new()),
            image => objects.get(image.hash()?).ok(),
        };
        let contents = content(&self.now).zip(content(target));
        let count = contents.and_then(|(old, new)| merge::count(&old, &new));
        count.map_or_else(String::new, |(added, removed)| {
            format!("  +{added} −{removed}")
        })
    }
}

/// Leaves files that cannot be created because their folder is a file or a link by now, unless
/// that is removed before them.
pub(super) fn hold_back(items: &mut [Item]) {
    let removed = items.iter().filter(|it| it.target == Ok(Image::Absent));
    let removed: HashSet<PathBuf> = removed.map(|it| it.path.clone()).collect();
    for item in items.iter_mut().filter(|it| it.now == Image::Absent) {
        let mut above = item.path.ancestors().skip(1);
        let nearest = above.find_map(|it| Some((it, it.symlink_metadata().ok()?)));
        let is_held = nearest.is_some_and(|(it, status)| !status.is_dir() && !removed.contains(it));
        if is_held && item.target != Ok(Image::Absent) {
            (item.target, item.forced) = (Err("its folder is a file by now".to_owned()), None);
        }
    }
}

/// The path below the project's folder, or the whole path.
pub(super) fn shown(root: &Path, path: &Path) -> String {
    paths::visible(Path::new(&paths::below(path, root)))
}

/// Reverts one change of a file.
fn revert(
    now: Image,
    change: &FileChange,
    objects: &Objects,
    is_merged: &mut bool,
) -> Result<Image, String> {
    let FileChange { before, after, .. } = change;
    match (before, after) {
        (Image::NotCovered(why), _) => return Err(format!("no checkpoint has it: {why}")),
        _ if now == *before => return Ok(now),
        (_, Image::NotCovered(why)) => {
            return Err(format!("it is not known what the call made of it: {why}"));
        }
        _ if now == *after => return Ok(before.clone()),
        _ => {}
    }
    // The file is neither what the call found nor what it left. Content and mode are taken back
    // separately, so that a later `chmod` is kept.
    let all = [&now, before, after].map(Image::as_file);
    let [
        Some((hash, mode)),
        Some((old, old_mode)),
        Some((new, new_mode)),
    ] = all
    else {
        return Err("it has changed since".to_owned());
    };
    let mode = if mode == new_mode { old_mode } else { mode };
    let hash = if hash == new {
        old
    } else if hash == old || old == new {
        hash
    } else {
        *is_merged = true;
        merged(new, hash, old, objects)?
    };
    Ok(Image::File { hash, mode })
}

/// Applies the change from `base` to `theirs` to `ours`, and stores the result.
fn merged(base: Hash, ours: Hash, theirs: Hash, objects: &Objects) -> Result<Hash, String> {
    let content = |hash| objects.get(hash).map_err(|error| error.to_string());
    let merged = merge::merge(&content(base)?, &content(ours)?, &content(theirs)?);
    let merged = merged.ok_or("the same lines have changed since")?;
    let hash = Hash::of(&merged);
    let stored = objects.put(hash, &merged);
    stored.map_err(|error| format!("the merged text could not be stored: {error}"))?;
    Ok(hash)
}
