//! Scans a writable folder for files that are protected by their names.
//!
//! A folder is read again when its change time differs, which no program can set back. The names are
//! given, besides those of Git's own files.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::sandbox::Names;
use crate::secrets::is_suspect;

/// Maximum number of folders that are scanned before a command, those nearest to the top first.
pub(super) const MAX_FOLDERS: usize = 1_000;
/// Maximum number of further folders that are scanned after it.
pub(super) const MAX_NEW: usize = 4_000;
/// Time after a change within which another change may leave the same change time: the clocks of
/// file systems tick every 10 ms.
pub(super) const TICK: Duration = Duration::from_millis(50);

impl Names {
    /// Returns true if an entry of a folder with the name `above` is protected.
    pub(super) fn keeps(&self, above: &OsStr, name: &OsStr) -> bool {
        self.kept.iter().any(|it| match it.rsplit_once('/') {
            Some((folder, last)) => {
                // The last part of the folder is enough: more is protected rather than less.
                let folder = folder.rsplit_once('/').map_or(folder, |(_, last)| last);
                is_same(last, name) && is_same(folder, above)
            }
            None => is_same(it, name),
        })
    }

    fn is_shallow(&self, name: &OsStr) -> bool {
        self.shallow.iter().any(|it| is_same(it, name))
    }
}

/// Returns true if names are equal. Ignores case, as some file systems do.
fn is_same(one: &str, other: &OsStr) -> bool {
    one.as_bytes()
        .eq_ignore_ascii_case(other.as_encoded_bytes())
}

/// The kind of a folder, which decides which of its entries are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A folder that the user works in.
    Plain,
    /// A folder of generated or installed files, whose subfolders are not scanned.
    Shallow,
    /// A Git folder.
    Git,
    /// A folder that contains Git folders at any depth.
    Modules,
    /// A folder that is not listed, because it may be large: each protected name is looked up.
    Top,
}

/// The result of reading a folder.
#[derive(Debug)]
struct Folder {
    /// Its stamp before it was read; `None` if it could change again without a new stamp.
    stamp: Option<Stamp>,
    kind: Kind,
    kept: Vec<OsString>,
    /// Entries that may be secret by their names.
    suspects: Vec<OsString>,
    folders: Vec<OsString>,
}

/// The identity of a folder and the time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of a folder; `None` for other files and for links.
    fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        found.is_dir().then(|| Self {
            device: found.dev(),
            inode: found.ino(),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// Returns true if the folder changed so recently that another change could leave the same stamp.
    fn is_fresh(&self) -> bool {
        let (seconds, rest) = self.changed;
        // The rest is less than a second in nanoseconds, so the cast loses nothing.
        let changed = Duration::new(seconds.unsigned_abs(), rest.unsigned_abs() as u32);
        let age = SystemTime::now().duration_since(UNIX_EPOCH + changed);
        age.is_ok_and(|age| age < TICK)
    }
}

/// The root of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    /// A real path.
    pub(super) path: PathBuf,
    /// True if its subfolders are scanned.
    pub(super) is_deep: bool,
}

/// The folders of a scan.
#[derive(Debug, Default)]
pub(super) struct Tree {
    folders: HashMap<PathBuf, Arc<Folder>>,
    /// The same, in the order of the scan.
    order: Vec<(PathBuf, Arc<Folder>)>,
    /// True if there were more folders than the limit.
    pub(super) is_cut: bool,
}

impl Tree {
    /// Scans `root`, reusing the last scan `known`.
    pub(super) fn look(root: &Root, names: &Names, known: Arc<Self>) -> Arc<Self> {
        if known.still_holds() {
            return known;
        }
        Arc::new(Self::walk(root, names, &known, MAX_FOLDERS, |_, _| true))
    }

    /// Scans the folders of `self` and new ones again. Returns `None` if nothing changed.
    pub(super) fn again(&self, root: &Root, names: &Names) -> Option<Self> {
        if self.still_holds() {
            return None;
        }
        let limit = self.order.len() + MAX_NEW;
        let tree = Self::walk(root, names, self, limit, |parent, path| {
            let listed = self.folders.get(parent);
            let was_there = listed.is_some_and(|it| {
                let name = path.file_name().unwrap_or_default();
                it.folders.iter().any(|known| known == name)
            });
            // Folders that the first scan left out because of its limit are left out here, too.
            !was_there || self.folders.contains_key(path)
        });
        Some(tree)
    }

    /// Returns true if none of its folders changed; a new entry changes its folder. Takes a microsecond
    /// per folder.
    fn still_holds(&self) -> bool {
        let holds = |(path, folder): &(PathBuf, Arc<Folder>)| {
            folder.stamp.is_some() && folder.stamp == Stamp::of(path)
        };
        // A scan without folders found no root, which may exist by now.
        !self.order.is_empty() && self.order.iter().all(holds)
    }

