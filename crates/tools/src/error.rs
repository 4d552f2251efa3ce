//! Why a tool call gave no result, for every module that does a part of its work.

/// Why a call gave no result. The texts are sentences for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// It was tried and did not work.
    #[error("{0}")]
    Failed(String),
    /// What it should work on does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The arguments make no sense; nothing was tried.
    #[error("{0}")]
    InvalidInput(String),
    /// It was asked to stop and did.
    #[error("Cancelled by the user.")]
    Cancelled,
    /// Likewise, with the output that there was until then.
    #[error("{0}\n\nCancelled by the user.")]
    CancelledAfter(String),
}
