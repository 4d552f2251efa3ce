//! A program with arguments, whose input is given and whose two outputs are told apart.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::net::unix::pipe;

use super::{Held, Mark, Start, program};

/// What to start, and where.
pub(crate) struct Launch<'a> {
    /// Words that stand before it to have it held; empty when it runs free.
    pub prefix: Vec<OsString>,
    /// The program's name or path.
    pub program: &'a str,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub cwd: &'a Path,
    /// The whole environment, nothing is added; the call's mark is in it.
    pub environment: Vec<(OsString, OsString)>,
    /// Its standard input.
    pub stdin: Stdio,
}

/// A program that runs.
pub(crate) struct Piped {
    /// The program itself, without what it started.
    pub child: Box<dyn ChildWrapper>,
    /// Its standard output, until it is taken.
    pub stdout: Option<pipe::Receiver>,
    /// Its standard error, likewise.
    pub stderr: Option<pipe::Receiver>,
    /// The program and all that it started.
    pub held: Held,
}

impl Piped {
    /// Starts it in a group of its own, away from every terminal.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub(crate) fn start(launch: Launch<'_>, mark: &Mark) -> io::Result<Self> {
        let (stdout, stdout_writer) = io::pipe()?;
        let (stderr, stderr_writer) = io::pipe()?;
        let file = program::find(launch.program, &launch.environment);
        let start = Start::new(launch.prefix, launch.program.as_ref(), file)?;
        let mut wrap = CommandWrap::with_new(&start.program, |process| {
            start.words(process);
            process.args(launch.arguments);
            process.current_dir(launch.cwd);
            process.env_clear().envs(launch.environment);
            process.stdin(launch.stdin);
        });
        wrap.command_mut().stdout(stdout_writer);
        wrap.command_mut().stderr(stderr_writer);
        let (child, held) = Held::start(wrap, mark, start)?;
        Ok(Self {
            child,
            stdout: Some(pipe::Receiver::from_owned_fd(OwnedFd::from(stdout))?),
            stderr: Some(pipe::Receiver::from_owned_fd(OwnedFd::from(stderr))?),
            held,
        })
    }

    /// Waits until the program has ended, without what it started.
    ///
    /// # Errors
    ///
    /// The operating system cannot say, or the program could not be started after all.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.held.released(status)
    }
}
