//! The right to work on the chat's file, which one program has at a time.
//!
//! It is asked for when the chat is opened, so that the user hears at once who has
//! it, and again at each key, so that it is here when the other one has gone. While
//! the file holds all there is and nothing goes on, another program may have it: the
//! editor reads what that one wrote before the next key or word is taken.

use std::path::PathBuf;
use std::time::Duration;

use chat::approval::CallKey;
use tokio::time::Instant;

use super::Session;
use crate::lease::{self, HeldBy, Lease, Program, Refusal};
use crate::protocol::{Command, Display, Renamed, Taken};
use crate::state_dir;
use crate::status::is_tutor_chat;

/// How often, and how long apart, a lease of our own Neovim is asked for: 200 ms in all.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// A key that waits for a lease of our own Neovim.
#[derive(Debug)]
struct PutOff {
    command: Command,
    /// When it is tried again.
    at: Instant,
}

/// What a session knows about the right to its chat.
#[derive(Debug, Default)]
pub(super) struct ChatLock {
    lease: Option<Lease>,
    /// The process of our Neovim.
    process: u32,
    /// Whether another program was seen to have it.
    elsewhere: bool,
    /// Whether the buffer may have changes that its file has not.
    modified: bool,
    /// What came after it waits too.
    put_off: Option<PutOff>,
    /// How often it was put off.
    tries: u32,
    /// When the chat is asked for again that was opened while the session before it, of
    /// the same file, was about to end.
    ask_at: Option<Instant>,
    /// How often it was asked for.
    asked: u32,
    /// Calls that ran for the file when their host ended, until a key says so in it.
    pub(super) cut_off: Vec<CallKey>,
}

impl ChatLock {
    /// Whether another program works on the chat, as far as is known.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.elsewhere
    }

    /// When a key that waits is tried again. What comes after it waits too.
    pub(super) fn next_try(&self) -> Option<Instant> {
        self.put_off.as_ref().map(|it| it.at)
    }

    /// When there is something to try again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next_try().into_iter().chain(self.ask_at).min()
    }
}

impl Session {
    /// Whether no other program works on the chat.
    pub(super) fn has_chat(&self) -> bool {
        self.disk.lock.lease.is_some()
    }

    /// The chat was opened in the Neovim of this process, or has another name now.
    pub(super) fn hold_chat(&mut self, process: u32, modified: bool) {
        self.disk.lock.process = process;
        self.disk.lock.modified = modified;
        self.ask_for_chat();
    }

    /// The buffer has another name: path and lock change, and what goes on goes on.
    pub(super) fn renamed(&mut self, renamed: Renamed) {
        self.disk.path =
            Some(PathBuf::from(renamed.path)).filter(|path| !path.as_os_str().is_empty());
        self.policy.forget_sandbox();
        self.hold_chat(self.disk.lock.process, renamed.modified);
        self.view.redraw();
    }

    fn ask_for_chat(&mut self) {
        let known = self.disk.lock.elsewhere;
        self.disk.lock.ask_at = None;
        let Err(by) = self.take_lease() else {
            self.disk.lock.asked = 0;
            return;
        };
        if self.is_ours(&by) {
            // A host or a buffer of our own Neovim is about to end; what it kept for the
            // chat is looked at when it has.
            self.disk.lock.asked += 1;
            let again = self.disk.lock.asked < TRIES;
            self.disk.lock.ask_at = again.then(|| Instant::now() + BETWEEN_TRIES);
        } else if !known {
            self.tell_holder(&by, "so keys here neither send it nor run its calls");
        }
    }

    /// The text has changed: until it is written, the chat is ours.
    pub(super) fn note_change(&mut self) {
        let first = !std::mem::replace(&mut self.disk.lock.modified, true);
        if first && self.disk.lock.lease.is_none() {
            self.ask_for_chat();
        }
    }

    /// The file holds the text of this number, which may not be the last.
    pub(super) fn saved(&mut self, seq: u64) {
        self.disk.lock.modified &= seq != self.buffer.seq;
        if !self.disk.lock.modified {
            self.forget_half_done();
        }
    }

