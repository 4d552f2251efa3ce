//! The state machine that decides what happens next in a chat. It has no side effects.
//!
//! The phase follows from the document: a call without a result block is categorized, an
//! approved placeholder runs, and once every call has a result, the conversation can be
//! sent. [`Cycle`] stores only what the text cannot: the running calls, the decisions made
//! in this session, and the number of requests since the user last sent one. [`step`]
//! returns effects as data and performs none.

mod classify;
mod event;
mod idle;
mod keys;
mod messages;
mod plan;
mod provenance;
mod settle;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

use crate::approval::{Answers, CallKey};
use crate::document::{Document, PairedCall, Parsed, Role};
use crate::origin::Origins;
use crate::prompt;
use crate::summary::Summary;
use crate::tool::ToolOutcome;
use event::Ledger;
use messages::QueuedMessages;
use provenance::Provenance;

pub(crate) use classify::read;
pub use classify::{DENIED, REJECTED, callable, key, verdict};
pub use event::{AnswerEnd, CursorAfterResult, CycleEvent, Effect, Level, Notice, Options};
pub use event::{DEFAULT, Decided, REVIEWED, Ruling, is_by_hand};
pub use keys::INTERRUPTED;
pub use messages::SKIPPED;

/// Consecutive requests without the user.
#[derive(Debug, Clone, Copy, Default)]
struct AutopilotRun {
    turns: u32,
    /// In US dollars; requests whose price is unknown count nothing.
    cost: f64,
}

/// Runtime state of one chat that its text cannot hold.
#[derive(Debug, Default)]
pub struct Cycle {
    /// True if a request is open.
    request: bool,
    /// Running calls, oldest first.
    running: Vec<CallKey>,
    /// Approved calls that wait for a free slot.
    queue: VecDeque<CallKey>,
    /// Finished calls whose ends are not in the document yet.
    finished: Vec<(CallKey, RunEnd)>,
    /// The rest of the work that the last key started.
    batch: Option<Batch>,
    /// Set by Ctrl-C and cleared by Ctrl-]: nothing is sent automatically.
    disarmed: bool,
    /// The requests since the user last sent one.
    run: AutopilotRun,
    /// The user's text below the calls when the last request was sent.
    sent_words: Option<String>,
    /// Why autopilot stopped, until the next key.
    stopped: Option<AutopilotStop>,
    /// The origin of calls and approvals.
    provenance: Provenance,
    /// The lines that were typed in this session.
    origins: Origins,
    /// The last text change, if it touched a placeholder.
    change: Option<provenance::StatusChange>,
    /// The text that was last searched for approvals.
    observed: Weak<Parsed>,
    /// Answers of function resolvers in this batch.
    answers: Answers,
    /// Decisions to be logged.
    ledger: Ledger,
    /// Messages to the model for calls the user refuses, as defined by their tools.
    refusals: BTreeMap<CallKey, String>,
    /// Messages the user queued while the model was working.
    messages: QueuedMessages,
}

/// Why autopilot stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AutopilotStop {
    /// The next request would exceed a limit.
    Limit,
    /// The model kept repeating a failing call.
    Loop,
}

/// How the run of a call ended.
#[derive(Debug)]
enum RunEnd {
    /// With a result.
    Result(ToolOutcome),
    /// It waits for the user, for this reason.
    Waits(&'static str),
}

/// The work started by one key, or by one answer under autopilot.
#[derive(Debug)]
struct Batch {
    goal: Goal,
    /// True if anything was written or run; a batch that did nothing sends.
    worked: bool,
    /// True if the conversation may be sent at the end.
    may_send: bool,
    /// The user's text below the calls when the batch began. Text typed since then is not
    /// sent without another key.
    words: Option<String>,
    /// True if open fences were just closed, which changes `words`.
    repaired: bool,
    /// True if the user steered: that is sent with or without autopilot.
    steered: bool,
    /// The call to whose result the cursor moves.
    shown: Option<CallKey>,
    /// True if the cursor was moved to the first pending call.
    reviewed: bool,
    start: Start,
}

/// The trigger of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// An answer, a message, or a trial.
    Other,
    /// A key that decides about calls.
    Key,
    /// Ctrl-], which says so if it finds nothing to do.
    Advance,
}

