//! Recovery of unfinished work: answers and results that are missing from the chat's file
//! because Neovim was killed, or the buffer was closed, before they were written.

use std::io;
use std::path::{Path, PathBuf};

use chat::approval::CallKey;
use chat::document::{Document, Role};
use chat::tool::ToolOutcome;

use crate::half_done::{HalfDone, HalfDoneEntry, Journal, Result};

/// Parts that are missing from a text that was read after its host had ended.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::session) struct Lost {
    /// True if it contains only a part of the last answer.
    pub(in crate::session) is_cut: bool,
    pub(in crate::session) results: Vec<(CallKey, ToolOutcome)>,
}

/// The record of what the chat's file may not contain yet.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// The chat whose record was read.
    path: Option<PathBuf>,
    journal: Option<Journal>,
    now: Option<HalfDone>,
    /// Changes of `now` that are not in the record's file yet.
    unwritten: Vec<HalfDoneEntry>,
    /// True if the record's file exists.
    has_file: bool,
}

impl Recovery {
    /// Notes that a request is sent: the chat will have one more answer.
    pub(super) fn note_request(&mut self, document: &Document<'_>) {
        self.note(HalfDoneEntry::Asked(answers(document)));
    }

    /// Notes that the answer is in the buffer; `tail` is its end.
    pub(super) fn note_answer_end(&mut self, tail: &str) {
        if self.now.is_some() {
            self.note(HalfDoneEntry::Answered(tail.trim().to_owned()));
        }
    }

    /// Notes the result of a call, which is about to be written into the buffer.
    pub(super) fn note_result(&mut self, result: Result) {
        self.note(HalfDoneEntry::Ended(result));
    }

    fn note(&mut self, entry: HalfDoneEntry) {
        self.now.get_or_insert_default().apply(entry.clone());
        self.unwritten.push(entry);
    }

    /// Forgets the record once the file contains everything.
    pub(super) fn forget(&mut self) {
        self.now = None;
        self.unwritten.clear();
    }

    /// Moves the record to the file of a chat that is new here or was renamed. Returns true if there was
    /// one, which was read.
    pub(super) fn follow(&mut self, state: &Path, chat: Option<&Path>) -> bool {
        if self.path.as_deref() == chat {
            return false;
        }
        if let Some(mut old) = self.journal.take()
            && std::mem::take(&mut self.has_file)
        {
            let _ = old.remove();
        }
        self.path = chat.map(PathBuf::from);
        let Some(path) = &self.path else {
            return false;
        };
        let journal = self.journal.insert(Journal::of(state, path));
        match &self.now {
            // Events before the rename belong in the new record.
            Some(now) => {
                self.unwritten = now.entries();
                false
            }
            None => {
                self.now = journal.read();
                self.has_file = self.now.is_some();
                self.has_file
            }
        }
    }

    /// Brings the record's file up to date.
    pub(super) fn write(&mut self) -> io::Result<()> {
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
            Some(_) | None => Ok(()),
        }
    }

    /// Returns what the record contains and the text lacks; the text comes from the file or the swap
    /// file.
    pub(super) fn lost(&self, document: &Document<'_>) -> Option<Lost> {
        let now = self.now.as_ref()?;
        let is_whole = now.tail.as_ref().is_some_and(|it| is_whole(document, it));
        Some(Lost {
            is_cut: !is_whole && self.has_begun(document),
            results: now.results.iter().map(Result::ended).collect(),
        })
    }

    /// Returns true if the text contains a part of the answer of the open or last request.
    pub(super) fn has_begun(&self, document: &Document<'_>) -> bool {
        let before = self.now.as_ref().and_then(|it| it.answers);
        before.is_some_and(|before| answers(document) > before)
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
