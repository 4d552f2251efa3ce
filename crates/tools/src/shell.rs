//! Decides which shell commands run without approval, and which never run.
//!
//! A command is approved if it consists of listed programs: the read-only view of the sandbox keeps
//! it from writing, from the network, and from secrets, whatever its arguments are. Without that view
//! only programs are approved that can do nothing but read.
//!
//! [`review`] checks the text of a command and is pure. [`inspect`] also checks the machine: whether
//! there is a sandbox, and where paths lead. Neither runs anything.

mod environment;
mod machine;
mod parts;
mod programs;
mod syntax;
mod words;

use std::fmt;
use std::path::PathBuf;

use platform::paths::visible;

pub(crate) use self::environment::environment;
pub use self::machine::{Machine, inspect, reading_parts};
pub use self::parts::{parts, run_arguments};
use self::words::{KnownVariables, Simple};

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

/// The access that an approved command needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Network access, for `curl` and similar programs.
    pub network: bool,
    /// Everything that unreviewed commands get, because the user added one of its programs.
    pub more: bool,
    /// The files and folders in the home folder that it names, if no others there may be seen.
    pub named: Option<Vec<PathBuf>>,
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
        /// The danger: a verb phrase that follows "it could".
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
    /// A network program would take options from this file.
    Configuration {
        /// The program.
        program: String,
        /// The file.
        file: PathBuf,
    },
    /// It could do more than read, and would not run in the read-only view.
    Unviewed {
        /// The program.
        program: String,
        /// Why it would not: a clause.
        why: &'static str,
    },
    /// No command is approved on this system, for this reason.
    System(&'static str),
}

impl Needs {
    /// Why a command of the line must only read by itself; `None` if the read-only view holds it.
    fn unviewed(&self, has_sandbox: bool) -> Option<&'static str> {
        if !has_sandbox {
            Some("there is no sandbox")
        } else if self.more {
            Some("another command of the line runs without it (tools.bash.allow)")
        } else {
            self.network
                .then_some("another command of the line uses the network")
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
            | Self::Elsewhere { program, .. }
            | Self::Secret { program, .. }
            | Self::Unviewed { program, .. }
            | Self::Configuration { program, .. } => {
                write!(f, "The command \"{program}\" is not allowed: ")?
            }
        }
        self.reason(f)
    }
}

impl Unsafe {
    /// A description of the command in a few words.
    pub fn brief(&self) -> &'static str {
        match self {
            Self::Denied(_) => "a command that you forbid",
            Self::Secret { .. } => "a command that could show secrets",
            Self::Elsewhere { .. } => "runs a program outside of the system's folders",
            Self::Configuration { .. } => "uses the network",
            Self::Unviewed { .. } => "could do more than read",
            Self::Unlisted(_) | Self::Argument { .. } | Self::Syntax(_) | Self::System(_) => {
                "runs a command"
            }
        }
    }

    /// Writes the reason, without the command.
    fn reason(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(_) => f.write_str("the user's settings forbid it (tools.bash.deny)."),
            Self::Unlisted(_) => f.write_str("it is not in the whitelist."),
            Self::Argument { could, .. } => write!(f, "it could {could}."),
            Self::Syntax(what) => write!(
                f,
                "it contains {what}, and only plain commands are approved, joined by |, &&, || and ;."
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
            Self::Configuration { file, .. } => {
                write!(f, "it would take options from {}.", file.display())
            }
            Self::Unviewed { why, .. } => {
                write!(
                    f,
                    "it could do more than read outside of the read-only view, and {why}."
                )
            }
            Self::System(why) => f.write_str(why),
        }
    }
}

/// Returns true if a command is approved, judging by its text. It is not if it needs a sandbox and there is
/// none; see [`inspect`].
///
/// # Errors
///
/// The first part of it that is not approved.
pub fn review(command: &str, lists: &ShellLists) -> Result<Needs, Unsafe> {
    let commands = commands(command, lists, &KnownVariables::unknown())?;
    check_all(&commands, lists, true)
}

/// Checks the commands of a line by their words, and returns what it needs.
fn check_all(commands: &[Simple], lists: &ShellLists, has_sandbox: bool) -> Result<Needs, Unsafe> {
    let mut needs = Needs::default();
    let mut listed = Vec::new();
    for command in commands {
        if check(command, lists, &mut needs)? == ApprovedBy::List {
            listed.push(command);
        }
    }
    if let Some(why) = needs.unviewed(has_sandbox) {
        for command in listed {
            only_reads(command, why)?;
        }
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

/// Returns true if a command runs a program that the user forbids, judging by its words.
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

/// Returns true if a command matches an entry of [`ShellLists`].
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

/// Returns true if a program is one that reads files or fetches pages.
pub fn is_reader(program: &str) -> bool {
    programs::is_listed(program) || programs::is_network(program)
}

/// Why a command is approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApprovedBy {
    /// Its program is on the list.
    List,
    /// Its program fetches something.
    Network,
    /// The user added it.
    User,
}

/// Checks one command by its words, and adds what it needs to `needs`.
fn check(simple: &Simple, lists: &ShellLists, needs: &mut Needs) -> Result<ApprovedBy, Unsafe> {
    let Some((program, arguments)) = simple.words.split_first() else {
        return Err(Unsafe::Syntax("a redirection without a command"));
    };
    let name = program.value.as_str();
    // A path may lead to any program, but names are only searched in the safe `PATH`.
    if !program.is_plain || program.is_pattern() || name.contains('/') {
        return Err(Unsafe::Unlisted(name.to_owned()));
    }
    let words: Vec<String> = simple.words.iter().map(|it| it.value.clone()).collect();
    // First, because the user may allow more of a program than the list does.
    if lists.allow.iter().any(|entry| is_named(&words, entry)) {
        needs.more = true;
        return Ok(ApprovedBy::User);
    }
    if programs::is_network(name) {
        programs::check_network(name, arguments).map_err(|refusal| argument(name, refusal))?;
        needs.network = true;
        return Ok(ApprovedBy::Network);
    }
    if programs::is_listed(name) {
        Ok(ApprovedBy::List)
    } else {
        Err(Unsafe::Unlisted(name.to_owned()))
    }
}

/// Checks that a listed program can only read, although no view holds it for the reason `why`.
fn only_reads(simple: &Simple, why: &'static str) -> Result<(), Unsafe> {
    let Some((program, arguments)) = simple.words.split_first() else {
        return Ok(());
    };
    let name = program.value.as_str();
    match programs::only_reads(name, arguments) {
        None => Err(Unsafe::Unviewed {
            program: name.to_owned(),
            why,
        }),
        Some(checked) => checked.map_err(|refusal| argument(name, refusal)),
    }
}

fn argument(program: &str, (argument, could): programs::Refusal) -> Unsafe {
    Unsafe::Argument {
        program: program.to_owned(),
        argument,
        could,
    }
}

#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;
#[cfg(test)]
#[path = "shell/tests/view.rs"]
mod view;
