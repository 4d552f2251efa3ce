//! Secret files: keys, credentials, browser profiles, key stores, `.env` files, and Flemma's own
//! configuration and state.
//!
//! Reading one needs the user's approval, and the sandbox hides them. Both the spelling of a path
//! and its target are checked; the file need not exist. `sandbox.reveal` lists exceptions.

mod conceal;
mod names;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::{fmt, fs};

use platform::files::{FileKind, FileStatus};
use platform::{paths, places};
use sha1::{Digest, Sha1};

pub use self::conceal::Concealed;
use self::conceal::Inodes;
pub(crate) use self::conceal::is_suspect;
use crate::files::{leads_to, without_dots};
use crate::git_index::{GitIndex, git_folder};
use crate::names::folded;

/// Why the content of a file is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    /// Keys of SSH, GPG and similar programs.
    Key,
    /// Passwords and tokens that programs log in with.
    Credentials,
    /// A browser's or mail program's profile.
    Profile,
    /// A password manager's or system's store.
    KeyStore,
    /// A `.env` file.
    Environment,
    /// Flemma's configuration, decisions, and logs.
    Ours,
    /// The environment or memory of a running process.
    Process,
    /// Input of a user into a shell, a database, or an editor.
    History,
}

impl SecretKind {
    /// The contents of such a file: a noun that follows "it may hold".
    pub fn what(self) -> &'static str {
        match self {
            Self::Key => "private keys",
            Self::Credentials => "passwords or tokens",
            Self::Profile => "a browser's or mail program's sessions",
            Self::KeyStore => "stored passwords",
            Self::Environment => "secrets of an environment",
            Self::Ours => "Flemma's own configuration or decisions",
            Self::Process => "the environment or memory of a process",
            Self::History => "what you typed",
        }
    }
}

/// A secret file or folder: why it is secret, and the path that `sandbox.reveal` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFile {
    /// Why it is secret.
    pub kind: SecretKind,
    /// The path to reveal: the target of links, or the spelling if only that is secret.
    pub path: PathBuf,
}

impl SecretFile {
    /// The option that permits reading it, as the user writes it.
    pub fn grant(&self) -> String {
        let path = self.path.display().to_string();
        format!("sandbox.reveal = {{ \"{}\" }}", path.escape_debug())
    }
}

impl fmt::Display for SecretFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = paths::visible(&self.path);
        write!(f, "{path} is secret: it may hold {}", self.kind.what())
    }
}

/// Flemma's own folders that are not secret: tools are programs, full outputs belong to a chat,
/// and the tutor's chat is in the folder of its notes.
const OPEN: [&str; 3] = ["tools", "outputs", "tutor"];

/// Decides which files of one user are secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    home: Option<PathBuf>,
    /// Flemma's configuration and state.
    ours: Vec<PathBuf>,
    /// Paths that variables name, and the default path in the home folder that each replaces.
    moved: Vec<(PathBuf, &'static str)>,
    /// Absolute paths of `sandbox.reveal`. They and everything below them are not secret.
    revealed: Vec<PathBuf>,
    /// The secret files in the home folder, to recognize hard links to them.
    inodes: Inodes,
}

impl Secrets {
    /// The secrets of the user that runs this process.
    pub fn of_this_user(revealed: &[PathBuf]) -> Self {
        let home = std::env::home_dir().filter(|it| it.is_absolute());
        Self {
            ours: own_folders(home.as_deref()),
            home,
            moved: moved_by_variables(),
            // Links above a revealed path are followed, so that the home folder may be a link.
            // The path itself is not followed: a command that may write there could make it a
            // link to any other secret.
            revealed: revealed
                .iter()
                .flat_map(|path| [without_dots(path), with_real_parent(path)])
                .collect(),
            inodes: Inodes::default(),
        }
    }

    /// The secrets of the user that runs this process, none of them revealed. Computed once,
    /// because it follows many links.
    pub(crate) fn usual() -> Arc<Self> {
        static USUAL: LazyLock<Arc<Secrets>> =
            LazyLock::new(|| Arc::new(Secrets::of_this_user(&[])));
        USUAL.clone()
    }

