//! A change of a file in the journal.

use serde::{Deserialize, Serialize};

use crate::checkpoints::image::{Image, Name};
use crate::checkpoints::index::now_ns;

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::checkpoints) struct FileChange {
    pub(in crate::checkpoints) path: Name,
    pub(in crate::checkpoints) before: Image,
    pub(in crate::checkpoints) after: Image,
    /// Number of folders above it that did not exist before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(in crate::checkpoints) made: usize,
    /// When it was made. Several programs that compare the project may find the same change of
    /// commands, or parts of it.
    #[serde(default)]
    pub(in crate::checkpoints) span: Span,
    /// True for a change of text that was not saved, so that the file on disk stayed as it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::checkpoints) unsaved: bool,
}

/// The time between two looks at a file, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::checkpoints) struct Span {
    pub(in crate::checkpoints) from: i64,
    pub(in crate::checkpoints) until: i64,
}

impl FileChange {
    /// A change of a saved file just now, whose folders existed before.
    pub(in crate::checkpoints) fn new(path: Name, before: Image, after: Image) -> Self {
        let now = now_ns();
        Self {
            path,
            before,
            after,
            made: 0,
            span: Span {
                from: now,
                until: now,
            },
            unsaved: false,
        }
    }

    /// Returns true if no checkpoint has the file before or after.
    pub(in crate::checkpoints) fn is_lost(&self) -> bool {
        let images = [&self.before, &self.after];
        images.iter().any(|it| matches!(it, Image::NotCovered(_)))
    }

    /// Returns true for a change of a file that no checkpoint holds.
    pub(in crate::checkpoints) fn is_rewritten(&self) -> bool {
        self.before == self.after && matches!(self.after, Image::NotCovered(_))
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
