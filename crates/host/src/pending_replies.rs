//! Questions to the editor, each answered by a message with its number.
//!
//! Not RPC requests: an editor may leave a question unanswered for as long as a
//! prompt stands, and a waiter may give up at any time without harm.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::protocol::{Answered, BuffersAnswered, Prompted};

/// What came back.
#[derive(Debug)]
pub enum Reply {
    /// From the user's functions.
    Functions(Answered),
    /// About an open file.
    Buffers(BuffersAnswered),
    /// From the user.
    Prompted(Prompted),
}

/// The questions that stand.
#[derive(Debug, Default)]
pub struct Asks(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<Reply>>,
}

impl Asks {
    /// A number for a new question, and where its answer arrives.
    pub fn open(&self) -> (u64, oneshot::Receiver<Reply>) {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        state.waiting.retain(|_, waiter| !waiter.is_closed());
        state.waiting.insert(number, sender);
        (number, receiver)
    }

    /// Passes an answer on; nobody waiting for it is no error.
    pub fn answer(&self, number: u64, reply: Reply) {
        if let Some(waiter) = self.state().waiting.remove(&number) {
            drop(waiter.send(reply));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
