//! What happens next: the three phases, as a state machine without side effects.
//!
//! The phase is read off the document: a call without a result block is
//! categorized, an approved placeholder runs, and when every call has a result
//! the conversation can be sent. [`Cycle`] holds only what cannot be in the text:
//! what is running, which decisions were made here, how many requests went out
//! without the user. [`step`] returns what is to be done as data; it does nothing.

mod blocked;
mod cancel;
mod categorize;
mod change;
mod classify;
mod decided;
mod event;
mod idle;
mod keys;
mod messages;
mod plan;
mod provenance;
mod settle;
mod sight;
mod start;
mod stuck;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

use crate::approval::{Answers, CallKey};
use crate::document::{Document, Parsed};
use crate::origin::Origins;
use crate::prompt;
use crate::tool::ToolOutcome;
use decided::Ledger;
use messages::QueuedMessages;
use provenance::Provenance;

pub use cancel::INTERRUPTED;
pub(crate) use classify::read;
pub use classify::{DENIED, REJECTED, callable, key, verdict};
pub use decided::{Decided, Ruling, is_by_hand};
pub use event::{AnswerEnd, CursorAfterResult, Effect, Event, Level, Notice, Options};
pub use messages::SKIPPED;

/// What is alive in one buffer and cannot be in its text.
#[derive(Debug, Default)]
pub struct Cycle {
    /// Whether a request is open.
    request: bool,
    /// Calls that run, oldest first.
    running: Vec<CallKey>,
    /// Calls that were decided on and wait for a slot.
    queue: VecDeque<CallKey>,
    /// Calls that ended and whose result is not in the document yet.
    finished: Vec<(CallKey, ToolOutcome)>,
    /// What the last key started and what is left of it.
    batch: Option<Batch>,
    /// Whether Ctrl-C was pressed and Ctrl-] was not since: nothing is sent by itself.
    disarmed: bool,
    /// Requests since the user last sent one.
    turns: u32,
    /// Whether the last thing that was to be sent was one request too many.
    limited: bool,
    /// Whether it rests because the model made the same failing call again and again.
    stuck: bool,
    /// Where decisions and calls come from.
    provenance: Provenance,
    /// Which lines of the text were typed here.
    origins: Origins,
    /// The last change of the text, when it touched a placeholder.
    change: Option<change::StatusChange>,
    /// The text in which approvals were looked for last.
    observed: Weak<Parsed>,
    /// What function resolvers said in this batch.
    answers: Answers,
    /// What was decided, for a log.
    ledger: Ledger,
    /// What tools have to say to the model when their calls are refused.
    refusals: BTreeMap<CallKey, String>,
    /// What the user said while the model worked, until it stands in the document.
    messages: QueuedMessages,
}

/// The work that one key, or one answer under autopilot, started.
#[derive(Debug)]
struct Batch {
    goal: Goal,
    /// Whether anything was written or run; a batch that did nothing sends.
    worked: bool,
    /// Whether the conversation may be sent at the end.
    may_send: bool,
    /// The user's own words behind the calls when the batch began. What was typed
    /// since then is not sent without another key.
    words: Option<String>,
    /// Whether fences were just closed, which changes the words.
    mended: bool,
    /// Whether the user spoke up: that is sent with autopilot or without.
    steered: bool,
    /// The call whose result the cursor goes to.
    shown: Option<CallKey>,
    /// Whether the cursor was put on the first pending call.
    reviewed: bool,
    /// Whether a key began it, and no answer since then.
    by_key: bool,
}

/// Which calls a batch is about.
#[derive(Debug, Clone, PartialEq)]
enum Goal {
    /// All of them.
    All,
    /// These, by the user's own act, as a log names it.
    Chosen(Vec<CallKey>, &'static str),
    /// One is refused, by the user's own act, with this reason or none.
    Refused(CallKey, String),
    /// All of them, and those that did not start yet never will.
    Skip,
    /// None are left to look at; those that were decided run to their end.
    Settled,
}

impl Cycle {
    /// Calls that run now, oldest first.
    pub fn running(&self) -> &[CallKey] {
        &self.running
    }

    /// Whether calls ended whose results may not stand in the document yet, and others
    /// still run, so that more results are to come.
    pub fn collects_results(&self) -> bool {
        !self.finished.is_empty() && !self.running.is_empty()
    }

