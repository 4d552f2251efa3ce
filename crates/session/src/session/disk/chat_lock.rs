//! The chat lock: only one program works on a chat at a time.
//!
//! The session takes it when the chat is opened, so that the user learns at once which
//! program has it, and again at each key, so that the key works once that program has
//! ended. While the file contains everything and nothing runs, the session releases the
//! lock; the editor then reads what another program wrote before it takes the next key or
//! typed character.

use std::time::Duration;

use tokio::time::Instant;
use tools::state_dir;

use crate::lease::{self, HeldBy, Lease, LeaseError, LeaseHolder};
use crate::protocol::{Display, EditorCommand, Renamed, Save, Taken};
use crate::session::Session;

/// Number of attempts, 200 ms in all, while our own Neovim has the lock.
const TRIES: u32 = 20;
/// Time between two attempts.
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

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
    /// Whether another program was seen to have the lock.
    is_elsewhere: bool,
    /// Whether the buffer may have changes that are not in the file.
    modified: bool,
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

    /// Returns when the waiting key is tried again.
    pub(super) fn next_try(&self) -> Option<Instant> {
        self.waiting.as_ref().map(|it| it.at)
    }

    /// Returns when there is anything to try again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next_try().into_iter().chain(self.ask_at).min()
    }
}

impl Session {
    /// Returns true while this session holds the chat lock.
    pub(crate) fn has_chat(&self) -> bool {
        self.disk.lock.lease.is_some()
    }

    /// Takes the lock of a chat that was opened or renamed in Neovim's process `process`.
    pub(crate) fn hold_chat(&mut self, process: u32, modified: bool) {
        self.disk.lock.process = process;
        self.disk.lock.modified = modified;
        self.ask_for_chat();
    }

    /// Changes the buffer's name. Running calls and requests continue under the new path.
    pub(crate) fn renamed(&mut self, renamed: &Renamed) {
        self.disk.set_path(&renamed.path);
        self.request.sent.expire();
        self.policy.forget_sandbox();
        self.hold_chat(self.disk.lock.process, renamed.modified);
        self.view.redraw();
    }

    fn ask_for_chat(&mut self) {
        let was_elsewhere = self.disk.lock.is_elsewhere;
        self.disk.lock.ask_at = None;
        let Err(holder) = self.take_lease() else {
            self.disk.lock.asked = 0;
            return;
        };
        if self.is_ours(&holder) {
            // A host or a buffer of our own Neovim is about to end; the state that it
            // stored for the chat can be read after that.
            self.disk.lock.asked += 1;
            let again = self.disk.lock.asked < TRIES;
            self.disk.lock.ask_at = again.then(|| Instant::now() + BETWEEN_TRIES);
        } else if !was_elsewhere {
            self.report_holder(&holder, "so keys here neither send it nor run its calls");
        }
    }

    /// Notes a change of the text, by the user or the host: until it is written, the session
    /// keeps the lock.
    pub(crate) fn note_change(&mut self) {
        // Only the first change since the last save asks, because that reads the state
        // folder.
        let first = !std::mem::replace(&mut self.disk.lock.modified, true);
        if first && !self.has_chat() {
            self.ask_for_chat();
        }
    }

    /// Notes that the file contains the text with this number, which may not be the last.
    pub(crate) fn saved(&mut self, seq: u64) {
        // The user may have changed the text after this version was written. Not assigned, so
        // that an unmodified text stays unmodified.
        self.disk.lock.modified &= seq != self.buffer.seq();
        if !self.disk.lock.modified {
            self.forget_unfinished();
        }
    }

    /// Has the editor save an answer or a result that was written, unless another program has the
    /// chat.
    pub(crate) fn save_news(&mut self) {
        if self.disk.has_news && !self.buffer.is_busy() && !self.buffer.is_loading() {
            self.disk.has_news = false;
            if self.has_chat() {
                let buffer = self.buffer.id();
                self.editor.show(Display::Save(Save { buffer }));
            }
        }
    }

