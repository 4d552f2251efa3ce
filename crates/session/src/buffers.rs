//! Gives the tools access to the files that are open in the editor.

use std::path::Path;

use async_trait::async_trait;
use tools::{OpenBuffers, OpenText, Replaced, Replacement};

use crate::editor::Editor;

/// The files that are open in the Neovim at the other end.
pub struct EditorBuffers(pub Editor);

#[async_trait]
impl OpenBuffers for EditorBuffers {
    async fn text(&self, path: &Path) -> Option<OpenText> {
        // A message cannot contain a path that is not UTF-8.
        let answer = self.0.open_text(path.to_str()?).await?;
        let text = answer.text.filter(|_| answer.open)?;
        Some(OpenText {
            text,
            modified: answer.modified,
        })
    }

    async fn replace(&self, path: &Path, new: Replacement<'_>) -> Result<Replaced, String> {
        let gone = || format!("{} is not open in the editor any more.", path.display());
        let name = path.to_str().ok_or_else(gone)?;
        let answer = self.0.replace_text(name, new).await.ok_or_else(gone)?;
        if !answer.ok {
            return Err(answer.message.unwrap_or_else(gone));
        }
        Ok(Replaced {
            saved: answer.saved,
            bytes: answer.bytes,
            difference: answer.difference,
            text: answer.text,
            conflict: answer.conflict,
        })
    }

    fn check(&self) {
        self.0.check_files();
    }
}
