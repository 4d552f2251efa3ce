//! `flemma host`: serves the Neovim at the standard streams.

use std::process::ExitCode;
use std::time::Duration;

use platform::signals::Termination;
use session::editor::Editor;
use session::protocol::FromEditor;
use tokio::sync::mpsc;

use super::Host;
use crate::neovim::Neovim;
use crate::rpc;

/// Maximum time for writes of the log at the end.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// Serves the Neovim at the standard streams until it closes them.
pub fn run() -> ExitCode {
    // One thread handles the channel and all chats. A second one would compete for the
    // processor with Neovim, which draws what the first one sent. Slow work has its own threads.
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("flemma: The host could not start its runtime: {error}.");
            return ExitCode::FAILURE;
        }
    };
    // As a task on the same thread as the chats, so that messages do not change threads.
    let served = runtime.block_on(async { tokio::spawn(serve()).await });
    session::audit::finish(LAST_WRITES);
    // Ends the sessions before their commands: a session would take the end of a killed
    // command for a result. Does not wait for the thread that may be blocked reading standard
    // input.
    runtime.shutdown_background();
    tools::end_descendants();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("flemma: The host failed: {error}.");
            ExitCode::FAILURE
        }
    }
}

async fn serve() {
    let (incoming, messages) = mpsc::unbounded_channel();
    let (sender, channel) = rpc::connect(incoming);
    live(Neovim::new(sender), |_| {}, messages, channel).await;
}

/// Serves a Neovim until its channel closes or the system asks the host to end. `prepare` changes the host
/// before its first message.
pub(super) async fn live(
    neovim: Neovim,
    prepare: impl FnOnce(&mut Host),
    mut messages: mpsc::UnboundedReceiver<FromEditor>,
    channel: impl Future<Output = ()>,
) {
    let mut termination = Termination::listen();
    let mut host = Host::new(Editor::new(neovim.clone()));
    prepare(&mut host);
    tokio::pin!(channel);
    loop {
        tokio::select! {
            // In the order of all messages, so that a reply never overtakes a change.
            Some(message) = messages.recv() => match message {
                FromEditor::Replied(number, reply) => neovim.answer(number, reply),
                message => host.receive(message),
            },
            change = host.next_change() => host.take_change(change),
            () = &mut channel => return,
            () = termination.next() => return,
        }
    }
}