    /// The protected paths, from the top down.
    pub(super) fn kept(&self) -> impl Iterator<Item = PathBuf> {
        self.order.iter().flat_map(|(path, folder)| {
            let kept = folder.kept.iter();
            kept.map(move |name| path.join(name))
        })
    }

    /// Returns true if a protected path was there in this scan.
    pub(super) fn has(&self, path: &Path) -> bool {
        let names = path.parent().zip(path.file_name());
        names.is_some_and(|(folder, name)| {
            let folder = self.folders.get(folder);
            folder.is_some_and(|it| it.kept.iter().any(|kept| kept == name))
        })
    }

    /// The paths that may be secret by their names, from the top down.
    pub(super) fn suspects(&self) -> impl Iterator<Item = PathBuf> {
        self.order.iter().flat_map(|(path, folder)| {
            let suspects = folder.suspects.iter();
            suspects.map(move |name| path.join(name))
        })
    }

    /// The scanned Git folders.
    pub(super) fn gits(&self) -> impl Iterator<Item = &Path> {
        let gits = self.order.iter().filter(|(_, it)| it.kind == Kind::Git);
        gits.map(|(path, _)| path.as_path())
    }

    /// Returns true if it is a scanned Git folder.
    pub(super) fn is_gits(&self, path: &Path) -> bool {
        let folder = self.folders.get(path);
        folder.is_some_and(|it| it.kind == Kind::Git)
    }

    fn walk(
        root: &Root,
        names: &Names,
        known: &Self,
        limit: usize,
        enters: impl Fn(&Path, &Path) -> bool,
    ) -> Self {
        let mut tree = Self::default();
        let Some(top) = Stamp::of(&root.path) else {
            return tree;
        };
        let kind = if root.is_deep { Kind::Plain } else { Kind::Top };
        let mut queue = VecDeque::from([(root.path.clone(), kind)]);
        // Breadth-first, so that the limit cuts off the deepest folders.
        while let Some((path, kind)) = queue.pop_front() {
            // Other file systems are not scanned.
            let Some(stamp) = Stamp::of(&path).filter(|it| it.device == top.device) else {
                continue;
            };
            if tree.order.len() >= limit {
                tree.is_cut = true;
                break;
            }
            let folder = match known.folders.get(&path) {
                Some(folder) if folder.stamp == Some(stamp) => folder.clone(),
                _ => Arc::new(scan(&path, stamp, kind, names)),
            };
            let below =
                |name: &OsString| Some((path.join(name), kind_below(folder.kind, name, names)?));
            let below = folder.folders.iter().filter_map(below);
            queue.extend(below.filter(|(below, _)| enters(&path, below)));
            tree.order.push((path.clone(), folder.clone()));
            tree.folders.insert(path, folder);
        }
        tree
    }
}

impl Folder {
    fn new(stamp: Stamp, kind: Kind) -> Self {
        Self {
            // A change in a subfolder, where a protected name may be, is not seen in the stamp.
            stamp: Some(stamp).filter(|it| kind != Kind::Top && !it.is_fresh()),
            kind,
            kept: Vec::new(),
            suspects: Vec::new(),
            folders: Vec::new(),
        }
    }
}

fn scan(path: &Path, stamp: Stamp, kind: Kind, names: &Names) -> Folder {
    match kind {
        Kind::Top => ask(path, stamp, names),
        _ => read(path, stamp, kind, names),
    }
}

/// Lists a folder. One that can't be read has no entries; when it becomes readable, its stamp
/// changes.
fn read(path: &Path, stamp: Stamp, kind: Kind, names: &Names) -> Folder {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries
        .filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?)))
        .collect();
    // Sorted, so that the limit on mounts always selects the same files.
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    let has = |wanted: &str| entries.iter().any(|(name, _)| name == wanted);
    // A bare repository has no `.git` and is recognized by its entries.
    let kind = match kind {
        Kind::Plain | Kind::Shallow | Kind::Modules if is_gits(has) => Kind::Git,
        kind => kind,
    };
    let mut folder = Folder::new(stamp, kind);
    let above = path.file_name().unwrap_or_default();
    for (name, file_type) in entries {
        if !matches!(kind, Kind::Git | Kind::Modules) && is_suspect(Path::new(&name)) {
            folder.suspects.push(name.clone());
        }
        if is_kept(kind, above, &name, file_type.is_dir(), names) {
            folder.kept.push(name);
        } else if file_type.is_dir() {
            folder.folders.push(name);
        }
    }
    folder
}

