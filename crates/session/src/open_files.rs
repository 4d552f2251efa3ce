//! The files that are open in Neovim, by real path, as Neovim last reported them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use platform::paths::canonicalize;

/// Real paths of the open files; `None` until Neovim has reported them.
#[derive(Debug, Default)]
pub struct OpenFiles(RwLock<Option<HashSet<PathBuf>>>);

impl OpenFiles {
    /// Replaces the list.
    pub fn are(&self, paths: &[String]) {
        let real = |path: &String| {
            canonicalize(Path::new(path))
                // A file that was never written cannot be resolved.
                .unwrap_or_else(|_| path.into())
        };
        let open = paths.iter().map(real).collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(open);
    }

    /// Returns true if a file other than a chat may be open.
    pub fn may_hold_any(&self) -> bool {
        let open = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_chat = |path: &PathBuf| path.extension().is_some_and(|it| it == "chat");
        // Until Neovim has reported its files, any file may be open. Chats are not reloaded.
        open.as_ref().is_none_or(|open| !open.iter().all(is_chat))
    }

    /// Returns true if a file may be open.
    pub fn may_hold(&self, path: &Path) -> bool {
        let open = self.0.read().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().is_none_or(|open| open.contains(path))
    }
}
