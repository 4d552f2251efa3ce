//! Nothing outlives the host: a small process that watches the one that works.
//!
//! The watcher adopts whatever the worker leaves behind, because it is their
//! nearest ancestor that collects orphans. When the worker dies in whatever way,
//! the watcher ends all of them. When the watcher dies, the worker is sent
//! SIGTERM and ends its calls itself. Knows nothing of Neovim or of tools.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, ExitCode, ExitStatus};

#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::process::{Pid, Signal, kill_process};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::handover::{self, Variables};

/// The argument of the process that works.
const INNER: &str = "--inner";

/// What a process of ours was started with.
#[derive(Debug)]
pub struct Start {
    /// Its arguments without its name.
    words: Vec<OsString>,
    /// Variables for the worker that our environment block lacks.
    variables: Option<Variables>,
}

/// Closes this process to others and finds out what it was started with. `words` are its
/// arguments without its name; what only processes of ours say to each other is removed
/// from them. Those of the worker become its variables at once.
///
/// # Errors
///
/// The process that started this one did not hand over what it says.
pub fn start(words: &mut Vec<OsString>) -> Result<Start, ExitCode> {
    close_to_others();
    let is = |word: Option<&OsString>, what: &str| word.is_some_and(|word| word == what);
    let mut variables = None;
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
            eprintln!("flemma: The variables of the environment did not arrive: {error}.");
            ExitCode::FAILURE
        })?;
    }
    let words = words.clone();
    Ok(Start { words, variables })
}

/// Starts the host with our own standard streams and waits for its end.
pub fn watch_host(start: Start) -> ExitCode {
    let start = start.without_secrets();
    ended(start_worker(start).and_then(wait))
}

/// Likewise for a command of the command line, to which signals are passed on.
pub fn watch_command(start: Start) -> ExitCode {
    let start = start.without_secrets();
    ended(watch_and_pass_on(start))
}

impl Start {
    /// Starts this program again in this process, without secrets in its environment
    /// block. Returns when it has none, or when that does not work.
    fn without_secrets(self) -> Self {
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

/// This program, with the arguments that it was given, as the one that works.
fn start_worker(start: Start) -> io::Result<Child> {
    let collected = adopt_orphans().then_some("--collected");
    let mut worker = Command::new(std::env::current_exe()?);
    if let Some(variables) = start.variables {
        variables.hand_to(&mut worker)?;
    }
    let words = worker.arg(INNER).args(collected).args(start.words);
    words.spawn()
}

fn watch_and_pass_on(start: Start) -> io::Result<ExitStatus> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let (pids, pid) = std::sync::mpsc::channel();
    let pass_on = pass_on_signals(&runtime, pid)?;
    let worker = start_worker(start)?;
    let id = i32::try_from(worker.id()).ok();
    // The one who listens waits for it.
    let _ = pids.send(id.and_then(Pid::from_raw));
    std::thread::spawn(move || runtime.block_on(pass_on));
    wait(worker)
}

/// A Ctrl-C on the terminal reaches the worker as well as us, one that a program sends
/// only us. So it ignores its own and goes by what is passed on from here. From this
/// call on no signal ends us.
fn pass_on_signals(
    runtime: &Runtime,
    pid: std::sync::mpsc::Receiver<Option<Pid>>,
) -> io::Result<impl Future<Output = ()> + use<>> {
    let _context = runtime.enter();
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut terminates = signal(SignalKind::terminate())?;
    let mut hang_ups = signal(SignalKind::hangup())?;
    Ok(async move {
        let Ok(Some(pid)) = pid.recv() else {
            return;
        };
        loop {
            let signal = tokio::select! {
                _ = interrupts.recv() => Signal::USR1,
                _ = terminates.recv() => Signal::TERM,
                _ = hang_ups.recv() => Signal::TERM,
            };
            // One that is gone is being collected.
            let _ = kill_process(pid, signal);
        }
    })
}

fn ended(status: io::Result<ExitStatus>) -> ExitCode {
    tools::end_descendants();
    match status {
        Ok(status) => exit_code(status),
        Err(error) => {
            eprintln!("flemma: The program could not start itself: {error}.");
            ExitCode::FAILURE
        }
    }
}

/// Waits for the worker, and collects what its calls left behind and ended since:
/// the worker takes every child of ours but itself for something that still runs.
fn wait(mut worker: Child) -> io::Result<ExitStatus> {
    use rustix::process::{WaitOptions, wait};
    use std::os::unix::process::ExitStatusExt;
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

/// Asks to be told when the watcher is gone, and has commands leashed that no sandbox
/// holds. Called by the worker first of all; `collected` is whether orphans go to the
/// watcher.
pub fn follow_watcher(collected: bool) {
    match std::env::current_exe() {
        Ok(program) => tools::leash_with(program),
        Err(error) => tracing::warn!(%error, "commands are not leashed"),
    }
    if collected {
        tools::watched_by(std::os::unix::process::parent_id());
    }
    #[cfg(target_os = "linux")]
    if let Err(error) =
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
    {
        tracing::warn!(%error, "the watcher's death will go unnoticed");
    }
}

/// Keeps other processes of the user from reading the memory and the environment of this
/// one, where keys are. Root can read them all the same.
fn close_to_others() {
    #[cfg(target_os = "linux")]
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "other processes can read the memory of this one");
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
    let signal = status.signal().map(|signal| match signal {
        // An interrupt that came before the worker listened.
        it if it == Signal::USR1.as_raw() => 128 + Signal::INT.as_raw(),
        it => 128 + it,
    });
    let code = status.code().or(signal);
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
