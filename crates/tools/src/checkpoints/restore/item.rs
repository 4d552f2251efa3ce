//! A file of a restore: what becomes of it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use chat::diff::{Counts, FileDiff};
use platform::paths;

use super::Chains;
use crate::checkpoints::file_state::{FileState, StoredPath};
use crate::checkpoints::journal::FileChange;
use crate::objects::{Hash, Objects};

/// A file of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The real path.
    pub path: PathBuf,
    pub(in crate::checkpoints) now: FileState,
    /// Its state after the restore, or the reason why it stays as it is.
    pub(in crate::checkpoints) target: Result<FileState, String>,
    /// Its state before the calls, which the user can choose even if it has changed since.
    pub(in crate::checkpoints) forced: Option<FileState>,
    pub(in crate::checkpoints) is_merged: bool,
    /// True if no checkpoint has a state of it, so that it can never be restored.
    pub(in crate::checkpoints) is_lost: bool,
    pub(in crate::checkpoints) made: usize,
}

impl Item {
    pub(super) fn new(
        path: PathBuf,
        now: FileState,
        chain: &[FileChange],
        objects: &Objects,
        is_unsaved: bool,
    ) -> Self {
        let (mut target, is_merged) = reverted(now.clone(), chain, objects);
        // The newest change is the first, so the last one is the oldest.
        let mut forced = chain.last().map(|it| it.before.clone());
        forced = forced.filter(|it| it.lack().is_none());
        if let Some(why) = now.lack() {
            // It could not be brought back.
            (target, forced) = (Err(why.to_owned()), None);
        } else if is_unsaved && matches!(target, Ok(FileState::Absent) | Ok(FileState::Link(_))) {
            (target, forced) = (Err("it has unsaved changes in the editor".to_owned()), None);
        }
        Self {
            forced: forced.filter(|it| target.is_err() && *it != now && !is_unsaved),
            made: made(chain),
            path,
            now,
            target,
            is_merged,
            is_lost: chain.iter().any(|it| it.lack().is_some()),
        }
    }

    /// Returns true if the restore changes it.
    pub(super) fn is_change(&self) -> bool {
        self.target.as_ref().is_ok_and(|it| *it != self.now)
    }

    /// Returns true if it has changed since, and could be overwritten.
    pub(super) fn is_conflict(&self) -> bool {
        self.forced.is_some()
    }

    /// Returns true if it stays as it is, although a later restore could change it.
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
            (_, FileState::Absent) => format!("remove   {name}"),
            (FileState::Absent, _) => format!("create   {name}{count}"),
            _ if self.is_merged => format!("merge    {name}{count}, keeping later changes"),
            _ => format!("restore  {name}{count}"),
        }
    }

    fn count(&self, target: &FileState, objects: &Objects) -> String {
        let content = |file_state: &FileState| match file_state {
            FileState::Absent => Some(Vec::new()),
            file_state => objects.get(file_state.hash()?).ok(),
        };
        let contents = content(&self.now).zip(content(target));
        let count = contents.and_then(|(old, new)| count(&old, &new));
        count.map_or_else(String::new, |it| format!("  {it}"))
    }
}

/// Leaves files that cannot be created because their folder has become a file or a link, unless
/// that is removed before them.
pub(super) fn hold_back(items: &mut [Item]) {
    let removed = items.iter().filter(|it| it.target == Ok(FileState::Absent));
    let removed: HashSet<PathBuf> = removed.map(|it| it.path.clone()).collect();
    for item in items.iter_mut().filter(|it| it.now == FileState::Absent) {
        let is_other = |it: &&Path| it.symlink_metadata().is_ok_and(|it| !it.is_dir());
        // The topmost, because what is below a link is elsewhere.
        let other = item.path.ancestors().skip(1).filter(is_other).last();
        let is_held = other.is_some_and(|it| !removed.contains(it));
        if is_held && item.target != Ok(FileState::Absent) {
            (item.target, item.forced) = (Err("its folder is now a file".to_owned()), None);
        }
    }
}

