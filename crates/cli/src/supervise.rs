//! The watcher: a small process that starts the worker and ends everything it leaves running.
//!
//! The watcher adopts orphans of the worker, because it is their nearest ancestor that
//! collects orphans. When the worker ends, for whatever reason, the watcher ends them all.
//! When the watcher dies, the worker gets SIGTERM and ends its calls itself. Independent of
//! Neovim and of tools.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, ExitCode, ExitStatus};

#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::process::{Pid, Signal, kill_process};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

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
    close_to_others();
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
    ended(start_worker(start).and_then(wait))
}

/// Starts a command in a worker, passes signals on to it, and waits for its end.
pub fn watch_command(start: WorkerStart) -> ExitCode {
    let start = start.without_secrets();
    ended(watch_and_pass_on(start))
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

/// Starts this program with the same arguments as the worker.
fn start_worker(start: WorkerStart) -> io::Result<Child> {
    let collected = adopt_orphans().then_some("--collected");
    let mut worker = Command::new(std::env::current_exe()?);
    if let Some(variables) = start.variables {
        variables.hand_to(&mut worker)?;
    }
    let words = worker.arg(INNER).args(collected).args(start.words);
    words.spawn()
}

fn watch_and_pass_on(start: WorkerStart) -> io::Result<ExitStatus> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let (pids, pid) = std::sync::mpsc::channel();
    // Before the worker starts, so that no signal ends this process without it.
    let pass_on = pass_on_signals(&runtime, pid)?;
    let worker = start_worker(start)?;
    let id = i32::try_from(worker.id()).ok();
    // `pass_on` waits for the ID before it handles a signal.
    let _ = pids.send(id.and_then(Pid::from_raw));
    // On another thread, because this one blocks in `wait`.
    std::thread::spawn(move || runtime.block_on(pass_on));
    wait(worker)
}

/// Returns a future that passes signals on to the worker, whose ID comes through `pid`. No
/// signal ends this process after the call.
///
/// Ctrl-C on a terminal reaches the worker too, but a signal of another program reaches only
/// us. So the worker ignores interrupts and obeys what it gets from here.
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
            // Fails only for a worker that has ended, and `wait` collects that.
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

/// Waits for the worker. Also collects orphans of its calls that have ended, because the
/// worker takes each of our other children for a process that still runs.
fn wait(mut worker: Child) -> io::Result<ExitStatus> {
    use rustix::process::{WaitOptions, wait};
    use std::os::unix::process::ExitStatusExt;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((id, status))) if id.as_raw_nonzero().get().cast_unsigned() == worker.id() => {
                return Ok(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // No children are left, so the status is lost; this returns the error.
            Err(_) => return worker.wait(),
        }
    }
}

/// Ends this process with the watcher, and leashes commands without a sandbox. The worker
/// calls it first. `collected` is true if the watcher collects orphans.
pub fn follow_watcher(collected: bool) {
    match std::env::current_exe() {
        Ok(program) => tools::leash_with(program),
        Err(error) => tracing::warn!(%error, "commands are not leashed"),
    }
    if collected {
        tools::watched_by(std::os::unix::process::parent_id());
    }
    // The system sends it when the thread that started this process ends, and that is the
    // watcher's main thread.
    #[cfg(target_os = "linux")]
    if let Err(error) =
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
    {
        tracing::warn!(%error, "the watcher's death will go unnoticed");
    }
}

/// Keeps other processes of the user from reading the memory and environment of this one,
/// which contain keys. Root can still read them.
fn close_to_others() {
    // The files of such a process in /proc belong to root, and only root can trace it.
    #[cfg(target_os = "linux")]
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "other processes can read the memory of this one");
    }
}

/// Makes this process collect orphans. If it returns false, calls search for their processes
/// themselves.
fn adopt_orphans() -> bool {
    #[cfg(target_os = "linux")]
    match rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        Ok(()) => return true,
        Err(error) => eprintln!("flemma: Orphans of the host cannot be collected: {error}."),
    }
    false
}

/// Returns the worker's exit code, or 128 plus the number of the signal that killed it, as
/// in a shell.
fn exit_code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let signal = status.signal().map(|signal| match signal {
        // An interrupt that was passed on before the worker handled signals.
        it if it == Signal::USR1.as_raw() => 128 + Signal::INT.as_raw(),
        it => 128 + it,
    });
    let code = status.code().or(signal);
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
