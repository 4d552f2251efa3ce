use std::future::pending;

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close,
    ctrl_logoff, ctrl_shutdown,
};

use super::StopSignal;

#[derive(Debug)]
pub(super) struct StopSignals {
    interrupt: Option<CtrlC>,
    terminate: Termination,
}

impl StopSignals {
    pub(super) fn listen() -> Self {
        Self {
            interrupt: ctrl_c().ok(),
            terminate: Termination::listen(),
        }
    }

    pub(super) async fn next(&mut self) -> StopSignal {
        let interrupt = async {
            match &mut self.interrupt {
                Some(interrupt) => drop(interrupt.recv().await),
                None => pending().await,
            }
        };
        tokio::select! {
            () = interrupt => StopSignal::Interrupt,
            () = self.terminate.next() => StopSignal::Terminate,
        }
    }
}

#[derive(Debug)]
pub(super) struct Termination {
    requests: Option<Requests>,
    /// Handled, and never read, so that it does not end the process.
    _ignored: Option<CtrlC>,
}

/// After the last three, the system gives the process some seconds before it ends it.
#[derive(Debug)]
struct Requests {
    ctrl_break: CtrlBreak,
    close: CtrlClose,
    logoff: CtrlLogoff,
    shutdown: CtrlShutdown,
}

impl Requests {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            ctrl_break: ctrl_break()?,
            close: ctrl_close()?,
            logoff: ctrl_logoff()?,
            shutdown: ctrl_shutdown()?,
        })
    }
}

impl Termination {
    pub(super) fn listen() -> Self {
        Self {
            requests: Requests::listen().ok(),
            _ignored: ctrl_c().ok(),
        }
    }

    pub(super) async fn next(&mut self) {
        let Some(requests) = &mut self.requests else {
            return pending().await;
        };
        tokio::select! {
            _ = requests.ctrl_break.recv() => {}
            _ = requests.close.recv() => {}
            _ = requests.logoff.recv() => {}
            _ = requests.shutdown.recv() => {}
        }
    }
}
