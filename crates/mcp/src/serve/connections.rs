//! The connections of a server: how many there are, and which one ends when there are too
//! many.
//!
//! A connection that works on a request is left alone. One that waits for the other side,
//! be it for the rest of a request, can be ended for one that has more to say.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// All connections. Cheap to clone.
#[derive(Clone)]
pub(super) struct Connections {
    places: Arc<Semaphore>,
    waiting: Arc<Mutex<Waiting>>,
}

/// The connections that wait for the other side, the longest waiting one first.
#[derive(Default)]
struct Waiting {
    next: u64,
    by_turn: BTreeMap<u64, CancellationToken>,
}

/// One connection's slot, released back when it is dropped.
pub(super) struct Slot {
    /// Ends the connection.
    pub(super) ended: CancellationToken,
    all: Connections,
    turn: Mutex<Option<u64>>,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    /// Room for `most` connections.
    pub(super) fn new(most: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(most)),
            waiting: Arc::default(),
        }
    }

    /// A place for a new connection. Where there is none, the connection that has waited
    /// for longest is ended; where all of them work, one has to end first.
    pub(super) async fn slot(&self) -> Arc<Slot> {
        let places = self.places.clone();
        let permit = match places.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
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
    /// A whole request is there. The connection is left alone until the guard is dropped.
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

/// A connection works on a request, or on its answer.
pub(super) struct Working(Arc<Slot>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.waits();
    }
}

/// The body of an answer, during which its connection works.
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
    async fn a_new_connection_takes_the_place_of_the_one_that_waited_longest() {
        let all = Connections::new(2);
        let (first, second) = (all.slot().await, all.slot().await);
        let mut third = Box::pin(all.slot());
        assert!((&mut third).now_or_never().is_none());
        assert!(first.ended.is_cancelled() && !second.ended.is_cancelled());
        drop(first);
        third.await;
    }

    #[tokio::test]
    async fn a_connection_that_works_is_left_alone_until_its_answer_is_sent() {
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
