//! The watcher holds the worker in a job object.

use std::io;
use std::process::ExitCode;

use platform::signals::StopSignals;
use process_wrap::tokio::{CommandWrap, JobObject, KillOnDrop};
use tokio::process::Command;
use tokio::runtime::Builder;

use super::{WorkerStart, worker};

pub(super) fn watch_host(start: WorkerStart) -> io::Result<ExitCode> {
    hold(start)
}

pub(super) fn watch_command(start: WorkerStart) -> io::Result<ExitCode> {
    hold(start)
}

/// Runs the worker to its end, and then ends all processes that it left. The system does the
/// same if this process is killed.
fn hold(start: WorkerStart) -> io::Result<ExitCode> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Handled, and never read: all processes of a console get Ctrl-C, and the worker
        // decides what it means.
        let _ignored = StopSignals::listen();
        let mut wrap = CommandWrap::from(Command::from(worker(start)?));
        // `KillOnDrop` makes the system end the job when its handle is closed.
        wrap.wrap(KillOnDrop).wrap(JobObject);
        let mut job = wrap.spawn()?;
        // Not the end of the job, which waits for what the worker left.
        let status = job.inner_mut().wait().await?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(ExitCode::from(code.unwrap_or(1)))
    })
}

/// Does nothing: the system ends the worker with the watcher, and commands have jobs.
pub(super) fn follow_watcher(_collected: bool) {}

/// Returns false: processes have no parent that could collect them.
pub(super) fn adopt_orphans() -> bool {
    false
}
