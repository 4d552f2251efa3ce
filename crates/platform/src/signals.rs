//! Requests of the user or the system to end this process.

#[cfg(unix)]
use tokio::signal::unix::{Signal as Interrupt, Signal as Requests, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{
    CtrlBreak, CtrlC as Interrupt, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c,
    ctrl_close, ctrl_logoff, ctrl_shutdown,
};

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
pub struct StopSignals {
    interrupt: Option<Interrupt>,
    terminate: Termination,
    /// Handled, and never read, so that it does not end the process.
    #[cfg(unix)]
    _ignored: Option<Interrupt>,
}

impl StopSignals {
    /// Handles all requests from now on. None of them ends the process by itself.
    pub fn listen() -> Self {
        // A signal without a handler keeps its default action and ends the process.
        Self {
            #[cfg(unix)]
            interrupt: signal(SignalKind::user_defined1()).ok(),
            #[cfg(windows)]
            interrupt: ctrl_c().ok(),
            terminate: Termination::listen(),
            #[cfg(unix)]
            _ignored: signal(SignalKind::interrupt()).ok(),
        }
    }

    /// Waits for the next request.
    pub async fn next(&mut self) -> StopSignal {
        let interrupt = async {
            match &mut self.interrupt {
                Some(interrupt) => interrupt.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt => StopSignal::Interrupt,
            () = self.terminate.next() => StopSignal::Terminate,
        }
    }
}

/// The requests of [`StopSignal::Terminate`] alone. A Ctrl-C ends the process as usual on Unix. On
/// Windows it is ignored: all processes of a console get it, also while another one is in the
/// foreground.
#[derive(Debug)]
pub struct Termination {
    requests: Option<Requests>,
    /// Handled, and never read, so that it does not end the process.
    #[cfg(windows)]
    _ignored: Option<Interrupt>,
}

impl Termination {
    /// Handles the requests from now on.
    pub fn listen() -> Self {
        Self {
            #[cfg(unix)]
            requests: signal(SignalKind::terminate()).ok(),
            #[cfg(windows)]
            requests: Requests::listen().ok(),
            #[cfg(windows)]
            _ignored: ctrl_c().ok(),
        }
    }

    /// Waits for the next request.
    pub async fn next(&mut self) {
        match &mut self.requests {
            Some(requests) => drop(requests.recv().await),
            None => std::future::pending().await,
        }
    }
}

/// After the last three, the system gives the process some seconds before it ends it.
#[cfg(windows)]
#[derive(Debug)]
struct Requests {
    ctrl_break: CtrlBreak,
    close: CtrlClose,
    logoff: CtrlLogoff,
    shutdown: CtrlShutdown,
}

#[cfg(windows)]
impl Requests {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            ctrl_break: ctrl_break()?,
            close: ctrl_close()?,
            logoff: ctrl_logoff()?,
            shutdown: ctrl_shutdown()?,
        })
    }

    async fn recv(&mut self) -> Option<()> {
        tokio::select! {
            request = self.ctrl_break.recv() => request,
            request = self.close.recv() => request,
            request = self.logoff.recv() => request,
            request = self.shutdown.recv() => request,
        }
    }
}
