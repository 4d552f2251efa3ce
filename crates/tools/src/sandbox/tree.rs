//! What stands below a folder that commands can write: files that are kept by their
//! names, and which folders were looked into.
//!
//! A folder is read again when its change time differs, which no program can set back.
//! Judges nothing; the names are given, and those of Git's own files are in `git`.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Names, git};
use crate::secrets::is_suspect;

/// Most folders that are looked into before a command, those nearest to the top first.
pub(super) const MAX_FOLDERS: usize = 1_000;
/// Most folders beyond these that are looked into after it.
pub(super) const MAX_NEW: usize = 4_000;
/// Within this time of a change, a folder may change again and look the same: clocks of
/// file systems tick every 10 ms.
const TICK: Duration = Duration::from_millis(50);

/// How a name stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// As a file or a folder.
    There,
    /// As a link, and where it points.
    Link(PathBuf),
}

impl State {
    /// How it stands there now, if it does.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(match found.is_symlink() {
            true => Self::Link(fs::read_link(path).unwrap_or_default()),
            false => Self::There,
        })
    }
}

/// Which of its entries matter in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// What others made and nobody works in: nothing below it is looked at.
    Shallow,
    /// Git's own.
    Git,
    /// Holds folders of Git's own, at any depth.
    Modules,
    /// Only asked for the names that matter, however much is in it.
    Top,
}

/// A folder as it was read.
#[derive(Debug)]
struct Folder {
    /// As it was before it was read; absent when it could change again unseen.
    stamp: Option<Stamp>,
    kind: Kind,
    kept: Vec<(OsString, State)>,
    /// What may be secret, going by its name.
    suspects: Vec<OsString>,
    folders: Vec<OsString>,
}

/// Which folder it is and when it last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// Of a folder; not of a link to one.
    fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        found.is_dir().then(|| Self {
            device: found.dev(),
            inode: found.ino(),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// Whether it changed so recently that it could do so again unseen.
    fn is_fresh(&self) -> bool {
        let (seconds, rest) = self.changed;
        let changed = Duration::new(seconds.unsigned_abs(), rest.unsigned_abs() as u32);
        let age = SystemTime::now().duration_since(UNIX_EPOCH + changed);
        age.is_ok_and(|age| age < TICK)
    }
}

/// Where looking begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    /// A real path.
    pub(super) path: PathBuf,
    /// Whether what is below its folders matters as well.
    pub(super) is_deep: bool,
}

/// The folders below one that were looked into.
#[derive(Debug, Default)]
pub(super) struct Tree {
    folders: HashMap<PathBuf, Arc<Folder>>,
    /// The same from the top down.
    order: Vec<(PathBuf, Arc<Folder>)>,
    /// Whether there were more than could be looked into.
    pub(super) is_cut: bool,
}

impl Tree {
    /// Looks below `root`, with what is known from the last time.
    pub(super) fn look(root: &Root, names: &Names, known: Arc<Self>) -> Arc<Self> {
        if known.still_holds() {
            return known;
        }
        Arc::new(Self::walk(root, names, &known, MAX_FOLDERS, |_, _| true))
    }

