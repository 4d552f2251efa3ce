//! What all sessions have in common, made once for each change of the options.

use std::sync::Arc;

use tools::Registry;

use crate::rules::Rules;
use crate::settings::Settings;
use crate::usage::Ledger;

/// What all sessions have in common.
pub struct Shared {
    /// The options as the user gave them.
    pub settings: Settings,
    /// The tools.
    pub registry: Registry,
    /// What a chat without frontmatter goes by.
    pub plain: Arc<Rules>,
    /// What requests took and cost.
    pub ledger: Ledger,
}

impl Shared {
    /// Works out what follows from the options, once for all chats and keys.
    pub fn new(settings: Settings, registry: Registry, ledger: Ledger) -> Self {
        let plain = Arc::new(Rules::plain(&settings, &registry));
        Self {
            settings,
            registry,
            plain,
            ledger,
        }
    }
}