/// Leaves files with lines of others that cannot be put back, unless the restore leaves these lines
/// somewhere: a call may have moved what the user wrote.
pub(super) fn keep_moved(items: &mut [Item], chains: &Chains, objects: &Objects, root: &Path) {
    let content = |file_state: &FileState| file_state.hash().and_then(|it| objects.get(it).ok());
    loop {
        let moved = moved(items, chains, &content);
        if moved.is_empty() {
            return;
        }
        // Each of them that stays may be what had the lines of another one.
        for (at, from, can_force) in moved {
            let why = format!(
                "it has lines of {}, which stays as it is",
                shown(root, &from)
            );
            let target = std::mem::replace(&mut items[at].target, Err(why));
            items[at].forced = target.ok().filter(|_| can_force);
        }
    }
}

/// Finds the items that would lose lines of a file that stays: their places, that file, and whether
/// it could be overwritten.
fn moved(
    items: &[Item],
    chains: &Chains,
    content: &dyn Fn(&FileState) -> Option<Vec<u8>>,
) -> Vec<(usize, PathBuf, bool)> {
    let kept = items.iter().filter(|it| it.target.is_err());
    let mut lacking = Vec::new();
    for item in kept {
        let chain = chains
            .get(&StoredPath(item.path.clone()))
            .into_iter()
            .flatten();
        lacking.extend(chain.filter_map(|it| Some((item, content(&it.before)?))));
    }
    if lacking.is_empty() {
        return Vec::new();
    }
    let results = items.iter().map(|it| it.target.as_ref().unwrap_or(&it.now));
    let results: Vec<_> = results.filter_map(content).collect();
    let left: HashSet<&[u8]> = results.iter().flat_map(|it| lines(it)).collect();
    let changed = items.iter().enumerate().filter(|(_, it)| it.is_change());
    let moved = changed.filter_map(|(at, item)| {
        let now = content(&item.now)?;
        let now: HashSet<&[u8]> = lines(&now).filter(|it| !left.contains(it)).collect();
        let of = |it: &&(&Item, Vec<u8>)| lines(&it.1).any(|line| now.contains(line));
        let (from, _) = lacking.iter().find(of)?;
        Some((at, from.path.clone(), from.forced.is_some()))
    });
    moved.collect()
}

/// The lines of a file that say something.
fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = content.split(|it| *it == b'\n').map(<[u8]>::trim_ascii);
    let says = |it: &u8| it.is_ascii_alphanumeric() || !it.is_ascii();
    lines.filter(move |it| it.iter().any(says))
}

/// The path below the project's folder, or the whole path.
pub(super) fn shown(root: &Path, path: &Path) -> String {
    paths::below(path, root)
}

/// Joins the changes of a file, the newest first, to one from before the calls to after them.
/// What others changed between the calls is in both, unless they changed the same lines: then the
/// change includes it, and the second value is true. `None` if nothing is different.
pub(super) fn net(
    path: StoredPath,
    chain: &[FileChange],
    objects: &Objects,
) -> Option<(FileChange, bool)> {
    let (newest, oldest) = (chain.first()?, chain.last()?);
    let (reverted, _) = reverted(newest.after.clone(), chain, objects);
    let is_mixed = reverted.is_err() && chain.iter().all(|it| it.lack().is_none());
    let before = reverted.unwrap_or_else(|_| oldest.before.clone());
    if before == newest.after && before.lack().is_none() {
        return None;
    }
    let change = FileChange {
        made: made(chain),
        ..FileChange::new(path, before, newest.after.clone())
    };
    Some((change, is_mixed))
}

/// Number of folders above a file that were missing before its changes.
fn made(chain: &[FileChange]) -> usize {
    // They were missing only before the change that created the file.
    chain.iter().map(|it| it.made).max().unwrap_or_default()
}

/// Reverts the changes of a file, the newest first. The second value is true if later changes were
/// merged.
fn reverted(
    now: FileState,
    chain: &[FileChange],
    objects: &Objects,
) -> (Result<FileState, String>, bool) {
    let mut is_merged = false;
    let back = |now: Result<FileState, String>, change: &FileChange| {
        revert(now?, change, objects, &mut is_merged)
    };
    (chain.iter().fold(Ok(now), back), is_merged)
}

