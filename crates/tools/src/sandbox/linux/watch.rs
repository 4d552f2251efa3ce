//! Finds files that commands may not make, by scans before and after a command.
//!
//! A sandbox can't prevent new files with a protected name in a writable folder, so they are
//! renamed after the command. Files with such a name that exist before it are mounted read-only.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::io::Errno;

use super::identity::{Found, Identity, Others, Registered, Running, is_same, is_same_file};
use super::todo::{self, Commands};
use super::tree::{MAX_NEW, Root, Tree};
use crate::mounts::Mounts;
use crate::sandbox::SandboxLimits;
use crate::secrets::Concealed;

/// Maximum number of files in working folders that are mounted read-only. Each mount adds about
/// half a millisecond to the start of a command.
const MOST_KEPT: usize = 32;
/// Errors of programs that tried to change a read-only file.
const REFUSED: [&str; 2] = ["Device or resource busy", "Read-only file system"];
/// Maximum number of paths that a note names.
const MOST_NAMED: usize = 10;

/// The protected files that existed before a command.
pub struct Watch {
    limits: SandboxLimits,
    trees: Vec<(Root, Arc<Tree>)>,
    /// Files that earlier commands created and could keep. Commands may change them as long as
    /// they remain harmless.
    theirs: HashSet<PathBuf>,
    /// The commands in Git's todo lists, by Git directory.
    commands: HashMap<PathBuf, Commands>,
    /// Protected paths outside the working folders.
    places: Vec<PathBuf>,
    /// This command among those that run, with the protected files that existed before it.
    registered: Registered,
    /// Files that other running commands had made. Those commands report them when they end.
    made_by_others: Found,
    /// Paths that are mounted read-only for this command.
    mounted: Vec<PathBuf>,
    /// The mounts of the command, registered until it ends.
    mounts: Option<Mounts>,
}

impl Watch {
    /// Scans for protected files; never returns `None`. `limits` has real paths. Takes 1 or 2 ms; the first scan reads
    /// up to 1,000 folders.
    pub(in crate::sandbox) fn begin(limits: &SandboxLimits) -> Option<Self> {
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        let others = Others::now();
        let look = |root: Root| {
            let tree = Tree::look(&root, &limits.names, super::bwrap::seen(&root));
            super::bwrap::remember(&root, tree.clone());
            (root, tree)
        };
        let trees: Vec<_> = roots(limits).into_iter().map(look).collect();
        let theirs = super::bwrap::made_by_commands(|path| {
            let mut there = trees.iter().filter(|(_, tree)| tree.has(path));
            // A file that is no longer harmless was changed by the user, so it is protected.
            there.all(|(_, tree)| super::tree::is_harmless(path, tree))
        });
        // The scan has read these folders, so the secrets in them need no other search.
        let suspects = trees.iter().flat_map(|(_, tree)| tree.suspects()).collect();
        let limits = SandboxLimits {
            concealed: Some(limits.secrets_to_hide(suspects)),
            ..limits.clone()
        };
        let is_writable = |path: &&PathBuf| limits.writable.iter().any(|it| path.starts_with(it));
        // Elsewhere, the sandbox itself keeps commands from creating them.
        let places = limits.never_made.iter().filter(is_writable);
        let places: Vec<PathBuf> = places.cloned().collect();
        let found = trees.iter().flat_map(|(_, tree)| tree.kept());
        let found = found.chain(places.iter().cloned());
        let found = found.filter_map(|path| Identity::of(&path).map(|now| (path, now)));
        // What a command that still runs has made was not there before this one either.
        let (before, made_by_others): (Found, Found) = found.partition(|(path, now)| {
            others.have_not_made(path, now) || super::bwrap::is_as_written(path)
        });
        let registered = Registered::new(Running {
            roots: trees.iter().map(|(root, _)| root.clone()).collect(),
            before,
            is_ending: AtomicBool::new(false),
            started: started.unwrap_or_default(),
        });
        let gits = trees.iter().flat_map(|(_, tree)| tree.gits());
        let commands = gits.map(|git| (git.to_owned(), todo::commands(git)));
        let mut watch = Self {
            commands: commands.collect(),
            trees,
            theirs,
            places,
            registered,
            made_by_others,
            mounted: Vec::new(),
            limits,
            mounts: None,
        };
        let concealed = watch.concealed().iter().map(|it| it.path.clone());
        let kept = watch.limits().kept;
        let mounted = kept.iter().cloned().chain(concealed);
        watch.mounts = Some(Mounts::new(mounted));
        watch.mounted = kept;
        Some(watch)
    }

    /// The secrets that are hidden from the command.
    pub(crate) fn concealed(&self) -> &[Concealed] {
        self.limits.concealed.as_deref().unwrap_or_default()
    }

