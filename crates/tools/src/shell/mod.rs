//! Which shell commands may run without anybody looking, and which never.
//!
//! Pure: reads the text of a command and runs nothing. It is a filter that spares
//! questions and no wall: what it lets through only reads, as far as the programs on
//! the list do what they are known for. Whatever cannot be read for certain is not
//! let through. Who decides by it, and what follows, is not known here.

mod git;
mod network;
mod programs;
mod scripts;
mod split;
mod syntax;
mod words;

use std::fmt;

use self::syntax::Simple;

/// Longest command that is looked at (16 KB). What is longer, nobody reads either.
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
        }
    }
}

/// Whether a command only reads, as far as can be told from its text. `folder` is where
/// it runs when the call says so itself.
///
/// # Errors
///
/// The first thing in it that is not let through.
pub fn review(command: &str, folder: Option<&str>, lists: &ShellLists) -> Result<(), Unsafe> {
    if let Some(denied) = forbidden(command, &lists.deny) {
        return Err(denied);
    }
    if command.len() > MAX_LENGTH {
        return Err(Unsafe::Syntax("more than 16 KB"));
    }
    let commands = syntax::read(command).map_err(Unsafe::Syntax)?;
    if commands.is_empty() {
        return Err(Unsafe::Syntax("no command"));
    }
    for command in &commands {
        check(command, lists)?;
        let is_git = command.words.first().is_some_and(|it| it.value == "git");
        if let Some(folder) = folder.filter(|_| is_git) {
            return Err(Unsafe::Argument {
                program: "git".to_owned(),
                argument: format!("working_dir {folder}"),
                could: git::OTHER,
            });
        }
    }
    Ok(())
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

fn check(simple: &Simple, lists: &ShellLists) -> Result<(), Unsafe> {
    let Some((program, arguments)) = simple.words.split_first() else {
        return Err(Unsafe::Syntax("a redirection without a command"));
    };
    let name = program.value.as_str();
    if !program.is_plain || name.contains('/') {
        return Err(Unsafe::Unlisted(name.to_owned()));
    }
    let words: Vec<String> = simple.words.iter().map(|it| it.value.clone()).collect();
    if lists.allow.iter().any(|entry| is_named(&words, entry)) {
        return Ok(());
    }
    let refuse = |argument: &str, could| Unsafe::Argument {
        program: name.to_owned(),
        argument: argument.to_owned(),
        could,
    };
    for argument in arguments.iter().chain(&simple.inputs) {
        if let Some(could) = words::private(&argument.value) {
            return Err(refuse(&argument.value, could));
        }
    }
    match programs::check(name, arguments) {
        None => Err(Unsafe::Unlisted(name.to_owned())),
        Some(Ok(())) => Ok(()),
        Some(Err((argument, could))) => Err(refuse(&argument, could)),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