    /// Lets other programs have the chat while there is nothing here that they could
    /// not know.
    pub(super) fn yield_chat(&mut self) {
        if self.disk.lock.lease.is_some() && !self.disk.lock.modified && self.is_idle() {
            self.disk.lock.lease = None;
        }
    }

    /// Whether a key may start work on the chat. If not, it comes again, or the user is
    /// told why: a host that was killed has the lease until the system has cleared it
    /// away.
    pub(super) fn may_work(&mut self, command: &Command) -> bool {
        let taken = self.take_lease();
        if let Err(by) = &taken
            && self.is_ours(by)
            && self.disk.lock.tries < TRIES
        {
            self.disk.lock.tries += 1;
            self.disk.lock.put_off = Some(PutOff {
                command: command.clone(),
                at: Instant::now() + BETWEEN_TRIES,
            });
            return false;
        }
        self.disk.lock.tries = 0;
        if let Err(by) = &taken {
            self.tell_holder(by, "so nothing was sent or run here");
        }
        taken.is_ok()
    }

    /// Tries again, when it is time, to have the chat and what a key that waits asks for.
    pub(super) fn try_again(&mut self) {
        let now = Instant::now();
        if self.disk.lock.ask_at.is_some_and(|at| at <= now) {
            self.ask_for_chat();
        }
        if let Some(put_off) = self.disk.lock.put_off.take_if(|it| it.at <= now) {
            self.command(put_off.command);
        }
    }

    fn take_lease(&mut self) -> Result<(), HeldBy> {
        let path = self.disk.path.as_deref();
        // A front end in this process holds the file itself, from before it is read.
        if self.editor.is_headless() {
            return Ok(());
        }
        // The tutor's chats are new ones each time, under one name.
        let Some(path) = path.filter(|path| !is_tutor_chat(Some(path))) else {
            self.disk.lock.lease = None;
            self.seen_elsewhere(false);
            return Ok(());
        };
        if self
            .disk
            .lock
            .lease
            .as_ref()
            .is_some_and(|it| it.is_of(path))
        {
            return Ok(());
        }
        let program = Program {
            name: "Neovim".to_owned(),
            pid: self.disk.lock.process,
        };
        let taken = lease::take(&state_dir::path(), path, &program);
        self.disk.lock.lease = None;
        match taken {
            Ok(lease) => self.disk.lock.lease = Some(lease),
            Err(Refusal::Held(by)) => {
                self.seen_elsewhere(!self.is_ours(&by));
                return Err(by);
            }
            // A chat can be worked on where no state can be kept; nothing runs then,
            // because what runs is recorded there too.
            Err(Refusal::Unknown(error)) => {
                tracing::warn!(%error, "whether another program has this chat open is not known");
            }
        }
        self.seen_elsewhere(false);
        Ok(())
    }

    fn is_ours(&self, by: &HeldBy) -> bool {
        let process = by.program.as_ref().map(|program| program.pid);
        process == Some(self.disk.lock.process)
    }

    /// The editor looks for a newer text of a chat that others work on.
    fn seen_elsewhere(&mut self, elsewhere: bool) {
        if self.disk.lock.elsewhere != elsewhere {
            self.disk.lock.elsewhere = elsewhere;
            if !elsewhere {
                // The other program may have been killed with calls that ran.
                self.find_cut_off();
            }
            self.view.redraw();
            let buffer = self.buffer.id;
            self.editor
                .show(Display::Taken(Taken { buffer, elsewhere }));
        }
    }

    fn tell_holder(&self, by: &HeldBy, consequence: &str) {
        let holder = if self.is_ours(by) {
            "another buffer of this Neovim".to_owned()
        } else {
            by.to_string()
        };
        self.editor.report_problem(&chat::Problem::new(
            format!("This chat is open in {holder}, {consequence}. What you wrote here stays."),
            "Go on there; or write or close it there, and press the key here again.",
        ));
    }
}
