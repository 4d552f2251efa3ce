//! The texts of files as the model of a chat last saw them, so that it does not overwrite what
//! was changed since.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of text that are remembered per chat. The files that were seen first are forgotten
/// first.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The texts of files as the model saw them. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct SeenFiles(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    files: VecDeque<(PathBuf, String)>,
    bytes: usize,
}

impl SeenFiles {
    /// Remembers the text of the file at this real path.
    pub fn add(&self, path: &Path, text: &str) {
        // Also makes the file the one that was seen last.
        self.forget(path);
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.bytes += text.len();
        seen.files.push_back((path.to_owned(), text.to_owned()));
        while seen.bytes > MOST_BYTES
            && let Some((_, text)) = seen.files.pop_front()
        {
            seen.bytes -= text.len();
        }
    }

    /// Remembers an earlier text of the file at this real path, unless a later one is known.
    pub fn add_earlier(&self, path: &Path, text: &str) {
        if self.text(path).is_none() {
            self.add(path, text);
        }
    }

    /// Takes in a change by the model itself. If the file had changed before, the text that the
    /// model saw stays the base of merges.
    pub(crate) fn replace(&self, path: &Path, before: &str, after: &str) {
        if self.text(path).is_some_and(|seen| seen == before) {
            self.add(path, after);
        }
    }

    /// Returns true if the model last saw the file at this real path with this text.
    pub fn has(&self, path: &Path, text: &[u8]) -> bool {
        self.text(path).is_some_and(|it| it.as_bytes() == text)
    }

    /// Forgets a file.
    fn forget(&self, path: &Path) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = seen.files.iter().position(|(seen, _)| seen == path);
        if let Some((_, text)) = at.and_then(|at| seen.files.remove(at)) {
            seen.bytes -= text.len();
        }
    }

    /// The text of a file as the model saw it.
    pub(crate) fn text(&self, path: &Path) -> Option<String> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file = seen.files.iter().find(|(seen, _)| seen == path)?;
        Some(file.1.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_text_of_each_file_is_remembered_within_bounds() {
        let (seen, a, b) = (SeenFiles::default(), Path::new("/a"), Path::new("/b"));
        seen.add(a, "one");
        seen.add(a, "two");
        assert_eq!(seen.text(a).as_deref(), Some("two"));
        seen.add(b, &"x".repeat(MOST_BYTES - 3));
        assert!(seen.text(a).is_some() && seen.text(b).is_some());
        seen.add(b, &"x".repeat(MOST_BYTES));
        assert!(seen.text(a).is_none() && seen.text(b).is_some());
        seen.add(a, &"x".repeat(MOST_BYTES + 1));
        assert!(seen.text(a).is_none());
    }
}
