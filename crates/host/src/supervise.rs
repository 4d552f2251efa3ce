//! Nothing outlives the host: a small process that watches the one that works.
//!
//! The watcher adopts whatever the worker leaves behind, because it is their
//! nearest ancestor that collects orphans. When the worker dies in whatever way,
//! the watcher ends all of them. When the watcher dies, the worker is sent
//! SIGTERM and ends its calls itself. Knows nothing of Neovim or of tools.

use std::process::{Command, ExitCode, ExitStatus};

/// Starts the worker with our own standard streams and waits for its end.
pub fn watch() -> ExitCode {
    adopt_orphans();
    let status = std::env::current_exe()
        .and_then(|program| Command::new(program).args(["host", "--inner"]).status());
    tools::end_descendants();
    match status {
        Ok(status) => exit_code(status),
        Err(error) => {
            eprintln!("flemma: The host could not be started: {error}.");
            ExitCode::FAILURE
        }
    }
}

/// Asks to be told when the watcher is gone. Called by the worker first of all.
pub fn follow_watcher() {
    #[cfg(target_os = "linux")]
    if let Err(error) =
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
    {
        tracing::warn!(%error, "the watcher's death will go unnoticed");
    }
}

fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        eprintln!("flemma: Orphans of the host cannot be collected: {error}.");
    }
}

/// The worker's exit code; 128 and the signal's number when one killed it, as in
/// a shell.
fn exit_code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
