//! The words that start a program.

use std::ffi::{OsStr, OsString};
use std::io;

use super::leash::Leash;
use crate::process::program;

/// How a program is started: in the sandbox, on a leash, or by itself.
pub(crate) struct ProgramStart {
    program: OsString,
    before: Vec<OsString>,
    /// Its `argv[0]`, if that differs from its path.
    name: Option<OsString>,
    file: Option<OsString>,
    pub(super) leash: Option<Leash>,
    /// Whether the program runs in a sandbox.
    pub(crate) is_sandboxed: bool,
}

impl ProgramStart {
    /// Prepares the start of `file`, whose `argv[0]` is `name`. `prefix` are the words that put it
    /// in a sandbox.
    ///
    /// # Errors
    ///
    /// It would run on a leash, but it can't be run.
    pub(crate) fn new(prefix: Vec<OsString>, name: &OsStr, file: OsString) -> io::Result<Self> {
        let is_sandboxed = !prefix.is_empty();
        let mut words = prefix.into_iter();
        if let Some(program) = words.next() {
            return Ok(Self {
                program,
                before: words.collect(),
                name: None,
                file: Some(file),
                leash: None,
                is_sandboxed,
            });
        }
        let Some((leash, [program, words @ ..])) = Leash::new() else {
            return Ok(Self {
                program: file,
                before: Vec::new(),
                // Scripts see it as `$0`.
                name: Some(name.to_owned()),
                file: None,
                leash: None,
                is_sandboxed,
            });
        };
        // A leash would report the error only after it has started.
        program::check(&file)?;
        Ok(Self {
            program,
            before: words.into_iter().chain([name.to_owned()]).collect(),
            // The name in the list of processes.
            name: Some("flemma".into()),
            file: Some(file),
            leash: Some(leash),
            is_sandboxed,
        })
    }

    /// The program to start.
    pub(crate) fn program(&self) -> &OsStr {
        &self.program
    }

    /// Adds the words before the program's own arguments.
    pub(crate) fn words(&self, process: &mut tokio::process::Command) {
        if let Some(name) = &self.name {
            process.arg0(name);
        }
        process.args(self.before.iter().chain(&self.file));
    }
}

/// A script that a shell runs.
pub(crate) struct Script(String);

impl Script {
    /// Prepares a script for `shell`.
    ///
    /// # Errors
    ///
    /// Never; other systems need a file.
    pub(crate) fn new(_shell: &str, script: &str) -> io::Result<Self> {
        Ok(Self(script.to_owned()))
    }

    /// Adds the arguments of the shell.
    pub(crate) fn words(&self, process: &mut tokio::process::Command) {
        process.arg("-c").arg(&self.0);
    }
}

/// The program that starting a program by its name or path starts. The system searches `PATH`.
pub(crate) fn program_file(name: &str) -> OsString {
    name.into()
}