    /// Looks again where `self` looked, and into folders that were not there; nothing
    /// when all is as it was.
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
            !was_there || self.folders.contains_key(path)
        });
        Some(tree)
    }

    /// Whether none of its folders changed: what is new is listed in one of them. Costs
    /// a microsecond a folder.
    fn still_holds(&self) -> bool {
        let holds = |(path, folder): &(PathBuf, Arc<Folder>)| {
            folder.stamp.is_some() && folder.stamp == Stamp::of(path)
        };
        !self.order.is_empty() && self.order.iter().all(holds)
    }

    /// What is kept by its name, from the top down.
    pub(super) fn kept(&self) -> impl Iterator<Item = (PathBuf, &State)> {
        self.order.iter().flat_map(|(path, folder)| {
            let kept = folder.kept.iter();
            kept.map(move |(name, state)| (path.join(name), state))
        })
    }

    /// What may be secret, going by its name, from the top down.
    pub(super) fn suspects(&self) -> impl Iterator<Item = PathBuf> {
        self.order.iter().flat_map(|(path, folder)| {
            let suspects = folder.suspects.iter();
            suspects.map(move |name| path.join(name))
        })
    }

    /// How a name stood there.
    pub(super) fn state(&self, path: &Path) -> Option<&State> {
        let folder = self.folders.get(path.parent()?)?;
        let name = path.file_name()?;
        let found = folder.kept.iter().find(|(it, _)| it == name);
        found.map(|(_, state)| state)
    }

    /// The folders of Git's own that were looked into.
    pub(super) fn gits(&self) -> impl Iterator<Item = &Path> {
        let gits = self.order.iter().filter(|(_, it)| it.kind == Kind::Git);
        gits.map(|(path, _)| path.as_path())
    }

    /// Whether it is a folder of Git's own that was looked into.
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
        while let Some((path, kind)) = queue.pop_front() {
            // What other file systems hold is not looked at.
            let stamp = Stamp::of(&path).filter(|it| it.device == top.device);
            let Some(stamp) = stamp else { continue };
            if tree.order.len() >= limit {
                tree.is_cut = true;
                break;
            }
            let folder = match known.folders.get(&path) {
                Some(folder) if folder.stamp == Some(stamp) => folder.clone(),
                _ if kind == Kind::Top => Arc::new(ask(&path, stamp, names)),
                _ => Arc::new(read(&path, stamp, kind, names)),
            };
            for name in &folder.folders {
                let below = path.join(name);
                if let Some(kind) = kind_below(folder.kind, name, names)
                    && enters(&path, &below)
                {
                    queue.push_back((below, kind));
                }
            }
            tree.order.push((path.clone(), folder.clone()));
            tree.folders.insert(path, folder);
        }
        tree
    }
}

/// Of what cannot be read, nothing is known; that it can be read later is a change.
fn read(path: &Path, stamp: Stamp, kind: Kind, names: &Names) -> Folder {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries
        .filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?)))
        .collect();
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    let has = |wanted: &str| entries.iter().any(|(name, _)| name == wanted);
    let kind = match kind {
        Kind::Plain | Kind::Shallow | Kind::Modules if git::is_gits(has) => Kind::Git,
        kind => kind,
    };
    let (mut kept, mut suspects, mut folders) = (Vec::new(), Vec::new(), Vec::new());
    for (name, file_type) in entries {
        if !matches!(kind, Kind::Git | Kind::Modules) && is_suspect(Path::new(&name)) {
            suspects.push(name.clone());
        }
        let is_kept = match kind {
            Kind::Git => git::KEPT.iter().any(|it| name == *it),
            Kind::Modules | Kind::Top => false,
            // Of a folder, Git's own names are kept and not all of it.
            Kind::Plain | Kind::Shallow if name == git::FOLDER => !file_type.is_dir(),
            Kind::Plain | Kind::Shallow => names.keeps(&name),
        };
        if is_kept {
            let state = State::of(&path.join(&name)).unwrap_or(State::There);
            kept.push((name, state));
        } else if file_type.is_dir() {
            folders.push(name);
        }
    }
    Folder {
        stamp: Some(stamp).filter(|it| !it.is_fresh()),
        kind,
        kept,
        suspects,
        folders,
    }
}

/// Without reading all of it, which may be much and changes all the time.
fn ask(path: &Path, stamp: Stamp, names: &Names) -> Folder {
    let mut folder = Folder {
        stamp: Some(stamp).filter(|it| !it.is_fresh()),
        kind: Kind::Top,
        kept: Vec::new(),
        suspects: Vec::new(),
        folders: Vec::new(),
    };
    let names = names.kept.iter().map(String::as_str);
    for name in names.chain([git::FOLDER]) {
        let path = path.join(name);
        if name == git::FOLDER && fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir()) {
            folder.folders.push(name.into());
        } else if let Some(state) = State::of(&path) {
            folder.kept.push((name.into(), state));
        }
    }
    folder
}

/// What a folder in one of this kind is; nothing when it is not looked into.
fn kind_below(above: Kind, name: &OsStr, names: &Names) -> Option<Kind> {
    match above {
        Kind::Plain | Kind::Shallow | Kind::Top if name == git::FOLDER => Some(Kind::Git),
        Kind::Plain if names.is_shallow(name) => Some(Kind::Shallow),
        Kind::Plain => Some(Kind::Plain),
        Kind::Shallow | Kind::Top => None,
        Kind::Git => git::HOLDERS
            .iter()
            .any(|it| name == *it)
            .then_some(Kind::Modules),
        Kind::Modules => Some(Kind::Modules),
    }
}
