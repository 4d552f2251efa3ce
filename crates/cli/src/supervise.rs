//! The watcher: a small process that starts the worker and ends everything it leaves running.
//!
//! The watcher adopts orphans of the worker, because it is their nearest ancestor that
//! collects orphans. When the worker ends, for whatever reason, the watcher ends them all.
//! When the watcher dies, the worker gets SIGTERM and ends its calls itself. On Windows, the
//! watcher holds the worker in a job object, which the system ends with the watcher.
//! Independent of Neovim and of tools.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitCode};

use crate::handover::{self, Variables};

/// The argument that makes a process the worker.
const INNER: &str = "--inner";

/// The arguments and variables of a watcher or worker.
#[derive(Debug)]
pub struct WorkerStart {
    /// The arguments, without the program's name.
    words: Vec<OsString>,
    /// Variables for the worker that were removed from our environment block.
    variables: Option<Variables>,
}

/// Closes this process to others and reads what it was started with. Removes internal flags
/// from `words`, the arguments without the program's name. In the worker, adds the variables
/// to the environment.
///
/// # Errors
///
/// The starting process announced variables but did not send them.
pub fn start(words: &mut Vec<OsString>) -> Result<WorkerStart, ExitCode> {
    // First, because the variables that arrive below may be keys.
    tools::close_to_others();
    let is = |word: Option<&OsString>, what: &str| word.is_some_and(|word| word == what);
    let mut variables = None;
    // A watcher passes its variables on; only the worker adds them to its own.
    if is(words.first(), handover::FLAG) {
        words.remove(0);
        let received = Variables::receive().and_then(|received| {
            if is(words.first(), INNER) {
                received.add()?;
                return Ok(None);
            }
            Ok(Some(received))
        });
        variables = received.map_err(|error| {
            eprintln!("flemma: The environment variables did not arrive: {error}.");
            ExitCode::FAILURE
        })?;
    }
    let words = words.clone();
    Ok(WorkerStart { words, variables })
}

/// Starts the host with our standard streams and waits for its end.
pub fn watch_host(start: WorkerStart) -> ExitCode {
    let start = start.without_secrets();
    ended(system::watch_host(start))
}

/// Starts a command in a worker, passes signals on to it, and waits for its end.
pub fn watch_command(start: WorkerStart) -> ExitCode {
    let start = start.without_secrets();
    ended(system::watch_command(start))
}

/// Ends this process with the watcher, and leashes commands without a sandbox. The worker
/// calls it first. `collected` is true if the watcher collects orphans.
pub fn follow_watcher(collected: bool) {
    system::follow_watcher(collected);
}

impl WorkerStart {
    /// Replaces this process by one without secrets in its environment block. Returns if it
    /// has none, or if that fails.
    fn without_secrets(self) -> Self {
        // With variables, this process has already been replaced.
        if self.variables.is_none()
            && let Err(error) = handover::start_without_secrets(&self.words)
        {
            eprintln!(
                "flemma: Keys stay in the environment of this process, where commands may read them: {error}."
            );
        }
        self
    }
}

/// This program with the same arguments, as the worker.
fn worker(start: WorkerStart) -> io::Result<Command> {
    let collected = system::adopt_orphans().then_some("--collected");
    let mut worker = Command::new(std::env::current_exe()?);
    if let Some(variables) = start.variables {
        variables.hand_to(&mut worker)?;
    }
    worker.arg(INNER).args(collected).args(start.words);
    Ok(worker)
}

fn ended(code: io::Result<ExitCode>) -> ExitCode {
    code.unwrap_or_else(|error| {
        eprintln!("flemma: The program could not start itself: {error}.");
        ExitCode::FAILURE
    })
}
