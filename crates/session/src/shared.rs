//! The state that all sessions share, made anew for each change of the options and of the
//! tools.

use std::sync::Arc;

use policy::remembered::Remembered;
use policy::rules::Rules;
use policy::settings::Settings;
use tools::Registry;
use tools::sources::Catalogue;

use crate::config_dir;
use crate::models::{ModelBackend, Providers};
use crate::projects::ReportedProjects;
use crate::scripts::Scripts;
use crate::usage::UsageHistory;

/// The state that all sessions share.
pub struct Shared {
    /// The options as the user gave them.
    pub settings: Settings,
    /// The tools.
    pub registry: Registry,
    /// True while sources of tools are still loading, for which keys wait.
    pub loading: bool,
    /// The rules of a chat without frontmatter.
    pub plain: Arc<Rules>,
    /// Usage and cost of all requests.
    pub usage: UsageHistory,
    /// The folders of tools, which are scanned before each key's work.
    pub scripts: Scripts,
    /// The rules that the user chose at earlier calls.
    pub remembered: Remembered,
    /// Messages about projects that were shown.
    pub reported: ReportedProjects,
    /// The backend that answers requests.
    pub models: Arc<dyn ModelBackend>,
}

impl Shared {
    /// Derives everything from the options, once for all chats and keys.
    pub fn new(
        settings: Settings,
        catalogue: &Catalogue,
        usage: UsageHistory,
        scripts: Scripts,
        reported: ReportedProjects,
    ) -> Self {
        let registry = catalogue.registry.clone();
        let plain = Arc::new(Rules::plain(&settings, &registry));
        Self {
            settings,
            registry,
            loading: !catalogue.loading.is_empty(),
            plain,
            usage,
            scripts,
            // Without a home folder there is no file, and none can be written.
            remembered: Remembered::open(&config_dir::path().unwrap_or_default()),
            // Kept over changes of the options, or a project would be reported again after each
            // one.
            reported,
            models: Arc::new(Providers::default()),
        }
    }

    /// Returns the same with other settings, for a chat that was switched separately.
    pub fn with_settings(&self, settings: Settings) -> Self {
        // The loaded tools, usage, and stores stay the same: only the options differ.
        Self {
            plain: Arc::new(Rules::plain(&settings, &self.registry)),
            settings,
            registry: self.registry.clone(),
            loading: self.loading,
            usage: self.usage.clone(),
            scripts: self.scripts.clone(),
            remembered: self.remembered.clone(),
            reported: self.reported.clone(),
            models: self.models.clone(),
        }
    }
}
