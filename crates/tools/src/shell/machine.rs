//! Checks a command against the machine: which files its programs are, where its paths lead, and
//! which programs Git would run.
//!
//! Reads folders, links, and Git's configuration. It runs nothing.

mod reads;
mod tracked;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use platform::paths::canonicalize;

use super::path::{Folders, Order, REFUSED, is_shim, is_system_program};
use super::programs::{Reads, is_builtin, is_network};
use super::repository::Repositories;
use super::syntax::Simple;
use super::words::{KnownVariables, Word};
use super::{ApprovedBy, Needs, ShellLists, Unsafe, check, commands};
use crate::files::leads_to;
use crate::secrets::Secrets;

/// Maximum number of folders that the commands of a line with `cd` may run in.
const FOLDERS: usize = 16;
/// Files in the home folder with options of network programs.
const NETWORK_FILES: [&str; 5] = [
    ".curlrc",
    ".config/curlrc",
    ".wgetrc",
    ".digrc",
    ".nslookuprc",
];

/// The environment in which a command would run.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Its working directory.
    pub cwd: PathBuf,
    /// The variables that it would inherit.
    pub variables: Vec<(OsString, OsString)>,
    /// Which files are secret.
    pub secrets: Arc<Secrets>,
    /// Whether it would run in a sandbox.
    pub sandbox: bool,
}

impl Machine {
    /// The machine with the environment of this process.
    pub fn here(cwd: PathBuf, secrets: Arc<Secrets>, sandbox: bool) -> Self {
        Self {
            cwd,
            variables: crate::variables().collect(),
            secrets,
            sandbox,
        }
    }

    fn variable(&self, name: &str) -> Option<&OsString> {
        // Of a name that occurs twice, the last value counts.
        let mut variables = self.variables.iter().rev();
        variables.find(|(it, _)| it == name).map(|(_, value)| value)
    }

    fn home(&self) -> Option<PathBuf> {
        let home = self.variable("HOME").map(PathBuf::from);
        home.filter(|it| it.is_absolute())
    }
}

/// Whether a command only reads, judging by its text and by the machine's present state.
///
/// # Errors
///
/// The first part of it that is not approved.
pub fn inspect(command: &str, lists: &ShellLists, machine: &Machine) -> Result<Needs, Unsafe> {
    if let Some(why) = REFUSED {
        return Err(Unsafe::System(why));
    }
    let mut inspection = Inspection::new(machine);
    let commands = commands(command, lists, &inspection.variables())?;
    let mut needs = Needs::of(&commands);
    inspection.search(needs.order());
    // All words are checked first, because the needs of the whole line decide about `PATH`.
    let mut checked = Vec::new();
    for command in &commands {
        checked.push((command, check(command, lists, &mut needs)?));
    }
    for (simple, by) in checked {
        inspection.command(simple, by, needs)?;
    }
    if needs.network {
        inspection.network(&commands)?;
    }
    Ok(needs)
}

/// The check of one line against the machine.
struct Inspection<'a> {
    machine: &'a Machine,
    /// The user's `PATH`.
    raw: Folders,
    /// The `PATH` that an approved command gets.
    safe: Folders,
    /// Where the next command may run: all folders that an earlier `cd` may lead to.
    folders: Vec<PathBuf>,
    repositories: Repositories,
}

impl<'a> Inspection<'a> {
    fn new(machine: &'a Machine) -> Self {
        let real = canonicalize(&machine.cwd);
        let real = real.unwrap_or_else(|_| machine.cwd.clone());
        let raw = Folders::of(machine.variable("PATH").map(OsString::as_os_str));
        let config = machine.variable("XDG_CONFIG_HOME");
        let mut inspection = Self {
            machine,
            safe: Folders::default(),
            raw,
            folders: vec![real],
            repositories: Repositories::new(machine.home(), config),
        };
        inspection.search(Order::SystemFirst);
        inspection
    }

    /// Sets the order in which programs are searched.
    fn search(&mut self, order: Order) {
        self.safe = self.raw.safe(&self.folders, order);
    }

    /// Checks one command, and follows it if it is a `cd`.
    fn command(&mut self, simple: &Simple, by: ApprovedBy<'_>, needs: Needs) -> Result<(), Unsafe> {
        let Some((program, arguments)) = simple.words.split_first() else {
            return Ok(());
        };
        let name = program.value.as_str();
        let reads = match by {
            ApprovedBy::User => return self.user_program(name),
            ApprovedBy::List(reads) => reads,
        };
        // `/proc` shows the environment and the memory of other processes.
        if let Some(word) = arguments.iter().find(|it| leads_to_processes(&it.value)) {
            return Err(secret(name, Path::new(&word.value)));
        }
        self.program(name, &reads, needs.more)?;
        self.reads(name, &reads)?;
        let inputs: Vec<&Word> = simple.inputs.iter().collect();
        self.paths(name, &inputs)?;
        match name {
            "cd" => self.change(reads.paths.first().map(|it| it.value.as_str())),
            "git" => self.git(arguments, &reads),
            _ => Ok(()),
        }
    }

