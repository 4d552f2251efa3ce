//! The backends that answer requests: the providers and the tutor; in tests, a script.

use agent::transport::{self, WaitNote};
use async_trait::async_trait;
use chat::prompt::Prompt;
use tokio_util::sync::CancellationToken;

use crate::credentials::Keyed;
use crate::endpoint::Destination;
use crate::tutor;

/// Reports what a request waits for before its answer begins.
pub type WaitReporter = Box<dyn Fn(WaitNote) + Send + Sync>;

/// Answers requests.
#[async_trait]
pub trait ModelBackend: Send + Sync {
    /// Sends a prompt and passes on the answer up to its terminal event, or until `cancel`.
    async fn answer(
        &self,
        destination: Destination,
        prompt: Prompt,
        events: transport::Events,
        note: WaitReporter,
        cancel: CancellationToken,
    );
}

/// Servers over HTTP, and the built-in tutor.
#[derive(Debug)]
pub struct Providers;

#[async_trait]
impl ModelBackend for Providers {
    async fn answer(
        &self,
        destination: Destination,
        prompt: Prompt,
        events: transport::Events,
        note: WaitReporter,
        cancel: CancellationToken,
    ) {
        match destination {
            Destination::Tutor => tutor::send(prompt, events, cancel).await,
            Destination::Server(endpoint, parameters) => {
                let asker = Keyed(note);
                transport::send(prompt, endpoint, *parameters, events, &asker, cancel).await;
            }
        }
    }
}
