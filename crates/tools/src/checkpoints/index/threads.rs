//! The threads of a pass.

use std::sync::OnceLock;
use std::thread;

/// Maximum number of threads of a pass.
const MAX_THREADS: usize = 8;

/// Number of threads of a pass. Determined once, because the limits of control groups are read
/// from several files.
pub(super) fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        processors.min(MAX_THREADS)
    })
}

/// Works on parts of a list in threads. This thread works on the first part, so that a short
/// list needs no other.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    // `chunks` panics for a size of 0.
    let size = items.len().div_ceil(threads()).max(1);
    thread::scope(|scope| {
        let work = &work;
        let mut parts = items.chunks(size);
        let first = parts.next();
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let first = first.map(work);
        let rest = threads.into_iter().map(thread::ScopedJoinHandle::join);
        // A thread that panicked found nothing.
        first
            .into_iter()
            .chain(rest.filter_map(Result::ok))
            .collect()
    })
}
