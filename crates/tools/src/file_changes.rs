//! Changes of files by a call: only of files that the call may write, and only while they are as
//! the user saw them.

use std::path::PathBuf;

use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{
    Expected, FileState, FileTarget, FileText, Fingerprint, ShownFiles, Stored, blocking, resolve,
};

impl ToolContext {
    /// Finds the file at a path that the call changes.
    ///
    /// # Errors
    ///
    /// As [`ToolContext::writable_path`] and [`FileTarget::find`].
    pub(crate) async fn target(&self, text: &str) -> Result<FileTarget, ToolError> {
        let path = self.writable_path(text).await?;
        FileTarget::find(path, self.buffers.clone()).await
    }

    /// Stores the new text of a file, and records the change; see [`FileTarget::store`]. The caller
    /// holds the file's lock. If the user approved the call by hand, the file must be as the
    /// user saw it.
    ///
    /// # Errors
    ///
    /// The file has changed since, or an error of [`FileTarget::store`]. The file is unchanged
    /// then.
    pub(crate) async fn store(
        &self,
        target: &FileTarget,
        expected: Expected,
        text: String,
    ) -> Result<Stored, ToolError> {
        // Recorded before the write because another call may check the file during it.
        let after = Fingerprint::of(text.as_bytes());
        let shown = self.changes_to(target, after.clone()).await?;
        // Before the write, because the watch of a command may see the file at any time.
        self.sandbox.writes(target.path(), &text);
        let before = self.recorder.before(target).await;
        let stored = target.store(expected, text).await?;
        self.recorder.after(target, before).await;
        // An autocommand may have formatted the text when the editor saved it.
        let holds = stored.holds.clone().filter(|holds| *holds != after);
        if let Some((shown, holds)) = shown.zip(holds) {
            let before = FileState {
                path: target.path().to_owned(),
                holds: Some(after),
            };
            shown.changes_to(before, holds);
        }
        Ok(stored)
    }

    /// Deletes a file and returns its permissions; see [`FileTarget::remove`]. Otherwise like
    /// [`ToolContext::store`].
    ///
    /// # Errors
    ///
    /// As [`ToolContext::store`].
    pub(crate) async fn remove(
        &self,
        target: &FileTarget,
        expected: &FileText,
    ) -> Result<u32, ToolError> {
        self.changes_to(target, Fingerprint::absent()).await?;
        let before = self.recorder.before(target).await;
        let mode = target.remove(expected).await?;
        self.recorder.after(target, before).await;
        Ok(mode)
    }

    /// Renames a file; see [`FileTarget::rename`]. Otherwise like [`ToolContext::store`].
    ///
    /// # Errors
    ///
    /// As [`ToolContext::store`].
    pub(crate) async fn rename(
        &self,
        target: &FileTarget,
        to: &FileTarget,
        expected: &FileText,
    ) -> Result<(), ToolError> {
        let text = Fingerprint::of(expected.text.as_bytes());
        self.changes_to(to, text).await?;
        self.changes_to(target, Fingerprint::absent()).await?;
        self.sandbox.writes(to.path(), &expected.text);
        let before = (
            self.recorder.before(target).await,
            self.recorder.before(to).await,
        );
        target.rename(to, &expected.text).await?;
        self.recorder.after(target, before.0).await;
        self.recorder.after(to, before.1).await;
        Ok(())
    }

    /// Checks that a file is as the user saw it, and records its new content. Returns what the
    /// user saw, if the user approved the call by hand.
    async fn changes_to(
        &self,
        target: &FileTarget,
        after: Fingerprint,
    ) -> Result<Option<&ShownFiles>, ToolError> {
        let Some(shown) = &self.shown else {
            return Ok(None);
        };
        let now = target.state().await;
        if let Some(became) = shown.became(&now) {
            return Err(ToolError::Failed(format!(
                "{became}, so it is not as the user saw it when they approved this call. \
                 Nothing was written. Read it again."
            )));
        }
        shown.changes_to(now, after);
        Ok(Some(shown))
    }

    /// Checks that a path is no link: deleting or moving one would not do what its name says.
    ///
    /// # Errors
    ///
    /// It is a link.
    pub(crate) async fn check_no_link(&self, text: &str) -> Result<(), ToolError> {
        let path: PathBuf = self.sandbox.outside(&resolve(&self.cwd, text)?);
        blocking(move || if path.is_symlink() {
Err(ToolError::Failed(format!(
                "{} is a symbolic link, which can be neither deleted nor moved by a patch. Nothing was changed. Use \
                 bash.",
                path.display()
            )))
} else {
Ok(())
})
        .await
    }
}
