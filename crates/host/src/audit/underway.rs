//! Ends of calls that are being written: whoever reads the log meanwhile, as the next
//! session of the same chat does, must not take those calls for cut off.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat::approval::CallKey;

/// Of all sessions of this process.
static ALL: Mutex<Vec<Arc<Ends>>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Ends {
    folder: PathBuf,
    document: Option<PathBuf>,
    calls: Vec<CallKey>,
}

/// Holds for as long as their ends are on their way into the log.
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

/// Whether the end of a call is on its way.
pub(super) fn has(folder: &Path, document: Option<&Path>, call: &CallKey) -> bool {
    all().iter().any(|ends| {
        ends.folder == folder && ends.document.as_deref() == document && ends.calls.contains(call)
    })
}

fn all() -> MutexGuard<'static, Vec<Arc<Ends>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}
