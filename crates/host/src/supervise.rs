//! Nothing outlives the host: a small process that watches the one that works.
//!
//! The watcher adopts whatever the worker leaves behind, because it is their
//! nearest ancestor that collects orphans. When the worker dies in whatever way,
//! the watcher ends all of them. When the watcher dies, the worker is sent
//! SIGTERM and ends its calls itself. Knows nothing of Neovim or of tools.

use std::io;
use std::process::{Child, Command, ExitCode, ExitStatus};

#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::process::{Pid, Signal, kill_process};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

/// Starts the host with our own standard streams and waits for its end.
pub fn watch_host() -> ExitCode {
    close_to_others();
    ended(start_worker().and_then(wait))
}

/// Likewise for a command of the command line, to which signals are passed on.
pub fn watch_command() -> ExitCode {
    close_to_others();
    ended(watch_and_pass_on())
}

/// This program, with the arguments that it was given, as the one that works.
fn start_worker() -> io::Result<Child> {
    let collected = adopt_orphans().then_some("--collected");
    Command::new(std::env::current_exe()?)
        .arg("--inner")
        .args(collected)
        .args(std::env::args_os().skip(1))
        .spawn()
}

fn watch_and_pass_on() -> io::Result<ExitStatus> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let (pids, pid) = std::sync::mpsc::channel();
    let pass_on = pass_on_signals(&runtime, pid)?;
    let worker = start_worker()?;
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
    close_to_others();
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
