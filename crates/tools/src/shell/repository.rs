//! Checks whether Git would run a program that its configuration or attributes name.
//!
//! Reads the repository that Git would find from a folder, its submodules, and the user's and
//! the system's configuration. Of a repository's own settings only listed ones are accepted.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use platform::paths::canonicalize;

use super::git::runs_something;
use super::git_index::{self, GitIndex};
use super::options::is_in;
use super::settings::{self, Setting};

/// Longest file of settings or attributes that is read (256 KB).
const MOST: u64 = 256 * 1024;
/// Deepest nesting of included files and of submodules.
const DEEPEST: usize = 6;
/// The system's configuration files of all common installations of Git.
const SYSTEM: [&str; 5] = [
    "/etc/gitconfig",
    "/usr/etc/gitconfig",
    "/usr/local/etc/gitconfig",
    "/opt/homebrew/etc/gitconfig",
    "/Library/Developer/CommandLineTools/usr/share/git-core/gitconfig",
];
/// Sections in which no setting runs a program when Git reads.
const SECTIONS: &str = "advice branch color fetch gc gui http i18n init lfs pack push user";
/// Further settings of a repository that run no program.
const KEYS: &str = "core.abbrev core.autocrlf core.bare core.bigfilethreshold core.checkstat \
    core.commitgraph core.compression core.eol core.filemode core.ignorecase core.logallrefupdates \
    core.longpaths core.multipackindex core.precomposeunicode core.preloadindex core.protecthfs \
    core.protectntfs core.quotepath core.repositoryformatversion core.safecrlf core.sharedrepository \
    core.sparsecheckout core.sparsecheckoutcone core.symlinks core.trustctime core.whitespace \
    diff.algorithm diff.colormoved diff.context diff.mnemonicprefix diff.renames \
    extensions.objectformat extensions.refstorage extensions.worktreeconfig index.sparse index.version \
    merge.conflictstyle merge.ff pull.ff pull.rebase rebase.autosquash rebase.autostash rerere.enabled \
    status.showuntrackedfiles submodule.active";
/// Settings of a remote or a submodule that run no program.
const NAMED: &str = "remote.fetch remote.gh-resolved remote.mirror remote.prune remote.push \
    remote.pushurl remote.skipdefaultupdate remote.skipfetchall remote.tagopt remote.url \
    submodule.active submodule.branch submodule.fetchrecursesubmodules submodule.path \
    submodule.shallow submodule.url";
/// Settings of the user or the system that change what Git reads or runs, whatever the value.
const REFUSED: &str = "diff.external core.attributesfile core.alternaterefscommand core.worktree \
    grep.fallbacktonoindex";

/// A setting that may run a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The file that contains it.
    pub file: PathBuf,
    /// Its name, or another problem with the file.
    pub setting: String,
}

fn named<T>(file: &Path, setting: impl Into<String>) -> Result<T, Named> {
    Err(Named {
        file: file.to_owned(),
        setting: setting.into(),
    })
}

/// A working tree of a repository.
#[derive(Debug)]
pub(super) struct WorkTree {
    pub top: PathBuf,
    pub index: GitIndex,
}

/// Checks repositories, with the folders of the user's own configuration.
pub(super) struct Repositories {
    home: Option<PathBuf>,
    config: Option<PathBuf>,
}

impl Repositories {
    /// A checker for this home folder and `$XDG_CONFIG_HOME`.
    pub(super) fn new(home: Option<PathBuf>, config: Option<&OsString>) -> Self {
        let config = config.map(PathBuf::from).filter(|it| it.is_absolute());
        let config = config.or_else(|| home.as_ref().map(|it| it.join(".config")));
        Self { home, config }
    }

