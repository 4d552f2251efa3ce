//! Signals to a run. A Ctrl-C on a terminal reaches the watcher and this process, so the
//! watcher passes interrupts on as SIGUSR1 and this process ignores its own: each counts once.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that asks the run to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// The handled signals.
#[derive(Debug)]
pub struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    /// Handled, and never read, so that it does not end the process.
    _ignored: Option<Signal>,
}

impl Signals {
    /// Handles signals from now on.
    pub fn listen() -> Self {
        // A signal without a handler keeps its default action and ends the process.
        Self {
            interrupt: signal(SignalKind::user_defined1()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            _ignored: signal(SignalKind::interrupt()).ok(),
        }
    }

    /// Waits for a signal that asks the run to stop.
    pub async fn stop(&mut self) -> StopSignal {
        tokio::select! {
            () = wait(self.interrupt.as_mut()) => StopSignal::Interrupt,
            () = wait(self.terminate.as_mut()) => StopSignal::Terminate,
        }
    }
}

async fn wait(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
