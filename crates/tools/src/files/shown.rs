//! A file as the user saw it before they let a call change it.
//!
//! Whether a call may run is not known here; only whether its file is still that one.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Fingerprint, RealPath, Target, blocking};
use crate::buffers::OpenBuffers;

/// Most changes that are remembered for one chat; what is older is held against a call,
/// which then waits once more.
const MOST_CHANGES: usize = 1000;

/// How a file stands: where it really is, and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its real path.
    pub path: PathBuf,
    /// What it holds, saved or not; nothing when that cannot be told.
    pub holds: Option<Fingerprint>,
}

impl Standing {
    /// Looks at the file that `path` means, as a call would that is to change it.
    pub async fn of(path: &Path, buffers: Arc<dyn OpenBuffers>) -> Self {
        let unknown = Self {
            path: path.to_owned(),
            holds: None,
        };
        let path = path.to_owned();
        let Ok(real) = blocking(move || RealPath::of(&path)).await else {
            return unknown;
        };
        match Target::find(real, buffers).await {
            Ok(target) => target.standing().await,
            Err(_) => unknown,
        }
    }

    /// What has become of it by `now`, in words that follow the name of the file;
    /// nothing when it is the same.
    pub fn became(&self, now: &Self) -> Option<String> {
        let is_absent = |it: &Self| it.holds.as_ref().is_some_and(Fingerprint::is_absent);
        if self == now {
            None
        } else if self.path != now.path {
            let to = now.path.display().to_string();
            Some(format!("leads to {} now", to.escape_debug()))
        } else if is_absent(now) {
            Some("is gone, and would be made anew".to_owned())
        } else if is_absent(self) {
            Some("was made by somebody else".to_owned())
        } else {
            Some("has changed".to_owned())
        }
    }
}

/// What the user saw of a file, and what calls that they approved made of files since.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The file as it was.
    pub standing: Standing,
    /// Of the same chat.
    pub changes: Changes,
}

impl Shown {
    /// As [`Standing::became`], less what calls made of it that the user approved.
    pub fn became(&self, now: &Standing) -> Option<String> {
        let became = self.standing.became(now)?;
        (!self.changes.lead(&self.standing, now)).then_some(became)
    }

    /// A call that the user approved makes `after` of what is there.
    pub(crate) fn changes_to(&self, before: Standing, after: Fingerprint) {
        let after = Some(after);
        self.changes.add(Change { before, after });
    }
}

#[derive(Debug)]
struct Change {
    before: Standing,
    after: Option<Fingerprint>,
}

/// What calls made of files that the user approved one by one. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Changes(Arc<Mutex<VecDeque<Change>>>);

impl Changes {
    fn add(&self, change: Change) {
        let mut changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        changes.push_back(change);
        if changes.len() > MOST_CHANGES {
            changes.pop_front();
        }
    }

    /// Whether these changes, and no others, made `now` of what was shown.
    fn lead(&self, shown: &Standing, now: &Standing) -> bool {
        let changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut holds = &shown.holds;
        for Change { before, after } in changes.iter() {
            if before.path == shown.path && before.holds == *holds {
                holds = after;
            }
        }
        shown.path == now.path && *holds == now.holds
    }
}

impl Target {
    /// How the file stands now.
    pub(crate) async fn standing(&self) -> Standing {
        let real = self.real().clone();
        let holds = match self.buffers().text(self.path()).await {
            Some(open) => Some(Fingerprint::of(open.text.as_bytes())),
            None => blocking(move || Fingerprint::of_file(&real)).await.ok(),
        };
        let path = self.path().to_owned();
        Standing { path, holds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(text: &str) -> Standing {
        Standing {
            path: PathBuf::from("/p/f"),
            holds: Some(Fingerprint::of(text.as_bytes())),
        }
    }

    #[test]
    fn what_approved_calls_made_of_a_file_is_no_surprise_and_anything_else_is() {
        let changes = Changes::default();
        let shown = Shown {
            standing: standing("one"),
            changes: changes.clone(),
        };
        assert_eq!(shown.became(&standing("one")), None);
        assert_eq!(
            shown.became(&standing("two")).as_deref(),
            Some("has changed")
        );
        shown.changes_to(standing("one"), Fingerprint::of(b"two"));
        shown.changes_to(standing("two"), Fingerprint::of(b"three"));
        assert_eq!(shown.became(&standing("three")), None);
        assert!(shown.became(&standing("two")).is_some());
        // Made of something else that nobody saw.
        shown.changes_to(standing("other"), Fingerprint::of(b"four"));
        assert!(shown.became(&standing("four")).is_some());
    }

    #[test]
    fn it_says_what_became_of_the_file() {
        let absent = Standing {
            path: PathBuf::from("/p/f"),
            holds: RealPath::of(Path::new("/there/is/no/such/file"))
                .and_then(|path| Fingerprint::of_file(&path))
                .ok(),
        };
        let elsewhere = Standing {
            path: PathBuf::from("/q\n/f"),
            ..standing("one")
        };
        let became = |now: &Standing| standing("one").became(now).unwrap_or_default();
        assert!(became(&absent).starts_with("is gone"));
        assert_eq!(became(&elsewhere), "leads to /q\\n/f now");
        let made = absent.became(&standing("one"));
        assert_eq!(made.as_deref(), Some("was made by somebody else"));
    }
}
