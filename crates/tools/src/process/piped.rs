//! Starts a program with arguments and a given input, and with separate pipes for its two outputs.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use platform::pipe;

use super::system::CommandWrap;
use super::{HeldProcesses, ProcessMark, ProgramStart, program};

/// A program to start.
pub(crate) struct Launch<'a> {
    /// Words before it that put it in the sandbox; empty without a sandbox.
    pub prefix: Vec<OsString>,
    /// The program's name or path.
    pub program: &'a str,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its working directory.
    pub cwd: &'a Path,
    /// Its complete environment, which contains the call's mark.
    pub environment: Vec<(OsString, OsString)>,
    /// Its standard input.
    pub stdin: Stdio,
}

/// A running program.
pub(crate) struct Piped {
    /// Its standard output, until it is taken.
    pub stdout: Option<pipe::Receiver>,
    /// Its standard error, until it is taken.
    pub stderr: Option<pipe::Receiver>,
    /// The program and its descendants.
    pub held: HeldProcesses,
}

impl Piped {
    /// Starts a program in its own process group, without a terminal.
    ///
    /// # Errors
    ///
    /// It can't be started.
    pub(crate) fn start(launch: Launch<'_>, mark: &ProcessMark) -> io::Result<Self> {
        let (stdout, stdout_writer) = io::pipe()?;
        let (stderr, stderr_writer) = io::pipe()?;
        let file = program::find(launch.program, &launch.environment);
        let start = ProgramStart::new(launch.prefix, launch.program.as_ref(), file)?;
        let mut wrap = CommandWrap::with_new(start.program(), |process| {
            start.words(process);
            process.args(launch.arguments);
            process.current_dir(launch.cwd);
            process.env_clear().envs(launch.environment);
            process.stdin(launch.stdin);
        });
        // Both are dropped with `wrap` once the program runs. The pipes would not end
        // otherwise.
        wrap.command_mut().stdout(stdout_writer);
        wrap.command_mut().stderr(stderr_writer);
        let held = HeldProcesses::start(wrap, mark, start)?;
        Ok(Self {
            stdout: Some(pipe::receiver(stdout)?),
            stderr: Some(pipe::receiver(stderr)?),
            held,
        })
    }

    /// See [`HeldProcesses::wait`].
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.held.wait().await
    }
}