    /// The working folders.
    pub(crate) fn work(&self) -> &[PathBuf] {
        &self.limits.work
    }

    /// The limits for the command: the files that were found are read-only.
    pub(in crate::sandbox) fn limits(&self) -> SandboxLimits {
        let found = self.trees.iter().flat_map(|(_, tree)| tree.kept());
        let found = found.filter(|path| !self.theirs.contains(path));
        let found = found.take(MOST_KEPT);
        let places = self
            .places
            .iter()
            .filter(|path| self.before(path).is_some());
        let places = places.cloned();
        let mut kept = crate::sandbox::real(&found.chain(places).collect::<Vec<_>>());
        kept.extend(self.limits.kept.iter().cloned());
        kept.sort();
        // A mount of a folder includes what is below it.
        kept.dedup_by(|path, above| path.starts_with(above));
        SandboxLimits {
            kept,
            ..self.limits.clone()
        }
    }

    /// A note about the read-only files that a command's `output` names, if the output has one of
    /// the errors in [`REFUSED`]. Blocks, because it reads the file system.
    pub fn explain(&self, output: &str) -> Option<String> {
        if !REFUSED.iter().any(|words| output.contains(words)) {
            return None;
        }
        let is_named = |path: &&PathBuf| {
            let folders = self.limits.work.iter().chain(&self.limits.writable);
            let below = folders.filter_map(|root| path.strip_prefix(root).ok());
            below.chain([path.as_path()]).any(|it| {
                it.to_str()
                    // A root itself has an empty path below it, which every text contains.
                    .is_some_and(|it| !it.is_empty() && output.contains(it))
            })
        };
        let kept = self.limits().kept;
        let named: Vec<String> = kept.iter().filter(is_named).map(|it| shown(it)).collect();
        let files = named.get(..named.len().min(MOST_NAMED))?.join(", ");
        (!files.is_empty()).then(|| {
            format!(
                "[The sandbox keeps what runs by itself or says what may run as it is: {files}. The user can change \
                 that outside of it.]"
            )
        })
    }

    /// Renames new protected files, and returns a note about them for the model and the user.
    pub fn end(self) -> Option<String> {
        let mut notes = Vec::new();
        let mut is_cut = false;
        self.registered.end();
        for (root, before) in &self.trees {
            let changed = before.again(root, &self.limits.names);
            is_cut |= changed.as_ref().is_some_and(|it| it.is_cut);
            // A file in `theirs` can change although its folder did not.
            let after = changed.map_or_else(|| before.clone(), Arc::new);
            let made = after
                .kept()
                .filter(|path| self.has_changed(path) || self.theirs.contains(path));
            let (harmless, others): (Vec<_>, Vec<_>) =
                made.partition(|path| super::tree::is_harmless(path, &after));
            super::bwrap::add_made_by_commands(harmless.into_iter());
            // File tools that run at the same time may write them.
            let others = others
                .into_iter()
                .filter(|path| !super::bwrap::is_as_written(path));
            notes.extend(others.map(|path| taken(&root.path, &path)));
            let none = Commands::new();
            notes.extend(after.gits().flat_map(|git| {
                let before = self.commands.get(git).unwrap_or(&none);
                todo::take(&root.path, git, before)
            }));
            // The next command starts with this scan.
            super::bwrap::remember(root, after.clone());
        }
        for path in &self.places {
            let root = self.limits.writable.iter().find(|it| path.starts_with(it));
            if let Some(root) = root
                && self.has_changed(path)
                && !super::bwrap::is_as_written(path)
            {
                notes.push(taken(root, path));
            }
        }
        note(&notes, is_cut)
    }

    /// The identity of a protected file from before the command.
    fn before(&self, path: &Path) -> Option<&Identity> {
        self.registered.running.before.get(path)
    }

    /// Returns true if a command may have made what is at `path`: it was not there before this one as
    /// it is now.
    fn has_changed(&self, path: &Path) -> bool {
        let Some(now) = Identity::of(path) else {
            return false;
        };
        let Some(before) = self.before(path) else {
            let is_untouched = is_same(self.made_by_others.get(path), &now);
            return !(is_untouched && self.registered.others_may_have_made(path, &now));
        };
        // The user may change a mounted file, but no command can. If the user replaces it, the mount
        // is gone. Git replaces its files at each change, and a repository without them is none.
        let is_mounted = self.mounted.iter().any(|it| path.starts_with(it));
        let is_users = is_same_file(before, &now)
            || path
                .components()
                .any(|it| it.as_os_str() == super::tree::FOLDER);
        let is_allowed = is_same(Some(before), &now) || (is_mounted && is_users);
        !is_allowed
    }
}

