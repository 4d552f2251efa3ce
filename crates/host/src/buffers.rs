//! Open files, for the tools: over the channel to the editor.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use async_trait::async_trait;
use tools::{OpenBuffers, OpenText, Replaced, Replacement};

use crate::editor::Editor;

/// The real paths of the files that are open; none as long as nobody told.
#[derive(Debug, Default)]
pub struct OpenFiles(RwLock<Option<HashSet<PathBuf>>>);

impl OpenFiles {
    /// These are open now, and no others.
    pub fn are(&self, paths: &[String]) {
        let real = |path: &String| {
            Path::new(path)
                .canonicalize()
                .unwrap_or_else(|_| path.into())
        };
        let open = paths.iter().map(real).collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(open);
    }

    /// Returns true if a file may be open that is no chat.
    pub fn may_hold_any(&self) -> bool {
        let open = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_chat = |path: &PathBuf| path.extension().is_some_and(|it| it == "chat");
        open.as_ref().is_none_or(|open| !open.iter().all(is_chat))
    }

    /// Whether a file may be open.
    pub fn may_hold(&self, path: &Path) -> bool {
        let open = self.0.read().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().is_none_or(|open| open.contains(path))
    }
}

/// The files that are open in the Neovim at the other end.
pub struct EditorBuffers(pub Editor);

#[async_trait]
impl OpenBuffers for EditorBuffers {
    async fn text(&self, path: &Path) -> Option<OpenText> {
        // A path that is no UTF-8 cannot be named in a message.
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