/// The calls that a batch is about.
#[derive(Debug, Clone, PartialEq)]
enum Goal {
    /// All calls.
    All,
    /// These calls, chosen by the user; the string names the act for the log.
    Chosen(Vec<CallKey>, &'static str),
    /// One call, refused by the user, with a reason or an empty string.
    Refused(CallKey, String),
    /// All calls; those that have not started are skipped.
    Skip,
    /// None: nothing is left to decide, and approved calls still run.
    Settled,
}

impl Cycle {
    /// Running calls, oldest first.
    pub fn running(&self) -> &[CallKey] {
        &self.running
    }

    /// Returns true if results are waiting to be written while other calls still run.
    pub fn collects_results(&self) -> bool {
        !self.finished.is_empty() && !self.running.is_empty()
    }

    /// Returns true if approved calls wait for a free slot.
    pub fn has_queue(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Returns true if a request is open.
    pub fn is_sending(&self) -> bool {
        self.request
    }

    /// Returns true if there is no open request, running call, or open question.
    pub fn is_idle(&self) -> bool {
        let idle = self.running.is_empty() && self.queue.is_empty() && self.finished.is_empty();
        idle && !self.request && self.batch.is_none()
    }

    /// Returns true if autopilot stopped at `max_turns` requests or at `max_cost`.
    pub fn reached_limit(&self) -> bool {
        self.stopped == Some(AutopilotStop::Limit)
    }

    /// Returns true if autopilot stopped because the model kept repeating a failing call.
    pub fn is_stuck(&self) -> bool {
        self.stopped == Some(AutopilotStop::Loop)
    }

    /// Handles [`CycleEvent::Recorded`], which does not depend on the text.
    pub fn record(&mut self, call: CallKey) {
        self.provenance.record(call);
    }

    /// Requests since the user last sent one.
    pub fn turns(&self) -> u32 {
        self.run.turns
    }

    /// Counts the price of a request, in US dollars.
    pub fn spend(&mut self, dollars: f64) {
        self.run.cost += dollars;
    }
}

/// Returns the effects of an event. `document` is the current text.
pub fn step(
    cycle: &mut Cycle,
    event: CycleEvent,
    document: &Document<'_>,
    options: &Options,
) -> Vec<Effect> {
    let mut effects = follow(cycle, event, document, options);
    let decided = cycle.ledger.take();
    // Decisions are recorded before anything follows from them.
    if !decided.is_empty() {
        effects.insert(0, Effect::Record(decided));
    }
    effects
}

fn follow(
    cycle: &mut Cycle,
    event: CycleEvent,
    document: &Document<'_>,
    options: &Options,
) -> Vec<Effect> {
    // `Loaded` replaces what `observe` compares with, so it must come first.
    if let CycleEvent::Loaded { interrupted } = event {
        cycle.provenance.loaded(document);
        cycle.interrupted(document, &interrupted);
        return cycle.settle(document, options);
    }
    cycle.observe(document);
    cycle.handle(event, document, options)
}

impl Cycle {
    /// Handles an event, once the text has been observed.
    fn handle(
        &mut self,
        event: CycleEvent,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        match event {
            // `follow` handles the first, and `observe` has handled the second.
            CycleEvent::Loaded { .. } | CycleEvent::Changed => Vec::new(),
            CycleEvent::Interrupted(calls) => {
                self.interrupted(document, &calls);
                self.settle(document, options)
            }
            CycleEvent::Recovered(ended) => self.recover(ended, document, options),
            CycleEvent::Advance => self.advance(document, options),
            CycleEvent::Send => self.send_by_user(document, options),
            CycleEvent::Resolve { line } => self.resolve(line, None, document, options),
            CycleEvent::Reject { line, reason } => {
                self.resolve(line, Some(reason), document, options)
            }
            CycleEvent::Review { call, refused } => self.review(call, refused, document, options),
            CycleEvent::Tried { call } => self.tried(call, document, options),
            CycleEvent::ApproveAll => self.approve_all(document, options),
            CycleEvent::Continue => self.settle(document, options),
            CycleEvent::ResolverAnswered(answers) => {
                self.answers.extend(answers);
                self.settle(document, options)
            }
            CycleEvent::ToolsFinished(ended) => {
                let ended = ended.into_iter();
                let ended = ended.map(|(call, outcome)| (call, RunEnd::Result(outcome)));
                self.runs_ended(ended.collect(), document, options)
            }
            CycleEvent::Hindered { call, why } => {
                self.runs_ended(vec![(call, RunEnd::Waits(why))], document, options)
            }
            CycleEvent::Recorded(call) => {
                self.record(call);
                Vec::new()
            }
            CycleEvent::AnswerEnded(end) => self.answer_ended(end, document, options),
            CycleEvent::Cancel => self.cancel(document, options),
            CycleEvent::CancelTool { line } => self.cancel_tool(line, document),
            CycleEvent::Steer(text) => self.steer(text, document, options),
            CycleEvent::FollowUp(text) => self.follow_up(text, document, options),
            CycleEvent::Ask { text, send } => self.ask(text, send, document, options),
            CycleEvent::Compact(wishes) => self.compact(wishes),
            CycleEvent::Summarize { summary, sends } => {
                self.summarize(&summary, sends, document, options)
            }
            CycleEvent::Unsummarized => {
                self.send_after_summary();
                self.settle(document, options)
            }
            CycleEvent::TakeBack(texts) => self.take_back(texts, document, options),
        }
    }

