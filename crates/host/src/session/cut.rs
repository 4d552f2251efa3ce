//! Answers and results that may be missing from the chat's file: an answer that lost its
//! place is marked as cut off, and what a killed Neovim or a closed buffer left half done
//! is put right when the chat is attached again.

use std::path::PathBuf;

use chat::cycle::Event;
use chat::document::{Document, Role};

use super::Session;
use crate::half_done::{self, HalfDone, Result};
use crate::status::state_folder;

/// Most bytes of results that are kept for one chat.
const MOST_RESULTS: usize = 64 * 1024;

/// What is not known to be in the chat's file.
#[derive(Debug, Default)]
pub(super) struct Cut {
    /// The chat whose record was read.
    path: Option<PathBuf>,
    /// What is to be on disk, and what is.
    now: Option<HalfDone>,
    written: Option<HalfDone>,
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
        let answers = answers(&self.text.document());
        let now = self.cut.now.get_or_insert_default();
        now.answers = Some(answers);
        now.tail = None;
    }

    /// The answer is in the buffer, up to these last words of it.
    pub(super) fn note_answer_end(&mut self, tail: &str) {
        if let Some(now) = &mut self.cut.now {
            now.tail = Some(tail.trim().to_owned());
        }
    }

    /// A call ended; its result is about to be written.
    pub(super) fn note_result(&mut self, result: Result) {
        let now = self.cut.now.get_or_insert_default();
        now.results.retain(|it| !it.is_of_the_call_of(&result));
        now.results.push(result);
        let mut bytes: usize = now.results.iter().map(|it| it.content.len()).sum();
        while bytes > MOST_RESULTS {
            bytes -= now.results.remove(0).content.len();
        }
    }

    /// The file holds everything.
    pub(super) fn forget_half_done(&mut self) {
        if self.request.is_none() && self.running.is_empty() && self.edit.is_none() {
            self.cut.now = None;
        }
    }

    /// Brings the record on disk up to date. Only where the chat is ours: the record of
    /// another program is about its own work.
    pub(super) fn keep_half_done(&mut self) {
        if self.editor.is_here() || self.loading.is_some() || !self.has_chat() {
            return;
        }
        if self.cut.path != self.path {
            self.change_record();
        }
        if self.cut.now == self.cut.written {
            return;
        }
        let Some(path) = &self.cut.path else { return };
        if let Err(error) = half_done::keep(&state_folder(), path, self.cut.now.as_ref()) {
            tracing::warn!(%error, "what is half done in a chat cannot be kept");
        }
        self.cut.written.clone_from(&self.cut.now);
    }

    /// The chat is new here or has another path; what goes on goes along.
    fn change_record(&mut self) {
        if let Some(old) = self.cut.path.take()
            && self.cut.written.take().is_some()
        {
            let _ = half_done::keep(&state_folder(), &old, None);
        }
        self.cut.path.clone_from(&self.path);
        let Some(path) = &self.path else { return };
        if self.cut.now.is_none() {
            self.cut.now = half_done::find(&state_folder(), path);
            self.cut.written.clone_from(&self.cut.now);
            self.mend_half_done();
        }
    }

    /// Puts right what the text lacks of what is known to have happened: the text was read
    /// from the file or the swap file.
    pub(super) fn mend_half_done(&mut self) {
        let Some(now) = &self.cut.now else { return };
        let results = now.results.iter().map(Result::ended);
        let results: Vec<_> = results.collect();
        let document = self.text.document();
        let is_whole = now.tail.as_ref().is_some_and(|tail| {
            let last = document.messages.iter().rev();
            let mut last = last.filter(|it| it.role == Role::Assistant);
            last.next()
                .is_some_and(|it| document.lossy(it.lines.clone()).contains(tail.as_str()))
        });
        if self.request.is_none() && self.interrupted.is_none() && !is_whole {
            self.mark_cut("the chat was closed while the answer was arriving");
        }
        if !results.is_empty() {
            self.waiting.push_back(Event::Recovered(results));
        }
    }

    /// Marks the answer of the open or last request as cut off, if any of it is there.
    pub(super) fn mark_cut(&mut self, reason: &'static str) {
        let before = self.cut.now.as_ref().and_then(|it| it.answers);
        if before.is_some_and(|before| answers(&self.text.document()) > before) {
            self.interrupted = Some(reason);
        }
    }
}
