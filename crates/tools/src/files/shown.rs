//! The state of a file when the user approved a call that modifies it, and whether it is still
//! the same.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use platform::files::FileStatus;
use platform::paths::visible;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{FileTarget, MAX_SIZE, RealPath, blocking, open_regular};
use crate::buffers::OpenBuffers;
use crate::error::ToolError;

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

/// A call's files as the user saw them, with later changes by approved calls.
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

    /// Returns true if exactly these changes lead from `shown` to `now`.
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

// Where the paths of a call led when a policy approved it.

/// A path of a call, and where it led when a policy approved the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedPath {
    /// The absolute path as the call names it.
    pub named: PathBuf,
    /// The real path.
    pub real: PathBuf,
}

impl ApprovedPath {
    /// Why a call may not use the path `named`, which leads to `real` now, for the model. If
    /// `approved` is empty, no policy approved the call, and every path is fine.
    pub(crate) fn problem(approved: &[Self], named: &Path, real: &Path) -> Option<String> {
        if approved.is_empty() {
            return None;
        }
        match approved.iter().find(|it| it.named == named) {
            Some(it) if it.real == real => None,
            Some(it) => Some(format!(
                "{} leads to {} now, and led to {} when the call was approved. Nothing was \
                 done. Call again if that is intended.",
                named.display(),
                real.display(),
                it.real.display()
            )),
            None => Some(format!(
                "{} is not a path that was approved with the call. Nothing was done.",
                named.display()
            )),
        }
    }
}

// Fingerprints that show whether a file has changed, without keeping its content.

/// Bytes read at a time.
const PIECE: usize = 64 * 1024;
/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;
/// The fingerprint of a missing file.
const ABSENT: &str = "absent";

/// Identifies the content of a file. For a file larger than [`MAX_SIZE`] it consists of size,
/// times, device, and inode instead of a hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The fingerprint of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::digest(&Sha256::digest(bytes))
    }

    /// The fingerprint of a file on disk, which may be missing. Blocking.
    ///
    /// # Errors
    ///
    /// It is not a regular file or can't be read; a sentence.
    pub fn of_file(path: &RealPath) -> Result<Self, ToolError> {
        let opened = match open_regular(path) {
            Err(ToolError::NotFound(_)) => return Ok(Self::absent()),
            opened => opened?,
        };
        // Hashing gigabytes would delay the key that approves a call.
        if opened.status.size > MAX_SIZE {
            return Ok(Self::large(&opened.status));
        }
        let read = hash(opened.file);
        read.map_err(|error| super::file_error("read", path.as_path(), &error))
    }

    /// The fingerprint of a missing file.
    pub(crate) fn absent() -> Self {
        Self(ABSENT.to_owned())
    }

    /// Returns true if the file was missing.
    pub fn is_absent(&self) -> bool {
        self.0 == ABSENT
    }

    fn digest(bytes: &[u8]) -> Self {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self(format!("sha256:{digits}"))
    }

    fn large(it: &FileStatus) -> Self {
        let time = |time: i64| {
            let (seconds, nanos) = (time.div_euclid(SECOND), time.rem_euclid(SECOND));
            format!("{seconds}.{nanos:09}")
        };
        Self(format!(
            "large:{}:{}:{}:{}:{}",
            it.size,
            time(it.modified),
            time(it.changed),
            it.id.device,
            it.id.inode
        ))
    }
}

/// Hashes a file. The size is bounded in case the file grows at the same time.
fn hash(file: File) -> io::Result<Fingerprint> {
    let mut file = file.take(MAX_SIZE + 1);
    let mut hash = Sha256::new();
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(Fingerprint::digest(&hash.finalize())),
            Ok(count) => hash.update(&piece[..count]),
            // A signal interrupted the system call before it read anything.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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

    #[test]
    fn a_file_is_known_by_what_it_holds_and_a_large_one_by_its_place_and_times() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| RealPath::of(&folder.path().join(name)).unwrap();
        let real = at("f");
        let path = real.as_path();
        assert!(Fingerprint::of_file(&real).unwrap().is_absent());
        std::fs::write(path, "one").unwrap();
        let one = Fingerprint::of_file(&real).unwrap();
        assert_eq!(one, Fingerprint::of(b"one"));
        std::fs::write(path, "two").unwrap();
        assert_ne!(Fingerprint::of_file(&real).unwrap(), one);

        let large = at("large");
        let file = std::fs::File::create(large.as_path()).unwrap();
        file.set_len(MAX_SIZE + 1).unwrap();
        let before = Fingerprint::of_file(&large).unwrap();
        assert_eq!(Fingerprint::of_file(&large).unwrap(), before);
        // Swapped for one of the same size.
        let other = folder.path().join("other");
        let file = std::fs::File::create(&other).unwrap();
        file.set_len(MAX_SIZE + 1).unwrap();
        std::fs::rename(&other, large.as_path()).unwrap();
        assert_ne!(Fingerprint::of_file(&large).unwrap(), before);
    }

    #[test]
    fn what_is_no_file_has_none() {
        for path in ["/", "/dev/zero"] {
            let real = RealPath::of(std::path::Path::new(path)).unwrap();
            assert!(Fingerprint::of_file(&real).is_err(), "{path}");
        }
    }
}
