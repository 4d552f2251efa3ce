//! Decides which shell commands run without approval, and which never run.
//!
//! [`review`] checks the text of a command and is pure. [`inspect`] also checks the machine:
//! which files the programs' names lead to, where paths lead, and what Git's configuration
//! names. Neither runs anything. The rules are safe without a sandbox. If there is one,
//! approved commands run in it, read-only.

mod contents;
mod environment;
mod expand;
mod find;
mod git;
mod git_index;
mod machine;
mod network;
mod options;
mod parts;
mod path;
mod programs;
mod repository;
mod rule;
mod scripts;
mod settings;
mod special;
mod split;
mod syntax;
mod table;
mod words;

use std::fmt;
use std::path::PathBuf;

use platform::paths::visible;

pub(crate) use self::environment::environment;
pub use self::machine::{Machine, inspect};
pub use self::parts::{parts, runs_others};
use self::path::Order;
use self::programs::Reads;
use self::syntax::Simple;
use self::words::{KnownVariables, Word};

/// Longest command that is checked (16 KB).
const MAX_LENGTH: usize = 16 * 1024;

/// The user's additions to the list of commands, and the commands the user forbids.
///
/// An entry is a program, or a program and its first arguments, such as `go test`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellLists {
    /// Commands approved with any further arguments.
    pub allow: Vec<String>,
    /// Commands that never run. These override `allow`.
    pub deny: Vec<String>,
}

/// What an approved command needs to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Network access, for `curl` and similar programs.
    pub network: bool,
    /// `PATH` in the user's order, because it only looks up programs.
    pub lookup: bool,
    /// Everything that unreviewed commands get, because the user added one of its programs.
    pub more: bool,
}

/// Why a command is not approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsafe {
    /// The user forbids it.
    Denied(String),
    /// The program is not on the list.
    Unlisted(String),
    /// The program is on the list, but not with this argument.
    Argument {
        /// The program.
        program: String,
        /// The argument.
        argument: String,
        /// What it could do: a verb phrase that follows "it could".
        could: &'static str,
    },
    /// It contains syntax that is not analyzed: a noun with its article.
    Syntax(&'static str),
    /// The program is not in a system folder.
    Elsewhere {
        /// The program.
        program: String,
        /// Where `PATH` finds it.
        path: PathBuf,
    },
    /// It reads a file that contains a secret, or a process's private files.
    Secret {
        /// The program.
        program: String,
        /// The file or folder.
        path: PathBuf,
        /// The option that permits it, if there is one.
        grant: Option<String>,
    },
    /// A repository's configuration or attributes may run a program.
    Configuration {
        /// The program.
        program: String,
        /// The file.
        file: PathBuf,
        /// The setting.
        setting: String,
    },
    /// It needs the network, and there is no sandbox that withholds it from other programs.
    Network(String),
    /// No command is approved on this system, for this reason.
    System(&'static str),
}

impl Needs {
    /// The needs known before the commands are checked.
    fn of(commands: &[Simple]) -> Self {
        let looks_up = |name: &str| name == "which" || programs::is_builtin(name);
        let mut names = commands.iter().filter_map(|it| it.words.first());
        Self {
            lookup: names.all(|it| looks_up(&it.value)),
            ..Self::default()
        }
    }

    /// The order of folders in its `PATH`.
    pub(crate) fn order(self) -> Order {
        match self.lookup {
            true => Order::Given,
            false => Order::SystemFirst,
        }
    }
}

impl fmt::Display for Unsafe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(_) | Self::System(_) => write!(f, "The command is not allowed: ")?,
            Self::Argument {
                program, argument, ..
            } => write!(
                f,
                "The command \"{program}\" is not allowed with \"{argument}\": "
            )?,
            Self::Denied(program)
            | Self::Unlisted(program)
            | Self::Network(program)
            | Self::Elsewhere { program, .. }
            | Self::Secret { program, .. }
            | Self::Configuration { program, .. } => {
                write!(f, "The command \"{program}\" is not allowed: ")?
            }
        }
        self.reason(f)
    }
}

impl Unsafe {
    /// Writes the reason, without the command.
    fn reason(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(_) => f.write_str("the user's settings forbid it (tools.bash.deny)."),
            Self::Unlisted(_) => f.write_str("it is not in the whitelist."),
            Self::Argument { could, .. } => write!(f, "it could {could}."),
            Self::Syntax(what) => write!(
                f,
                "it contains {what}, and only plain commands are analyzed, joined by |, &&, || and ;."
            ),
            Self::Elsewhere { path, .. } => {
                write!(f, "{} is not in a system folder.", path.display())
            }
            Self::Secret { path, grant, .. } => {
                // A file name may contain line breaks or escape sequences.
                write!(f, "it could show secrets in {}.", visible(path))?;
                match grant {
                    Some(grant) => write!(f, " The user can grant it with {grant}."),
                    None => Ok(()),
                }
            }
            Self::Configuration { file, setting, .. } => {
                let file = file.display();
                write!(f, "{file} sets {setting}, which could run a program.")
            }
            Self::Network(_) => f.write_str("it uses the network, and there is no sandbox."),
            Self::System(why) => f.write_str(why),
        }
    }
}

