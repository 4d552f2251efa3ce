//! The processes of one call, none of which outlives it.

use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup, ProcessSession};
use tokio::runtime::Handle;

use super::leash::Leash;
use super::tree::Tree;
use super::{ProgramStart, watched};
use crate::process::{ProcessMark, spawn};

/// A program and all of its descendants.
#[derive(Debug)]
pub(crate) struct HeldProcesses {
    /// The program, or its leash. A program ends at once when this is dropped, before `rest` is.
    child: Box<dyn ChildWrapper>,
    rest: Rest,
}

/// Ends the other processes.
#[derive(Debug)]
struct Rest {
    tree: Tree,
    /// Whether the processes have ended or are being stopped.
    is_stopped: bool,
    leash: Option<Leash>,
    /// The number of background processes that the leash has stopped.
    left: usize,
}

impl HeldProcesses {
    /// Starts a program in its own process group, without a terminal.
    ///
    /// Its environment must contain `mark`, by which processes that left the group are found. A
    /// sandboxed program can't reach abstract sockets either.
    ///
    /// # Errors
    ///
    /// It can't be started.
    pub(crate) fn start(
        mut wrap: CommandWrap,
        mark: &ProcessMark,
        start: ProgramStart,
    ) -> io::Result<Self> {
        // If the call is dropped, the program itself ends at once, and `drop` below ends the
        // others. A leash must outlive them: if this process is killed meanwhile, only the leash
        // can end them.
        if start.leash.is_none() {
            wrap.wrap(KillOnDrop);
        }
        if watched::has_no_terminal() {
            // A session would need a fork, and copying a process with as much memory as ours
            // takes longer than most commands.
            wrap.wrap(ProcessGroup::leader());
        } else {
            wrap.wrap(ProcessSession);
        }
        let child = spawn(wrap, start.is_sandboxed)?;
        Self::new(child, mark, start.leash)
    }

    /// Starts a program in its own session, without a sandbox or a leash.
    ///
    /// # Errors
    ///
    /// It can't be started.
    pub(crate) fn start_session(mut wrap: CommandWrap, mark: &ProcessMark) -> io::Result<Self> {
        wrap.wrap(KillOnDrop).wrap(ProcessSession);
        Self::new(wrap.spawn()?, mark, None)
    }

    fn new(
        child: Box<dyn ChildWrapper>,
        mark: &ProcessMark,
        leash: Option<Leash>,
    ) -> io::Result<Self> {
        let leader = child
            .id()
            .ok_or_else(|| io::Error::other("the program has no process id"))?;
        Ok(Self {
            // The inner child, because the wrapper waits for the whole group.
            child: child.into_inner(),
            rest: Rest {
                tree: Tree::new(leader, mark, leash.is_some()),
                is_stopped: false,
                leash,
                left: 0,
            },
        })
    }

    /// The program, for its standard streams.
    pub(crate) fn child(&mut self) -> &mut dyn ChildWrapper {
        self.child.as_mut()
    }

    /// Waits until the program itself has ended.
    ///
    /// # Errors
    ///
    /// The operating system reports an error, or the leash could not start the program.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.rest.released(status)
    }

    /// Waits until the process that was started has ended, whatever it was, so that no zombie is
    /// left.
    pub(crate) async fn reap(&mut self) {
        let _ = self.child.wait().await;
    }

    /// Whether the program itself is still running.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The number of background processes that were stopped after the program had ended.
    pub(crate) fn left(&self) -> usize {
        self.rest.left
    }

    /// Sends SIGTERM to the program and its group, without searching for processes. Only valid
    /// before the program was waited for, because its id may be reused afterwards.
    pub(crate) fn ask_to_end(&self) {
        self.rest.tree.ask_to_end();
    }

    /// Whether certainly no process of the call is left after its program has ended.
    pub(crate) fn is_surely_gone(&mut self) -> bool {
        self.rest.is_stopped |= self.rest.tree.is_surely_gone();
        self.rest.is_stopped
    }

    /// Ends all processes, including those that left the group, and returns how many there were.
    /// Continues if the future is dropped.
    pub(crate) async fn stop(&mut self) -> usize {
        self.rest.is_stopped = true;
        let tree = self.rest.tree.clone();
        let stopping = tokio::spawn(async move { tree.stop().await });
        stopping.await.unwrap_or_default()
    }

    /// Lets background processes of the program, which has ended, continue.
    pub(crate) fn leave(mut self) {
        self.rest.is_stopped = true;
        self.rest.tree.leave();
    }
}

impl Rest {
    /// The program's exit status, given that of the process that was started.
    fn released(&mut self, status: ExitStatus) -> io::Result<ExitStatus> {
        // A leash that was killed could not stop the other processes.
        let leash = self.leash.as_ref().filter(|_| status.code().is_some());
        let Some(leash) = leash else {
            return Ok(status);
        };
        self.is_stopped = true;
        let released = leash.released(status)?;
        self.left = released.left;
        Ok(released.status)
    }
}

impl Drop for Rest {
    /// Ends the processes of a call that was dropped or whose task panicked.
    fn drop(&mut self) {
        // Without a runtime the host is exiting, and ends all processes itself.
        if !self.is_stopped
            && let Ok(runtime) = Handle::try_current()
        {
            let tree = self.tree.clone();
            runtime.spawn(async move { tree.stop().await });
        }
    }
}
