use tokio::signal::unix::{Signal, SignalKind, signal};

use super::StopSignal;

// A signal without a handler keeps its default action and ends the process.

#[derive(Debug)]
pub(super) struct StopSignals {
    interrupt: Option<Signal>,
    terminate: Termination,
    /// Handled, and never read, so that it does not end the process.
    _ignored: Option<Signal>,
}

impl StopSignals {
    pub(super) fn listen() -> Self {
        Self {
            interrupt: signal(SignalKind::user_defined1()).ok(),
            terminate: Termination::listen(),
            _ignored: signal(SignalKind::interrupt()).ok(),
        }
    }

    pub(super) async fn next(&mut self) -> StopSignal {
        tokio::select! {
            () = wait(self.interrupt.as_mut()) => StopSignal::Interrupt,
            () = self.terminate.next() => StopSignal::Terminate,
        }
    }
}

#[derive(Debug)]
pub(super) struct Termination(Option<Signal>);

impl Termination {
    pub(super) fn listen() -> Self {
        Self(signal(SignalKind::terminate()).ok())
    }

    pub(super) async fn next(&mut self) {
        wait(self.0.as_mut()).await;
    }
}

async fn wait(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
