//! Starts a shell away from every terminal and keeps hold of everything it starts.
//!
//! Knows nothing of tools or models: a command goes in, a pipe and a tree of
//! processes come out.

mod environment;
mod orphans;
mod program;
mod tree;
mod user_program;
mod watched;

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup, ProcessSession};
use tokio::net::unix::pipe;
use tokio::runtime::Handle;

pub(crate) use environment::child_environment;
pub use orphans::end_descendants;
use tree::Tree;
pub use user_program::{Program, Said};
pub use watched::watched_by;

/// What to run, and where.
pub(crate) struct Command<'a> {
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
    tree: Tree,
    /// Whether somebody sees to it that they end.
    is_stopped: bool,
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
        let mut wrap = CommandWrap::with_new(shell, |process| {
            // Scripts see the name that was given.
            process.arg0(command.shell);
            process.arg("-c").arg(command.script);
            process.current_dir(command.cwd);
            process.env_clear().envs(command.environment);
            process.stdin(Stdio::null());
        });
        let same_pipe = writer.try_clone()?;
        wrap.command_mut().stdout(writer).stderr(same_pipe);
        wrap.wrap(KillOnDrop);
        if watched::has_no_terminal() {
            // A process that has as much memory as ours takes longer to copy, which a
            // session of its own would need, than most commands take.
            wrap.wrap(ProcessGroup::leader());
        } else {
            wrap.wrap(ProcessSession);
        }
        let child = wrap.spawn()?;
        // The command still holds the pipe's writing end; the end of the output
        // would never come.
        drop(wrap);
        let leader = child
            .id()
            .ok_or_else(|| io::Error::other("the shell has no process id"))?;
        Ok(Self {
            // The bare child: the wrapper's own wait would look at the whole group.
            child: child.into_inner(),
            output: pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?,
            tree: Tree::new(leader, mark),
            is_stopped: false,
        })
    }

    /// Asks the shell and its group to end, without a look at the processes, which
    /// takes its time when there are many. Only while the shell was not waited for:
    /// its id may be another's afterwards.
    pub(crate) fn ask_to_end(&self) {
        self.tree.ask_to_end();
    }

    /// Whether nothing of the call can be left, now that its shell has ended; `false`
    /// says nothing.
    pub(crate) fn is_surely_gone(&mut self) -> bool {
        self.is_stopped = self.tree.is_surely_gone();
        self.is_stopped
    }

    /// Ends every process, also those that left the group; tells how many there
    /// were. Goes on when nobody waits for it any more.
    pub(crate) async fn stop(&mut self) -> usize {
        self.is_stopped = true;
        let tree = self.tree.clone();
        let stopping = tokio::spawn(async move { tree.stop().await });
        stopping.await.unwrap_or_default()
    }
}

impl Drop for Running {
    /// A call that was given up, or whose task panicked, leaves no process behind.
    fn drop(&mut self) {
        // Without a runtime the host is ending, and looks for all of them itself.
        if !self.is_stopped
            && let Ok(runtime) = Handle::try_current()
        {
            let tree = self.tree.clone();
            runtime.spawn(async move { tree.stop().await });
        }
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
