//! Whether Git would run a program that its configuration or attributes name.
//!
//! Looks at the repository that Git would find from a folder, at its submodules, and at
//! the user's and the system's configuration. What it does not know it refuses: of a
//! repository's own settings only those on a list are harmless.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::git::runs_something;
use super::settings::{self, Setting};

#[path = "gitlinks.rs"]
mod gitlinks;

/// Longest file of settings or attributes that is read, in bytes.
const MOST: u64 = 256 * 1024;
/// Deepest nesting of included files and of submodules.
const DEEPEST: usize = 6;
/// The system's configuration, wherever Git was installed.
const SYSTEM: [&str; 5] = [
    "/etc/gitconfig",
    "/usr/etc/gitconfig",
    "/usr/local/etc/gitconfig",
    "/opt/homebrew/etc/gitconfig",
    "/Library/Developer/CommandLineTools/usr/share/git-core/gitconfig",
];
/// Sections whose settings run nothing when Git reads, whatever the key.
const SECTIONS: [&str; 13] = [
    "advice", "branch", "color", "fetch", "gc", "gui", "http", "i18n", "init", "lfs", "pack",
    "push", "user",
];
/// Further settings of a repository that run nothing.
const KEYS: [&str; 45] = [
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.commitgraph",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.longpaths",
    "core.multipackindex",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.protecthfs",
    "core.protectntfs",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "core.whitespace",
    "diff.algorithm",
    "diff.colormoved",
    "diff.context",
    "diff.mnemonicprefix",
    "diff.renames",
    "extensions.objectformat",
    "extensions.refstorage",
    "extensions.worktreeconfig",
    "index.sparse",
    "index.version",
    "merge.conflictstyle",
    "merge.ff",
    "pull.ff",
    "pull.rebase",
    "rebase.autosquash",
    "rebase.autostash",
    "rerere.enabled",
    "status.showuntrackedfiles",
    "submodule.active",
];
/// Of a remote and of a submodule.
const NAMED: [&str; 16] = [
    "remote.fetch",
    "remote.gh-resolved",
    "remote.mirror",
    "remote.prune",
    "remote.push",
    "remote.pushurl",
    "remote.skipdefaultupdate",
    "remote.skipfetchall",
    "remote.tagopt",
    "remote.url",
    "submodule.active",
    "submodule.branch",
    "submodule.fetchrecursesubmodules",
    "submodule.path",
    "submodule.shallow",
    "submodule.url",
];

/// A setting that may run a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The file that holds it.
    pub file: PathBuf,
    /// Its name, or what else is the matter.
    pub setting: String,
}

fn named<T>(file: &Path, setting: impl Into<String>) -> Result<T, Named> {
    Err(Named {
        file: file.to_owned(),
        setting: setting.into(),
    })
}

/// The repositories of a machine.
pub(super) struct Repositories {
    home: Option<PathBuf>,
    config: Option<PathBuf>,
}

impl Repositories {
    /// Those that Git finds with this home and folder of configurations.
    pub(super) fn new(home: Option<PathBuf>, config: Option<&OsString>) -> Self {
        let config = config.map(PathBuf::from).filter(|it| it.is_absolute());
        let config = config.or_else(|| home.as_ref().map(|it| it.join(".config")));
        Self { home, config }
    }

