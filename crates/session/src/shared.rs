//! The state that all sessions share, made anew for each change of the options and of the
//! tools.

use std::sync::Arc;

use mcp::configured::Servers;
use policy::remembered::Remembered;
use policy::rules::Rules;
use policy::settings::Settings;
use tools::checkpoints::Projects;
use tools::sources::Catalogue;
use tools::{Jobs, Registry, state_dir};

use crate::audit::Audit;
use crate::config_dir;
use crate::models::{ModelBackend, Providers};
use crate::projects::ReportedProjects;
use crate::route::Route;
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
    /// The indexes of projects, for checkpoints of commands.
    pub projects: Projects,
    /// The background jobs of all chats.
    pub jobs: Jobs,
    /// The configured MCP servers, to whose resources messages refer.
    pub servers: Servers,
    /// The log of decisions.
    pub audit: Audit,
    /// Finds where requests go.
    pub route: Route,
    /// The backend that answers requests.
    pub models: Arc<dyn ModelBackend>,
}

/// State that outlives changes of the options.
#[derive(Clone)]
pub struct Stores {
    /// Usage and cost of all requests.
    pub usage: UsageHistory,
    /// The folders of tools.
    pub scripts: Scripts,
    /// Messages about projects that were shown. A project would otherwise be reported again after
    /// each change.
    pub reported: ReportedProjects,
    /// The indexes of projects, which take long to make.
    pub projects: Projects,
    /// The background jobs of all chats, which outlive their chats.
    pub jobs: Jobs,
    /// The configured MCP servers.
    pub servers: Servers,
    /// The log of decisions. The sessions of one chat have the same, so that they know which ends of
    /// calls are being written.
    pub audit: Audit,
    /// Keys and servers that requests reach.
    pub route: Route,
}

impl Stores {
    /// Returns the stores of a program that starts.
    pub fn new(usage: UsageHistory, scripts: Scripts, servers: Servers) -> Self {
        Self {
            usage,
            scripts,
            servers,
            reported: ReportedProjects::default(),
            projects: Projects::default(),
            jobs: Jobs::default(),
            audit: Audit::open(&state_dir::path()),
            route: Route::default(),
        }
    }
}

impl Shared {
    /// Derives everything from the options, once for all chats and keys.
    pub fn new(settings: Settings, catalogue: &Catalogue, stores: Stores) -> Self {
        let registry = catalogue.registry.clone();
        let plain = Arc::new(Rules::plain(&settings, &registry));
        Self {
            settings,
            registry,
            loading: !catalogue.loading.is_empty(),
            plain,
            // Without a home folder there is no file, and none can be written.
            remembered: Remembered::open(&config_dir::path().unwrap_or_default()),
            usage: stores.usage,
            scripts: stores.scripts,
            reported: stores.reported,
            projects: stores.projects,
            jobs: stores.jobs,
            servers: stores.servers,
            audit: stores.audit,
            models: Arc::new(Providers::new(stores.route.keys.clone())),
            route: stores.route,
        }
    }

    /// Returns what outlives a change of the options.
    pub fn stores(&self) -> Stores {
        Stores {
            usage: self.usage.clone(),
            scripts: self.scripts.clone(),
            reported: self.reported.clone(),
            projects: self.projects.clone(),
            jobs: self.jobs.clone(),
            servers: self.servers.clone(),
            audit: self.audit.clone(),
            route: self.route.clone(),
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
            projects: self.projects.clone(),
            jobs: self.jobs.clone(),
            servers: self.servers.clone(),
            audit: self.audit.clone(),
            route: self.route.clone(),
            models: self.models.clone(),
        }
    }
}
