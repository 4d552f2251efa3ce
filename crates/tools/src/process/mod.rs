//! Starts a shell away from every terminal and keeps hold of everything it starts.
//!
//! Knows nothing of tools or models: a command goes in, a pipe and a tree of
//! processes come out.

mod argv;
mod environment;
mod held;
mod leash;
mod orphans;
mod piped;
mod program;
mod tree;
mod user_program;
mod watched;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::net::unix::pipe;

pub use argv::{CommandOutput, run_argv};
pub(crate) use environment::child_environment;
pub(crate) use held::Held;
use leash::Leash;
pub use leash::{LEASH, hold_leash, leash_beside, leash_with};
pub use orphans::end_descendants;
pub(crate) use piped::{Launch, Piped};
use tree::Tree;
pub use user_program::{Program, ProgramOutput};
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
        let start = Start::new(command.prefix, command.shell.as_ref(), shell)?;
        let is_sandboxed = start.is_sandboxed;
        let mut wrap = CommandWrap::with_new(&start.program, |process| {
            start.words(process);
            process.arg("-c").arg(command.script);
            process.current_dir(command.cwd);
            process.env_clear().envs(command.environment);
            process.stdin(Stdio::null());
        });
        let same_pipe = writer.try_clone()?;
        wrap.command_mut().stdout(writer).stderr(same_pipe);
        let (child, held) = Held::start(wrap, mark, start)?;
        Ok(Self {
            child,
            output: pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?,
            held,
            is_sandboxed,
        })
    }

    /// How the shell ended, when `child` ended with `status`.
    ///
    /// # Errors
    ///
    /// It could not be started after all.
    pub(crate) fn released(&mut self, status: ExitStatus) -> io::Result<ExitStatus> {
        self.held.released(status)
    }

    /// Processes that the shell had left behind when it ended, and that are gone.
    pub(crate) fn left(&self) -> usize {
        self.held.left
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

/// How a program is started: in the sandbox, on a leash, or by itself.
pub(crate) struct Start {
    program: OsString,
    before: Vec<OsString>,
    /// The name that it sees, where that is not its path.
    name: Option<OsString>,
    file: Option<OsString>,
    leash: Option<Leash>,
    is_sandboxed: bool,
}

impl Start {
    /// `prefix` are the words that have it held by a sandbox, `name` is how it was called,
    /// `file` what runs.
    ///
    /// # Errors
    ///
    /// It is to run on a leash and cannot run.
    fn new(prefix: Vec<OsString>, name: &OsStr, file: OsString) -> io::Result<Self> {
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
                // Scripts see the name that was given.
                name: Some(name.to_owned()),
                file: None,
                leash: None,
                is_sandboxed,
            });
        };
        // A leash would say so too late.
        program::check(&file)?;
        Ok(Self {
            program,
            before: words.into_iter().chain([name.to_owned()]).collect(),
            name: Some("flemma".into()),
            file: Some(file),
            leash: Some(leash),
            is_sandboxed,
        })
    }

    fn words(&self, process: &mut tokio::process::Command) {
        if let Some(name) = &self.name {
            process.arg0(name);
        }
        process.args(self.before.iter().chain(&self.file));
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
