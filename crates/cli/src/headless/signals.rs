//! Signals to a run on the command line. The process that watches us passes an
//! interrupt on under another name, so that one typed on the terminal, which both of
//! us get, counts once.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that we go by.
#[derive(Debug)]
pub struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    /// Kept so that it does nothing.
    _typed: Option<Signal>,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> Self {
        Self {
            interrupt: signal(SignalKind::user_defined1()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            _typed: signal(SignalKind::interrupt()).ok(),
        }
    }

    /// Waits for somebody who wants us to stop.
    pub async fn stop(&mut self) {
        tokio::select! {
            () = wait(self.interrupt.as_mut()) => {}
            () = wait(self.terminate.as_mut()) => {}
        }
    }
}

async fn wait(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