/// The folders to scan: writable working folders with their subfolders, and the top level of
/// writable folders above and elsewhere, because Git and other programs also search parent
/// folders.
fn roots(limits: &SandboxLimits) -> Vec<Root> {
    let work = crate::sandbox::real(&limits.work);
    let writable = &limits.writable;
    let can_be = |it: &&PathBuf| writable.iter().any(|root| it.starts_with(root));
    let inside = writable
        .iter()
        .filter(|it| work.iter().any(|work| it.starts_with(work)));
    let mut deep: Vec<PathBuf> = work.iter().filter(can_be).chain(inside).cloned().collect();
    deep.sort();
    deep.dedup_by(|path, above| path.starts_with(above));
    let above = deep.iter().flat_map(|it| it.ancestors().skip(1));
    let above = above.map(Path::to_owned).filter(|it| can_be(&it));
    let mut tops: Vec<PathBuf> = above.chain(writable.iter().cloned()).collect();
    tops.retain(|top| !deep.iter().any(|it| top.starts_with(it)));
    tops.sort();
    tops.dedup();
    let root = |is_deep| move |path| Root { path, is_deep };
    let deep = deep.into_iter().map(root(true));
    deep.chain(tops.into_iter().map(root(false))).collect()
}

fn shown(path: &Path) -> String {
    platform::paths::visible(path)
}

/// Renames a protected file that a command created, and returns a sentence about it.
pub(super) fn taken(root: &Path, path: &Path) -> String {
    match set_aside(root, path) {
        Ok(new) => format!("{} was renamed to {}.", shown(path), shown(&new)),
        Err(error) => format!(
            "{} could not be renamed ({error}) and is still there.",
            shown(path)
        ),
    }
}

fn note(taken: &[String], is_cut: bool) -> Option<String> {
    let mut lines = Vec::new();
    if !taken.is_empty() {
        lines.push(
            "While this ran, files came into being that run by themselves or say what may run. Commands may not make \
             these; the user can put them back."
                .to_owned(),
        );
        lines.extend(taken.iter().take(MOST_NAMED).cloned());
        if let more @ 1.. = taken.len().saturating_sub(MOST_NAMED) {
            lines.push(format!("And {more} more."));
        }
    }
    if is_cut {
        lines.push(format!(
            "This made more than {MAX_NEW} folders, and not all of them were looked through for files that run by themselves."
        ));
    }
    (!lines.is_empty()).then(|| format!("[{}]", lines.join("\n")))
}

// Renames protected files that a command created. Nothing is deleted.
//
// Other commands may run at the same time, so no link is followed.

/// The suffix of renamed files.
const ENDING: &str = ".flemma-held";
/// Maximum number of new names that are tried.
const MOST: usize = 100;

/// Renames `path`, which is below `root`, and returns its new path.
///
/// # Errors
///
/// It doesn't exist, a component of the path is a link, or its folder is not writable.
pub(super) fn set_aside(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let (folder, name) = (path.parent(), path.file_name());
    let (folder, name) = folder.zip(name).ok_or(Errno::INVAL)?;
    let opened = open(root, folder)?;
    for number in 1..=MOST {
        let new = held_name(name, number);
        // Never over another file, which may be one that was set aside before.
        let renamed = renameat_with(&opened, name, &opened, &new, RenameFlags::NOREPLACE);
        match renamed {
            Ok(()) => return Ok(folder.join(new)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::EXIST.into())
}

fn held_name(name: &OsStr, number: usize) -> OsString {
    let mut new = name.to_owned();
    new.push(ENDING);
    if number > 1 {
        new.push(format!("-{number}"));
    }
    new
}

/// Opens a folder below `root` component by component, so that no link is followed.
pub(super) fn open(root: &Path, folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let below = folder.strip_prefix(root).map_err(|_| Errno::INVAL)?;
    let mut opened = openat(CWD, root, flags, Mode::empty())?;
    for part in below.components() {
        let Component::Normal(name) = part else {
            return Err(Errno::INVAL.into());
        };
        opened = openat(&opened, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_is_replaced_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir_all(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/.envrc"), "theirs").unwrap();
        symlink(folder.path().join("outside"), root.join("link")).unwrap();
        for expected in ["sub/.envrc.flemma-held", "sub/.envrc.flemma-held-2"] {
            fs::write(root.join("sub/.envrc"), expected).unwrap();
            let new = set_aside(&root, &root.join("sub/.envrc")).unwrap();
            assert_eq!(new, root.join(expected));
            assert_eq!(fs::read_to_string(new).unwrap(), expected);
        }
        set_aside(&root, &root.join("link/.envrc")).unwrap_err();
        assert!(folder.path().join("outside/.envrc").exists());
        set_aside(&root, &root.join("none")).unwrap_err();
    }
}