    /// The secrets of a user with this home folder.
    #[cfg(test)]
    pub(crate) fn in_home(home: &Path) -> Self {
        Self {
            home: Some(home.to_owned()),
            ..Self::default()
        }
    }

    /// Reveals these paths.
    #[cfg(test)]
    pub(crate) fn revealing(mut self, paths: &[&Path]) -> Self {
        self.revealed
            .extend(paths.iter().map(|it| (*it).to_owned()));
        self
    }

    /// Why the file at this absolute path is secret; `None` if it isn't.
    pub fn kind(&self, path: &Path) -> Option<SecretKind> {
        self.find(path).map(|secret| secret.kind)
    }

    /// The secret at this absolute path, if it is one. Follows links.
    pub fn find(&self, path: &Path) -> Option<SecretFile> {
        let real = leads_to(path);
        let status = FileStatus::of_link(&real).ok();
        let is_folder = status.is_some_and(|it| it.kind == FileKind::Folder);
        let found = |kind, path: &Path| SecretFile {
            kind,
            path: path.to_owned(),
        };
        let spelled = without_dots(path);
        // The target counts first, because a revealed link may lead anywhere by now.
        if self.is_revealed(&real) {
            return None;
        }
        let kind = self.place(&real, is_folder);
        let kind = match (kind, &status) {
            (Some(SecretKind::Key), Some(status)) if names::is_public(&real, status) => None,
            (None, Some(status)) if names::is_key(&real, status) => Some(SecretKind::Key),
            (kind, _) => kind,
        };
        if let Some(kind) = kind.or_else(|| self.linked(status.as_ref()?)) {
            return Some(found(kind, &real));
        }
        // Without a link, there is no second name to check.
        if spelled == real {
            return None;
        }
        let kind = self.unrevealed(&spelled, is_folder)?;
        // The link's name is secret and its target is not, as for `~/.ssh` that is a link to a
        // folder of dotfiles.
        Some(found(kind, &spelled))
    }

    /// Why a search skips this file or folder. `path` has no links, and its folder is not secret.
    /// Checks names only.
    pub(crate) fn below(&self, path: &Path, is_folder: bool) -> Option<SecretKind> {
        let name = path.file_name();
        // Cheap tests, which exclude most names. `unrevealed` decides about the others.
        let is_ours = || self.ours.iter().any(|it| it.file_name() == name);
        let is_moved = || self.moved.iter().any(|(place, _)| path.starts_with(place));
        if !is_suspect(path) && !is_ours() && !is_moved() {
            return None;
        }
        self.unrevealed(path, is_folder)
    }

    /// Why a file is secret if it is a hard link to a secret file in the home folder.
    pub(crate) fn linked(&self, status: &FileStatus) -> Option<SecretKind> {
        self.inodes.find(status, || {
            let files = self.files_in_home().into_iter();
            files.filter_map(|path| {
                let kind = self.unrevealed(&path, false)?;
                Some((FileStatus::of_link(&path).ok()?, kind))
            })
        })
    }

    /// Why a path is secret by its names, unless it is revealed.
    fn unrevealed(&self, path: &Path, is_folder: bool) -> Option<SecretKind> {
        let kind = self.place(path, is_folder)?;
        (!self.is_revealed(path)).then_some(kind)
    }

    fn is_revealed(&self, path: &Path) -> bool {
        self.revealed.iter().any(|it| path.starts_with(it))
    }

    /// Why a path is secret by its names. A folder is secret if everything below it is, so a
    /// folder named `.env` is not.
    fn place(&self, path: &Path, is_folder: bool) -> Option<SecretKind> {
        if is_folder {
            // Any name below it is as good, because only the folders above decide.
            self.file(&path.join("x"))
        } else {
            self.file(path)
        }
    }

    fn file(&self, path: &Path) -> Option<SecretKind> {
        let home = self.home.as_deref();
        let kind = self.ours(path).or_else(|| names::kind(path, home));
        kind.or_else(|| {
            self.moved
                .iter()
                .find_map(|moved| self.elsewhere(path, moved))
        })
    }

