//! Starts commands without a terminal, and ends all of their processes.
//!
//! This module refers to no tool and no model.

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
pub(crate) use held::HeldProcesses;
use leash::Leash;
pub use leash::{LEASH, hold_leash, leash_beside, leash_with};
pub use orphans::end_descendants;
pub(crate) use piped::{Launch, Piped};
use tree::Tree;
pub use user_program::{Program, ProgramOutput};
pub use watched::watched_by;

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
    /// The shell itself, without its descendants.
    pub child: Box<dyn ChildWrapper>,
    /// Standard output and standard error, in the order in which they are written.
    pub output: pipe::Receiver,
    /// The shell and its descendants.
    held: HeldProcesses,
    /// Whether it runs in a sandbox, which ends with the shell and all of its processes.
    is_sandboxed: bool,
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
        let is_sandboxed = start.is_sandboxed;
        let mut wrap = CommandWrap::with_new(&start.program, |process| {
            start.words(process);
            process.arg("-c").arg(command.script);
            process.current_dir(command.cwd);
            process.env_clear().envs(command.environment);
            process.stdin(Stdio::null());
        });
        // One pipe for both, so that the order of their lines is kept.
        let same_pipe = writer.try_clone()?;
        wrap.command_mut().stdout(writer).stderr(same_pipe);
        let (child, held) = HeldProcesses::start(wrap, mark, start)?;
        Ok(Self {
            child,
            output: pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?,
            held,
            is_sandboxed,
        })
    }

    /// The shell's exit status, given that of `child`.
    ///
    /// # Errors
    ///
    /// It could not be started after all.
    pub(crate) fn released(&mut self, status: ExitStatus) -> io::Result<ExitStatus> {
        self.held.released(status)
    }

    /// The number of background processes that were stopped after the shell had ended.
    pub(crate) fn left(&self) -> usize {
        self.held.left
    }

    /// See [`HeldProcesses::ask_to_end`].
    pub(crate) fn ask_to_end(&self) {
        self.held.ask_to_end();
    }

    /// See [`HeldProcesses::is_surely_gone`].
    pub(crate) fn is_surely_gone(&mut self) -> bool {
        self.held.is_surely_gone()
    }

    /// See [`HeldProcesses::stop`]. Returns 0 for a sandboxed command, whose processes can't be counted.
    pub(crate) async fn stop(&mut self) -> usize {
        let count = self.held.stop().await;
        // The count would include the sandbox itself, and miss processes that ended with it.
        if self.is_sandboxed { 0 } else { count }
    }
}

/// How a program is started: in the sandbox, on a leash, or by itself.
pub(crate) struct ProgramStart {
    program: OsString,
    before: Vec<OsString>,
    /// Its `argv[0]`, if that differs from its path.
    name: Option<OsString>,
    file: Option<OsString>,
    leash: Option<Leash>,
    is_sandboxed: bool,
}

impl ProgramStart {
    /// Prepares the start of `file`, whose `argv[0]` is `name`. `prefix` are the words that put it
    /// in a sandbox.
    ///
    /// # Errors
    ///
    /// It would run on a leash, but it can't be run.
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

    fn words(&self, process: &mut tokio::process::Command) {
        if let Some(name) = &self.name {
            process.arg0(name);
        }
        process.args(self.before.iter().chain(&self.file));
    }
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
