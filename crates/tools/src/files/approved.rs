//! Where the paths of a call led when a policy approved it.

use std::path::{Path, PathBuf};

/// A path of a call, and where it led when a policy approved the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedPath {
    /// The absolute path as the call names it.
    pub named: PathBuf,
    /// The real path.
    pub real: PathBuf,
}

impl ApprovedPath {
    /// Why a call may not use the path `named`, which leads to `real` now, for the model. If
    /// `approved` is empty, no policy approved the call, and every path is fine.
    pub(crate) fn problem(approved: &[Self], named: &Path, real: &Path) -> Option<String> {
        if approved.is_empty() {
            return None;
        }
        match approved.iter().find(|it| it.named == named) {
            Some(it) if it.real == real => None,
            Some(it) => Some(format!(
                "{} leads to {} now, and led to {} when the call was approved. Nothing was \
                 done. Call again if that is intended.",
                named.display(),
                real.display(),
                it.real.display()
            )),
            None => Some(format!(
                "{} is not a path that was approved with the call. Nothing was done.",
                named.display()
            )),
        }
    }
}
