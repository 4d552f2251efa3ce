//! Recovery of unfinished work: answers and results that are missing from the chat's file
//! because Neovim was killed, or the buffer was closed, before they were written.

use std::io;
use std::path::PathBuf;

use chat::cycle::CycleEvent;
use chat::document::{Document, Role};
use tools::state_dir;

use crate::half_done::{HalfDone, HalfDoneEntry, Journal, Result};
use crate::session::Session;

/// The record of what the chat's file may not contain yet.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// The chat whose record was read.
    path: Option<PathBuf>,
    journal: Option<Journal>,
    now: Option<HalfDone>,
    /// Changes of `now` that are not in the record's file yet.
    unwritten: Vec<HalfDoneEntry>,
    /// Whether the record's file exists.
    has_file: bool,
}

impl Recovery {
    fn note(&mut self, entry: HalfDoneEntry) {
        self.now.get_or_insert_default().apply(entry.clone());
        self.unwritten.push(entry);
    }

    fn forget(&mut self) {
        self.now = None;
        self.unwritten.clear();
    }

    /// Brings the record's file up to date.
    fn write(&mut self) -> io::Result<()> {
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        match &self.now {
            Some(now) if !self.unwritten.is_empty() => {
                let entries = std::mem::take(&mut self.unwritten);
                self.has_file = true;
                journal.write(now, &entries)
            }
            // Everything is in the chat's file, so the record is obsolete.
            None if self.has_file => {
                self.has_file = false;
                journal.remove()
            }
            _ => Ok(()),
        }
    }
}

/// Counts the answers that are not empty.
fn answers(document: &Document<'_>) -> usize {
    let answers = document.messages.iter().filter(|message| {
        // A request that failed at once leaves an empty answer, which the next one continues.
        message.role == Role::Assistant
            && (message.inline.is_some()
                || !document.is_blank(message.lines.start + 1..message.lines.end))
    });
    answers.count()
}

/// Returns true if the last answer contains these words, which were its end.
fn is_whole(document: &Document<'_>, tail: &str) -> bool {
    let mut last = document.messages.iter().rev();
    let last = last.find(|it| it.role == Role::Assistant);
    last.is_some_and(|it| document.lossy(it.lines.clone()).contains(tail))
}

impl Session {
    /// Notes that a request is sent: the chat will have one more answer.
    pub(crate) fn note_request(&mut self) {
        let answers = answers(&self.buffer.document());
        self.disk.recovery.note(HalfDoneEntry::Asked(answers));
    }

    /// Notes that the answer is in the buffer; `tail` is its end.
    pub(crate) fn note_answer_end(&mut self, tail: &str) {
        if self.disk.recovery.now.is_some() {
            let tail = tail.trim().to_owned();
            self.disk.recovery.note(HalfDoneEntry::Answered(tail));
        }
    }

    /// Notes the result of a call, which is about to be written into the buffer.
    pub(crate) fn note_result(&mut self, result: Result) {
        self.disk.recovery.note(HalfDoneEntry::Ended(result));
    }

    /// Forgets the record once the file contains everything.
    pub(super) fn forget_unfinished(&mut self) {
        if !self.request.is_open() && self.calls.is_empty() && !self.buffer.is_busy() {
            self.disk.recovery.forget();
        }
    }

    /// Brings the record on disk up to date. Without the chat lock it belongs to another
    /// program.
    pub(crate) fn store_unfinished(&mut self) {
        if self.editor.is_headless() || self.buffer.is_loading() || !self.has_chat() {
            return;
        }
        if self.disk.recovery.path != self.disk.path {
            self.change_record();
        }
        if let Err(error) = self.disk.recovery.write() {
            tracing::warn!(%error, "the record of unfinished work cannot be written");
        }
    }

    /// Moves the record to the chat's file, because the chat is new here or was renamed.
    fn change_record(&mut self) {
        let recovery = &mut self.disk.recovery;
        if let Some(mut old) = recovery.journal.take()
            && std::mem::take(&mut recovery.has_file)
        {
            let _ = old.remove();
        }
        recovery.path.clone_from(&self.disk.path);
        let Some(path) = &recovery.path else { return };
        let journal = Journal::of(&state_dir::path(), path);
        let journal = recovery.journal.insert(journal);
        match &recovery.now {
            // Events before the rename belong in the new record.
            Some(now) => recovery.unwritten = now.entries(),
            None => {
                recovery.now = journal.read();
                recovery.has_file = recovery.now.is_some();
                self.recover();
            }
        }
    }

    /// Restores what the record contains and the text lacks; the text comes from the file
    /// or the swap file.
    pub(crate) fn recover(&mut self) {
        let Some(now) = &self.disk.recovery.now else {
            return;
        };
        let results: Vec<_> = now.results.iter().map(Result::ended).collect();
        let document = self.buffer.document();
        let is_whole = now.tail.as_ref().is_some_and(|it| is_whole(&document, it));
        if !self.request.is_open() && self.request.interrupted().is_none() && !is_whole {
            self.mark_cut("the chat was closed while the answer was arriving");
        }
        if !results.is_empty() {
            self.queue.push(CycleEvent::Recovered(results));
        }
    }

    /// Marks the answer of the open or last request as cut off, if the text contains any of
    /// it.
    pub(crate) fn mark_cut(&mut self, reason: &'static str) {
        let now = self.disk.recovery.now.as_ref();
        let before = now.and_then(|it| it.answers);
        if before.is_some_and(|before| answers(&self.buffer.document()) > before) {
            self.request.interrupt(reason);
        }
    }
}
