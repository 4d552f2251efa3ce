//! Files that no tool writes without the user's approval: files that run by themselves, and
//! files that say what may run.
//!
//! A path is judged by its spelling and by where it leads, even if nothing exists there. Knows
//! no policy. A needless question costs one key, so names that only resemble protected ones
//! count too.

mod git;
mod names;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use platform::{paths, places};
use tools::{folded, leads_to};

use names::ProtectedKind;

pub use names::everywhere;

/// The folders and files of this user and this host that are protected.
#[derive(Debug, Clone, Default)]
pub struct Places {
    home: Option<PathBuf>,
    /// Folders in which Neovim and Flemma keep configuration, data, and state.
    editor: Vec<Place>,
    /// Our own state: policy decisions, trust, journal.
    state: Place,
    /// The folders in it whose files decide nothing: the `/tmp` of each chat, and the tutor's.
    free: Vec<Place>,
    /// The running program, and the one that contains its commands.
    host: Vec<Place>,
    /// Folders of script tools and their modules.
    tools: Vec<Place>,
}

/// A protected file or folder.
#[derive(Debug, Clone, Default)]
struct Place {
    path: PathBuf,
    /// Where it leads. Found once, because each path of a call is compared with each place.
    real: OnceLock<PathBuf>,
}

impl From<PathBuf> for Place {
    fn from(path: PathBuf) -> Self {
        let real = OnceLock::new();
        Self { path, real }
    }
}

impl Place {
    /// Returns true if `path` is this place or below it, or is where it leads or below that.
    fn contains(&self, path: &Path) -> bool {
        let real = || self.real.get_or_init(|| leads_to(&self.path));
        starts_with(path, &self.path) || starts_with(path, real())
    }
}

impl Places {
    /// Returns the places of this process.
    pub(crate) fn of_this_user() -> Self {
        let home = std::env::home_dir();
        let variable = |name: &str| tools::variable_os(name).map(PathBuf::from);
        let neovim = tools::variable("NVIM_APPNAME").unwrap_or_else(|| "nvim".to_owned());
        let mut editor = Vec::new();
        for (name, below_home) in [
            ("XDG_CONFIG_HOME", places::CONFIG),
            ("XDG_DATA_HOME", places::DATA),
            ("XDG_STATE_HOME", places::STATE),
        ] {
            let below = home.as_ref().map(|home| home.join(below_home));
            // The base directory specification says that relative paths are ignored.
            let set = variable(name).filter(|path| path.is_absolute());
            // The usual folder too: a program that runs without the variable reads it.
            for root in set.into_iter().chain(below) {
                // Another Neovim may run under the usual name, also where this one has its own.
                let apps = [&*neovim, "nvim", "flemma"];
                editor.extend(apps.map(|app| Place::from(root.join(app))));
                // The folders of data and state may have other names.
                let named = apps.map(places::neovim_state).into_iter();
                let named = named.filter(|it| !apps.contains(&&**it));
                editor.extend(named.map(|it| Place::from(root.join(it))));
            }
        }
        Self {
            home,
            editor,
            state: tools::state_dir::path().into(),
            free: vec![
                tools::chats_tmp().into(),
                tools::state_dir::of_tutor().into(),
            ],
            host: own_programs().map(Place::from).collect(),
            tools: Vec::new(),
        }
    }

    /// Returns what no command may write, below `roots` and elsewhere. The paths need not exist.
    pub(crate) fn never_written(&self, roots: &[&Path]) -> Vec<PathBuf> {
        let home = self.never_made().into_iter();
        let here = roots.iter().flat_map(|root| names::in_project(root));
        let here = here.chain(self.named_by_git(roots));
        let ours = self.editor.iter().chain([&self.state]).chain(&self.host);
        let ours = ours.map(|it| it.path.clone());
        home.chain(here).chain(ours).collect()
    }

    /// Returns what no command may create outside of a project. Excludes the folders of state
    /// and data, which Neovim and Flemma create while commands run.
    pub(crate) fn never_made(&self) -> Vec<PathBuf> {
        let home = self.home.iter().flat_map(|home| {
            let files = names::START_FILES.iter().map(|name| home.join(name));
            files.chain(names::in_home(home))
        });
        home.collect()
    }

    /// Returns the files that Git's configuration names for work in these folders. They run at
    /// the user's next Git command, so no command may write or create them.
    pub(crate) fn named_by_git(&self, roots: &[&Path]) -> Vec<PathBuf> {
        let home = self.home.as_deref();
        let named = roots.iter().flat_map(|root| git::named(root, home));
        named.collect()
    }

