//! The chat lock: only one program works on a chat at a time.
//!
//! The session takes it when the chat is opened, so that the user learns at once which
//! program has it, and again at each key, so that the key works once that program has
//! ended. While the file contains everything and nothing runs, the session releases the
//! lock; the editor then reads what another program wrote before it takes the next key or
//! typed character.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use crate::lease::{self, HeldBy, Lease, LeaseError, LeaseHolder};
use crate::protocol::EditorCommand;

/// Number of attempts, 200 ms in all, while our own Neovim has the lock.
pub(super) const TRIES: u32 = 20;
/// Time between two attempts.
pub(super) const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Where a lock is taken.
pub(super) struct LockPlace<'a> {
    /// The state folder.
    pub(super) state: PathBuf,
    /// The chat's file.
    pub(super) chat: Option<&'a Path>,
    /// True if the front end takes the lock itself, before it reads the file.
    pub(super) is_headless: bool,
}

/// Who has the lock.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// This session, or nobody because there is nothing to lock.
    Us,
    /// A buffer or a host of our own Neovim, which may be about to end.
    OurNeovim(HeldBy),
    Other(HeldBy),
}

/// The outcome of a key that needs the lock.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyGate {
    Open,
    /// It is tried again.
    Waits,
    /// Another program has the lock.
    Closed(HeldBy),
}

/// A key that waits for a lock that our own Neovim has.
#[derive(Debug)]
struct WaitingKey {
    command: EditorCommand,
    /// When it is tried again.
    at: Instant,
}

/// The state of the chat lock.
#[derive(Debug, Default)]
pub(super) struct ChatLock {
    lease: Option<Lease>,
    /// Process id of our Neovim.
    process: u32,
    /// True if another program was seen to have the lock.
    is_elsewhere: bool,
    /// A key that waits for the lock. Later inputs wait too.
    waiting: Option<WaitingKey>,
    /// Number of attempts so far.
    tries: u32,
    /// When the lock is tried again for a chat that was opened while an earlier session of the
    /// same file was ending.
    ask_at: Option<Instant>,
    /// Number of those attempts so far.
    asked: u32,
}

impl ChatLock {
    pub(super) fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

    /// Returns true while this session holds the lock.
    pub(super) fn is_held(&self) -> bool {
        self.lease.is_some()
    }

    pub(super) fn set_process(&mut self, process: u32) {
        self.process = process;
    }

    /// Releases the lock.
    pub(super) fn release(&mut self) {
        self.lease = None;
    }

    /// Returns true while a key waits for the lock.
    pub(super) fn has_waiting_key(&self) -> bool {
        self.waiting.is_some()
    }

    /// Returns when there is anything to try again.
    pub(super) fn next_try(&self) -> Option<Instant> {
        let key = self.waiting.as_ref().map(|it| it.at);
        key.into_iter().chain(self.ask_at).min()
    }

    /// Returns true if the lock of a chat that was opened is to be tried again.
    pub(super) fn is_due(&self) -> bool {
        self.ask_at.is_some_and(|at| at <= Instant::now())
    }

    /// Takes the key that waits for the lock, if it is to be tried again.
    pub(super) fn take_key(&mut self) -> Option<EditorCommand> {
        let key = self.waiting.take_if(|it| it.at <= Instant::now())?;
        Some(key.command)
    }

    /// Takes the lock of a chat that was opened, renamed, or changed. Returns the program that has it
    /// if the user is to learn that.
    pub(super) fn ask(&mut self, place: &LockPlace<'_>) -> Option<HeldBy> {
        let was_elsewhere = self.is_elsewhere;
        self.ask_at = None;
        match self.take(place) {
            Holder::Us => {
                self.asked = 0;
                None
            }
            // A host or a buffer of our own Neovim is about to end; the state that it
            // stored for the chat can be read after that.
            Holder::OurNeovim(_) => {
                self.asked += 1;
                let again = self.asked < TRIES;
                self.ask_at = again.then(|| Instant::now() + BETWEEN_TRIES);
                None
            }
            Holder::Other(holder) => (!was_elsewhere).then_some(holder),
        }
    }

    /// Takes the lock for a key.
    pub(super) fn pass(&mut self, place: &LockPlace<'_>, command: &EditorCommand) -> KeyGate {
        let holder = match self.take(place) {
            Holder::Us => {
                self.tries = 0;
                return KeyGate::Open;
            }
            // A host that was killed keeps its lock until the system has cleaned up after it.
            Holder::OurNeovim(_) if self.tries < TRIES => {
                self.tries += 1;
                self.waiting = Some(WaitingKey {
                    command: command.clone(),
                    at: Instant::now() + BETWEEN_TRIES,
                });
                return KeyGate::Waits;
            }
            Holder::OurNeovim(holder) | Holder::Other(holder) => holder,
        };
        self.tries = 0;
        KeyGate::Closed(holder)
    }

    /// Takes the lock, unless this session has it.
    fn take(&mut self, place: &LockPlace<'_>) -> Holder {
        if place.is_headless {
            return Holder::Us;
        }
        let Some(path) = place.chat else {
            self.lease = None;
            self.is_elsewhere = false;
            return Holder::Us;
        };
        if self.lease.as_ref().is_some_and(|it| it.is_of(path)) {
            return Holder::Us;
        }
        let program = LeaseHolder {
            name: "Neovim".to_owned(),
            pid: self.process,
        };
        let taken = lease::take(&place.state, path, &program);
        // Dropped only now, so that a renamed chat is never without a lock.
        self.lease = None;
        let holder = match taken {
            Ok(lease) => {
                self.lease = Some(lease);
                Holder::Us
            }
            Err(LeaseError::Held(holder)) if self.is_ours(&holder) => Holder::OurNeovim(holder),
            Err(LeaseError::Held(holder)) => Holder::Other(holder),
            // The user can work on a chat without a state folder, but no call runs then, because
            // its start could not be recorded either.
            Err(LeaseError::Unknown(error)) => {
                tracing::warn!(%error, "cannot find out whether another program has this chat open");
                Holder::Us
            }
        };
        self.is_elsewhere = matches!(holder, Holder::Other(_));
        holder
    }

    fn is_ours(&self, holder: &HeldBy) -> bool {
        let process = holder.program.as_ref().map(|program| program.pid);
        process == Some(self.process)
    }

    /// Returns the name of the program that has the lock, for a message.
    pub(super) fn name(&self, holder: &HeldBy) -> String {
        if self.is_ours(holder) {
            "another buffer of this Neovim".to_owned()
        } else {
            holder.to_string()
        }
    }
}
