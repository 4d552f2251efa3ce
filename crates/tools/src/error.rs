//! The error type of tool calls.

/// Why a call failed. Each text is a sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The operation failed.
    #[error("{0}")]
    Failed(String),
    /// The file or other object does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The arguments are invalid, and nothing was done.
    #[error("{0}")]
    InvalidInput(String),
    /// The call was cancelled.
    #[error("Cancelled by the user.")]
    Cancelled,
    /// The call was cancelled after producing this output.
    #[error("{0}\n\nCancelled by the user.")]
    CancelledAfter(String),
}

impl ToolError {
    /// The error of a tool whose calls can't be tried.
    pub(crate) fn cannot_be_tried() -> Self {
        Self::Failed("Only calls of bash can be tried, and none in the background.".to_owned())
    }
}
