//! Checks a command against the machine: which secrets its words name, and, if no view holds it,
//! which files its programs are.
//!
//! Follows links. It runs nothing.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use platform::paths::canonicalize;

use super::environment::{Folders, REFUSED, is_system_program};
use super::programs::{is_builtin, is_in};
use super::words::{KnownVariables, Simple, Word};
use super::{ApprovedBy, Needs, ShellLists, Unsafe, check, check_all, commands, only_reads};
use crate::files::{leads_to, without_dots};
use crate::secrets::{SecretKind, Secrets};

/// Files in `/proc` that describe the machine, not a process.
const MACHINE: &str = "cpuinfo filesystems loadavg meminfo stat swaps uptime version";
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
    /// True if it would run in a sandbox.
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

/// Returns true if a command is approved, judging by its text and by the machine's present state.
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
    let mut needs = check_all(&commands, lists, machine.sandbox)?;
    inspection.is_viewed = needs.unviewed(machine.sandbox).is_none();
    if !needs.more {
        inspection.path = inspection.raw.safe(&inspection.folders, machine.sandbox);
    }
    let may_do_more = |it: &Simple| only_reads(it, "").is_err();
    inspection.is_narrow = inspection.is_viewed && commands.iter().any(may_do_more);
    for simple in &commands {
        let by = check(simple, lists, &mut Needs::default())?;
        inspection.command(simple, by)?;
    }
    needs.named = inspection.is_narrow.then_some(inspection.named);
    Ok(needs)
}

/// Which commands of a line need no rule if the others have one, because they only read; empty if
/// the line is not analyzed. Without a machine, only the text counts.
///
/// A command does need one if its output goes to a command that needs one, or if it changes the folder
/// in which such a command runs: then what that one does would depend on it.
pub fn reading_parts(command: &str, lists: &ShellLists, machine: Option<&Machine>) -> Vec<bool> {
    let mut inspection = machine.map(Inspection::new);
    let variables = match &inspection {
        Some(inspection) => inspection.variables(),
        None => KnownVariables::unknown(),
    };
    let Ok(commands) = commands(command, lists, &variables) else {
        return Vec::new();
    };
    if REFUSED.is_some() {
        return Vec::new();
    }
    // The line runs as the rule allows, so no view holds it.
    let mut reads = |simple: &Simple| {
        let by = check(simple, lists, &mut Needs::default())?;
        if by == ApprovedBy::List {
            only_reads(simple, "a rule approves the line")?;
        }
        match &mut inspection {
            Some(inspection) => inspection.command(simple, by),
            None => Ok(()),
        }
    };
    let reads: Vec<bool> = commands.iter().map(|it| reads(it).is_ok()).collect();
    let all_read = reads.iter().all(|it| *it);
    let is_free = |at: usize| {
        let changes = commands[at]
            .words
            .first()
            .is_some_and(|it| it.value == "cd");
        let following = commands[at + 1..].iter().take_while(|it| it.is_piped);
        let end = at + following.count();
        reads[at..=end].iter().all(|it| *it) && (all_read || !changes)
    };
    (0..commands.len()).map(is_free).collect()
}

/// The check of one line against the machine.
struct Inspection<'a> {
    machine: &'a Machine,
    /// True if the read-only view holds the line.
    is_viewed: bool,
    /// True if the view shows little of the home folder, because the words of the line may not say which
    /// files it reads.
    is_narrow: bool,
    /// The user's `PATH`.
    raw: Folders,
    /// The `PATH` that the line gets if no view holds it.
    path: Folders,
    /// Where the next command may run: all folders that an earlier `cd` may lead to.
    folders: Vec<PathBuf>,
    /// The existing files and folders that the view must show.
    named: Vec<PathBuf>,
}

impl<'a> Inspection<'a> {
    fn new(machine: &'a Machine) -> Self {
        let real = canonicalize(&machine.cwd);
        let real = real.unwrap_or_else(|_| machine.cwd.clone());
        let raw = Folders::of(machine.variable("PATH").map(OsString::as_os_str));
        Self {
            machine,
            is_viewed: false,
            is_narrow: false,
            path: raw.clone(),
            raw,
            folders: vec![real],
            named: Vec::new(),
        }
    }

