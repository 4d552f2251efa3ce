//! Nothing outlives the host: a small process that watches the one that works.
//!
//! The watcher adopts whatever the worker leaves behind, because it is their
//! nearest ancestor that collects orphans. When the worker dies in whatever way,
//! the watcher ends all of them. When the watcher dies, the worker is sent
//! SIGTERM and ends its calls itself. Knows nothing of Neovim or of tools.

use std::io;
use std::process::{Child, Command, ExitCode, ExitStatus};

/// Starts the worker with our own standard streams and waits for its end.
pub fn watch() -> ExitCode {
    let collected = adopt_orphans().then_some("--collected");
    let inner = ["host", "--inner"].into_iter().chain(collected);
    let status = std::env::current_exe()
        .and_then(|program| Command::new(program).args(inner).spawn())
        .and_then(wait);
    tools::end_descendants();
    match status {
        Ok(status) => exit_code(status),
        Err(error) => {
            eprintln!("flemma: The host could not be started: {error}.");
            ExitCode::FAILURE
        }
    }
}

/// Waits for the worker, and collects what its calls left behind and ended since:
/// the worker takes every child of ours but itself for something that still runs.
fn wait(mut worker: Child) -> io::Result<ExitStatus> {
    use std::os::unix::process::ExitStatusExt;
    use rustix::process::{WaitOptions, wait};
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((id, status))) if id.as_raw_nonzero().get().cast_unsigned() == worker.id() => {
                return Ok(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return worker.wait(),
        }
    }
}

/// Asks to be told when the watcher is gone. Called by the worker first of all;
/// `collected` is whether orphans go to the watcher.
pub fn follow_watcher(collected: bool) {
    if collected {
        tools::orphans_go_to(std::os::unix::process::parent_id());
    }
    #[cfg(target_os = "linux")]
    if let Err(error) =
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
    {
        tracing::warn!(%error, "the watcher's death will go unnoticed");
    }
}

/// Whether it worked; where it did not, commands are looked for one by one.
fn adopt_orphans() -> bool {
    #[cfg(target_os = "linux")]
    match rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        Ok(()) => return true,
        Err(error) => eprintln!("flemma: Orphans of the host cannot be collected: {error}."),
    }
    false
}

/// The worker's exit code; 128 and the signal's number when one killed it, as in
/// a shell.
fn exit_code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
