//! The watcher adopts orphans, waits for all of its children, and passes signals on.

use std::io;
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Signal, kill_process};
#[cfg(target_os = "linux")]
use rustix::process::{getpid, set_child_subreaper, set_parent_process_death_signal};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use super::{WorkerStart, worker};

pub(super) fn watch_host(start: WorkerStart) -> io::Result<ExitCode> {
    let worker = worker(start)?.spawn()?;
    let words = [worker.id().to_string().into()];
    let mut watcher = Command::new(tools::leash_beside(&std::env::current_exe()?));
    watcher.arg(tools::WATCH).args(&words).env_clear();
    // execve(2) keeps the children of a process and its attribute as their subreaper, see prctl(2). This
    // returns only if there is no such program; this one then watches.
    let _error = watcher.exec();
    Ok(tools::hold_watch(&words))
}

pub(super) fn watch_command(start: WorkerStart) -> io::Result<ExitCode> {
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
    Ok(tools::hold_watch(&[worker.id().to_string().into()]))
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