/// Whether a command only reads, judging by its text.
///
/// # Errors
///
/// The first part of it that is not approved.
pub fn review(command: &str, lists: &ShellLists) -> Result<Needs, Unsafe> {
    let variables = KnownVariables::unknown();
    let commands = commands(command, lists, &variables)?;
    let mut needs = Needs::of(&commands);
    for command in &commands {
        check(command, lists, &mut needs)?;
    }
    Ok(needs)
}

/// The commands in a command line.
fn commands(
    command: &str,
    lists: &ShellLists,
    variables: &KnownVariables,
) -> Result<Vec<Simple>, Unsafe> {
    // First, so that the reason is the user's own setting.
    if let Some(denied) = forbidden(command, &lists.deny) {
        return Err(denied);
    }
    if command.len() > MAX_LENGTH {
        return Err(Unsafe::Syntax("more than 16 KB"));
    }
    let commands = syntax::read(command, variables).map_err(Unsafe::Syntax)?;
    let changes = |it: &Simple| it.words.first().is_some_and(|it| it.value == "cd");
    let has_folder = |it: &Simple| it.words.iter().chain(&it.inputs).any(|it| it.has_folder);
    if commands.is_empty() {
        return Err(Unsafe::Syntax("no command"));
    }
    // After a `cd`, `$PWD` is no longer the folder that the line started in.
    if commands.iter().any(changes) && commands.iter().any(has_folder) {
        return Err(Unsafe::Syntax("an expansion"));
    }
    Ok(commands)
}

/// Whether a command runs a program that the user forbids, judging by its words.
///
/// Also applies to commands that contain syntax that [`review`] refuses.
pub fn forbidden(command: &str, deny: &[String]) -> Option<Unsafe> {
    if deny.is_empty() {
        return None;
    }
    match syntax::names(command) {
        Ok(runs) => runs.iter().find_map(|words| {
            let entry = deny.iter().find(|entry| is_named(words, entry))?;
            Some(Unsafe::Denied(entry.clone()))
        }),
        // A command that cannot be parsed might run it.
        Err(what) => Some(Unsafe::Syntax(what)),
    }
}

/// Whether a command matches an entry of [`ShellLists`].
fn is_named(words: &[String], entry: &str) -> bool {
    let mut entry = entry.split_whitespace();
    let mut words = words.iter().map(String::as_str);
    let Some(program) = entry.next() else {
        return false;
    };
    words.next().is_some_and(|it| base(it) == program) && entry.all(|it| words.next() == Some(it))
}

/// The file name of a program.
fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Why a command is approved.
enum ApprovedBy<'a> {
    /// It is on the list, and reads these files.
    List(Reads<'a>),
    /// The user added it.
    User,
}

/// Checks one command by its words, and adds what it needs to `needs`.
fn check<'a>(
    simple: &'a Simple,
    lists: &ShellLists,
    needs: &mut Needs,
) -> Result<ApprovedBy<'a>, Unsafe> {
    let Some((program, arguments)) = simple.words.split_first() else {
        return Err(Unsafe::Syntax("a redirection without a command"));
    };
    let name = program.value.as_str();
    // A path may lead to any program, but names are only searched in the safe `PATH`.
    if !program.is_plain || program.is_pattern() || name.contains('/') {
        return Err(Unsafe::Unlisted(name.to_owned()));
    }
    let words: Vec<String> = simple
        .words
        .iter()
        .map(|it: &Word| it.value.clone())
        .collect();
    // First, because the user may allow more of a program than the table does.
    if lists.allow.iter().any(|entry| is_named(&words, entry)) {
        needs.more = true;
        return Ok(ApprovedBy::User);
    }
    match programs::check(name, arguments) {
        None => Err(Unsafe::Unlisted(name.to_owned())),
        Some(Ok(reads)) => {
            // A version is printed without the network.
            needs.network |= programs::is_network(name) && !reads.is_version;
            Ok(ApprovedBy::List(reads))
        }
        Some(Err((argument, could))) => Err(Unsafe::Argument {
            program: name.to_owned(),
            argument,
            could,
        }),
    }
}

#[cfg(test)]
mod property;
#[cfg(test)]
#[path = "tests.rs"]
mod tests;
