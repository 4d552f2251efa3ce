//! What a call changed in files, once it ended.

use chat::diff::{Counts, FileDiff};
use tools::ProposedFile;

/// The changes of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedDiff {
    /// Numbers of changed lines in all files.
    pub counts: Counts,
    /// The changes as a unified diff.
    pub unified: String,
}

impl AppliedDiff {
    /// Compares files before and after a call. `None` if it changed none.
    pub(super) async fn of(files: Vec<ProposedFile>) -> Option<Self> {
        if files.is_empty() {
            return None;
        }
        let compared = tokio::task::spawn_blocking(move || {
            let diffs: Vec<Self> = files.iter().map(Self::of_file).collect();
            Self {
                counts: diffs.iter().map(|it| it.counts).sum(),
                unified: diffs.into_iter().map(|it| it.unified).collect(),
            }
        });
        compared.await.ok()
    }

    fn of_file(file: &ProposedFile) -> Self {
        let before = file.before.as_deref().unwrap_or_default();
        let diff = FileDiff::of(before, file.after.as_deref().unwrap_or_default());
        let exists = (!file.is_new(), file.after.is_some());
        Self {
            counts: diff.counts,
            unified: diff.unified(&file.name, exists),
        }
    }
}
