//! Files whose content is a secret: keys, credentials, browser profiles, key stores,
//! `.env` files, and Flemma's own configuration and state.
//!
//! Reading one needs the user, and the sandbox hides them. A path is judged by its
//! spelling and by where its links lead; nothing need exist there. `sandbox.reveal`
//! takes paths off the list.

mod names;

use std::path::{Component, Path, PathBuf};

use crate::names::folded;
use crate::sandbox::leads_to;

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
    /// What a user typed into a shell or a database.
    History,
}

impl SecretKind {
    /// What such a file holds, to follow "it holds".
    pub fn what(self) -> &'static str {
        match self {
            Self::Key => "private keys",
            Self::Credentials => "passwords or tokens",
            Self::Profile => "a browser's or mail program's sessions",
            Self::KeyStore => "stored passwords",
            Self::Environment => "secrets of an environment",
            Self::Ours => "Flemma's own configuration or decisions",
            Self::Process => "the environment or memory of a process",
            Self::History => "commands that you typed",
        }
    }
}

/// The secret files of one user, without those that were revealed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    home: Option<PathBuf>,
    /// Flemma's configuration and state.
    ours: Vec<PathBuf>,
    /// Absolute paths of `sandbox.reveal`; they and what is below them are no secrets.
    revealed: Vec<PathBuf>,
}

impl Secrets {
    /// The secrets of the user that runs this process.
    pub fn of_this_user(revealed: Vec<PathBuf>) -> Self {
        let home = std::env::home_dir().filter(|it| it.is_absolute());
        let variable = |name: &str| {
            let path = std::env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let app = std::env::var_os("NVIM_APPNAME").map(PathBuf::from);
        let app = app.unwrap_or_else(|| "nvim".into());
        let mut ours = Vec::new();
        let below_home = |name| home.as_ref().map(|it| it.join(name));
        for config in variable("XDG_CONFIG_HOME")
            .into_iter()
            .chain(below_home(".config"))
        {
            ours.push(config.join("flemma"));
        }
        for state in variable("XDG_STATE_HOME")
            .into_iter()
            .chain(below_home(".local/state"))
        {
            ours.push(state.join("flemma"));
            ours.push(state.join(&app).join("flemma"));
        }
        Self {
            home,
            ours,
            revealed,
        }
    }

    /// The secrets of a user with this home folder.
    #[cfg(test)]
    pub(crate) fn in_home(home: &Path) -> Self {
        Self {
            home: Some(home.to_owned()),
            ..Self::default()
        }
    }

    /// Why the file at this absolute path is secret, or nothing when it is not.
    pub fn kind(&self, path: &Path) -> Option<SecretKind> {
        let spelled = without_dots(path);
        let real = leads_to(path);
        let is_revealed = |path: &Path| {
            let below = |it: &PathBuf| path.starts_with(it) || path.starts_with(leads_to(it));
            self.revealed.iter().any(below)
        };
        // A link that was revealed reveals what it leads to.
        if is_revealed(&spelled) || is_revealed(&real) {
            return None;
        }
        self.place(&spelled).or_else(|| self.place(&real))
    }

    /// Whether a folder is all secret, so that no search looks into it.
    pub fn is_secret_folder(&self, path: &Path) -> bool {
        self.kind(&path.join("x")).is_some()
    }

    fn place(&self, path: &Path) -> Option<SecretKind> {
        self.ours(path)
            .or_else(|| names::kind(path, self.home.as_deref()))
    }

    fn ours(&self, path: &Path) -> Option<SecretKind> {
        let inner = self.ours.iter().find_map(|folder| {
            let real = leads_to(folder);
            below(path, folder).or_else(|| below(path, &real))
        })?;
        // Tools are programs, and full outputs are the chat's own.
        let open = inner
            .first()
            .is_some_and(|it| it == "tools" || it == "outputs");
        (!open).then_some(SecretKind::Ours)
    }

    /// The secret files and folders that exist for this user and directly in `roots`: what
    /// a sandbox has to hide. Folders are marked `true`.
    pub fn existing(&self, roots: &[&Path]) -> Vec<(PathBuf, bool)> {
        let home = self.home.iter();
        let mut candidates: Vec<PathBuf> = home.flat_map(|it| names::in_home(it)).collect();
        candidates.extend(names::IN_SYSTEM.iter().map(PathBuf::from));
        candidates.extend(self.ours.iter().flat_map(|it| entries(it)));
        let around = roots.iter().copied().chain(self.home.as_deref());
        candidates.extend(around.flat_map(entries));
        let mut found: Vec<(PathBuf, bool)> = Vec::new();
        for path in candidates {
            let Ok(metadata) = path.metadata() else {
                continue;
            };
            let is_folder = metadata.is_dir();
            let is_secret = match is_folder {
                true => self.is_secret_folder(&path),
                false => self.kind(&path).is_some(),
            };
            if is_secret && !self.reveals_below(&path) {
                found.push((path, is_folder));
            }
        }
        found.sort();
        found.dedup();
        found
    }

    /// Whether something inside this folder was revealed: it cannot be hidden as a whole.
    fn reveals_below(&self, folder: &Path) -> bool {
        self.revealed.iter().any(|it| it.starts_with(folder))
    }
}

/// Whether the file at `path`, absolute or relative to the working directory, is secret
/// for the user of this process. Ignores `sandbox.reveal`.
pub fn is_secret(path: &Path) -> bool {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Secrets::of_this_user(Vec::new()).kind(&path).is_some()
}

/// The folded names of `path` below `folder`; nothing when it is not below.
fn below(path: &Path, folder: &Path) -> Option<Vec<String>> {
    let mut inner = path.components();
    let is_below = folder
        .components()
        .all(|outer| inner.next().is_some_and(|it| folded(it) == folded(outer)));
    is_below.then(|| inner.map(folded).collect())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|it| it.path()).collect()
}

/// The path as it is spelled, without `.` and `..`.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
#[path = "secrets/tests.rs"]
mod tests;
