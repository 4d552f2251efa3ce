//! The question before a request whose cost Flemma cannot count, if autopilot has a limit of
//! cost: without a price, the limit would never stop it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat::Problem;
use provider::providers;
use provider::{Endpoint, Parameters};
use tools::is_this_machine;

use crate::editor::Editor;
use crate::endpoint::Destination;
use crate::form::Prompts;
use crate::protocol::BufferId;

/// The models of a chat that the user lets run without a limit of cost, by provider and name.
#[derive(Debug, Clone, Default)]
pub(super) struct AgreedModels(Arc<Mutex<BTreeSet<String>>>);

/// The question whether a request may go to a model without a known price.
pub(super) struct PriceCheck {
    pub(super) editor: Editor,
    pub(super) buffer: BufferId,
    /// The limit of autopilot in dollars.
    pub(super) max_cost: f64,
    pub(super) agreed: AgreedModels,
}

impl PriceCheck {
    /// Asks whether the request may go to a model without a price. A front end without an
    /// editor is not asked, because its lines of input answer other questions.
    ///
    /// # Errors
    ///
    /// The user did not agree, so nothing may be sent.
    pub(super) async fn ask(&self, destination: &Destination) -> Result<(), Problem> {
        let Destination::Server(endpoint, parameters) = destination else {
            return Ok(());
        };
        if parameters.about.price.is_some() || costs_nothing(endpoint) {
            return Ok(());
        }
        let name = format!("{} {}", endpoint.provider, parameters.model);
        if self.has_agreed(&name) {
            return Ok(());
        }
        if self.editor.is_headless() {
            return Err(refused(&name, parameters));
        }
        let title = format!(
            "Flemma knows no price of {name}, so tools.autopilot.max_cost (${:.2}) cannot stop autopilot. Send anyway?",
            self.max_cost
        );
        let items = ["Send, also later requests of this chat", "Send nothing"].map(str::to_owned);
        let prompts = self.editor.prompts(self.buffer);
        match prompts.choose(&title, &items).await {
            Some(0) => {
                self.agreed().insert(name);
                Ok(())
            }
            _ => Err(refused(&name, parameters)),
        }
    }

    fn has_agreed(&self, name: &str) -> bool {
        self.agreed().contains(name)
    }

    fn agreed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.agreed.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true for a server on this machine that takes requests without a key.
fn costs_nothing(endpoint: &Endpoint) -> bool {
    let spec = providers::find(&endpoint.provider);
    let has_free_use = spec.is_some_and(|it| !it.needs_key) && endpoint.api_key.is_none();
    has_free_use && is_this_machine(&endpoint.base_url)
}

fn refused(name: &str, parameters: &Parameters) -> Problem {
    let what = format!(
        "The price of {name} is not known, so tools.autopilot.max_cost cannot stop autopilot. Nothing was sent."
    );
    let fix = format!(
        "Set models[\"{}\"].price, or do not set tools.autopilot.max_cost.",
        parameters.model
    );
    Problem::new(what, fix)
}