    /// Whether calls that were decided on wait for others to end.
    pub fn has_queue(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether a request is open.
    pub fn is_sending(&self) -> bool {
        self.request
    }

    /// Whether nothing goes on: no request, no call, and no question to anybody.
    pub fn is_idle(&self) -> bool {
        let idle = self.running.is_empty() && self.queue.is_empty() && self.finished.is_empty();
        idle && !self.request && self.batch.is_none()
    }

    /// Whether it rests because the most requests in a row have been made.
    pub fn reached_limit(&self) -> bool {
        self.limited
    }

    /// Whether it rests because the model made the same failing call again and again.
    pub fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Does what [`Event::Recorded`] asks for, which is the same whatever the text.
    pub fn record(&mut self, call: CallKey) {
        self.provenance.record(call);
    }

    /// Requests since the user last sent one.
    pub fn turns(&self) -> u32 {
        self.turns
    }
}

/// Decides what follows from an event. `document` is the text as it is now.
pub fn step(
    cycle: &mut Cycle,
    event: Event,
    document: &Document<'_>,
    options: &Options,
) -> Vec<Effect> {
    let mut effects = follow(cycle, event, document, options);
    let decided = cycle.ledger.take();
    if !decided.is_empty() {
        effects.insert(0, Effect::Record(decided));
    }
    effects
}

fn follow(
    cycle: &mut Cycle,
    event: Event,
    document: &Document<'_>,
    options: &Options,
) -> Vec<Effect> {
    if let Event::Loaded { interrupted } = event {
        cycle.provenance.loaded(document);
        cycle.interrupted(document, &interrupted);
        return cycle.settle(document, options);
    }
    cycle.observe(document);
    match event {
        Event::Loaded { .. } | Event::Changed => Vec::new(),
        Event::Interrupted(calls) => {
            cycle.interrupted(document, &calls);
            cycle.settle(document, options)
        }
        Event::Recovered(ended) => {
            cycle.finished.extend(ended);
            cycle.recover(document);
            cycle.settle(document, options)
        }
        Event::Advance => cycle.advance(document, options),
        Event::Send => cycle.send_by_user(document, options),
        Event::Resolve { line } => cycle.resolve(line, None, document, options),
        Event::Reject { line, reason } => cycle.resolve(line, Some(reason), document, options),
        Event::ApproveAll => cycle.approve_all(document, options),
        Event::Continue => cycle.settle(document, options),
        Event::ResolverAnswered(answers) => {
            cycle.answers.extend(answers);
            cycle.settle(document, options)
        }
        Event::ToolsFinished(ended) => cycle.tools_finished(ended, document, options),
        Event::Recorded(call) => {
            cycle.record(call);
            Vec::new()
        }
        Event::AnswerEnded(end) => cycle.answer_ended(end, document, options),
        Event::Cancel => cycle.cancel(document, options),
        Event::CancelTool { line } => cycle.cancel_tool(line, document),
        Event::Steer(text) => cycle.steer(text, document, options),
        Event::FollowUp(text) => cycle.follow_up(text, document, options),
        Event::TakeBack(texts) => cycle.take_back(texts, document, options),
    }
}

impl Cycle {
    /// Notes approvals that came and went with the text.
    fn observe(&mut self, document: &Document<'_>) {
        let parsed = document.parsed();
        if !std::ptr::eq(self.observed.as_ptr(), Arc::as_ptr(&parsed)) {
            self.provenance.observe(document, None);
            self.observed = Arc::downgrade(&parsed);
        }
    }

    fn begin(&mut self, goal: Goal, words: Option<String>) {
        self.answers.clear();
        let (running, queue) = (&self.running, &self.queue);
        self.ledger
            .begin(|call| running.contains(call) || queue.contains(call));
        self.limited = false;
        self.stuck = false;
        self.batch = Some(Batch {
            goal,
            worked: false,
            may_send: !self.disarmed,
            words,
            mended: false,
            steered: false,
            shown: None,
            reviewed: false,
            by_key: false,
        });
    }

    fn tools_finished(
        &mut self,
        ended: Vec<(CallKey, ToolOutcome)>,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        for (call, outcome) in ended {
            // A call that is not running was ended before; a second end is ignored.
            if let Some(at) = self.running.iter().position(|running| *running == call) {
                self.running.remove(at);
                // A call that a policy approved never had the user's attention.
                let waited = is_by_hand(&self.provenance.approved_by(&call));
                if let Some(batch) = self.batch.as_mut().filter(|_| waited) {
                    batch.shown = Some(call.clone());
                }
                self.finished.push((call, outcome));
            }
        }
        // A free slot is used at once; what ended is written with what ends soon.
        if Self::blocked(document, options).is_none() {
            let effects = self.start(document, options);
            if !self.running.is_empty() {
                return effects;
            }
        }
        self.settle(document, options)
    }

    fn answer_ended(
        &mut self,
        end: AnswerEnd,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        self.request = false;
        if end != AnswerEnd::Complete {
            return self.answer_broke_off(end, document, options);
        }
        if self.messages.steers() {
            return self.speak(document, options);
        }
        let last = document
            .messages
            .iter()
            .rposition(|message| message.role == crate::document::Role::Assistant);
        let calls = last.and_then(|at| document.turn(at)).is_some();
        if !calls {
            self.turns = 0;
            self.batch = None;
            return self.done(document, options);
        }
        if !options.autopilot {
            return self.say(document);
        }
        self.begin(Goal::All, None);
        if let Some(batch) = &mut self.batch {
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
        // A text that was only too long can be answered at once.
        let is_text = document.unanswered_turns().next().is_none();
        if end == AnswerEnd::Limited && is_text && effects.is_empty() {
            return idle::fresh_prompt(document);
        }
        effects
    }
}

/// The call whose blocks cover a line, and the index of its message.
fn find_at<'d>(
    document: &'d Document<'_>,
    line: usize,
) -> Option<(usize, crate::document::Call<'d>)> {
    document.turn_at(line).and_then(|turn| {
        let covers = |call: &&crate::document::Call<'d>| {
            call.tool_use.lines.contains(&line)
                || call
                    .result
                    .is_some_and(|result| result.lines.contains(&line))
        };
        turn.calls
            .iter()
            .find(covers)
            .map(|call| (turn.assistant, *call))
    })
}

/// What the user has written behind the last turn's calls.
fn words_behind_calls(document: &Document<'_>) -> Option<String> {
    let last = document
        .messages
        .last()
        .filter(|it| it.role == crate::document::Role::You)?;
    prompt::own_text(document, last)
}
