//! The watcher adopts orphans, waits for all of its children, and passes signals on.

use std::io;
use std::os::unix::process::{ExitStatusExt, parent_id};
use std::process::{Child, ExitCode, ExitStatus};

#[cfg(target_os = "linux")]
use rustix::process::{
    DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use super::{WorkerStart, worker};

pub(super) fn watch_host(start: WorkerStart) -> io::Result<ExitStatus> {
    wait_for(worker(start)?.spawn()?)
}

pub(super) fn watch_command(start: WorkerStart) -> io::Result<ExitStatus> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let (pids, pid) = std::sync::mpsc::channel();
    // Before the worker starts, so that no signal ends this process without it.
    let pass_on = pass_on_signals(&runtime, pid)?;
    let worker = worker(start)?.spawn()?;
    let id = i32::try_from(worker.id()).ok();
    // `pass_on` waits for the ID before it handles a signal.
    let _ = pids.send(id.and_then(Pid::from_raw));
    // On another thread, because this one blocks in `wait`.
    std::thread::spawn(move || runtime.block_on(pass_on));
    wait_for(worker)
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

/// Waits for the worker. Also collects orphans of its calls that have ended, because the
/// worker takes each of our other children for a process that still runs.
fn wait_for(mut worker: Child) -> io::Result<ExitStatus> {
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

pub(super) fn follow_watcher(collected: bool) {
    match std::env::current_exe() {
        Ok(program) => tools::leash_with(program),
        Err(error) => tracing::warn!(%error, "commands are not leashed"),
    }
    if collected {
        tools::watched_by(parent_id());
    }
    // The system sends it when the thread that started this process ends, and that is the
    // watcher's main thread.
    #[cfg(target_os = "linux")]
    if let Err(error) = set_parent_process_death_signal(Some(Signal::TERM)) {
        tracing::warn!(%error, "the watcher's death will go unnoticed");
    }
}

/// Keeps other processes of the user from reading the memory and environment of this one,
/// which contain keys. Root can still read them.
pub(super) fn close_to_others() {
    // The files of such a process in /proc belong to root, and only root can trace it.
    #[cfg(target_os = "linux")]
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "other processes can read the memory of this one");
    }
}

/// Makes this process collect orphans. If it returns false, calls search for their processes
/// themselves.
pub(super) fn adopt_orphans() -> bool {
    #[cfg(target_os = "linux")]
    match set_child_subreaper(Some(getpid())) {
        Ok(()) => return true,
        Err(error) => eprintln!("flemma: Orphans of the host cannot be collected: {error}."),
    }
    false
}

/// Returns the worker's exit code, or 128 plus the number of the signal that killed it, as
/// in a shell.
pub(super) fn exit_code(status: ExitStatus) -> ExitCode {
    let signal = status.signal().map(|signal| match signal {
        // An interrupt that was passed on before the worker handled signals.
        it if it == Signal::USR1.as_raw() => 128 + Signal::INT.as_raw(),
        it => 128 + it,
    });
    let code = status.code().or(signal);
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
