//! A planned change of a file: shown as a proposal, or stored.

use platform::paths;

use crate::context::Files;
use crate::error::ToolError;
use crate::file_access::FileAccess;
use crate::files::{Before, Expected, FileTarget, Stored};
use crate::proposal::{Proposal, ProposedFile};

/// A change of a file that is not made yet.
pub(crate) struct PlannedFile {
    pub target: FileTarget,
    /// The file as the call names it.
    pub name: String,
    pub before: Before,
    /// The new text. `None` deletes the file.
    pub after: Option<String>,
    /// The new place of the file, if it is moved.
    pub moved_to: Option<FileTarget>,
    /// True if the file keeps its encoding. Otherwise it is stored as UTF-8.
    pub keeps: bool,
    /// Remarks on how the change was found, a sentence each.
    pub remarks: Vec<String>,
}

impl PlannedFile {
    /// The plan as others see it.
    pub(crate) fn proposed(&self) -> ProposedFile {
        let unshown = match &self.before {
            Before::Other(why) => Some(*why),
            Before::Absent | Before::Text(_) => None,
        };
        ProposedFile {
            path: self.target.path().to_owned(),
            before: self.before.text().map(|it| it.text.clone()),
            name: self.name.clone(),
            unshown,
            after: self.after.clone(),
            moved_to: self.moved_to.as_ref().map(|it| it.path().to_owned()),
            remarks: self.remarks.clone(),
        }
    }

    /// The remarks, each preceded by a space.
    pub(crate) fn remarks(&self) -> String {
        self.remarks.iter().map(|it| format!(" {it}")).collect()
    }

    /// Stores the text of a file that is neither moved nor deleted. The caller holds the file's
    /// lock.
    ///
    /// # Errors
    ///
    /// As [`FileAccess::store`] and [`PlannedFile::approved`], or the call was cancelled.
    pub(crate) async fn store(self, (files, cancel): &Files) -> Result<Stored, ToolError> {
        if cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        // The session rejects a call whose whole change the user drops. This code does not rely
        // on that.
        let (Some(text), _) = self.approved(files)? else {
            return Ok(Stored::default());
        };
        let before = self.before.text();
        let expected = match &self.before {
            Before::Text(text) if self.keeps => Expected::Changed(text.clone()),
            Before::Text(text) => Expected::Replaced(text.clone()),
            Before::Absent => Expected::Absent,
            Before::Other(_) => Expected::Any,
        };
        let (path, before) = (self.target.path(), before.map(|it| &*it.text));
        let stored = files.store(&self.target, expected, text.clone()).await?;
        match before.filter(|_| self.keeps) {
            Some(before) => files.seen.replace(path, before, &text),
            None => files.seen.add(path, &text),
        }
        let applied = ProposedFile {
            after: Some(text),
            ..self.proposed()
        };
        files.applied.add(applied.into());
        Ok(stored)
    }

    /// Adds a remark if the file changed since the model saw it.
    pub(crate) fn note_change(&mut self, files: &FileAccess) {
        let seen = files.seen.text(self.target.path());
        let changed = seen
            .zip(self.before.text())
            .is_some_and(|(seen, now)| seen != now.text);
        if changed {
            let remark = format!("{} has changed since you read it.", self.name);
            self.remarks.push(remark);
        }
    }

    /// The new text, and whether the file is moved: as planned, or what the user made of it in
    /// a review.
    ///
    /// # Errors
    ///
    /// The file is not as it was when the user reviewed the call.
    pub(crate) fn approved(
        &self,
        access: &FileAccess,
    ) -> Result<(Option<String>, bool), ToolError> {
        // Without a review, the user agreed to the plan as it is.
        let Some(Proposal { files }) = access.reviewed.as_deref() else {
            return Ok((self.after.clone(), true));
        };
        let path = self.target.path();
        let before = self.before.text().map(|it| &it.text);
        let mut reviewed = files.iter().filter(|it| it.path == path);
        match reviewed.find(|it| it.before.as_ref() == before) {
            Some(file) => Ok((file.after.clone(), file.moved_to.is_some())),
            None => Err(ToolError::Failed(format!(
                "{} is not as it was when the user reviewed this call. Nothing was written. Read it again.",
                paths::visible(path)
            ))),
        }
    }
}
