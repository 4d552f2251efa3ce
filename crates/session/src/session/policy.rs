//! The rules of a chat: options and frontmatter, and how they are made before each key.

mod evaluate_frontmatter;
mod project;
mod resolvers;
mod switching;
mod trusting;

use std::sync::{Arc, OnceLock};

use policy::rules::Rules;
use provider::Unmet;
use tools::Sandbox;

use self::project::ProjectState;

/// The rules of a chat, and how far the frontmatter is evaluated.
pub(super) struct Policy {
    /// The rules that were made for the last key.
    rules: Arc<Rules>,
    freshness: Freshness,
    /// Number of the last evaluation: results of earlier ones are dropped.
    evaluation: u64,
    /// Whether `:Flemma switch` chose this chat's provider or model.
    is_switched: bool,
    /// Whether all changes of files are reviewed, if `:Flemma review!` chose that.
    reviews: Option<bool>,
    /// Options that the last request could not carry.
    unmet: Vec<Unmet>,
    /// The options of the chat's project.
    project: ProjectState,
    /// Confines the chat's calls; made anew for each key.
    sandbox: OnceLock<Arc<Sandbox>>,
}

/// Freshness of the rules for the first event in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Freshness {
    /// Made for an earlier key.
    #[default]
    Stale,
    /// Being made: the project's options are read, tool folders are scanned, then the
    /// frontmatter is evaluated.
    Pending,
    /// The project's options were read for this key.
    ProjectRead,
    /// The tool folders were scanned for this key as well.
    ToolsScanned,
    /// Made for this key.
    Fresh,
}

impl Policy {
    /// Returns the policy of a chat without frontmatter.
    pub(super) fn new(rules: Arc<Rules>) -> Self {
        Self {
            rules,
            freshness: Freshness::default(),
            evaluation: 0,
            is_switched: false,
            reviews: None,
            unmet: Vec::new(),
            project: ProjectState::default(),
            sandbox: OnceLock::new(),
        }
    }

    pub(super) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// Returns the line of the frontmatter that sets an option, counted from 1. `option` is the
    /// last part of its path, because a provider may have its own value.
    fn line_of(&self, option: &str) -> Option<usize> {
        let lines = &self.rules.evaluated.as_ref()?.overrides.lines;
        let mut set = lines.iter().filter(|(path, _)| {
            let name = path.rsplit('.').next().unwrap_or_default();
            name == option || (option == "thinking" && name == "thinking_budget")
        });
        set.next().map(|(_, line)| *line)
    }

    /// Returns true while rules are made for the event at the head of the queue.
    pub(super) fn is_pending(&self) -> bool {
        self.freshness == Freshness::Pending
    }

    /// Requests new rules for the next event that starts work.
    pub(super) fn expire(&mut self) {
        self.freshness = Freshness::Stale;
    }

    pub(super) fn set_switched(&mut self, is_switched: bool) {
        self.is_switched = is_switched;
    }

    /// Returns the sandbox of the chat; `make` makes it if there is none.
    pub(super) fn sandbox(&self, make: impl FnOnce() -> Arc<Sandbox>) -> &Arc<Sandbox> {
        self.sandbox.get_or_init(make)
    }

    /// Requests a new sandbox, because new protected files may exist.
    pub(super) fn forget_sandbox(&mut self) {
        self.sandbox.take();
    }
}