    /// Checks one command, and follows it if it is a `cd`.
    fn command(&mut self, simple: &Simple, by: ApprovedBy) -> Result<(), Unsafe> {
        let Some((program, arguments)) = simple.words.split_first() else {
            return Ok(());
        };
        let name = program.value.as_str();
        match by {
            ApprovedBy::User => return self.user_program(name),
            ApprovedBy::Network => self.network(name)?,
            ApprovedBy::List => {}
        }
        if !self.is_viewed {
            self.program(name)?;
        }
        // They open no file.
        let words = match name {
            "echo" | "printf" => &[],
            _ => arguments,
        };
        let words = words.iter().chain(&simple.inputs);
        let mut paths = Vec::new();
        for folder in &self.folders {
            self.path(name, folder)?;
            paths.extend(words.clone().flat_map(|it| named(it, folder)));
        }
        for path in &paths {
            self.path(name, path)?;
        }
        if self.is_narrow {
            paths.retain(|_| name != "cd");
            self.show(name, &paths)?;
        }
        if self.is_viewed && name == "git" {
            self.tracked()?;
        }
        match name {
            "cd" => self.change(arguments),
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
        let path = self.raw.safe(&self.folders, self.machine.sandbox);
        let path = path.value().into_string().ok();
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

    /// Checks that a name leads to a system program. One that does not exist cannot run.
    fn program(&self, name: &str) -> Result<(), Unsafe> {
        let found = self.path.find(name).filter(|_| !is_builtin(name));
        match found.filter(|path| !is_system_program(path)) {
            Some(path) => Err(elsewhere(name, path)),
            None => Ok(()),
        }
    }

    /// Follows a `cd`. It may fail, so the previous folders remain possible.
    fn change(&mut self, arguments: &[Word]) -> Result<(), Unsafe> {
        let home = self.machine.home().filter(|_| arguments.is_empty());
        let mut next: Vec<PathBuf> = home.into_iter().collect();
        for folder in &self.folders {
            next.extend(arguments.iter().flat_map(|it| named(it, folder)));
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

    /// Checks that a network program runs in a sandbox and without options from a file.
    fn network(&self, name: &str) -> Result<(), Unsafe> {
        if !self.machine.sandbox {
            return Err(Unsafe::Unviewed {
                program: name.to_owned(),
                why: "there is no sandbox",
            });
        }
        let home = self.machine.home().unwrap_or_default();
        // With options from a file, the program could send files, or write the page to one.
        let files = NETWORK_FILES.iter().map(|it| home.join(it));
        match files.into_iter().find(|it| it.exists()) {
            Some(file) => Err(Unsafe::Configuration {
                program: name.to_owned(),
                file,
            }),
            None => Ok(()),
        }
    }

    /// Has the view show what a command names, and the folders in which it may run. Refuses words that
    /// name the home folder itself, and folders in it with too many files to search for secrets.
    fn show(&mut self, name: &str, paths: &[PathBuf]) -> Result<(), Unsafe> {
        let Some(home) = self.machine.secrets.home().map(leads_to) else {
            return Ok(());
        };
        let (cwd, folders) = (self.folders[0].clone(), self.folders.clone());
        let folders = folders.iter().filter(|it| **it != home);
        for path in folders.chain(paths) {
            let real = leads_to(path);
            let is_known = self.named.contains(&real) || path.symlink_metadata().is_err();
            if is_known || !real.starts_with(&home) {
                continue;
            }
            let is_elsewhere = !real.starts_with(&cwd);
            // The folder itself is there, also for `test -d ~`.
            if real == home && matches!(name, "[" | "test") {
                continue;
            }
            if is_elsewhere && (real == home || !Secrets::suspects_below(&real).1) {
                return Err(secret(name, path, None));
            }
            self.named.push(real);
        }
        Ok(())
    }

    /// Refuses Git where a repository tracks secrets, because the view does not show its contents.
    fn tracked(&self) -> Result<(), Unsafe> {
        let secrets = &self.machine.secrets;
        let mut tracked = self.folders.iter().flat_map(|it| secrets.tracked(it));
        let found = tracked.find_map(|it| it.files.into_iter().next());
        found.map_or(Ok(()), |file| {
            let grant = secrets.find(&file).map(|it| it.grant());
            Err(secret("git", &file, grant))
        })
    }

    /// Refuses secret files and, where no view hides them, the private files of processes and devices.
    fn path(&self, name: &str, path: &Path) -> Result<(), Unsafe> {
        if !self.is_viewed && is_private(&leads_to(path)) {
            return Err(secret(name, path, None));
        }
        let secrets = &self.machine.secrets;
        // A folder that does not exist yet is checked by a file in it.
        let found = secrets.find(path);
        let found = found.or_else(|| secrets.find(&path.join("x")));
        found.map_or(Ok(()), |found| {
            // No option reveals a process's private files.
            let is_process = found.kind == SecretKind::Process;
            Err(secret(name, path, (!is_process).then(|| found.grant())))
        })
    }
}

/// Returns true if a file belongs to a process or a device, and not to the machine as a whole.
fn is_private(real: &Path) -> bool {
    let mut parts = real.components().skip(1).map(Component::as_os_str);
    let first = parts.next().and_then(|it| it.to_str()).unwrap_or_default();
    let second = parts.next().and_then(|it| it.to_str());
    match first {
        "proc" => !second.is_some_and(|it| is_in(MACHINE, it)),
        "sys" => true,
        // A device may have the content of a whole disk, or wait for input.
        "dev" => second != Some("null"),
        _ => false,
    }
}

/// The paths that a word may name: as a whole, as the value of an option, or behind a colon, as in
/// the Git revision `:0:x`. Of a pattern, only its folder is known.
///
/// For `x/..` the shell drops both parts, while a program follows a link `x` first.
fn named(word: &Word, folder: &Path) -> Vec<PathBuf> {
    let value = match &word.before_pattern {
        Some(before) => before.rsplit_once('/').map_or("", |(folder, _)| folder),
        None => word.value.as_str(),
    };
    // Both are the command's input, which another command of the line may provide.
    if value.is_empty() || value == "-" || value == "/dev/stdin" {
        return Vec::new();
    }
    let behind = value.match_indices([':', '=']);
    let behind = behind.map(|(at, _)| &value[at + 1..]);
    // `-f` and its value in one word.
    let joined = value.strip_prefix('-').and_then(|it| it.get(1..));
    let texts = [value].into_iter().chain(behind).chain(joined);
    let paths = texts.filter(|it| !it.is_empty()).flat_map(|text| {
        let path = folder.join(text);
        let plain = without_dots(&path);
        let other = (plain != path).then_some(plain);
        [path].into_iter().chain(other)
    });
    paths.collect()
}

fn secret(name: &str, path: &Path, grant: Option<String>) -> Unsafe {
    Unsafe::Secret {
        program: name.to_owned(),
        path: path.to_owned(),
        grant,
    }
}

fn elsewhere(name: &str, path: PathBuf) -> Unsafe {
    Unsafe::Elsewhere {
        program: name.to_owned(),
        path,
    }
}
