//! Requests of the user or the system to end this process.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// A request to end this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM. On Windows: Ctrl-Break, the console is closed, or the session ends.
    Terminate,
}

/// The requests to end a process that has a watcher.
///
/// On Unix, a Ctrl-C on a terminal reaches the watcher and this process. So the watcher passes
/// interrupts on as SIGUSR1, and this process ignores its own: each counts once. On Windows, the
/// watcher ignores Ctrl-C.
#[derive(Debug)]
pub struct StopSignals(system::StopSignals);

impl StopSignals {
    /// Handles all requests from now on. None of them ends the process by itself.
    pub fn listen() -> Self {
        Self(system::StopSignals::listen())
    }

    /// Waits for the next request.
    pub async fn next(&mut self) -> StopSignal {
        self.0.next().await
    }
}

/// The requests of [`StopSignal::Terminate`] alone. A Ctrl-C ends the process as usual on Unix. On
/// Windows it is ignored: all processes of a console get it, also while another one is in the
/// foreground.
#[derive(Debug)]
pub struct Termination(system::Termination);

impl Termination {
    /// Handles the requests from now on.
    pub fn listen() -> Self {
        Self(system::Termination::listen())
    }

    /// Waits for the next request.
    pub async fn next(&mut self) {
        self.0.next().await;
    }
}
