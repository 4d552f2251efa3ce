//! Deletes and renames files, without following links and never over another file.

use std::path::Path;

use super::parents::Parents;
use super::target::read_text;
use super::{FileTarget, FileText, RealPath, atomic, blocking, file_error};
use crate::error::ToolError;

impl FileTarget {
    /// Deletes the file, if it has the text `expected` and no unsaved changes. Returns its
    /// permissions.
    ///
    /// # Errors
    ///
    /// As described, or an error of the system. The file is unchanged then.
    pub(crate) async fn remove(&self, expected: &FileText) -> Result<u32, ToolError> {
        // A buffer with unsaved changes would write the file again.
        self.check_saved().await?;
        let (path, text) = (self.real().clone(), expected.text.clone());
        blocking(move || {
            check_text(&path, &text)?;
            let removed = path.open_parent().and_then(|(folder, name)| {
                let mode = path.status()?.map(|it| it.permissions());
                folder.remove_file(name)?;
                Ok(mode.unwrap_or_default())
            });
            removed.map_err(|error| file_error("deleted", path.as_path(), &error))
        })
        .await
    }

    /// Creates a file again that was deleted.
    ///
    /// # Errors
    ///
    /// A file is there again, or an error of the system.
    pub(crate) async fn recreate(&self, text: FileText, mode: u32) -> Result<(), ToolError> {
        let path = self.real().clone();
        blocking(move || {
            let bytes = text.bytes().unwrap_or_default();
            let created = atomic::create_real(&path, &bytes).and_then(|_| {
                // After the write, because the mode may forbid writing.
                let (folder, name) = path.open_parent()?;
                folder.set_permissions(name, mode)
            });
            created.map_err(|error| file_error("created", path.as_path(), &error))
        })
        .await
    }

    /// Renames the file to `to`, where no file may be, if it has the text `expected` and no
    /// unsaved changes. Missing folders are created.
    ///
    /// # Errors
    ///
    /// As described, or an error of the system. The file is unchanged then.
    pub(crate) async fn rename(&self, to: &FileTarget, expected: &str) -> Result<(), ToolError> {
        self.check_saved().await?;
        let (path, to, text) = (self.real().clone(), to.real().clone(), expected.to_owned());
        blocking(move || {
            check_text(&path, &text)?;
            let failed = |error| file_error("renamed", path.as_path(), &error);
            let (from, old) = path.open_parent().map_err(failed)?;
            let (_, new) = to.split().map_err(failed)?;
            let parents = Parents::make(&to).map_err(failed)?;
            // Unlike rename(2), this never replaces a file.
            let renamed = from.rename_to_free(old, &parents.folder, new);
            renamed.map_err(failed)?;
            parents.keep();
            Ok(())
        })
        .await
    }

    /// Checks that the file has no unsaved changes in the editor.
    async fn check_saved(&self) -> Result<(), ToolError> {
        match self.buffers().text(self.path()).await {
            Some(open) if open.modified => Err(ToolError::Failed(format!(
                "{} has unsaved changes in the editor, so it can be neither deleted nor moved.",
                self.path().display()
            ))),
            _ => Ok(()),
        }
    }
}

fn check_text(path: &RealPath, expected: &str) -> Result<(), ToolError> {
    match read_text(path) {
        Ok(now) if now.text == expected => Ok(()),
        _ => Err(changed(path.as_path())),
    }
}

fn changed(path: &Path) -> ToolError {
    ToolError::Failed(format!(
        "{} was changed by another program in the meantime. Read it again.",
        path.display()
    ))
}
