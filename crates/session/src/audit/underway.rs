//! Marks ends of calls that are being written, so that a session of the same chat that reads the
//! log meanwhile does not take those calls for interrupted ones.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat::approval::CallKey;

/// The marks of all sessions of this process.
static ALL: Mutex<Vec<Arc<Ends>>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Ends {
    folder: PathBuf,
    document: Option<PathBuf>,
    calls: Vec<CallKey>,
}

/// Marks the ends of some calls as being written, until it is dropped.
#[derive(Debug)]
pub struct Underway(Arc<Ends>);

impl Underway {
    pub(super) fn new(folder: &Path, document: Option<&Path>, calls: Vec<CallKey>) -> Self {
        let ends = Arc::new(Ends {
            folder: folder.to_owned(),
            document: document.map(Path::to_owned),
            calls,
        });
        all().push(ends.clone());
        Self(ends)
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        all().retain(|ends| !Arc::ptr_eq(ends, &self.0));
    }
}

/// Returns true if the end of this call is being written.
pub(super) fn has(folder: &Path, document: Option<&Path>, call: &CallKey) -> bool {
    all().iter().any(|ends| {
        ends.folder == folder && ends.document.as_deref() == document && ends.calls.contains(call)
    })
}

fn all() -> MutexGuard<'static, Vec<Arc<Ends>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}
