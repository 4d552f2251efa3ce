//! The processes of one call, none of which outlives it.

use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
use windows::Win32::System::Threading::CREATE_NO_WINDOW;

use super::ProgramStart;
use crate::process::{ProcessMark, spawn};

/// A program and all of its descendants. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct HeldProcesses {
    /// The job, whose inner child is the program itself.
    job: Box<dyn ChildWrapper>,
    /// Whether the processes are being stopped.
    is_stopped: bool,
}

impl HeldProcesses {
    /// Starts a program in a job of its own, with a hidden console of its own.
    ///
    /// # Errors
    ///
    /// It can't be started.
    pub(crate) fn start(
        wrap: CommandWrap,
        _mark: &ProcessMark,
        start: ProgramStart,
    ) -> io::Result<Self> {
        Self::in_job(wrap, start.is_sandboxed)
    }

    /// The same as [`HeldProcesses::start`] on Windows.
    ///
    /// # Errors
    ///
    /// It can't be started.
    pub(crate) fn start_session(wrap: CommandWrap, _mark: &ProcessMark) -> io::Result<Self> {
        Self::in_job(wrap, false)
    }

    fn in_job(mut wrap: CommandWrap, is_sandboxed: bool) -> io::Result<Self> {
        wrap.wrap(CreationFlags(CREATE_NO_WINDOW));
        // `KillOnDrop` makes the system end the job when its handle is closed.
        wrap.wrap(KillOnDrop).wrap(JobObject);
        Ok(Self {
            job: spawn(wrap, is_sandboxed)?,
            is_stopped: false,
        })
    }

    /// The program, for its standard streams.
    pub(crate) fn child(&mut self) -> &mut dyn ChildWrapper {
        self.job.inner_mut()
    }

    /// Waits until the program itself has ended.
    ///
    /// # Errors
    ///
    /// The operating system reports an error.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        // Not that of the job, which waits for background processes, too.
        self.job.inner_mut().wait().await
    }

    /// Waits until the program itself has ended.
    pub(crate) async fn reap(&mut self) {
        let _ = self.wait().await;
    }

    /// Whether the program itself is still running.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child().try_wait(), Ok(None))
    }

    /// Always 0: background processes can't be counted.
    pub(crate) fn left(&self) -> usize {
        0
    }

    /// Does nothing: processes without a window can't be asked to end.
    pub(crate) fn ask_to_end(&self) {}

    /// Whether the processes have been stopped. Otherwise, some may be left.
    pub(crate) fn is_surely_gone(&mut self) -> bool {
        self.is_stopped
    }

    /// Ends all processes at once. Returns 0, because they can't be counted.
    pub(crate) async fn stop(&mut self) -> usize {
        self.is_stopped = true;
        // Fails if the job has no process left.
        let _ = self.job.start_kill();
        self.reap().await;
        0
    }

    /// Lets background processes of the program, which has ended, continue until this process ends.
    pub(crate) fn leave(self) {
        // Leaves the handle of the job open.
        drop(self.job.into_inner());
    }
}
