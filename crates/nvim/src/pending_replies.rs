//! Questions to Neovim, each answered by a message with its number.
//!
//! Not RPC requests: Neovim may leave a question unanswered for as long as a prompt
//! is open, and the host may give up at any time without harm.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::protocol::EditorReply;

/// The questions without a reply. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct PendingReplies(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<EditorReply>>,
}

impl PendingReplies {
    /// Returns a number for a new question, and where its reply arrives.
    pub fn open(&self) -> (u64, oneshot::Receiver<EditorReply>) {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        state.waiting.retain(|_, waiter| !waiter.is_closed());
        state.waiting.insert(number, sender);
        (number, receiver)
    }

    /// Passes a reply on. One that comes after the host gave up is dropped.
    pub fn answer(&self, number: u64, reply: EditorReply) {
        if let Some(waiter) = self.state().waiting.remove(&number) {
            drop(waiter.send(reply));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
