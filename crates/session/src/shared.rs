//! What all sessions have in common, made once for each change of the options and
//! of the tools.

use std::sync::Arc;

use tools::Registry;

use crate::models::{Models, Providers};
use crate::rules::Rules;
use crate::scripts::Scripts;
use crate::settings::Settings;
use crate::sources::Catalogue;
use crate::usage::Ledger;

/// What all sessions have in common.
pub struct Shared {
    /// The options as the user gave them.
    pub settings: Settings,
    /// The tools.
    pub registry: Registry,
    /// Whether sources of tools are not there yet, which are waited for.
    pub loading: bool,
    /// What a chat without frontmatter goes by.
    pub plain: Arc<Rules>,
    /// What requests took and cost.
    pub ledger: Ledger,
    /// The folders of tools, which are looked at before each key's work.
    pub scripts: Scripts,
    /// What answers requests.
    pub models: Arc<dyn Models>,
}

impl Shared {
    /// Works out what follows from the options, once for all chats and keys.
    pub fn new(
        settings: Settings,
        catalogue: &Catalogue,
        ledger: Ledger,
        scripts: Scripts,
    ) -> Self {
        let registry = catalogue.registry.clone();
        let plain = Arc::new(Rules::plain(&settings, &registry));
        Self {
            settings,
            registry,
            loading: !catalogue.loading.is_empty(),
            plain,
            ledger,
            scripts,
            models: Arc::new(Providers),
        }
    }

    /// The same with other settings, for a chat that was switched on its own.
    pub fn with_settings(&self, settings: Settings) -> Self {
        Self {
            plain: Arc::new(Rules::plain(&settings, &self.registry)),
            settings,
            registry: self.registry.clone(),
            loading: self.loading,
            ledger: self.ledger.clone(),
            scripts: self.scripts.clone(),
            models: self.models.clone(),
        }
    }
}
