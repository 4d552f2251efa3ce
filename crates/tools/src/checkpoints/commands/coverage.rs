//! Which changes of commands an undo can restore, before they run.

use std::time::{Duration, Instant};

/// How long an index may take before a command is said to have no checkpoint. The first command
/// waits a little longer.
const SOON: Duration = Duration::from_secs(1);

/// What is known of a project's index.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum IndexState {
    #[default]
    Unknown,
    /// It is being made since then.
    Building(Instant),
    /// It is made, and lacks this many files.
    Ready(usize),
    /// The project cannot have one.
    Refused,
}

/// What an undo of the next command could restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// All files, except ignored ones.
    Full,
    /// All but this many files.
    Lacks(usize),
    /// Nothing until the project is indexed.
    NotYet,
    /// Nothing.
    Nothing,
}

impl IndexState {
    pub(super) fn coverage(self, now: Instant) -> Coverage {
        match self {
            Self::Unknown | Self::Ready(0) => Coverage::Full,
            Self::Building(since) if now.duration_since(since) < SOON => Coverage::Full,
            Self::Building(_) => Coverage::NotYet,
            Self::Ready(count) => Coverage::Lacks(count),
            Self::Refused => Coverage::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_that_is_not_indexed_soon_is_not_covered_yet() {
        let begun = Instant::now();
        let building = IndexState::Building(begun);
        assert_eq!(building.coverage(begun), Coverage::Full);
        assert_eq!(building.coverage(begun + SOON), Coverage::NotYet);
        assert_eq!(IndexState::Ready(0).coverage(begun), Coverage::Full);
        assert_eq!(IndexState::Ready(2).coverage(begun), Coverage::Lacks(2));
        assert_eq!(IndexState::Refused.coverage(begun), Coverage::Nothing);
    }
}
