//! The rules of a chat: options and frontmatter, and how they are made before each key.

mod evaluate_frontmatter;
mod project;
mod resolvers;
mod switching;
mod trusting;

use provider::Unmet;

pub(super) use self::evaluate_frontmatter::{with_rules_now, withheld_lines};
use self::project::ProjectState;
pub(super) use self::project::{look_at_project, trust_project};
pub(super) use self::resolvers::{Questions, guard};
pub(super) use self::switching::{plan_toggled, report_switch, switched};
pub(super) use self::trusting::{distrust, note_origin, trust, trust_tools};

/// How far the rules of a chat are made for the first event in the queue, and what they depend on.
#[derive(Default)]
pub(super) struct Policy {
    freshness: Freshness,
    /// Number of the last evaluation: results of earlier ones are dropped.
    evaluation: u64,
    /// True if `:Flemma switch` chose this chat's provider or model.
    is_switched: bool,
    /// True if all changes of files are reviewed, if `:Flemma review!` chose that.
    reviews: Option<bool>,
    /// Options that the last request could not carry.
    unmet: Vec<Unmet>,
    /// The options of the chat's project.
    project: ProjectState,
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
}