    fn is_named_by_git(&self, path: &Path) -> bool {
        // The file need not exist, but its repository is found from its folder.
        let folder = path.parent().unwrap_or(path);
        let named = git::named(folder, self.home.as_deref());
        named
            .iter()
            .any(|it| starts_with(path, it) || starts_with(path, &leads_to(it)))
    }

    /// Returns why this absolute path, which leads to `real`, is protected.
    fn kind(&self, path: &Path, real: &Path) -> Option<ProtectedKind> {
        // A link may lead from a harmless name to a protected file, or have a protected name
        // itself.
        let spelled = tools::without_dots(path);
        let other = (*spelled != *real).then_some(real);
        [&*spelled].into_iter().chain(other).find_map(|path| {
            names::kind(path)
                .or_else(|| self.place(path))
                .or_else(|| self.start_file(path))
                .or_else(|| self.is_named_by_git(path).then_some(ProtectedKind::Named))
        })
    }

    fn place(&self, path: &Path) -> Option<ProtectedKind> {
        let any = |places: &[Place]| places.iter().any(|it| it.contains(path));
        // Where file tools may write is for the sandbox to say.
        if any(&self.free) {
            return None;
        }
        // Before the editor's folders, which may contain it: the reason is more precise.
        if self.state.contains(path) {
            return Some(ProtectedKind::State);
        }
        if any(&self.editor) {
            return Some(ProtectedKind::Editor);
        }
        if any(&self.tools) {
            return Some(ProtectedKind::Tool);
        }
        any(&self.host).then_some(ProtectedKind::Host)
    }

    /// Returns the kind if a start file in the home folder is a link that leads here.
    fn start_file(&self, path: &Path) -> Option<ProtectedKind> {
        let home = self.home.as_ref()?;
        // Many users keep their start files in a repository and link to them.
        let leads_here = |name: &str| starts_with(path, &leads_to(&home.join(name)));
        names::START_FILES
            .iter()
            .any(|name| leads_here(name))
            .then_some(ProtectedKind::Shell)
    }
}

/// Returns this program and its leash, which need not exist.
fn own_programs() -> impl Iterator<Item = PathBuf> {
    let own = std::env::current_exe().ok();
    let leash = own.as_deref().map(tools::leash_beside);
    own.into_iter().chain(leash)
}

/// Returns true if `path` is `folder` or below it, ignoring case.
fn starts_with(path: &Path, folder: &Path) -> bool {
    let mut inner = path.components();
    folder
        .components()
        // The file system may ignore case, and then `.GIT` is `.git`.
        .all(|outer| inner.next().is_some_and(|it| folded(it) == folded(outer)))
}

/// Returns true if a tool may write here only with the user's approval. `path` may be relative
/// to `cwd` and need not exist.
#[cfg(test)]
fn is_protected(path: &Path, cwd: &Path) -> bool {
    let path = cwd.join(path);
    Places::of_this_user()
        .kind(&path, &leads_to(&path))
        .is_some()
}

/// A file of a call that waits for the user whatever the policy says.
#[derive(Debug, PartialEq, Eq)]
pub struct ProtectedFile {
    path: PathBuf,
    kind: ProtectedKind,
}

impl ProtectedFile {
    /// Describes the file, to follow "it is".
    pub fn what(&self) -> &'static str {
        self.kind.what()
    }
}

/// A sentence for the user who reviews the call.
impl fmt::Display for ProtectedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is {}, so this needs your approval, whatever the policy says.",
            // A file name can contain control characters, and this is printed.
            paths::visible(&self.path),
            self.what()
        )
    }
}

/// Returns the first file because of which a call waits for the user whatever the policy says.
/// `files` are absolute paths as the call names them, each with where it leads. `tools` are the
/// folders whose scripts run as tools.
pub fn needs_review(files: &[(PathBuf, PathBuf)], tools: Vec<PathBuf>) -> Option<ProtectedFile> {
    if files.is_empty() {
        return None;
    }
    let places = Places {
        tools: tools.into_iter().map(Place::from).collect(),
        ..Places::of_this_user()
    };
    let mut files = files.iter();
    files.find_map(|(path, real)| {
        let (path, kind) = (path.clone(), places.kind(path, real)?);
        Some(ProtectedFile { path, kind })
    })
}

#[cfg(test)]
mod tests;
