//! Changes of files by a call that has ended.

use std::path::PathBuf;
use std::sync::Arc;

use chat::approval::CallKey;
use chat::diff::{Counts, FileDiff};
use tools::{ProposedFile, Secrets};

use crate::audit::{Audit, in_background};

/// The changes of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AppliedDiff {
    /// Numbers of changed lines in all files.
    pub(super) counts: Counts,
    /// The changes as a unified diff, without those of secret files.
    unified: String,
}

impl AppliedDiff {
    /// Compares files before and after a call. `None` if it changed none.
    pub(super) async fn of(files: Vec<ProposedFile>, secrets: Arc<Secrets>) -> Option<Self> {
        if files.is_empty() {
            return None;
        }
        let compared = tokio::task::spawn_blocking(move || {
            let diffs: Vec<Self> = files.iter().map(|it| Self::of_file(it, &secrets)).collect();
            Self {
                counts: diffs.iter().map(|it| it.counts).sum(),
                unified: diffs.into_iter().map(|it| it.unified).collect(),
            }
        });
        compared.await.ok()
    }

    fn of_file(file: &ProposedFile, secrets: &Secrets) -> Self {
        let before = file.before.as_deref().unwrap_or_default();
        let diff = FileDiff::of(before, file.after.as_deref().unwrap_or_default());
        let exists = (!file.is_new(), file.after.is_some());
        Self {
            counts: diff.counts,
            // The log must not contain a secret file's lines.
            unified: match secrets.find(&file.path) {
                Some(_) => String::new(),
                None => diff.unified(&file.name, exists),
            },
        }
    }

    /// Writes the changes into the log.
    pub(super) async fn log(self, audit: Audit, document: Option<PathBuf>, call: CallKey) {
        let written = in_background(move || {
            audit.changed(document.as_deref(), &call, self.counts, &self.unified)
        });
        if let Ok(Err(error)) = written.await {
            tracing::warn!(%error, "the changes of a call are not in the audit log");
        }
    }
}
