//! Locks that serialize calls which modify the same file. Other processes are not excluded.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// A lock that is held.
pub(crate) type FileLock = OwnedMutexGuard<()>;

/// One lock per path. Clones share the locks.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileLocks(Arc<Mutex<HashMap<PathBuf, Weak<AsyncMutex<()>>>>>);

impl FileLocks {
    /// Waits for the lock of `path`, which should be a real path.
    pub(crate) async fn lock(&self, path: &Path) -> FileLock {
        self.of(path).lock_owned().await
    }

    fn of(&self, path: &Path) -> Arc<AsyncMutex<()>> {
        // A panic elsewhere can't leave the map in a bad state.
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Otherwise the locks of all files that were ever changed would stay.
        locks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = locks.get(path).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::new(AsyncMutex::new(()));
        locks.insert(path.to_owned(), Arc::downgrade(&lock));
        lock
    }
}
