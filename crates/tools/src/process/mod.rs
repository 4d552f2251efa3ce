//! Starts a shell away from every terminal and keeps hold of everything it starts.
//!
//! Knows nothing of tools or models: a command goes in, a pipe and a tree of
//! processes come out.

mod argv;
mod environment;
mod held;
mod orphans;
mod piped;
mod program;
mod tree;
mod user_program;
mod watched;

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::net::unix::pipe;

pub use argv::{Ended, run_argv};
pub(crate) use environment::child_environment;
pub(crate) use held::Held;
pub use orphans::end_descendants;
pub(crate) use piped::{Launch, Piped};
use tree::Tree;
pub use user_program::{Program, Said};
pub use watched::watched_by;

/// What to run, and where.
pub(crate) struct Command<'a> {
    /// Words that stand before the shell to have it held; empty when it runs free.
    pub prefix: Vec<OsString>,
    /// The shell's name or path; it gets `-c` and the script.
    pub shell: &'a str,
    /// The script.
    pub script: &'a str,
    /// Where it runs.
    pub cwd: &'a Path,
    /// The whole environment, nothing is added.
    pub environment: Vec<(OsString, OsString)>,
}

/// A shell that runs.
pub(crate) struct Running {
    /// The shell itself, without what it started.
    pub child: Box<dyn ChildWrapper>,
    /// Standard output and standard error, in the order they were written.
    pub output: pipe::Receiver,
    /// The shell and all that it started.
    held: Held,
    /// Whether a sandbox holds it, which ends with the shell whatever is in it.
    is_sandboxed: bool,
}

impl Running {
    /// Starts a command in a group of its own: no terminal, no input.
    ///
    /// `mark` must be in the command's environment; it finds processes that left
    /// the group.
    ///
    /// # Errors
    ///
    /// When the shell cannot be started.
    pub(crate) fn start(command: Command<'_>, mark: &Mark) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let shell = program::find(command.shell, &command.environment);
        let is_sandboxed = !command.prefix.is_empty();
        let program = command.prefix.first().unwrap_or(&shell);
        let mut wrap = CommandWrap::with_new(program, |process| {
            match command.prefix.split_first() {
                // Scripts see the name that was given.
                None => process.arg0(command.shell),
                Some((_, words)) => process.args(words).arg(&shell),
            };
            process.arg("-c").arg(command.script);
            process.current_dir(command.cwd);
            process.env_clear().envs(command.environment);
            process.stdin(Stdio::null());
        });
        let same_pipe = writer.try_clone()?;
        wrap.command_mut().stdout(writer).stderr(same_pipe);
        let (child, held) = Held::start(wrap, mark)?;
        Ok(Self {
            child,
            output: pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?,
            held,
            is_sandboxed,
        })
    }

    /// See [`Held::ask_to_end`].
    pub(crate) fn ask_to_end(&self) {
        self.held.ask_to_end();
    }

    /// See [`Held::is_surely_gone`].
    pub(crate) fn is_surely_gone(&mut self) -> bool {
        self.held.is_surely_gone()
    }

    /// See [`Held::stop`]; of a sandboxed one nobody knows how many there were.
    pub(crate) async fn stop(&mut self) -> usize {
        let count = self.held.stop().await;
        // The sandbox itself is among them, and some are gone before they are seen.
        if self.is_sandboxed { 0 } else { count }
    }
}

/// A variable that marks all processes of one call, wherever they move.
#[derive(Debug, Clone)]
pub(crate) struct Mark(String);

impl Mark {
    /// Name of the environment variable.
    pub(crate) const NAME: &str = "FLEMMA_CALL";

    /// A mark that no other call has, although ids repeat: our process, `id` and 64
    /// random bits.
    pub(crate) fn new(id: &str) -> Self {
        use std::hash::{BuildHasher, RandomState};
        let safe: String = id
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(40)
            .collect();
        let random = RandomState::new().hash_one(id);
        Self(format!("{}{safe}-{random:016x}", Self::ours()))
    }

    /// How the marks of all calls of this process begin.
    fn ours() -> String {
        format!("{}-", std::process::id())
    }

    /// The variable's value.
    pub(crate) fn value(&self) -> &str {
        &self.0
    }
}
