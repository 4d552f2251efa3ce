//! Questions to Neovim whose replies are pending, by number.
//!
//! Questions are not RPC requests, because Neovim may leave one unanswered for as long as a
//! prompt is open, and the host may give up at any time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use session::protocol::EditorReply;
use tokio::sync::oneshot;

/// The open questions. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct PendingReplies(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<EditorReply>>,
}

impl PendingReplies {
    /// Returns the number of a new question and the receiver of its reply.
    pub fn open(&self) -> (u64, oneshot::Receiver<EditorReply>) {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        // Questions that the host gave up on would otherwise pile up, as no reply may ever come.
        state.waiting.retain(|_, waiter| !waiter.is_closed());
        state.waiting.insert(number, sender);
        (number, receiver)
    }

    /// Passes a reply to its question, unless the host has given up.
    pub fn answer(&self, number: u64, reply: EditorReply) {
        if let Some(waiter) = self.state().waiting.remove(&number) {
            drop(waiter.send(reply));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of the map is one statement, so a panic elsewhere leaves it valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
