//! A gate in a scripted answer: the provider waits there until the test opens it, so that a test can
//! act at an exact point of a stream.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::PATIENCE;
use crate::channel::lock;

/// A gate, closed until it is opened once. Clones are the same gate.
#[derive(Clone, Default)]
pub struct Gate(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    reached: bool,
    open: bool,
}

impl Gate {
    /// Creates a closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate for the waiting answer and all later ones.
    pub fn open(&self) {
        lock(&self.0.state).open = true;
        self.0.changed.notify_all();
    }

    /// Returns true if it is open.
    pub fn is_open(&self) -> bool {
        lock(&self.0.state).open
    }

    /// Waits until an answer has reached the gate and everything before it was sent.
    #[track_caller]
    pub fn wait_reached(&self) {
        let deadline = Instant::now() + PATIENCE;
        let mut state = lock(&self.0.state);
        while !state.reached {
            assert!(Instant::now() < deadline, "no answer reached the gate");
            state = self.wait(state, Duration::from_millis(100));
        }
    }

    /// Waits at the gate. Returns false if `gone` became true before it was opened.
    pub(crate) fn pass(&self, mut gone: impl FnMut() -> bool) -> bool {
        let mut state = lock(&self.0.state);
        state.reached = true;
        self.0.changed.notify_all();
        while !state.open {
            state = self.wait(state, Duration::from_millis(10));
            if !state.open && gone() {
                return false;
            }
        }
        true
    }

    fn wait<'a>(
        &self,
        state: std::sync::MutexGuard<'a, State>,
        patience: Duration,
    ) -> std::sync::MutexGuard<'a, State> {
        self.0
            .changed
            .wait_timeout(state, patience)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}
