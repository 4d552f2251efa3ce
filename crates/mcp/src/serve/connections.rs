//! Limits a server's connections and closes the longest idle one if there are too many.
//!
//! A connection that is handling a request is never closed. One that waits for the client,
//! even for the rest of a request, may be.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// All connections of a server. Cheap to clone.
#[derive(Clone)]
pub(super) struct Connections {
    places: Arc<Semaphore>,
    waiting: Arc<Mutex<Waiting>>,
}

/// Idle connections, the longest idle first.
#[derive(Default)]
struct Waiting {
    next: u64,
    by_turn: BTreeMap<u64, CancellationToken>,
}

/// Slot of one connection, released when dropped.
pub(super) struct Slot {
    /// Ends the connection.
    pub(super) ended: CancellationToken,
    all: Connections,
    turn: Mutex<Option<u64>>,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    /// Allows at most `most` connections.
    pub(super) fn new(most: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(most)),
            waiting: Arc::default(),
        }
    }

    /// Returns a slot for a new connection. If none is free, closes the longest idle
    /// connection; if all are busy, waits.
    pub(super) async fn slot(&self) -> Arc<Slot> {
        let places = self.places.clone();
        let permit = match places.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                // Its permit is released when its task ends, so the wait below is short.
                if let Some((_, longest)) = self.lock().by_turn.pop_first() {
                    longest.cancel();
                }
                #[expect(clippy::expect_used, reason = "the semaphore is never closed")]
                places.acquire_owned().await.expect("an open semaphore")
            }
        };
        let slot = Arc::new(Slot {
            ended: CancellationToken::new(),
            all: self.clone(),
            turn: Mutex::default(),
            _permit: permit,
        });
        slot.waits();
        slot
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Marks the connection as busy until the guard is dropped.
    pub(super) fn works(self: &Arc<Self>) -> Working {
        self.leave();
        Working(self.clone())
    }

    fn waits(&self) {
        let mut waiting = self.all.lock();
        let turn = waiting.next;
        waiting.next += 1;
        waiting.by_turn.insert(turn, self.ended.clone());
        *self.turn() = Some(turn);
    }

    fn leave(&self) {
        // The guard is dropped at the end of this statement. `waits` takes this lock while it
        // holds the other one, so holding both here could deadlock.
        let turn = self.turn().take();
        if let Some(turn) = turn {
            self.all.lock().by_turn.remove(&turn);
        }
    }

    fn turn(&self) -> MutexGuard<'_, Option<u64>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Guard that keeps a connection marked as busy.
pub(super) struct Working(Arc<Slot>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.waits();
    }
}

/// Response body that keeps its connection busy until it is sent.
pub(super) struct Answering<E> {
    pub(super) body: BoxBody<Bytes, E>,
    pub(super) _working: Option<Working>,
}

impl<E> Body for Answering<E> {
    type Data = Bytes;
    type Error = E;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, E>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn a_new_connection_replaces_the_longest_idle_one() {
        let all = Connections::new(2);
        let (first, second) = (all.slot().await, all.slot().await);
        let mut third = Box::pin(all.slot());
        assert!((&mut third).now_or_never().is_none());
        assert!(first.ended.is_cancelled() && !second.ended.is_cancelled());
        drop(first);
        third.await;
    }

    #[tokio::test]
    async fn a_busy_connection_stays_until_its_answer_is_sent() {
        let all = Connections::new(2);
        let (first, second) = (all.slot().await, all.slot().await);
        let working = first.works();
        let mut third = Box::pin(all.slot());
        assert!((&mut third).now_or_never().is_none());
        assert!(second.ended.is_cancelled() && !first.ended.is_cancelled());
        drop(second);
        let third = third.await;
        let both = third.works();
        assert!(all.slot().now_or_never().is_none());
        assert!(!first.ended.is_cancelled() && !third.ended.is_cancelled());
        drop((working, both));
        assert!(all.slot().now_or_never().is_none());
        assert!(first.ended.is_cancelled());
    }
}