/// Returns true if an entry of a folder of this kind is protected.
fn is_kept(kind: Kind, above: &OsStr, name: &OsStr, is_folder: bool, names: &Names) -> bool {
    match kind {
        Kind::Git => KEPT.iter().any(|it| name == *it),
        Kind::Modules | Kind::Top => false,
        // In a Git folder, only some names are protected.
        Kind::Plain | Kind::Shallow if name == FOLDER => !is_folder,
        Kind::Plain | Kind::Shallow => names.keeps(above, name),
    }
}

/// Looks up the protected names in a folder without listing it.
fn ask(path: &Path, stamp: Stamp, names: &Names) -> Folder {
    let mut folder = Folder::new(stamp, Kind::Top);
    let names = names.kept.iter().map(String::as_str);
    for name in names.chain([FOLDER]) {
        let path = path.join(name);
        // Only some files of a Git folder are protected. A `.git` file, as in a worktree, is one
        // itself.
        if name == FOLDER && fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir()) {
            folder.folders.push(name.into());
        } else if fs::symlink_metadata(&path).is_ok() {
            folder.kept.push(name.into());
        }
    }
    folder
}

/// The kind of a subfolder; `None` if it is not scanned.
fn kind_below(above: Kind, name: &OsStr, names: &Names) -> Option<Kind> {
    match above {
        Kind::Plain | Kind::Shallow | Kind::Top if name == FOLDER => Some(Kind::Git),
        Kind::Plain if names.is_shallow(name) => Some(Kind::Shallow),
        Kind::Plain => Some(Kind::Plain),
        Kind::Shallow | Kind::Top => None,
        Kind::Git => HOLDERS
            .iter()
            .any(|it| name == *it)
            .then_some(Kind::Modules),
        Kind::Modules => Some(Kind::Modules),
    }
}

// Decides which files of a Git directory are protected because they control what runs, and which
// of them are harmless, so that commands can clone repositories.
//
// Only files that are known to be harmless count as such. Sources: gitrepository-layout(5),
// git-config(1).

