//! What the user says while the model works: at once, when the model is done, or not
//! after all. Until the words stand in the document they are here, and nowhere lost.
//!
//! How words are spelled in a document is `say`'s concern.

use std::collections::VecDeque;

use super::plan::Plan;
use super::{Cycle, Effect, Goal, Options, Ruling, idle, words_behind_calls};
use crate::approval::CallKey;
use crate::document::Document;
use crate::prompt::{self, PromptRole};
use crate::say;
use crate::write::{self, BlockLines};

/// The result of a call that had not started when the user spoke up. The words of the
/// tool trait's specification, "Tool Execution Flow".
pub const SKIPPED: &str = "Skipped due to queued user message";

/// Words that were given to the cycle and do not stand in the document yet.
#[derive(Debug, Default)]
pub(super) struct QueuedMessages {
    /// For the prompt, as soon as it can be written.
    now: Vec<String>,
    /// Whether those are sent, too.
    steer: bool,
    /// Each a message of its own, when the model is done with what came before.
    later: VecDeque<String>,
}

impl QueuedMessages {
    /// Whether something is to be said as soon as the answer is complete.
    pub(super) fn steers(&self) -> bool {
        self.steer
    }

    /// Nothing of it is sent by itself any more: it goes into the prompt, and `more`
    /// behind it. Whether there is anything.
    pub(super) fn put_back(&mut self, more: Vec<String>) -> bool {
        self.steer = false;
        self.now.extend(self.later.drain(..));
        self.now.extend(more);
        !self.now.is_empty()
    }
}

/// The result of a call that is not to start any more.
pub(super) fn skip(call: CallKey, plan: &mut Plan) -> BlockLines {
    let block = write::tool_result(call.id.as_str(), SKIPPED, true);
    plan.rule(call, Ruling::Cancelled, "user: steer", None);
    block
}

impl Cycle {
    /// What the user said and is said to the model next, as soon as that is possible.
    pub fn steering(&self) -> &[String] {
        &self.messages.now
    }

    /// What the user said and is sent when the model is done, in order.
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
        // The end of the document belongs to the answer until that is complete.
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
                "The message is queued behind what was not sent yet. Press Ctrl-] to send that first.",
            )]
        })
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

    /// The model is done: the user speaks next, with words that wait or at a prompt.
    pub(super) fn done(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        if !self.messages.now.is_empty() {
            return self.settle(document, options);
        }
        self.next_words(document, options)
            .unwrap_or_else(|| idle::fresh_prompt(document))
    }

    /// Says the first of the words that wait for the model to be done, if it is.
    pub(super) fn next_words(
        &mut self,
        document: &Document<'_>,
        options: &Options,
    ) -> Option<Vec<Effect>> {
        let next = is_done(document).then(|| self.messages.later.pop_front())?;
        self.messages.now.push(next?);
        Some(self.speak(document, options))
    }

    /// Has what is to be said written and sent: the user's own act, whatever the
    /// autopilot would do. What has not started is skipped for it.
    pub(super) fn speak(&mut self, document: &Document<'_>, options: &Options) -> Vec<Effect> {
        if self.is_idle() && is_done(document) {
            self.turns = 0;
        }
        self.messages.steer = false;
        self.disarmed = false;
        self.limited = false;
        self.stuck = false;
        self.queue.clear();
        if self.batch.is_none() {
            self.begin(Goal::Skip, None);
        }
        if let Some(batch) = &mut self.batch {
            batch.goal = Goal::Skip;
            batch.worked = true;
            batch.may_send = true;
            batch.steered = true;
        }
        self.settle(document, options)
    }

    /// Whether calls that have not started are skipped.
    pub(super) fn skips(&self) -> bool {
        self.batch.as_ref().is_some_and(|it| it.goal == Goal::Skip)
    }

    /// Writes what is to be said, unless it stands there.
    pub(super) fn say(&mut self, document: &Document<'_>) -> Vec<Effect> {
        if self.messages.now.is_empty() || self.request {
            return Vec::new();
        }
        let words = words_behind_calls(document);
        let batch = self.batch.as_mut().filter(|batch| batch.steered);
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
        // Behind a fence that cannot be closed the words would be part of it.
        let broken = document.frontmatter.as_ref();
        if !document.open_fences.is_empty() || broken.is_some_and(|it| it.problem.is_some()) {
            return Vec::new();
        }
        let mut effects = vec![Effect::Edit(vec![say::say(document, &self.messages.now)])];
        if let Some(batch) = batch.filter(|batch| batch.words != words) {
            batch.may_send = false;
            effects.push(Effect::warn(
                "You had begun a message, so what you said stands below it and nothing was sent. Press Ctrl-] to send \
                 both.",
            ));
        }
        effects
    }
}

/// Whether the model has had the last word, and all of its calls their results.
fn is_done(document: &Document<'_>) -> bool {
    let last = prompt::ends(document).map(|(_, last)| last);
    last != Some(PromptRole::User) && document.unanswered_turns().next().is_none()
}

fn nothing_said() -> Effect {
    Effect::warn("There are no words to send. Write them behind the command.")
}