    /// Why a path below one that a variable names is secret: it is checked as if it were at its
    /// default location.
    fn elsewhere(&self, path: &Path, (place, usual): &(PathBuf, &str)) -> Option<SecretKind> {
        let home = self.home.as_deref().unwrap_or(Path::new("/"));
        let rest = path.strip_prefix(place).ok()?;
        let path = if rest.as_os_str().is_empty() {
            home.join(usual)
        } else {
            home.join(usual).join(rest)
        };
        names::kind(&path, Some(home))
    }

    fn ours(&self, path: &Path) -> Option<SecretKind> {
        let mut folders = self.ours.iter();
        let inner = folders.find_map(|folder| below(path, folder))?;
        let first = inner.first().map(String::as_str);
        let is_open = first.is_some_and(|it| OPEN.contains(&it));
        (!is_open).then_some(SecretKind::Ours)
    }
}

/// The folded names of `path` below `folder`; nothing when it is not below.
fn below(path: &Path, folder: &Path) -> Option<Vec<String>> {
    let mut inner = path.components();
    // Most names are equal as they are, and folding them takes longer than all the rest.
    let is_same = |inner, outer| inner == outer || folded(inner) == folded(outer);
    let is_below = folder
        .components()
        .all(|outer| inner.next().is_some_and(|it| is_same(it, outer)));
    is_below.then(|| inner.map(folded).collect())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|it| it.path()).collect()
}

/// Flemma's configuration and state folders, as spelled and with links followed.
fn own_folders(home: Option<&Path>) -> Vec<PathBuf> {
    let bases = |variable: &str, default: &str| {
        let named = crate::variable_os(variable).map(PathBuf::from);
        let named = named.filter(|path| path.is_absolute());
        named.into_iter().chain(home.map(|it| it.join(default)))
    };
    let app = crate::variable("NVIM_APPNAME");
    let app = places::neovim_state(app.as_deref().unwrap_or("nvim"));
    let app = Path::new(&app).join("flemma");
    let config = bases("XDG_CONFIG_HOME", places::CONFIG).map(|it| it.join("flemma"));
    let state = bases("XDG_STATE_HOME", places::STATE);
    let state = state.flat_map(|it| [it.join("flemma"), it.join(&app)]);
    let spelled = config.chain(state);
    sorted(spelled.flat_map(|it| [leads_to(&it), it]).collect())
}

/// The secret paths that variables name, as spelled and with links followed, and the default
/// that each replaces.
fn moved_by_variables() -> Vec<(PathBuf, &'static str)> {
    let moved = names::MOVED.iter().flat_map(|(name, usual)| {
        let value = crate::variable_os(name).unwrap_or_default();
        // `KUBECONFIG` names several files.
        let places: Vec<PathBuf> = std::env::split_paths(&value).collect();
        let places = places.into_iter().filter(|it| it.is_absolute());
        places.flat_map(|it| [(leads_to(&it), *usual), (it, *usual)])
    });
    sorted(moved.collect())
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items.dedup();
    items
}

/// Follows links above the last name of a path, but not one at the path itself.
fn with_real_parent(path: &Path) -> PathBuf {
    let plain = without_dots(path);
    match (plain.parent(), plain.file_name()) {
        (Some(parent), Some(name)) => leads_to(parent).join(name),
        _ => plain,
    }
}

// Finds files whose content is in Git's index. Hiding them would be useless, because commands can
// read the content from the repository, and Git could not compare the files.
//
// Compares content instead of names, because a command could add a name to the index without
// reading the file. Source: gitformat-index(5).

/// Maximum size of a file that is compared, in bytes.
const MOST_COMPARED: u64 = 64 * 1024;
/// Maximum size of an index that is read, in bytes.
const MOST_INDEX: u64 = 32 * 1024 * 1024;
/// Maximum size of a `.git` file, which contains the path of the Git directory, in bytes.
const MOST_LINK: u64 = 4096;

/// The indexes of repositories, read on first use.
#[derive(Default)]
struct Indexes(HashMap<PathBuf, Vec<u8>>);

impl Indexes {
    /// Returns true if the content of the file at `path` is in the index of its repository.
    fn hold(&mut self, path: &Path) -> bool {
        let Some((index, text)) = path
            .parent()
            .and_then(index_above)
            .zip(read(path, MOST_COMPARED))
        else {
            return false;
        };
        let index = self.0.entry(index);
        let index = index.or_insert_with_key(|index| {
            let bytes = read(index, MOST_INDEX).unwrap_or_default();
            // An index begins with these bytes.
            if bytes.starts_with(b"DIRC") {
                bytes
            } else {
                Vec::new()
            }
        });
        let id = blob_name(&text);
        // An index holds IDs as raw bytes. In a repository with SHA-256, none is found, and the
        // file stays hidden.
        memchr::memmem::find(index, &id).is_some()
    }
}

