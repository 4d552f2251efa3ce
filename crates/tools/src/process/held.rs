//! The processes of one call, held so that none of them outlives it.

use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup, ProcessSession};
use tokio::runtime::Handle;

use super::{Leash, Mark, Start, Tree, watched};
use crate::sandbox::scope;

/// A program and all that it started.
pub(crate) struct Held {
    tree: Tree,
    /// Whether somebody sees to it that they end.
    is_stopped: bool,
    leash: Option<Leash>,
    /// Processes that the program had left behind, when its leash has ended them.
    pub(super) left: usize,
}

impl Held {
    /// Starts a program in a group of its own, away from every terminal.
    ///
    /// `mark` must be in its environment; it finds processes that left the group. A
    /// program of the sandbox is also cut off from abstract sockets.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub(crate) fn start(
        mut wrap: CommandWrap,
        mark: &Mark,
        start: Start,
    ) -> io::Result<(Box<dyn ChildWrapper>, Self)> {
        wrap.wrap(KillOnDrop);
        if watched::has_no_terminal() {
            // A process that has as much memory as ours takes longer to copy, which a
            // session of its own would need, than most commands take.
            wrap.wrap(ProcessGroup::leader());
        } else {
            wrap.wrap(ProcessSession);
        }
        // The command holds the pipe's writing end. It is dropped with it: otherwise the
        // end of the output would never come.
        let child = if start.is_sandboxed {
            let runtime = Handle::current();
            scope::run(move || {
                let _context = runtime.enter();
                wrap.spawn()
            })??
        } else {
            let child = wrap.spawn()?;
            drop(wrap);
            child
        };
        let leader = child
            .id()
            .ok_or_else(|| io::Error::other("the program has no process id"))?;
        let held = Self {
            tree: Tree::new(leader, mark, start.leash.is_some()),
            is_stopped: false,
            leash: start.leash,
            left: 0,
        };
        // The bare child: the wrapper's own wait would look at the whole group.
        Ok((child.into_inner(), held))
    }

    /// How the program ended, when what was started with [`Held::start`] ended so.
    pub(super) fn released(&mut self, status: ExitStatus) -> io::Result<ExitStatus> {
        // One that was killed could not end the rest.
        let leash = self.leash.as_ref().filter(|_| status.code().is_some());
        let Some(leash) = leash else {
            return Ok(status);
        };
        self.is_stopped = true;
        let released = leash.released(status)?;
        self.left = released.left;
        Ok(released.status)
    }

    /// Asks the program and its group to end, without a look at the processes, which
    /// takes its time when there are many. Only while the program was not waited for:
    /// its id may be another's afterwards.
    pub(crate) fn ask_to_end(&self) {
        self.tree.ask_to_end();
    }

    /// Whether nothing of the call can be left, now that its program has ended; `false`
    /// says nothing.
    pub(crate) fn is_surely_gone(&mut self) -> bool {
        self.is_stopped |= self.tree.is_surely_gone();
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

impl Drop for Held {
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
