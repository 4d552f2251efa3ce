//! The processes of one call, none of which outlives it.

use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup, ProcessSession};
use tokio::runtime::Handle;

use super::{Leash, ProcessMark, ProgramStart, Tree, watched};
use crate::sandbox::scope;

/// A program and all of its descendants.
pub(crate) struct HeldProcesses {
    tree: Tree,
    /// Whether the processes have ended or are being stopped.
    is_stopped: bool,
    leash: Option<Leash>,
    /// The number of background processes that the leash has stopped.
    pub(super) left: usize,
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
    ) -> io::Result<(Box<dyn ChildWrapper>, Self)> {
        // If the call is dropped, the program itself ends at once, and `drop` below ends the
        // others.
        wrap.wrap(KillOnDrop);
        if watched::has_no_terminal() {
            // A session would need a fork, and copying a process with as much memory as ours
            // takes longer than most commands.
            wrap.wrap(ProcessGroup::leader());
        } else {
            wrap.wrap(ProcessSession);
        }
        let child = spawn(wrap, start.is_sandboxed)?;
        let leader = child
            .id()
            .ok_or_else(|| io::Error::other("the program has no process id"))?;
        let held = Self {
            tree: Tree::new(leader, mark, start.leash.is_some()),
            is_stopped: false,
            leash: start.leash,
            left: 0,
        };
        // The inner child, because the wrapper waits for the whole group.
        Ok((child.into_inner(), held))
    }

    /// The program's exit status, given that of the process started by [`HeldProcesses::start`].
    pub(super) fn released(&mut self, status: ExitStatus) -> io::Result<ExitStatus> {
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

    /// Sends SIGTERM to the program and its group, without searching for processes. Only valid
    /// before the program was waited for, because its id may be reused afterwards.
    pub(crate) fn ask_to_end(&self) {
        self.tree.ask_to_end();
    }

    /// Whether certainly no process of the call is left after its program has ended.
    pub(crate) fn is_surely_gone(&mut self) -> bool {
        self.is_stopped |= self.tree.is_surely_gone();
        self.is_stopped
    }

    /// Ends all processes, including those that left the group, and returns how many there were.
    /// Continues if the future is dropped.
    pub(crate) async fn stop(&mut self) -> usize {
        self.is_stopped = true;
        let tree = self.tree.clone();
        let stopping = tokio::spawn(async move { tree.stop().await });
        stopping.await.unwrap_or_default()
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
    scope::run(move || {
        let _context = runtime.enter();
        wrap.spawn()
    })?
}

impl Drop for HeldProcesses {
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
