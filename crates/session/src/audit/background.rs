//! Writes that nothing waits for, of the audit log and the ledger. The program waits for them before
//! it ends.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;

/// The number of writes that have not ended.
static OPEN: Mutex<usize> = Mutex::new(0);
/// Notified when a write ends.
static ENDED: Condvar = Condvar::new();

/// A write that has not ended, until it is dropped.
struct OpenWrite;

impl OpenWrite {
    fn new() -> Self {
        *open() += 1;
        Self
    }
}

impl Drop for OpenWrite {
    fn drop(&mut self) {
        *open() -= 1;
        ENDED.notify_all();
    }
}

fn open() -> MutexGuard<'static, usize> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a write on a blocking thread.
pub(crate) fn in_background<T: Send + 'static>(
    write: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    // Created here, because the runtime may end before the thread starts.
    let open = OpenWrite::new();
    tokio::task::spawn_blocking(move || {
        let written = write();
        drop(open);
        written
    })
}

/// Waits until all writes have ended, or for a limited time.
pub fn finish(limit: Duration) {
    let waited = ENDED.wait_timeout_while(open(), limit, |open| *open > 0);
    // After the time limit, what is not written is lost.
    drop(waited);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};

    use super::*;

    #[test]
    fn the_program_waits_for_a_write_that_has_begun() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let (begin, begun) = mpsc::channel::<()>();
        let written = Arc::new(AtomicBool::new(false));
        let mark = written.clone();
        let _guard = runtime.enter();
        in_background(move || {
            begun.recv().unwrap();
            mark.store(true, Ordering::SeqCst);
        });
        finish(Duration::ZERO);
        assert!(!written.load(Ordering::SeqCst), "a limit ends the wait");
        begin.send(()).unwrap();
        // Other tests of this process may write at the same time.
        finish(Duration::from_secs(60));
        assert!(written.load(Ordering::SeqCst));
        runtime.shutdown_background();
    }
}