    /// The variables whose values are known and UTF-8.
    fn variables(&self) -> KnownVariables {
        let names = ["HOME", "LANG", "LOGNAME", "SHELL", "USER"];
        let known = names.iter().filter_map(|name| {
            let value = self.machine.variable(name)?.to_str()?;
            Some(((*name).to_owned(), value.to_owned()))
        });
        let folder = self.folders.first().and_then(|it| it.to_str());
        let folder = folder.map(|it| ("PWD".to_owned(), it.to_owned()));
        let path = self.safe.value().into_string().ok();
        let path = path.map(|it| ("PATH".to_owned(), it));
        KnownVariables::new(known.chain(folder).chain(path))
    }

    /// Checks a program that the user listed: it may be in any folder with an absolute path.
    fn user_program(&self, name: &str) -> Result<(), Unsafe> {
        // What a relative folder of `PATH` has depends on where the command runs: in a project,
        // the project could provide the program.
        match self.raw.find(name).filter(|it| !it.is_absolute()) {
            Some(path) => Err(elsewhere(name, path)),
            None => Ok(()),
        }
    }

    /// Checks that a name leads to a system program. With `is_mixed`, the line runs with the
    /// user's own `PATH`.
    fn program(&self, name: &str, reads: &Reads<'_>, is_mixed: bool) -> Result<(), Unsafe> {
        for word in &reads.looked_up {
            // The answer would be wrong if the command gets another `PATH` than the user.
            let looks = matches!(name, "which" | "type" | "command");
            let shown = self.raw.find(&word.value);
            if looks && shown != self.safe.find(&word.value) {
                return Err(elsewhere(&word.value, shown.unwrap_or_default()));
            }
        }
        if is_builtin(name) {
            return Ok(());
        }
        let folders = if is_mixed { &self.raw } else { &self.safe };
        // A program that does not exist cannot run.
        let Some(path) = folders.find(name) else {
            return Ok(());
        };
        // Another program of that name would print another version.
        let is_shadowed = reads.is_version && self.raw.find(name).is_some_and(|it| it != path);
        if !is_system_program(&path) || is_shadowed || (reads.is_version && is_shim(&path)) {
            let path = self.raw.find(name).unwrap_or(path);
            return Err(elsewhere(name, path));
        }
        Ok(())
    }

    /// Follows a `cd`. It may fail, so the previous folders remain possible.
    fn change(&mut self, to: Option<&str>) -> Result<(), Unsafe> {
        let home = self.machine.home();
        let mut next = Vec::new();
        for folder in &self.folders {
            match to {
                Some(to) => next.extend(reads::spellings(to, folder)),
                None => next.extend(home.clone()),
            }
        }
        for folder in next {
            let real = leads_to(&folder);
            if !self.folders.contains(&real) {
                self.folders.push(real);
            }
        }
        match self.folders.len() {
            0..=FOLDERS => Ok(()),
            _ => Err(Unsafe::Syntax("too many changes of the folder")),
        }
    }

    fn git(&self, arguments: &[Word], reads: &Reads<'_>) -> Result<(), Unsafe> {
        let is_version = |it: &Word| matches!(it.value.as_str(), "--version" | "version");
        // These read no configuration.
        if arguments.first().is_none_or(is_version) {
            return Ok(());
        }
        for folder in &self.folders {
            let found = self.repositories.check(folder);
            let trees = found.map_err(|named| Unsafe::Configuration {
                program: "git".to_owned(),
                file: named.file,
                setting: named.setting,
            })?;
            if let Some(shown) = &reads.contents {
                self.contents(shown, folder, &trees)?;
            }
        }
        Ok(())
    }

    /// Checks that network programs run in a sandbox and without options from a file.
    fn network(&self, commands: &[Simple]) -> Result<(), Unsafe> {
        let mut names = commands.iter().filter_map(|it| it.words.first());
        let name = names.find(|it| is_network(&it.value));
        let name = name.map_or("curl", |it| it.value.as_str());
        if !self.machine.sandbox {
            return Err(Unsafe::Network(name.to_owned()));
        }
        let home = self.machine.home().unwrap_or_default();
        // With options from a file, the program could send files, or write the page to one.
        let files = NETWORK_FILES.iter().map(|it| home.join(it));
        match files.into_iter().find(|it| it.exists()) {
            Some(file) => Err(Unsafe::Configuration {
                program: name.to_owned(),
                file,
                setting: "its options".to_owned(),
            }),
            None => Ok(()),
        }
    }
}

/// Whether a word may lead to `/proc` or `/sys` by `..` or as an option's value.
fn leads_to_processes(word: &str) -> bool {
    let (is_value, path) = match word.split_once('=') {
        Some((_, value)) if word.starts_with('-') => (true, value),
        _ => (false, word),
    };
    let mut parts = path.split('/');
    // Plain absolute paths are checked with all other paths.
    let leads_up = parts.clone().any(|it| it == "..") || (is_value && path.starts_with('/'));
    leads_up && parts.any(|it| matches!(it, "proc" | "sys"))
}

fn elsewhere(name: &str, path: PathBuf) -> Unsafe {
    Unsafe::Elsewhere {
        program: name.to_owned(),
        path,
    }
}

fn secret(name: &str, path: &Path) -> Unsafe {
    Unsafe::Secret {
        program: name.to_owned(),
        path: path.to_owned(),
        grant: None,
    }
}
