//! Answers and results that may be missing from the chat's file: an answer that lost its
//! place is marked as cut off, and what a killed Neovim or a closed buffer left half done
//! is put right when the chat is attached again.

use std::io;
use std::path::PathBuf;

use chat::cycle::Event;
use chat::document::{Document, Role};

use super::Session;
use crate::half_done::{Entry, HalfDone, Journal, Result};
use crate::state_dir;

/// What is not known to be in the chat's file.
#[derive(Debug, Default)]
pub(super) struct Cut {
    /// The chat whose record was read, and its file.
    path: Option<PathBuf>,
    journal: Option<Journal>,
    now: Option<HalfDone>,
    /// Changes of `now` that are not in the file yet.
    unwritten: Vec<Entry>,
    /// Whether the file exists.
    is_kept: bool,
}

impl Cut {
    fn note(&mut self, entry: Entry) {
        self.now.get_or_insert_default().apply(entry.clone());
        self.unwritten.push(entry);
    }

    fn forget(&mut self) {
        self.now = None;
        self.unwritten.clear();
    }

    /// Brings the file up to date.
    fn keep(&mut self) -> io::Result<()> {
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        match &self.now {
            Some(now) if !self.unwritten.is_empty() => {
                let entries = std::mem::take(&mut self.unwritten);
                self.is_kept = true;
                journal.write(now, &entries)
            }
            None if self.is_kept => {
                self.is_kept = false;
                journal.remove()
            }
            _ => Ok(()),
        }
    }
}

/// How many answers have a word in them.
fn answers(document: &Document<'_>) -> usize {
    let answers = document.messages.iter().filter(|message| {
        message.role == Role::Assistant
            && (message.inline.is_some()
                || !document.is_blank(message.lines.start + 1..message.lines.end))
    });
    answers.count()
}

impl Session {
    /// A request is sent: its answer will be one more.
    pub(super) fn note_request(&mut self) {
        let answers = answers(&self.buffer.mirror.document());
        self.disk.cut.note(Entry::Asked(answers));
    }

    /// The answer is in the buffer, up to these last words of it.
    pub(super) fn note_answer_end(&mut self, tail: &str) {
        if self.disk.cut.now.is_some() {
            self.disk.cut.note(Entry::Answered(tail.trim().to_owned()));
        }
    }

    /// A call ended; its result is about to be written.
    pub(super) fn note_result(&mut self, result: Result) {
        self.disk.cut.note(Entry::Ended(result));
    }

    /// The file holds everything.
    pub(super) fn forget_half_done(&mut self) {
        if self.request.open.is_none()
            && self.calls.running.is_empty()
            && self.buffer.in_flight.is_none()
        {
            self.disk.cut.forget();
        }
    }

    /// Brings the record on disk up to date. Only where the chat is ours: the record of
    /// another program is about its own work.
    pub(super) fn keep_half_done(&mut self) {
        if self.editor.is_headless() || self.buffer.loading.is_some() || !self.has_chat() {
            return;
        }
        if self.disk.cut.path != self.disk.path {
            self.change_record();
        }
        if let Err(error) = self.disk.cut.keep() {
            tracing::warn!(%error, "what is half done in a chat cannot be kept");
        }
    }

    /// The chat is new here or has another path; what goes on goes along.
    fn change_record(&mut self) {
        let cut = &mut self.disk.cut;
        if let Some(mut old) = cut.journal.take()
            && std::mem::take(&mut cut.is_kept)
        {
            let _ = old.remove();
        }
        cut.path.clone_from(&self.disk.path);
        let Some(path) = &cut.path else { return };
        let journal = cut.journal.insert(Journal::of(&state_dir::path(), path));
        match &cut.now {
            Some(now) => cut.unwritten = now.entries(),
            None => {
                cut.now = journal.read();
                cut.is_kept = cut.now.is_some();
                self.mend_half_done();
            }
        }
    }

    /// Puts right what the text lacks of what is known to have happened: the text was read
    /// from the file or the swap file.
    pub(super) fn mend_half_done(&mut self) {
        let Some(now) = &self.disk.cut.now else {
            return;
        };
        let results = now.results.iter().map(Result::ended);
        let results: Vec<_> = results.collect();
        let document = self.buffer.mirror.document();
        let is_whole = now.tail.as_ref().is_some_and(|tail| {
            let last = document.messages.iter().rev();
            let mut last = last.filter(|it| it.role == Role::Assistant);
            last.next()
                .is_some_and(|it| document.lossy(it.lines.clone()).contains(tail.as_str()))
        });
        if self.request.open.is_none() && self.request.interrupted().is_none() && !is_whole {
            self.mark_cut("the chat was closed while the answer was arriving");
        }
        if !results.is_empty() {
            self.queue.push(Event::Recovered(results));
        }
    }

    /// Marks the answer of the open or last request as cut off, if any of it is there.
    pub(super) fn mark_cut(&mut self, reason: &'static str) {
        let before = self.disk.cut.now.as_ref().and_then(|it| it.answers);
        if before.is_some_and(|before| answers(&self.buffer.mirror.document()) > before) {
            self.request.interrupt(reason);
        }
    }
}
