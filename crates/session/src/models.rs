//! The backends that answer requests: the providers and the tutor; in tests, a script.

use std::sync::Arc;

use agent::transport::{self, WaitNote};
use async_trait::async_trait;
use chat::prompt::Prompt;
use provider::{Endpoint, Parameters};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tools::state_dir;

use crate::credentials::{Keyed, Keys};
use crate::endpoint::Destination;
use crate::model_lists::ModelLists;
use crate::tutor;

/// Reports what a request waits for before its answer begins.
pub type WaitReporter = Box<dyn Fn(WaitNote) + Send + Sync>;

/// Answers requests.
#[async_trait]
pub trait ModelBackend: Send + Sync {
    /// Returns what a server's own list of models says about a model: fields of
    /// [`provider::catalogue::Model`]. Waits for nothing.
    fn listed(&self, _endpoint: &Endpoint, _model: &str) -> Map<String, Value> {
        Map::new()
    }

    /// Returns the tokens of a prompt as its provider counts them; `None` if it does not.
    async fn count_tokens(&self, _destination: &Destination, _prompt: &Prompt) -> Option<u64> {
        None
    }

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
pub struct Providers {
    lists: Arc<ModelLists>,
    keys: Keys,
}

impl Providers {
    /// Returns the providers; `keys` come from key stores.
    pub fn new(keys: Keys) -> Self {
        Self {
            keys,
            lists: Arc::new(ModelLists::new(&state_dir::path())),
        }
    }
}

#[async_trait]
impl ModelBackend for Providers {
    fn listed(&self, endpoint: &Endpoint, model: &str) -> Map<String, Value> {
        self.lists.facts(endpoint, model)
    }

    async fn count_tokens(&self, destination: &Destination, prompt: &Prompt) -> Option<u64> {
        let Destination::Server(endpoint, parameters) = destination else {
            return None;
        };
        transport::count_tokens(prompt, endpoint, Parameters::clone(parameters)).await
    }

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
                let (lists, at, patience) =
                    (self.lists.clone(), endpoint.clone(), parameters.patience);
                tokio::spawn(async move { lists.refresh(&at, &patience).await });
                let keys = self.keys.clone();
                let asker = Keyed { keys, note };
                transport::send(prompt, endpoint, *parameters, events, &asker, cancel).await;
            }
        }
    }
}
