//! Messages that the user sends while the model works: steering messages, follow-ups, and
//! messages taken back. They stay here until they are in the document, so that none is
//! lost.
//!
//! `say` formats them for the document.

use std::collections::VecDeque;

use super::plan::Plan;
use super::{AutopilotRun, Cycle, Effect, Goal, Options, Ruling, Start, idle, text_below_calls};
use crate::approval::CallKey;
use crate::document::Document;
use crate::prompt::{self, PromptRole};
use crate::say;
use crate::write::{self, BlockLines};

/// Result of a call that had not started when the user steered. The text is from the tool
/// trait's specification, "Tool Execution Flow".
pub const SKIPPED: &str = "Skipped due to queued user message";

/// Messages that are not in the document yet.
#[derive(Debug, Default)]
pub(super) struct QueuedMessages {
    /// Messages to write into the prompt as soon as possible.
    now: Vec<String>,
    /// True if the conversation is sent after `now` is written.
    steer: bool,
    /// Follow-ups, each sent as a separate message when the model is done.
    later: VecDeque<String>,
}

impl QueuedMessages {
    /// Returns true if a message must be sent as soon as the answer is complete.
    pub(super) fn steers(&self) -> bool {
        self.steer
    }

    /// Stops automatic sending: all messages, then `more`, go into the prompt. Returns true
    /// if there are any.
    pub(super) fn put_back(&mut self, more: Vec<String>) -> bool {
        self.steer = false;
        self.now.extend(self.later.drain(..));
        self.now.extend(more);
        !self.now.is_empty()
    }
}

/// Returns the result of a skipped call.
pub(super) fn skip(call: CallKey, plan: &mut Plan) -> BlockLines {
    let block = write::tool_result(call.id.as_str(), SKIPPED, true);
    plan.rule(call, Ruling::Cancelled, "user: steer", None);
    block
}

impl Cycle {
    /// Steering messages to be written next.
    pub fn steering(&self) -> &[String] {
        &self.messages.now
    }

    /// Follow-ups that wait for the model to be done, in order.
    pub fn follow_ups(&self) -> impl ExactSizeIterator<Item = &str> {
        self.messages.later.iter().map(String::as_str)
    }

    pub(super) fn steer(
        &mut self,
        text: String,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        if text.trim().is_empty() {
            return vec![nothing_said()];
        }
        self.messages.now.push(text);
        self.messages.steer = true;
        // The answer is still growing at the end of the document; write the message below
        // it later.
        if self.request {
            return Vec::new();
        }
        self.speak(document, options)
    }

    pub(super) fn follow_up(
        &mut self,
        text: String,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        if text.trim().is_empty() {
            return vec![nothing_said()];
        }
        self.messages.later.push_back(text);
        if !self.is_idle() {
            return Vec::new();
        }
        self.next_words(document, options).unwrap_or_else(|| {
            vec![Effect::inform(
                "The message is queued behind text that was not sent yet. Press Ctrl-] to send that first.",
            )]
        })
    }

    pub(super) fn ask(
        &mut self,
        text: String,
        send: bool,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        if send {
            // A question must not skip calls that wait for the user.
            let is_free = self.is_idle() && document.unanswered_turns().next().is_none();
            return if is_free {
                self.steer(text, document, options)
            } else {
                self.follow_up(text, document, options)
            };
        }
        self.messages.now.push(text);
        if self.request {
            return Vec::new();
        }
        self.settle(document, options)
    }

    pub(super) fn take_back(
        &mut self,
        texts: Vec<String>,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        if !self.messages.put_back(texts) {
            return vec![Effect::inform("No message is queued.")];
        }
        if self.request {
            return Vec::new();
        }
        self.settle(document, options)
    }

    /// Sends the next queued message, or offers a fresh prompt.
    pub(super) fn done(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        if !self.messages.now.is_empty() {
            return self.settle(document, options);
        }
        self.next_words(document, options)
            .unwrap_or_else(|| idle::fresh_prompt(document))
    }

    /// Sends the first follow-up if the model is done.
    pub(super) fn next_words(
        &mut self,
        document: &Document<'_>,
        options: &Options,
    ) -> Option<Vec<Effect>> {
        // The conversation must end with the model, or two messages would become one.
        let next = is_done(document).then(|| self.messages.later.pop_front())?;
        self.messages.now.push(next?);
        Some(self.speak(document, options))
    }

    /// Writes and sends the messages, with or without autopilot. Skips calls that have not
    /// started.
    pub(super) fn speak(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        // The user's message starts a new run, with all its requests.
        if self.is_idle() && is_done(document) {
            self.run = AutopilotRun::default();
        }
        self.messages.steer = false;
        // The user sends something, which ends an earlier cancel.
        self.disarmed = false;
        self.stopped = None;
        // Approved calls that did not start are skipped.
        self.queue.clear();
        if self.batch.is_none() {
            self.begin(Goal::Skip, None, Start::Other);
        }
        if let Some(batch) = &mut self.batch {
            batch.goal = Goal::Skip;
            batch.worked = true;
            batch.may_send = true;
            batch.steered = true;
        }
        self.settle(document, options)
    }

    /// Returns true if this batch skips calls that have not started.
    pub(super) fn skips(&self) -> bool {
        self.batch.as_ref().is_some_and(|it| it.goal == Goal::Skip)
    }

    /// Writes the pending messages unless they are already in the document.
    pub(super) fn say(&mut self, document: &Document<'_>) -> Vec<Effect> {
        if self.messages.now.is_empty() || self.request {
            return Vec::new();
        }
        let words = text_below_calls(document);
        let batch = self.batch.as_mut().filter(|batch| batch.steered);
        // The edit may have been applied since; drop the longest part that is in the text.
        let said = (1..=self.messages.now.len()).rev();
        let mut said = said.filter(|count| say::is_said(document, &self.messages.now[..*count]));
        if let Some(count) = said.next() {
            self.messages.now.drain(..count);
            if let Some(batch) = batch {
                batch.words = words;
            }
            return self.say(document);
        }
        let closing = write::close_fences(document);
        if !closing.is_empty() {
            return vec![Effect::Edit(closing)];
        }
        // Text below an unclosed fence would become part of it.
        let broken = document.frontmatter.as_ref();
        if !document.open_fences.is_empty() || broken.is_some_and(|it| it.problem.is_some()) {
            return Vec::new();
        }
        let mut effects = vec![Effect::Edit(vec![say::say(document, &self.messages.now)])];
        if let Some(batch) = batch.filter(|batch| batch.words != words) {
            batch.may_send = false;
            effects.push(Effect::warn(
                "You had started a message, so the new text was added below it and nothing was sent. Press Ctrl-] to send \
                 both.",
            ));
        }
        effects
    }
}

/// Returns true if the conversation ends with the model and every call has a result.
fn is_done(document: &Document<'_>) -> bool {
    let last = prompt::ends(document).map(|(_, last)| last);
    last != Some(PromptRole::User) && document.unanswered_turns().next().is_none()
}

fn nothing_said() -> Effect {
    Effect::warn("The message is empty. Write it after the command.")
}