    /// Starts the request for a summary.
    fn compact(&mut self, wishes: String) -> Vec<Effect> {
        if !self.is_idle() {
            return vec![Effect::inform(
                "A summary can be written once nothing is running in this chat.",
            )];
        }
        self.request = true;
        vec![Effect::Summarize(wishes)]
    }

    /// Puts a summary into the text, and then sends the conversation if that is due.
    fn summarize(
        &mut self,
        summary: &Summary,
        sends: bool,
        document: &Document<'_>,
        options: &Options,
    ) -> Vec<Effect> {
        if sends {
            self.send_after_summary();
        }
        match summary.place(document) {
            Err(why) => {
                let said = format!("The summary was not put into the chat. {why}");
                let mut effects = vec![Effect::warn(said)];
                effects.extend(self.settle(document, options));
                effects
            }
            Ok(edit) => {
                // The comment is below the role marker.
                let line = edit.lines.start + 1;
                let shown = (!sends).then_some(Effect::Cursor {
                    line,
                    insert: false,
                    asked: true,
                });
                std::iter::once(Effect::Edit(vec![edit]))
                    .chain(shown)
                    .collect()
            }
        }
    }

    /// Begins to send the conversation again, for which a summary was made. What the user typed
    /// meanwhile is not sent without another key.
    fn send_after_summary(&mut self) {
        if !self.request {
            return;
        }
        self.request = false;
        // The request counts once.
        self.run.turns = self.run.turns.saturating_sub(1);
        let words = self.sent_words.take();
        self.begin(Goal::Settled, words, Start::Other);
        if let Some(batch) = &mut self.batch {
            batch.worked = true;
            // A key or autopilot sent it already.
            batch.steered = true;
        }
    }

    /// Records approvals that appeared in or disappeared from the text.
    fn observe(&mut self, document: &Document<'_>) {
        let parsed = document.parsed();
        // Nothing to do if this parse tree was observed already.
        if !std::ptr::eq(self.observed.as_ptr(), Arc::as_ptr(&parsed)) {
            self.provenance.observe(document, None);
            self.observed = Arc::downgrade(&parsed);
        }
    }

    fn begin(&mut self, goal: Goal, words: Option<String>, start: Start) {
        // A new batch asks the functions again, because their rules may have changed.
        self.answers.clear();
        let (running, queue) = (&self.running, &self.queue);
        self.ledger
            // Keeps what was logged about calls in progress, so that it is not logged twice.
            .begin(|call| running.contains(call) || queue.contains(call));
        self.stopped = None;
        self.batch = Some(Batch {
            goal,
            worked: false,
            // After Ctrl-C, calls may still run, but nothing is sent.
            may_send: !self.disarmed,
            words,
            repaired: false,
            steered: false,
            shown: None,
            reviewed: false,
            start,
        });
    }
}

/// Returns the call whose blocks cover a line.
pub fn key_at(document: &Document<'_>, line: usize) -> Option<CallKey> {
    let (_, call) = find_at(document, line)?;
    Some(key(document, call.tool_use))
}

/// Returns the call whose blocks cover a line, and the index of its message.
fn find_at<'d>(document: &'d Document<'_>, line: usize) -> Option<(usize, PairedCall<'d>)> {
    document.turn_at(line).and_then(|turn| {
        let covers = |call: &&PairedCall<'d>| {
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

/// Returns the user's text below the last turn's calls.
fn text_below_calls(document: &Document<'_>) -> Option<String> {
    let last = document.messages.last().filter(|it| it.role == Role::You)?;
    prompt::own_text(document, last)
}