    /// Checks that Git runs no other program in this folder. Returns the repository that it finds,
    /// and its submodules.
    ///
    /// # Errors
    ///
    /// The setting that may run one.
    pub(super) fn check(&self, folder: &Path) -> Result<Vec<WorkTree>, Named> {
        let drivers = self.drivers()?;
        for folder in folder.ancestors() {
            // Git would use the folder itself, with whatever its configuration says.
            if is_gits(folder) {
                return named(folder, "itself as a bare repository");
            }
            let git = folder.join(".git");
            if git.symlink_metadata().is_err() {
                continue;
            }
            let real = git_folder(&git)?;
            let mut found = Vec::new();
            self.repository(&real, folder, &drivers, &mut found)?;
            // Git searches the folders above if this is no valid repository.
            if is_gits(&real) {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    /// Checks the user's and the system's configuration, and returns its drivers and filters.
    /// They run programs if attributes name them.
    fn drivers(&self) -> Result<Vec<String>, Named> {
        let user = self.home.iter().map(|it| it.join(".gitconfig"));
        let config = self.config.iter().map(|it| it.join("git/config"));
        let system = SYSTEM.iter().map(PathBuf::from);
        let mut drivers = Vec::new();
        for file in user.chain(config).chain(system) {
            self.user_file(&file, &mut drivers, 0)?;
        }
        Ok(drivers)
    }

    fn user_file(&self, file: &Path, drivers: &mut Vec<String>, depth: usize) -> Result<(), Named> {
        if depth > DEEPEST {
            return named(file, "too many includes");
        }
        for setting in read(file)? {
            let part = setting.part.as_deref().unwrap_or_default();
            match setting.name.as_str() {
                // Conditions are not evaluated: whether they hold depends on more than this file.
                "include.path" | "includeif.path" => {
                    let path = self.included(file, &setting.value);
                    self.user_file(&path, drivers, depth + 1)?;
                }
                "filter.clean" | "filter.process" | "filter.smudge" => {
                    drivers.push(format!("filter={part}"))
                }
                "diff.textconv" | "diff.command" => drivers.push(format!("diff={part}")),
                // With `trace2`, Git writes a log to a file or a socket.
                name if is_in(REFUSED, name) || name.starts_with("trace2.") => {
                    return named(file, name);
                }
                // A format may check a signature, which runs gpg.
                name if is_format(name) && runs_something(&setting.value) => {
                    return named(file, name);
                }
                // The user's other settings are trusted.
                _ => {}
            }
        }
        Ok(())
    }

    /// The path of an included file.
    fn included(&self, file: &Path, value: &str) -> PathBuf {
        let value = value.trim_matches('"');
        match (value.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => file.parent().unwrap_or(file).join(value),
        }
    }

    /// Checks a repository with the Git folder `git` and the working tree `top`, and its
    /// submodules.
    fn repository(
        &self,
        git: &Path,
        top: &Path,
        drivers: &[String],
        found: &mut Vec<WorkTree>,
    ) -> Result<(), Named> {
        // The repositories that contain this one.
        let above = found.iter().filter(|it| top.starts_with(&it.top));
        if above.count() > DEEPEST {
            return named(git, "too many submodules");
        }
        let folders = with_common(git)?;
        for folder in &folders {
            for name in ["config", "config.worktree"] {
                own_settings(&folder.join(name), git)?;
            }
            // The only hook that reading can trigger: Git runs it after it refreshed the index.
            let hook = folder.join("hooks/post-index-change");
            if hook.symlink_metadata().is_ok() {
                return named(&hook, "a hook");
            }
        }
        // The index lists the folders that may have attributes, and the submodules.
        let Some(index) = git_index::read(&git.join("index")) else {
            return named(&git.join("index"), "an index that cannot be read");
        };
        // Attributes run a program only by naming a driver that is configured.
        if !drivers.is_empty() {
            attributes(self.attribute_files(top, &folders, &index), drivers)?;
        }
        let links = index.links.clone();
        found.push(WorkTree {
            top: top.to_owned(),
            index,
        });
        let submodules = links.iter().map(|it| top.join(it));
        // The others are not checked out.
        let mut submodules = submodules.filter(|it| it.join(".git").symlink_metadata().is_ok());
        submodules.try_for_each(|top| {
            self.repository(&git_folder(&top.join(".git"))?, &top, drivers, found)
        })
    }

    /// All files in which Git looks for attributes.
    fn attribute_files(&self, top: &Path, folders: &[PathBuf], index: &GitIndex) -> Vec<PathBuf> {
        let own = folders.iter().map(|it| it.join("info/attributes"));
        let tracked = index
            .folders
            .iter()
            .map(|it| top.join(it).join(".gitattributes"));
        let user = self.config.iter().map(|it| it.join("git/attributes"));
        let system = ["/etc/gitattributes", "/usr/local/etc/gitattributes"].map(PathBuf::from);
        own.chain(tracked).chain(user).chain(system).collect()
    }
}

/// Whether a setting is the format of a list.
fn is_format(name: &str) -> bool {
    name.starts_with("pretty.") || matches!(name, "format.pretty" | "branch.sort" | "tag.sort")
}

/// A Git folder, and the one that it shares with other worktrees.
fn with_common(git: &Path) -> Result<Vec<PathBuf>, Named> {
    let mut folders = vec![git.to_owned()];
    let common = git.join("commondir");
    if common.symlink_metadata().is_ok() {
        let text = text(&common)?;
        folders.push(git.join(text.trim_end_matches(['\n', '\r'])));
    }
    Ok(folders)
}

/// Checks that none of these files names a driver.
fn attributes(files: Vec<PathBuf>, drivers: &[String]) -> Result<(), Named> {
    for file in files.iter().filter(|it| it.symlink_metadata().is_ok()) {
        let text = text(file)?;
        // Any word counts, also in a comment: Git's rules for quotes are not repeated here.
        let mut words = text.split_ascii_whitespace();
        if let Some(word) = words.find(|word| drivers.iter().any(|it| it == word)) {
            return named(file, word);
        }
    }
    Ok(())
}

/// Checks a repository's own settings.
fn own_settings(file: &Path, git: &Path) -> Result<(), Named> {
    for setting in read(file)? {
        let Setting { name, part, value } = &setting;
        let section = name.split('.').next().unwrap_or_default();
        // Without a name, as in `[branch]`, these sections have other keys.
        let needs_part = matches!(section, "branch" | "remote" | "submodule");
        let is_known = match (part, needs_part) {
            (Some(_), true) => section == "branch" || is_in(NAMED, name),
            _ if name == "submodule.active" => true,
            (_, false) => is_in(SECTIONS, section) || (part.is_none() && is_in(KEYS, name)),
            (None, true) => false,
        };
        let is_known = is_known
            || name == "core.hookspath"
            || (name == "core.worktree" && is_beside(git, value));
        // `helper::address` runs a helper.
        if !is_known || value.contains("::") {
            return named(file, name);
        }
        if name == "core.hookspath" {
            hooks(file, git, value)?;
        }
    }
    Ok(())
}

/// Checks a folder of hooks. Only `post-index-change` could run when Git reads, and only if Git
/// refreshed the index, which the environment of approved commands prevents.
fn hooks(file: &Path, git: &Path, value: &str) -> Result<(), Named> {
    // A relative path starts at the working tree, which may be any of the folders above.
    let tops = git.ancestors().filter(|it| !it.starts_with(".git"));
    for top in tops.take(DEEPEST) {
        let hook = top.join(value).join("post-index-change");
        if hook.symlink_metadata().is_ok() {
            return named(file, "core.hookspath");
        }
    }
    // Git expands these, and this check does not.
    if value.starts_with(['~', '"', '%']) {
        return named(file, "core.hookspath");
    }
    Ok(())
}

/// Whether the working tree of a submodule is inside the repository that contains it.
fn is_beside(git: &Path, worktree: &str) -> bool {
    let above = git.ancestors().find(|it| it.ends_with(".git"));
    let project = above
        .and_then(Path::parent)
        .and_then(|it| canonicalize(it).ok());
    let real = canonicalize(&git.join(worktree)).ok();
    real.zip(project)
        .is_some_and(|(real, project)| real.starts_with(project))
}

/// Whether Git recognizes a folder as a Git folder.
fn is_gits(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// The Git folder that `.git` is, or that it names if it is a file.
fn git_folder(git: &Path) -> Result<PathBuf, Named> {
    if git.is_dir() {
        return Ok(git.to_owned());
    }
    let text = text(git)?;
    let line = text.trim_end_matches(['\n', '\r']);
    match line
        .strip_prefix("gitdir: ")
        .filter(|it| !it.contains('\n'))
    {
        Some(place) => Ok(git.parent().unwrap_or(git).join(place)),
        None => named(git, "a folder that cannot be read"),
    }
}

/// The settings in a file; none if it does not exist.
fn read(file: &Path) -> Result<Vec<Setting>, Named> {
    if file.symlink_metadata().is_err() {
        return Ok(Vec::new());
    }
    match settings::read(&text(file)?) {
        Some(settings) => Ok(settings),
        None => named(file, "something that cannot be read for certain"),
    }
}

/// The text of a regular file.
fn text(file: &Path) -> Result<String, Named> {
    let is_readable = |it: fs::Metadata| it.is_file() && it.len() <= MOST;
    let text = file
        .metadata()
        .is_ok_and(is_readable)
        .then(|| fs::read_to_string(file).ok());
    match text.flatten() {
        Some(text) => Ok(text),
        // A dangling link has no settings.
        None if !file.exists() => Ok(String::new()),
        None => named(file, "something that cannot be read"),
    }
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
