//! Handles the ends of calls and of answers.

use super::{AnswerEnd, AutopilotRun, Cycle, Effect, Goal, Options, RunEnd, idle, is_by_hand};
use crate::approval::CallKey;
use crate::document::{Document, Role};

impl Cycle {
    pub(super) fn runs_ended(
        &mut self,
        ended: Vec<(CallKey, RunEnd)>,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        for (call, end) in ended {
            // A call that is not running has already ended; ignore the second end.
            if let Some(at) = self.running.iter().position(|running| *running == call) {
                self.running.remove(at);
                // Only a call that the user reviewed may move the cursor to its result.
                let waited = is_by_hand(&self.provenance.approved_by(&call));
                if let Some(batch) = self.batch.as_mut().filter(|_| waited) {
                    batch.shown = Some(call.clone());
                }
                if let RunEnd::Waits(_) = end {
                    // The user may approve it by typing.
                    self.provenance.reopen(&call);
                }
                self.finished.push((call, end));
            }
        }
        // Fill the free slot at once, but write the results of calls that end at about the
        // same time in one edit.
        if Self::blocked(document, options).is_none() {
            let effects = self.start(document, options);
            if !self.running.is_empty() {
                return effects;
            }
        }
        self.settle(document, options)
    }

    pub(super) fn answer_ended(
        &mut self,
        end: AnswerEnd,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        self.request = false;
        if end != AnswerEnd::Complete {
            return self.answer_broke_off(end, document, options);
        }
        // A steering message is sent even if autopilot is off.
        if self.messages.steers() {
            return self.speak(document, options);
        }
        let mut messages = document.messages.iter();
        let last = messages.rposition(|it| it.role == Role::Assistant);
        // A complete answer without calls ends the run of requests.
        if last.and_then(|at| document.turn(at)).is_none() {
            self.run = AutopilotRun::default();
            self.batch = None;
            return self.done(document, options);
        }
        if !options.autopilot {
            // Without autopilot, only messages that the user queued are written.
            return self.say(document);
        }
        // No words: text that the user typed during the answer is not sent automatically.
        self.begin(Goal::All, None);
        if let Some(batch) = &mut self.batch {
            // A batch that did no work would send, as the user's key does.
            batch.worked = true;
            batch.may_send &= !idle::is_malformed_again(document);
        }
        let mut effects = self.settle(document, options);
        effects.extend(idle::malformed_again(document));
        effects
    }

    fn answer_broke_off(
        &mut self,
        end: AnswerEnd,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        self.batch = None;
        self.messages.put_back(Vec::new());
        let effects = self.settle(document, options);
        // Without calls there is nothing to repair, so offer a prompt right away.
        let is_text = document.unanswered_turns().next().is_none();
        if end == AnswerEnd::Limited && is_text && effects.is_empty() {
            return idle::fresh_prompt(document);
        }
        effects
    }
}