/// Reverts one change of a file.
fn revert(
    now: FileState,
    change: &FileChange,
    objects: &Objects,
    is_merged: &mut bool,
) -> Result<FileState, String> {
    let FileChange { before, after, .. } = change;
    match (before, after) {
        (FileState::NotCovered(why), _) => return Err(format!("no checkpoint has it: {why}")),
        _ if now == *before => return Ok(now),
        (_, FileState::NotCovered(why)) => {
            return Err(format!("it is not known what the call made of it: {why}"));
        }
        _ if now == *after => return Ok(before.clone()),
        _ => {}
    }
    // The file is neither what the call found nor what it left. Content and mode are taken back
    // separately, so that a later `chmod` is kept.
    let all = [&now, before, after].map(FileState::as_file);
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
    Ok(FileState::File { hash, mode })
}

/// Applies the change from `base` to `theirs` to `ours`, and stores the result.
fn merged(base: Hash, ours: Hash, theirs: Hash, objects: &Objects) -> Result<Hash, String> {
    let content = |hash| objects.get(hash).map_err(|error| error.to_string());
    let merged = merge(&content(base)?, &content(ours)?, &content(theirs)?);
    let merged = merged.ok_or("the same lines have changed since")?;
    let hash = Hash::of(&merged);
    let stored = objects.put(hash, &merged);
    stored.map_err(|error| format!("the merged text could not be stored: {error}"))?;
    Ok(hash)
}

/// Applies the changes from `base` to `theirs` to `ours`. `None` if both change the same or
/// adjacent lines in different ways, or if one is not text.
fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let text = |bytes| {
        std::str::from_utf8(bytes)
            .ok()
            // A NUL marks binary content, which has no lines to merge.
            .filter(|it| !it.contains('\0'))
    };
    let merged = crate::merge::merge(text(base)?, text(ours)?, text(theirs)?);
    merged.ok().map(String::into_bytes)
}

/// Numbers of added and removed lines; `None` for binary content.
fn count(old: &[u8], new: &[u8]) -> Option<Counts> {
    let is_binary = old.contains(&0) || new.contains(&0);
    // As Latin-1, because bytes that are not UTF-8 would all become the same character.
    let text = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect::<String>();
    let [old, new] = [old, new].map(text);
    (!is_binary).then(|| FileDiff::of(&old, &new).counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
        let merged = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes())?;
        String::from_utf8(merged).ok()
    }

    #[test]
    fn changes_of_different_places_are_both_kept() {
        let base = "1\n2\n3\n4\n5\n";
        assert_eq!(
            merged(base, "0\n1\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n").as_deref(),
            Some("0\n1\n2\n3\n4\nfive\n")
        );
        assert_eq!(
            merged(base, "1\n3\n4\n5\n", "1\n2\n3\n4\n5\n6").as_deref(),
            Some("1\n3\n4\n5\n6")
        );
        assert_eq!(merged(base, "x\n", "x\n").as_deref(), Some("x\n"));
        assert_eq!(merged(base, base, "").as_deref(), Some(""));
    }

    #[test]
    fn changes_of_the_same_or_adjacent_lines_conflict() {
        let base = "1\n2\n3\n4\n5\n";
        assert_eq!(merged(base, "1\na\n3\n4\n5\n", "1\nb\n3\n4\n5\n"), None);
        assert_eq!(merged(base, "1\na\n3\n4\n5\n", "1\n2\nb\n4\n5\n"), None);
        assert_eq!(
            merged(base, "1\n2\n3\n4\n5\na\n", "1\n2\n3\n4\n5\nb\n"),
            None
        );
        assert_eq!(merged("1\n", "1\n2\n\0", "0\n1\n"), None);
    }

    #[test]
    fn lines_are_counted() {
        let counts = |added, removed| Some(Counts { added, removed });
        assert_eq!(count(b"1\n2\n3\n", b"1\nzwei\nund\n3\n"), counts(2, 1));
        assert_eq!(count(b"", b"1\n"), counts(1, 0));
        assert_eq!(count(b"\xe4\n1\n", b"\xf6\n1\n"), counts(1, 1));
        assert_eq!(count(b"\0", b"1\n"), None);
    }
}
