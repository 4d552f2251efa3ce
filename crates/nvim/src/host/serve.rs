//! The host as Neovim runs it: at its standard streams, until it is gone.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::Host;
use crate::editor::Editor;
use crate::neovim::Neovim;
use crate::protocol::FromEditor;
use crate::rpc;

/// Serves the Neovim at our standard streams until it is gone.
pub fn run() -> ExitCode {
    // One thread for the channel and all chats: a second one would want a processor just
    // when Neovim draws what the first one said. What takes long has threads of its own.
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
    // On the runtime's threads, as the chats are: what Neovim says is handled where it
    // is read, and is not handed from thread to thread.
    let served = runtime.block_on(async { tokio::spawn(serve()).await });
    // Before the commands: a session that saw one of them killed would take that
    // for its result. Not waited for, as the thread that reads standard input may
    // be blocked for ever.
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

/// Serves a Neovim until its channel closes or the process is asked to end. `prepare`
/// changes the host before its first message.
pub(super) async fn live(
    neovim: Neovim,
    prepare: impl FnOnce(&mut Host),
    mut messages: mpsc::UnboundedReceiver<FromEditor>,
    channel: impl Future<Output = ()>,
) {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return;
    };
    let mut host = Host::new(Editor::new(neovim.clone()));
    prepare(&mut host);
    tokio::pin!(channel);
    loop {
        tokio::select! {
            // In the order of the other messages: a reply never overtakes a change.
            Some(message) = messages.recv() => match message {
                FromEditor::Replied(number, reply) => neovim.answer(number, reply),
                message => host.receive(message),
            },
            change = host.next_change() => host.take_change(change),
            () = &mut channel => return,
            _ = terminate.recv() => return,
        }
    }
}
