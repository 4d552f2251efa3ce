//! Which shell commands may run unasked, and which never may.
//!
//! [`review`] reads the text of a command and is pure. [`inspect`] also looks at the
//! machine: which files the programs are, what the paths lead to, and what the
//! configuration of Git names. Neither runs anything. Together they hold without a
//! sandbox; a command they let through runs in a read-only one where there is one.

mod environment;
mod expand;
mod find;
mod git;
mod machine;
mod network;
mod options;
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

pub(crate) use self::environment::environment;
pub use self::machine::{Machine, inspect};
use self::path::Order;
use self::programs::Reads;
use self::syntax::Simple;
use self::words::{Variables, Word};

/// Longest command that is looked at (16 KB).
const MAX_LENGTH: usize = 16 * 1024;

/// What the user adds to the list and takes from it: a program, or a program and the
/// words behind it, such as `go test`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellLists {
    /// What may run as well, with any arguments.
    pub allow: Vec<String>,
    /// What may never run. Wins.
    pub deny: Vec<String>,
}

/// What an approved command needs in order to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// The network: it holds `curl` or a program like it.
    pub network: bool,
    /// `PATH` in the user's own order: it only looks up where programs are.
    pub lookup: bool,
    /// All that the user's own commands have: it holds one that the user added.
    pub more: bool,
}

/// Why a command is not let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsafe {
    /// The user forbids it.
    Denied(String),
    /// It is not on the list.
    Unlisted(String),
    /// It is on the list, and not with this argument.
    Argument {
        /// The program.
        program: String,
        /// The argument.
        argument: String,
        /// What it could do, to follow "because it could".
        could: &'static str,
    },
    /// It contains something that is not looked into: a noun with its article.
    Syntax(&'static str),
    /// The name leads to a program outside the folders of the system.
    Elsewhere {
        /// The program.
        program: String,
        /// Where `PATH` finds it.
        path: PathBuf,
    },
    /// It reads a file that holds a secret, or what a running program keeps to itself.
    Secret {
        /// The program.
        program: String,
        /// The file or folder.
        path: PathBuf,
        /// The option that grants it, if there is one.
        grant: Option<String>,
    },
    /// The configuration or the attributes of a repository may run a program.
    Configuration {
        /// The program.
        program: String,
        /// The file.
        file: PathBuf,
        /// The setting.
        setting: String,
    },
    /// It needs the network, and no sandbox keeps the rest from it.
    Network(String),
}

impl Needs {
    /// What is known before the commands are checked.
    fn of(commands: &[Simple]) -> Self {
        let looks_up = |name: &str| name == "which" || programs::is_builtin(name);
        let mut names = commands.iter().filter_map(|it| it.words.first());
        Self {
            lookup: names.all(|it| looks_up(&it.value)),
            ..Self::default()
        }
    }

    /// The order of `PATH` that it gets.
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
            Self::Denied(program) => write!(
                f,
                "The command \"{program}\" is not allowed: the user's settings forbid it \
                 (tools.bash.deny)."
            ),
            Self::Unlisted(program) => write!(
                f,
                "The command \"{program}\" is not allowed: it is not in the whitelist."
            ),
            Self::Argument {
                program,
                argument,
                could,
            } => write!(
                f,
                "The command \"{program}\" is not allowed with \"{argument}\": it could {could}."
            ),
            Self::Syntax(what) => write!(
                f,
                "The command is not allowed: it contains {what}, and only plain commands are \
                 looked at, joined by |, &&, || and ;."
            ),
            Self::Elsewhere { program, path } => write!(
                f,
                "The command \"{program}\" is not allowed: it is {}, which is not in a folder of the system.",
                path.display()
            ),
            Self::Secret {
                program,
                path,
                grant,
            } => {
                let path = path.display().to_string();
                let path = path.escape_debug();
                write!(
                    f,
                    "The command \"{program}\" is not allowed: it could show secrets in {path}."
                )?;
                match grant {
                    Some(grant) => write!(f, " The user can grant it with {grant}."),
                    None => Ok(()),
                }
            }
            Self::Configuration {
                program,
                file,
                setting,
            } => write!(
                f,
                "The command \"{program}\" is not allowed: {} sets {setting}, which could run a program.",
                file.display()
            ),
            Self::Network(program) => write!(
                f,
                "The command \"{program}\" is not allowed: it uses the network, and there is no sandbox."
            ),
        }
    }
}

/// Whether a command only reads, as far as its text tells.
///
/// # Errors
///
/// The first thing in it that is not let through.
pub fn review(command: &str, lists: &ShellLists) -> Result<Needs, Unsafe> {
    let variables = Variables::unknown();
    let commands = commands(command, lists, &variables)?;
    let mut needs = Needs::of(&commands);
    for command in &commands {
        check(command, lists, &mut needs)?;
    }
    Ok(needs)
}

/// The commands of a text.
fn commands(
    command: &str,
    lists: &ShellLists,
    variables: &Variables,
) -> Result<Vec<Simple>, Unsafe> {
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
    if commands.iter().any(changes) && commands.iter().any(has_folder) {
        return Err(Unsafe::Syntax("an expansion"));
    }
    Ok(commands)
}

/// Whether a command runs something that the user forbids, as far as its words show
/// it. Also in a command that is otherwise not looked into.
pub fn forbidden(command: &str, deny: &[String]) -> Option<Unsafe> {
    if deny.is_empty() {
        return None;
    }
    match syntax::names(command) {
        Ok(runs) => runs.iter().find_map(|words| {
            let entry = deny.iter().find(|entry| is_named(words, entry))?;
            Some(Unsafe::Denied(entry.clone()))
        }),
        // What cannot be read might run it.
        Err(what) => Some(Unsafe::Syntax(what)),
    }
}

/// Whether a command is the one that an entry of a list means.
fn is_named(words: &[String], entry: &str) -> bool {
    let mut entry = entry.split_whitespace();
    let mut words = words.iter().map(String::as_str);
    let Some(program) = entry.next() else {
        return false;
    };
    words.next().is_some_and(|it| base(it) == program) && entry.all(|it| words.next() == Some(it))
}

/// A program by whatever path it is called.
fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Who lets a command through.
enum By<'a> {
    /// The list, and what the command reads.
    List(Reads<'a>),
    /// The user, who added it.
    User,
}

/// Checks one command by its words, and adds what it needs.
fn check<'a>(simple: &'a Simple, lists: &ShellLists, needs: &mut Needs) -> Result<By<'a>, Unsafe> {
    let Some((program, arguments)) = simple.words.split_first() else {
        return Err(Unsafe::Syntax("a redirection without a command"));
    };
    let name = program.value.as_str();
    if !program.is_plain || program.is_pattern() || name.contains('/') {
        return Err(Unsafe::Unlisted(name.to_owned()));
    }
    let words: Vec<String> = simple
        .words
        .iter()
        .map(|it: &Word| it.value.clone())
        .collect();
    if lists.allow.iter().any(|entry| is_named(&words, entry)) {
        needs.more = true;
        return Ok(By::User);
    }
    match programs::check(name, arguments) {
        None => Err(Unsafe::Unlisted(name.to_owned())),
        Some(Ok(reads)) => {
            needs.network |= programs::is_network(name) && !reads.is_version;
            Ok(By::List(reads))
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
