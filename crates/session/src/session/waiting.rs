//! What a key says that finds only calls that wait for the user, and what becomes of a message that
//! was typed below them.

use std::collections::VecDeque;

use chat::approval::CallKey;
use chat::cycle::CycleEvent;
use chat::origin::ChangeSource;
use chat::{marks, write};

use super::{Input, Session, WorkInput};
use crate::form::Prompts;

impl Session {
    /// Says which calls wait and which keys decide, and offers `words`, the message below them, as
    /// the reason of a rejection.
    pub(super) fn tell_waiting(&self, calls: &[CallKey], words: Option<String>) {
        // A headless front end asks about the calls by itself.
        let (Some(first), false) = (calls.first(), self.editor.is_headless()) else {
            return;
        };
        let what = match calls.len() {
            1 => format!("{} waits", first.name),
            2 => format!("{} and another call wait", first.name),
            count => format!("{} and {} other calls wait", first.name, count - 1),
        };
        let keys = match calls.len() {
            1 => "Enter decides, Alt-Enter runs, Alt-r rejects.",
            _ => "Enter decides, Alt-a runs all, Alt-r rejects.",
        };
        let Some(words) = words.filter(|it| !it.trim().is_empty()) else {
            return self.inform(&format!("{what}: {keys}"));
        };
        self.inform(&format!("{what}, so your message is not sent. {keys}"));
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let (prompts, call) = (self.editor.prompts(self.buffer.id()), first.clone());
        tokio::spawn(async move {
            let title = format!("Your message is not sent, because {what} for your decision:");
            let items = [
                "Decide about it first".to_owned(),
                format!("Reject {}, with the message as the reason", call.name),
            ];
            if prompts.choose(&title, &items).await == Some(1) {
                drop(inbox.send(Input::Work(WorkInput::RejectFor(call, words))));
            }
        });
    }

    /// Rejects a call for a message that was typed below it, which leaves the prompt.
    pub(super) fn reject_for(&mut self, call: &CallKey, words: String) {
        let document = self.buffer.document();
        let marks = marks::marks(&document, &self.cycle, &(), 1);
        let pending = marks.iter().find(|it| it.pending && it.call == *call);
        let Some(line) = pending.map(|it| it.call_line) else {
            return self.inform("The call is not pending any more, so it was not rejected.");
        };
        // The user may have written on while the question was open.
        let edits = write::take_words(&document, &words);
        self.queue.push(CycleEvent::Reject {
            line,
            reason: words,
        });
        if !edits.is_empty() && !self.buffer.is_busy() {
            let rest = VecDeque::new();
            self.apply_for(ChangeSource::USER, edits, rest, CycleEvent::Changed);
        }
    }
}