    /// Whether Git in this folder runs only itself.
    ///
    /// # Errors
    ///
    /// What may run something else.
    pub(super) fn check(&self, folder: &Path) -> Result<(), Named> {
        let drivers = self.drivers()?;
        for folder in folder.ancestors() {
            if is_gits(folder) {
                return named(folder, "itself as a bare repository");
            }
            let git = folder.join(".git");
            if git.symlink_metadata().is_err() {
                continue;
            }
            let real = git_folder(&git)?;
            self.repository(&real, folder, &drivers, 0)?;
            if is_gits(&real) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Checks the user's and the system's configuration; gives the names of drivers and
    /// filters in it that run programs once attributes name them.
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
            let Setting { name, part, value } = &setting;
            let part = part.as_deref().unwrap_or_default();
            match name.as_str() {
                "include.path" | "includeif.path" => {
                    let value = value.trim_matches('"');
                    let path = match (value.strip_prefix("~/"), &self.home) {
                        (Some(rest), Some(home)) => home.join(rest),
                        _ => file.parent().unwrap_or(file).join(value),
                    };
                    self.user_file(&path, drivers, depth + 1)?;
                }
                "filter.clean" | "filter.process" | "filter.smudge" => {
                    drivers.push(format!("filter={part}"))
                }
                "diff.textconv" | "diff.command" => drivers.push(format!("diff={part}")),
                "diff.external"
                | "core.attributesfile"
                | "core.alternaterefscommand"
                | "core.worktree" => {
                    return named(file, name);
                }
                name if name.starts_with("trace2.") => return named(file, name),
                // A format may ask for the check of a signature.
                name if (name.starts_with("pretty.")
                    || matches!(name, "format.pretty" | "branch.sort" | "tag.sort"))
                    && runs_something(value) =>
                {
                    return named(file, name);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks a repository by its folder and that of its files.
    fn repository(
        &self,
        git: &Path,
        top: &Path,
        drivers: &[String],
        depth: usize,
    ) -> Result<(), Named> {
        if depth > DEEPEST {
            return named(git, "too many submodules");
        }
        let mut folders = vec![git.to_owned()];
        let common = git.join("commondir");
        if common.symlink_metadata().is_ok() {
            let text = text(&common)?;
            folders.push(git.join(text.trim_end_matches(['\n', '\r'])));
        }
        for folder in &folders {
            for name in ["config", "config.worktree"] {
                own_settings(&folder.join(name), git)?;
            }
            let hook = folder.join("hooks/post-index-change");
            if hook.symlink_metadata().is_ok() {
                return named(&hook, "a hook");
            }
        }
        let index = gitlinks::read(&git.join("index"));
        let Some(index) = index else {
            return named(&git.join("index"), "an index that cannot be read");
        };
        if !drivers.is_empty() {
            let mut files: Vec<PathBuf> = folders
                .iter()
                .map(|it| it.join("info/attributes"))
                .collect();
            files.extend(
                index
                    .folders
                    .iter()
                    .map(|it| top.join(it).join(".gitattributes")),
            );
            files.extend(self.config.iter().map(|it| it.join("git/attributes")));
            files.extend([
                "/etc/gitattributes".into(),
                "/usr/local/etc/gitattributes".into(),
            ]);
            attributes(&files, drivers)?;
        }
        for link in &index.links {
            let top = top.join(link);
            let git = top.join(".git");
            if git.symlink_metadata().is_ok() {
                self.repository(&git_folder(&git)?, &top, drivers, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// Whether one of these files names a driver.
fn attributes(files: &[PathBuf], drivers: &[String]) -> Result<(), Named> {
    for file in files {
        if file.symlink_metadata().is_err() {
            continue;
        }
        let text = text(file)?;
        for word in text.split_ascii_whitespace() {
            if drivers.iter().any(|it| it == word) {
                return named(file, word);
            }
        }
    }
    Ok(())
}

/// Checks a repository's own settings.
fn own_settings(file: &Path, git: &Path) -> Result<(), Named> {
    for setting in read(file)? {
        let Setting { name, part, value } = &setting;
        let section = name.split('.').next().unwrap_or_default();
        // The keys of `[branch]` without a name are others.
        let needs_part = matches!(section, "branch" | "remote" | "submodule");
        let is_known = match (part, needs_part) {
            (Some(_), true) => section == "branch" || NAMED.contains(&name.as_str()),
            _ if name == "submodule.active" => true,
            (_, false) => {
                SECTIONS.contains(&section) || (part.is_none() && KEYS.contains(&name.as_str()))
            }
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

/// Reading runs one hook only, when it writes the index, which an approved command is
/// told not to.
fn hooks(file: &Path, git: &Path, value: &str) -> Result<(), Named> {
    let tops = git.ancestors().filter(|it| !it.starts_with(".git"));
    for top in tops.take(DEEPEST) {
        let hook = top.join(value).join("post-index-change");
        if hook.symlink_metadata().is_ok() {
            return named(file, "core.hookspath");
        }
    }
    if value.starts_with(['~', '"', '%']) {
        return named(file, "core.hookspath");
    }
    Ok(())
}

/// Whether the files of a submodule are in the folder of the repository that it is part of.
fn is_beside(git: &Path, worktree: &str) -> bool {
    let above = git.ancestors().find(|it| it.ends_with(".git"));
    let project = above
        .and_then(Path::parent)
        .and_then(|it| it.canonicalize().ok());
    let real = git.join(worktree).canonicalize().ok();
    real.zip(project)
        .is_some_and(|(real, project)| real.starts_with(project))
}

/// Whether Git takes a folder for one of its own.
fn is_gits(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// The folder that `.git` is or names.
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

/// The settings of a file; none when it does not exist.
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
        // A link to nothing has no settings.
        None if !file.exists() => Ok(String::new()),
        None => named(file, "something that cannot be read"),
    }
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