/// The SHA-1 under which Git stores a content.
fn blob_name(text: &[u8]) -> [u8; 20] {
    let mut blob = Sha1::new();
    blob.update(format!("blob {}\0", text.len()));
    blob.update(text);
    blob.finalize().into()
}

/// The index of the repository that a folder is in.
fn index_above(folder: &Path) -> Option<PathBuf> {
    let git = folder.ancestors().map(|it| it.join(".git"));
    let git = git.into_iter().find(|it| it.symlink_metadata().is_ok())?;
    if git.is_dir() {
        return Some(git.join("index"));
    }
    // In worktrees and submodules, `.git` is a file.
    let link = String::from_utf8(read(&git, MOST_LINK)?).ok()?;
    let to = link.strip_prefix("gitdir: ")?.trim_end();
    Some(git.parent()?.join(to).join("index"))
}

/// The content of a regular file, unless it is larger than the limit.
fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let metadata = path.metadata().ok()?;
    let is_fine = metadata.is_file() && metadata.len() <= most;
    is_fine.then(|| fs::read(path).ok())?
}

// Finds the secrets below a folder, and those that a repository tracks.

/// Maximum number of entries that a search for secrets visits.
const ENTRIES: usize = 30_000;
/// Folders of downloaded or generated files. They contain no secrets of the user.
const SHALLOW: [&str; 5] = ["node_modules", "target", "__pycache__", "objects", ".venv"];
/// How deep submodules may be in each other.
const DEEPEST: usize = 4;

/// A repository that tracks secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrackingRepository {
    /// The folder with the contents of all its files.
    pub objects: PathBuf,
    /// The secrets.
    pub files: Vec<PathBuf>,
}

/// The top of the repository that a folder is in.
pub(crate) fn repository_above(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|it| it.join(".git").exists())
}

/// The Git folder that all working trees of the repository with this Git folder share.
pub(crate) fn common_folder(git: &Path) -> PathBuf {
    let text = std::fs::read_to_string(git.join("commondir"));
    text.map_or_else(|_| git.to_owned(), |it| git.join(it.trim_end()))
}

impl Secrets {
    /// The home folder.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The paths below a folder that may be secret by their names, and whether all entries were
    /// visited. Does not follow links.
    pub(crate) fn suspects_below(top: &Path) -> (Vec<PathBuf>, bool) {
        let (mut found, mut left) = (Vec::new(), ENTRIES);
        let mut open = vec![top.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                left = match left.checked_sub(1) {
                    Some(left) => left,
                    None => return (found, false),
                };
                let path = entry.path();
                let is_shallow = SHALLOW.iter().any(|it| entry.file_name() == *it);
                let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
                if is_folder && !is_shallow {
                    open.push(path.clone());
                }
                if is_suspect(&path) {
                    found.push(path);
                }
            }
        }
        (found, true)
    }

    /// The repositories that track secrets: the one that `folder` is in, and its submodules.
    pub(crate) fn tracked(&self, folder: &Path) -> Vec<TrackingRepository> {
        let mut found = Vec::new();
        let top = repository_above(folder).map(|it| (it.to_owned(), 0));
        let mut open: Vec<(PathBuf, usize)> = top.into_iter().collect();
        while let Some((top, depth)) = open.pop() {
            let Some((git, index)) = git_folder(&top).zip(GitIndex::of(&top)) else {
                continue;
            };
            let files = index.files.iter().map(|it| top.join(it));
            let files: Vec<PathBuf> = files.filter(|it| self.below(it, false).is_some()).collect();
            if !files.is_empty() {
                let objects = common_folder(&git).join("objects");
                found.push(TrackingRepository { objects, files });
            }
            if depth < DEEPEST {
                let modules = index.modules.iter().map(|it| (top.join(it), depth + 1));
                open.extend(modules);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests;
