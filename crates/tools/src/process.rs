//! Starts commands without a terminal, and ends all of their processes.
//!
//! This module refers to no tool and no model.

mod argv;
mod environment;
mod piped;
mod program;
mod user_program;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;

use platform::pipe;
use tokio::runtime::Handle;

pub use argv::{CommandOutput, run_argv};
pub(crate) use environment::child_environment;
pub(crate) use piped::{Launch, Piped};
use system::{ChildWrapper, CommandWrap};
pub(crate) use system::{HeldProcesses, ProgramStart, Script, leash_program};
pub use system::{LEASH, end_descendants, hold_leash, leash_beside, leash_with, watched_by};
pub use user_program::{Program, ProgramOutput};

use crate::sandbox;

/// A shell command to start.
pub(crate) struct Command<'a> {
    /// Words before the shell that put it in the sandbox; empty without a sandbox.
    pub prefix: Vec<OsString>,
    /// The shell's name or path; it gets `-c` and the script.
    pub shell: &'a str,
    /// The script.
    pub script: &'a str,
    /// Its working directory.
    pub cwd: &'a Path,
    /// Its complete environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// A running shell.
pub(crate) struct Running {
    /// Standard output and standard error, in the order in which they are written.
    pub output: pipe::Receiver,
    /// The shell and its descendants.
    pub held: HeldProcesses,
    /// Whether it runs in a sandbox, which ends with the shell and all of its processes.
    is_sandboxed: bool,
    /// What the shell reads the script from, until it has ended.
    _script: Script,
}

impl Running {
    /// Starts a command in its own process group, without a terminal and without input.
    ///
    /// Its environment must contain `mark`, by which processes that left the group are found.
    ///
    /// # Errors
    ///
    /// The shell can't be started.
    pub(crate) fn start(command: Command<'_>, mark: &ProcessMark) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let shell = program::find(command.shell, &command.environment);
        let start = ProgramStart::new(command.prefix, command.shell.as_ref(), shell)?;
        let script = Script::new(command.shell, command.script)?;
        let is_sandboxed = start.is_sandboxed;
        let mut wrap = CommandWrap::with_new(start.program(), |process| {
            start.words(process);
            script.words(process);
            process.current_dir(command.cwd);
            process.env_clear().envs(command.environment);
            process.stdin(Stdio::null());
        });
        // One pipe for both, so that the order of their lines is kept.
        let same_pipe = writer.try_clone()?;
        wrap.command_mut().stdout(writer).stderr(same_pipe);
        let held = HeldProcesses::start(wrap, mark, start)?;
        Ok(Self {
            output: pipe::receiver(reader)?,
            held,
            is_sandboxed,
            _script: script,
        })
    }

    /// See [`HeldProcesses::stop`]. Returns 0 for a sandboxed command, whose processes can't be counted.
    pub(crate) async fn stop(&mut self) -> usize {
        let count = self.held.stop().await;
        // The count would include the sandbox itself, and miss processes that ended with it.
        if self.is_sandboxed { 0 } else { count }
    }
}

/// Spawns a program; a sandboxed one on a thread that is cut off from abstract sockets.
///
/// `wrap` is dropped afterwards because it contains the writing end of the output's pipe. The
/// output would not end otherwise.
fn spawn(mut wrap: CommandWrap, is_sandboxed: bool) -> io::Result<Box<dyn ChildWrapper>> {
    if !is_sandboxed {
        return wrap.spawn();
    }
    let runtime = Handle::current();
    sandbox::run_restricted(move || {
        let _context = runtime.enter();
        wrap.spawn()
    })?
}

/// An environment variable that marks all processes of one call, even if they leave its group.
#[derive(Debug, Clone)]
pub(crate) struct ProcessMark(String);

impl ProcessMark {
    /// The variable's name.
    pub(crate) const NAME: &str = "FLEMMA_CALL";

    /// A unique mark: the id of our process, `id`, and 64 random bits, because call ids repeat.
    pub(crate) fn new(id: &str) -> Self {
        use std::hash::{BuildHasher, RandomState};
        let safe: String = id
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(40)
            .collect();
        // The standard library seeds it randomly, so no crate for random numbers is needed.
        let random = RandomState::new().hash_one(id);
        Self(format!("{}{safe}-{random:016x}", Self::ours()))
    }

    /// The prefix of all marks of this process.
    fn ours() -> String {
        format!("{}-", std::process::id())
    }

    /// The variable's value.
    pub(crate) fn value(&self) -> &str {
        &self.0
    }
}
