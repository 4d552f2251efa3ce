//! The words that start a program.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;

use crate::private::TemporaryPath;
use crate::state_dir;

use crate::process::program;

/// Shells that run a script in a file. The rules by which they split a command line into arguments
/// differ from those of other programs, so a script as an argument could change.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];

/// How a program is started.
pub(crate) struct ProgramStart {
    program: OsString,
    before: Vec<OsString>,
    /// Whether the program runs in a sandbox, as given; Windows has none.
    pub(crate) is_sandboxed: bool,
}

impl ProgramStart {
    /// Prepares the start of `file` after the words `prefix`.
    ///
    /// # Errors
    ///
    /// It can't be run.
    pub(crate) fn new(prefix: Vec<OsString>, _name: &OsStr, file: OsString) -> io::Result<Self> {
        let is_sandboxed = !prefix.is_empty();
        // The system's error does not say that the file is missing.
        program::check(&file)?;
        let mut words = prefix.into_iter().chain([file]);
        Ok(Self {
            program: words.next().unwrap_or_default(),
            before: words.collect(),
            is_sandboxed,
        })
    }

    /// The program to start.
    pub(crate) fn program(&self) -> &OsStr {
        &self.program
    }

    /// Adds the words before the program's own arguments.
    pub(crate) fn words(&self, process: &mut tokio::process::Command) {
        process.args(&self.before);
    }
}

/// A script that a shell runs.
pub(crate) enum Script {
    /// A file, which is deleted when the shell has ended.
    File(TemporaryPath),
    /// An argument.
    Argument(String),
}

impl Script {
    /// Prepares a script for `shell`.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub(crate) fn new(shell: &str, script: &str) -> io::Result<Self> {
        let stem = Path::new(shell).file_stem().unwrap_or_default();
        if !SHELLS.iter().any(|it| stem.eq_ignore_ascii_case(it)) {
            return Ok(Self::Argument(script.to_owned()));
        }
        let mut new = state_dir::temporary_file(".sh")?;
        new.file.write_all(script.as_bytes())?;
        // Closed, so that the shell can open it.
        Ok(Self::File(new.close()))
    }

    /// Adds the arguments of the shell.
    pub(crate) fn words(&self, process: &mut tokio::process::Command) {
        match self {
            // The shell takes a backslash for the start of an escape.
            Self::File(path) => process.arg(path.as_path().to_string_lossy().replace('\\', "/")),
            Self::Argument(script) => process.arg("-c").arg(script),
        };
    }
}

/// The program that starting a program by its name or path starts, which may lack its extension.
pub(crate) fn program_file(name: &str) -> OsString {
    let environment: Vec<_> = crate::variables().collect();
    program::find(name, &environment)
}
