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
    /// It is made.
    Ready {
        /// Number of files that it lacks.
        lacks: usize,
        /// Whether something is ignored.
        has_ignored: bool,
    },
    /// The project cannot have one.
    Refused,
}

/// What an undo of the next command could restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// All files.
    Full,
    /// All but some files.
    Lacks {
        /// Number of files that are not ignored and not covered.
        files: usize,
        /// Whether there are ignored files.
        ignored: bool,
    },
    /// Nothing until the project is indexed.
    NotYet,
    /// Nothing.
    Nothing,
}

impl IndexState {
    pub(super) fn coverage(self, now: Instant) -> Coverage {
        match self {
            Self::Unknown => Coverage::Full,
            Self::Ready {
                lacks: 0,
                has_ignored: false,
            } => Coverage::Full,
            Self::Building(since) if now.duration_since(since) < SOON => Coverage::Full,
            Self::Building(_) => Coverage::NotYet,
            Self::Ready { lacks, has_ignored } => Coverage::Lacks {
                files: lacks,
                ignored: has_ignored,
            },
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
        let ready = |lacks, has_ignored| IndexState::Ready { lacks, has_ignored }.coverage(begun);
        let lacks = |files, ignored| Coverage::Lacks { files, ignored };
        assert_eq!(ready(0, false), Coverage::Full);
        assert_eq!(ready(2, false), lacks(2, false));
        assert_eq!(ready(0, true), lacks(0, true));
        assert_eq!(IndexState::Refused.coverage(begun), Coverage::Nothing);
    }
}