    /// Releases the lock while the file contains everything and nothing runs.
    pub(crate) fn yield_chat(&mut self) {
        if self.has_chat() && !self.disk.lock.modified && self.is_idle() {
            self.disk.lock.lease = None;
        }
    }

    /// Takes the chat lock for a key. Returns false if another program has it: then the key is tried
    /// again, or the user gets a message.
    pub(crate) fn take_lock(&mut self, command: &EditorCommand) -> bool {
        let Err(holder) = self.take_lease() else {
            self.disk.lock.tries = 0;
            return true;
        };
        // A host that was killed keeps its lock until the system has cleaned up after it.
        if self.is_ours(&holder) && self.disk.lock.tries < TRIES {
            self.disk.lock.tries += 1;
            self.disk.lock.waiting = Some(WaitingKey {
                command: command.clone(),
                at: Instant::now() + BETWEEN_TRIES,
            });
            // `try_again` handles the key again.
            return false;
        }
        self.disk.lock.tries = 0;
        self.report_holder(&holder, "so nothing was sent or run here");
        false
    }

    /// Tries again to take the lock, and then the key that waits for it, if that is due.
    pub(crate) fn try_again(&mut self) {
        let now = Instant::now();
        if self.disk.lock.ask_at.is_some_and(|at| at <= now) {
            self.ask_for_chat();
        }
        if let Some(key) = self.disk.lock.waiting.take_if(|it| it.at <= now) {
            self.command(key.command);
        }
    }

    /// Takes the lock, unless this session has it.
    fn take_lease(&mut self) -> Result<(), HeldBy> {
        // A front end in this process takes the lock itself, before it reads the file.
        if self.editor.is_headless() {
            return Ok(());
        }
        let Some(path) = self.disk.path.as_deref() else {
            self.disk.lock.lease = None;
            self.set_elsewhere(false);
            return Ok(());
        };
        let held = &mut self.disk.lock.lease;
        if held.as_ref().is_some_and(|it| it.is_of(path)) {
            return Ok(());
        }
        let program = LeaseHolder {
            name: "Neovim".to_owned(),
            pid: self.disk.lock.process,
        };
        let taken = lease::take(&state_dir::path(), path, &program);
        // Dropped only now, so that a renamed chat is never without a lock.
        *held = None;
        self.lease_taken(taken)
    }

    fn lease_taken(&mut self, taken: Result<Lease, LeaseError>) -> Result<(), HeldBy> {
        match taken {
            Ok(lease) => self.disk.lock.lease = Some(lease),
            Err(LeaseError::Held(holder)) => {
                self.set_elsewhere(!self.is_ours(&holder));
                return Err(holder);
            }
            // The user can work on a chat without a state folder, but no call runs then, because
            // its start could not be recorded either.
            Err(LeaseError::Unknown(error)) => {
                tracing::warn!(%error, "cannot find out whether another program has this chat open");
            }
        }
        self.set_elsewhere(false);
        Ok(())
    }

    fn is_ours(&self, holder: &HeldBy) -> bool {
        let process = holder.program.as_ref().map(|program| program.pid);
        process == Some(self.disk.lock.process)
    }

    /// Notes whether another program works on the chat. The editor then looks for its
    /// changes of the file.
    fn set_elsewhere(&mut self, elsewhere: bool) {
        if self.disk.lock.is_elsewhere == elsewhere {
            return;
        }
        self.disk.lock.is_elsewhere = elsewhere;
        if !elsewhere {
            // The other program may have been killed while its calls ran.
            self.find_cut_off();
        }
        self.view.redraw();
        let buffer = self.buffer.id();
        self.editor
            .show(Display::Taken(Taken { buffer, elsewhere }));
    }

    fn report_holder(&self, holder: &HeldBy, consequence: &str) {
        let name = if self.is_ours(holder) {
            "another buffer of this Neovim".to_owned()
        } else {
            holder.to_string()
        };
        self.editor.report_problem(&chat::Problem::new(
            format!("This chat is open in {name}, {consequence}. Your text here is kept."),
            "Continue there; or save or close it there, and press the key here again.",
        ));
    }
}