/// The name of a Git directory, or of a file that contains its path.
pub(super) const FOLDER: &str = ".git";
/// Protected entries of a Git directory: hooks, settings, and paths of settings.
pub(super) const KEPT: [&str; 4] = ["commondir", "config", "config.worktree", "hooks"];
/// Entries that contain the Git directories of submodules and worktrees.
pub(super) const HOLDERS: [&str; 2] = ["modules", "worktrees"];
/// Maximum size of a file that can be harmless, in bytes.
const MOST: u64 = 64 * 1024;
/// Settings that run nothing and name no file that does, as sections and keys in lower case. They
/// include everything that `git init`, `clone`, `submodule`, and `worktree` write.
const HARMLESS: [(&str, &[&str]); 11] = [
    (
        "core",
        &[
            "autocrlf",
            "bare",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "repositoryformatversion",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
        ],
    ),
    (
        "remote",
        &[
            "fetch",
            "gh-resolved",
            "mirror",
            "partialclonefilter",
            "promisor",
            "prune",
            "pushurl",
            "tagopt",
            "url",
        ],
    ),
    ("branch", &["remote", "merge", "rebase"]),
    ("user", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("index", &["sparse", "version"]),
    ("gc", &["auto"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote"]),
    ("submodule", &["url", "active"]),
    (
        "extensions",
        &[
            "objectformat",
            "partialclone",
            "refstorage",
            "worktreeconfig",
        ],
    ),
];

/// Returns true if Git recognizes a folder with these entries as a Git folder, whatever its name.
pub(super) fn is_gits(has: impl Fn(&str) -> bool) -> bool {
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// Returns true if a new file at `path` is harmless.
pub(super) fn is_harmless(path: &Path, tree: &Tree) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let Some((name, folder)) = name.zip(path.parent()) else {
        return false;
    };
    // A link is never harmless, because its target may change.
    if path.is_symlink() {
        return false;
    }
    match name {
        FOLDER => points(path, "gitdir: ", folder, tree),
        "commondir" if tree.is_gits(folder) => points(path, "", folder, tree),
        "config" | "config.worktree" if tree.is_gits(folder) => {
            let is_inside = |place: &str| is_inside(folder, place);
            text(path).is_some_and(|text| settings_are_harmless(&text, is_inside))
        }
        "hooks" if tree.is_gits(folder) => only_samples(path),
        _ => false,
    }
}

/// Returns true if a file contains, after `before`, the path of a Git directory that is scanned as well.
fn points(path: &Path, before: &str, folder: &Path, tree: &Tree) -> bool {
    let text = text(path).unwrap_or_default();
    let place = text.trim_end_matches('\n').strip_prefix(before);
    // A folder that does not exist yet is not harmless: a command may create it later.
    let place = place.and_then(|place| folder.join(place).canonicalize().ok());
    place.is_some_and(|place| tree.is_gits(&place))
}

/// Returns true if the worktree `place` of a submodule is in its repository. Git writes files there.
fn is_inside(folder: &Path, place: &str) -> bool {
    let above = folder.ancestors().find(|it| it.ends_with(FOLDER));
    let top = above.and_then(Path::parent);
    let place = folder.join(place).canonicalize().ok();
    top.zip(place)
        .is_some_and(|(top, place)| place.starts_with(top))
}

fn only_samples(hooks: &Path) -> bool {
    // A folder that is unreadable may contain any hook.
    let Ok(mut entries) = fs::read_dir(hooks) else {
        return false;
    };
    entries.all(|entry| {
        entry.is_ok_and(|entry| {
            // `git init` copies these from its template; Git runs none of them.
            let is_sample = Path::new(&entry.file_name()).extension() == Some("sample".as_ref());
            is_sample && entry.file_type().is_ok_and(|it| it.is_file())
        })
    })
}

fn text(path: &Path) -> Option<String> {
    let found = fs::symlink_metadata(path).ok()?;
    let is_readable = found.is_file() && found.len() <= MOST;
    is_readable.then(|| fs::read_to_string(path).ok()).flatten()
}

/// Returns true if each line is blank, a comment, a section header, or a harmless setting. Lines with
/// other syntax, such as a continuation, are not harmless. `is_inside` checks the path of a
/// worktree.
fn settings_are_harmless(text: &str, is_inside: impl Fn(&str) -> bool) -> bool {
    let (mut keys, mut is_core): (&[&str], bool) = (&[], false);
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            // With a continuation, Git could read the next line as a part of this one.
            return !line.ends_with('\\');
        }
        if let Some(header) = line.strip_prefix('[') {
            let Some(header) = header.strip_suffix(']') else {
                return false;
            };
            keys = section(header).unwrap_or_default();
            is_core = header.eq_ignore_ascii_case("core");
            // What follows a header on its line, as in `[a] key = value`, is not analyzed.
            return !header.contains([']', '\\', '#', ';']);
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.trim().to_ascii_lowercase();
        if is_core && key == "worktree" {
            return is_inside(value.trim());
        }
        // An address `helper::address` runs a program.
        keys.contains(&key.as_str()) && !value.contains("::") && !value.contains('\\')
    })
}

/// The harmless keys of the section with this header, such as `remote "origin"`.
fn section(header: &str) -> Option<&'static [&'static str]> {
    let (name, _) = header.split_once([' ', '\t']).unwrap_or((header, ""));
    let name = name.to_ascii_lowercase();
    let found = HARMLESS.iter().find(|(it, _)| *it == name);
    found.map(|(_, keys)| *keys)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn settings_that_run_something_are_never_harmless() {
        for text in [
            "",
            "[core]\n\tbare = false\n",
            "[core]\n\trepositoryformatversion = 0\n\tfileMode = true\n[remote \"origin\"]\n\turl = git@example.org:a/b.git\n\
         \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[core]\n\tsparseCheckout = true\n[remote \"origin\"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n",
            "# a comment\n[user]\nname = A\n",
        ] {
            assert!(settings_are_harmless(text, |_| false), "{text}");
        }
        for text in [
            "[core]\n\tworktree = ../../home\n",
            "[core]\n\tfsmonitor = ./x\n",
            "[core]\n\tbare = false\n\tFsMonitor=./x\n",
            "[core] fsmonitor = ./x\n",
            "[core]\nbare = false \\\nfsmonitor = x\n",
            "# a \\\n[core]\nhooksPath = x\n",
            "[core]\n\thooksPath = ..\n",
            "[include]\n\tpath = ../evil\n",
            "[includeIf \"gitdir:.\"]\n\tpath = ../evil\n",
            "[alias]\n\tstatus = !sh\n",
            "[filter \"x\"]\n\tsmudge = sh\n",
            "[remote \"origin\"]\n\turl = ext::sh -c id\n",
            "[remote \"origin\"]\n\tuploadpack = sh\n",
            "[submodule \"x\"]\n\tupdate = !sh\n",
            "[core]\nsshCommand = sh\n",
            "key = x\n",
            "[diff]\nexternal = x\n",
        ] {
            assert!(!settings_are_harmless(text, |_| false), "{text}");
        }
    }

    #[test]
    fn files_are_written_only_beside_their_repository() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let git = top.join("project/.git/modules/sub");
        fs::create_dir_all(&git).unwrap();
        fs::create_dir_all(top.join("project/sub")).unwrap();
        for (place, expected) in [
            ("../../../sub", true),
            ("../../..", true),
            ("../../../..", false),
            ("/", false),
            ("../../../none", false),
        ] {
            assert_eq!(is_inside(&git, place), expected, "{place}");
        }
    }
}
