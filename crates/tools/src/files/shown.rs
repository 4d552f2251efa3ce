//! The state of a file when the user approved a call that modifies it, and whether it is still
//! the same.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use platform::paths::visible;

use super::{FileTarget, Fingerprint, RealPath, blocking};
use crate::buffers::OpenBuffers;

/// Maximum number of changes remembered per chat. After that, a call whose file an older change
/// explains must be approved again.
const MOST_CHANGES: usize = 1000;

/// The state of a file: its real path and content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// The real path.
    pub path: PathBuf,
    /// The content, saved or not. `None` if it is unknown.
    pub holds: Option<Fingerprint>,
}

impl FileState {
    /// Determines the state of the file at `path`, as a call that modifies it would find it.
    pub async fn of(path: &Path, buffers: Arc<dyn OpenBuffers>) -> Self {
        let unknown = Self {
            path: path.to_owned(),
            holds: None,
        };
        let path = path.to_owned();
        let Ok(real) = blocking(move || RealPath::of(&path)).await else {
            return unknown;
        };
        match FileTarget::find(real, buffers).await {
            Ok(target) => target.state().await,
            Err(_) => unknown,
        }
    }

    /// Describes how the file differs in `now`, to follow the name of the file. `None` if it is
    /// the same.
    pub fn became(&self, now: &Self) -> Option<String> {
        let is_absent = |it: &Self| it.holds.as_ref().is_some_and(Fingerprint::is_absent);
        if self == now {
            None
        } else if self.path != now.path {
            Some(format!("leads to {} now", visible(&now.path)))
        } else if is_absent(now) {
            Some("is gone, and would be made anew".to_owned())
        } else if is_absent(self) {
            Some("was made by another program".to_owned())
        } else {
            Some("has changed".to_owned())
        }
    }
}

/// What the user saw of a call's files, and the later changes by approved calls.
#[derive(Debug, Clone)]
pub struct ShownFiles {
    /// The files as the user saw them.
    pub states: Vec<FileState>,
    /// The changes by calls in the same chat.
    pub changes: Changes,
}

impl ShownFiles {
    /// Says in which way a file is not as the user saw it, as a sentence without its end.
    /// Changes by approved calls don't count.
    pub fn became(&self, now: &FileState) -> Option<String> {
        let state = match &self.states[..] {
            // The path of the only file can lead elsewhere by now.
            [only] => only,
            states => match states.iter().find(|it| it.path == now.path) {
                Some(state) => state,
                None => return Some(format!("{} was not shown", visible(&now.path))),
            },
        };
        let became = state.became(now)?;
        let is_expected = self.changes.lead(state, now);
        (!is_expected).then(|| format!("{} {became}", visible(&state.path)))
    }

    /// Says which of the files is not as the user saw it, given all of them in the same order.
    pub fn first_changed(&self, now: &[FileState]) -> Option<String> {
        let mut pairs = self.states.iter().zip(now);
        pairs.find_map(|(shown, now)| {
            let only = Self {
                states: vec![shown.clone()],
                changes: self.changes.clone(),
            };
            only.became(now)
        })
    }

    /// Records that an approved call changes the file to `after`.
    pub(crate) fn changes_to(&self, before: FileState, after: Fingerprint) {
        let after = Some(after);
        self.changes.add(RecordedChange { before, after });
    }
}

#[derive(Debug)]
struct RecordedChange {
    before: FileState,
    after: Option<Fingerprint>,
}

/// Changes to files by individually approved calls. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct Changes(Arc<Mutex<VecDeque<RecordedChange>>>);

impl Changes {
    fn add(&self, change: RecordedChange) {
        let mut changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        changes.push_back(change);
        if changes.len() > MOST_CHANGES {
            changes.pop_front();
        }
    }

    /// Whether exactly these changes lead from `shown` to `now`.
    fn lead(&self, shown: &FileState, now: &FileState) -> bool {
        let changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut holds = &shown.holds;
        for RecordedChange { before, after } in changes.iter() {
            // Each change must begin with the content that the one before left.
            if before.path == shown.path && before.holds == *holds {
                holds = after;
            }
        }
        shown.path == now.path && *holds == now.holds
    }
}

impl FileTarget {
    /// The current state of the file.
    pub(crate) async fn state(&self) -> FileState {
        let real = self.real().clone();
        // A call changes the text of an open buffer, saved or not.
        let holds = match self.buffers().text(self.path()).await {
            Some(open) => Some(Fingerprint::of(open.text.as_bytes())),
            None => blocking(move || Fingerprint::of_file(&real)).await.ok(),
        };
        let path = self.path().to_owned();
        FileState { path, holds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> FileState {
        FileState {
            path: PathBuf::from("/p/f"),
            holds: Some(Fingerprint::of(text.as_bytes())),
        }
    }

    #[test]
    fn what_approved_calls_made_of_a_file_is_no_surprise_and_anything_else_is() {
        let changes = Changes::default();
        let shown = ShownFiles {
            states: vec![state("one")],
            changes: changes.clone(),
        };
        assert_eq!(shown.became(&state("one")), None);
        let became = shown.became(&state("two"));
        assert_eq!(became.as_deref(), Some("/p/f has changed"));
        shown.changes_to(state("one"), Fingerprint::of(b"two"));
        shown.changes_to(state("two"), Fingerprint::of(b"three"));
        assert_eq!(shown.became(&state("three")), None);
        assert!(shown.became(&state("two")).is_some());
        // A change of a version that the user did not see.
        shown.changes_to(state("other"), Fingerprint::of(b"four"));
        assert!(shown.became(&state("four")).is_some());
    }

    #[test]
    fn each_file_of_a_call_must_be_as_it_was_shown() {
        let other = |text: &str| FileState {
            path: PathBuf::from("/p/other"),
            ..state(text)
        };
        let shown = ShownFiles {
            states: vec![state("one"), other("x")],
            changes: Changes::default(),
        };
        assert_eq!(shown.became(&other("x")), None);
        let became = shown.became(&other("y"));
        assert_eq!(became.as_deref(), Some("/p/other has changed"));
        let first = shown.first_changed(&[state("one"), other("y")]);
        assert_eq!(first, became);
        let elsewhere = FileState {
            path: PathBuf::from("/q"),
            ..state("one")
        };
        assert!(shown.became(&elsewhere).is_some());
    }

    #[test]
    fn it_says_what_became_of_the_file() {
        let absent = FileState {
            path: PathBuf::from("/p/f"),
            holds: RealPath::of(Path::new("/there/is/no/such/file"))
                .and_then(|path| Fingerprint::of_file(&path))
                .ok(),
        };
        let elsewhere = FileState {
            path: PathBuf::from("/q\n/f"),
            ..state("one")
        };
        let became = |now: &FileState| state("one").became(now).unwrap_or_default();
        assert!(became(&absent).starts_with("is gone"));
        assert_eq!(became(&elsewhere), "leads to /q\\n/f now");
        let made = absent.became(&state("one"));
        assert_eq!(made.as_deref(), Some("was made by another program"));
    }
}
