//! A planned change of a file: shown as a proposal, or stored.

use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{Before, Stored, Target};
use crate::proposal::{Proposal, ProposedFile};

/// A new text for a file.
pub(crate) struct PlannedFile {
    pub target: Target,
    /// The file as the call names it.
    pub name: String,
    pub before: Before,
    /// The new text.
    pub after: String,
    /// Whether the file keeps its encoding, and must still have the text `before`. Otherwise it
    /// is stored as UTF-8 over any content.
    pub keeps: bool,
    pub remarks: Vec<String>,
}

impl PlannedFile {
    /// The plan as others see it.
    pub(crate) fn proposal(self) -> Proposal {
        let path = self.target.path().to_owned();
        let unshown = match self.before {
            Before::Other(why) => Some(why),
            Before::Absent | Before::Text(_) => None,
        };
        let before = self.before.text().map(|it| it.text.clone());
        Proposal::from(ProposedFile {
            name: self.name,
            path,
            before,
            unshown,
            after: Some(self.after),
            moved_to: None,
            remarks: self.remarks,
        })
    }

    /// Stores the text, or what the user made of it in a review. The caller holds the file's
    /// lock.
    ///
    /// # Errors
    ///
    /// As [`ToolContext::store`]; the call was cancelled; or the file is not as it was reviewed.
    pub(crate) async fn store(self, ctx: &ToolContext) -> Result<Stored, ToolError> {
        if ctx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let text = match &ctx.reviewed {
            Some(reviewed) => self.reviewed(reviewed)?,
            None => self.after,
        };
        let expected = self.before.text().filter(|_| self.keeps).cloned();
        let stored = ctx.store(&self.target, expected, text.clone()).await?;
        let applied = Self {
            after: text,
            ..self
        };
        ctx.applied.add(applied.proposal());
        Ok(stored)
    }

    /// The text that the user approved for the file in a review.
    fn reviewed(&self, reviewed: &Proposal) -> Result<String, ToolError> {
        let path = self.target.path();
        let before = self.before.text().map(|it| &it.text);
        let file = reviewed.files.iter().find(|it| it.path == path);
        let file = file.filter(|it| it.before.as_ref() == before);
        let text = file.and_then(|it| it.after.clone());
        text.ok_or_else(|| {
            ToolError::Failed(format!(
                "{} is not as it was when the user reviewed this call. Nothing was written. Read it again.",
                path.display()
            ))
        })
    }
}
