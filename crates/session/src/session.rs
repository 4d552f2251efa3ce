//! A session: one open chat, with its text as the editor has it, its cycle, and everything
//! that runs for it.
//!
//! A session is a task that handles all inputs of its chat in order.
//! [`chat::cycle::step`] decides what to do, and the session does it. While an edit is in
//! flight, events wait, so that each decision is made on the text that the editor has.
//!
//! Its parts have their own data and methods: [`buffer`], [`calls`], [`request`], [`view`],
//! [`queue`], [`policy`], [`decisions`], and [`disk`]. They see the chat through [`Ctx`], not each
//! other, and return what should follow. The session passes that from one part to the next; it is
//! the only one that knows them all.

mod answers;
mod buffer;
mod calls;
mod checkpoints;
mod copies;
mod ctx;
mod decisions;
mod disk;
mod draw;
mod edits;
mod input;
mod keys;
mod lookup;
mod naming;
mod policy;
mod queue;
mod reports;
mod request;
mod steps;
#[cfg(test)]
mod tests;
mod turn_review;
mod view;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use chat::cycle::CycleEvent;
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use self::calls::Calls;
use self::ctx::Ctx;
use self::decisions::Decisions;
use self::disk::Disk;
pub(crate) use self::input::WorkInput;
pub use self::input::{EditorInput, Input};
use self::policy::Policy;
use self::queue::Queue;
use self::request::Request;
use self::view::{View, queued_count};
use crate::editor::Editor;
use crate::frontend::{Rested, SessionEvent};
use crate::protocol::BufferId;
use crate::shared::Shared;

/// One frame of a 60 Hz screen: nothing is written or drawn more often.
const FRAME: Duration = Duration::from_millis(16);
/// Maximum inputs that are taken between two decisions.
const MOST_INPUTS: usize = 64;
/// Maximum changes of the text that are taken between two decisions. A command such as `:g`
/// makes thousands, and parsing the document takes longer than many of them.
const MOST_CHANGES: usize = 4096;

type Inputs = mpsc::UnboundedReceiver<Input>;

/// Starts the session of a buffer. It ends when all senders but its own are dropped.
pub fn start(
    buffer: BufferId,
    editor: &Editor,
    shared: Arc<Shared>,
    inbox: &mpsc::UnboundedSender<Input>,
    inputs: mpsc::UnboundedReceiver<Input>,
) {
    let session = Session {
        ctx: Ctx::new(buffer, editor, shared, inbox),
        policy: Policy::default(),
        calls: Calls::default(),
        request: Request::default(),
        view: View::default(),
        queue: Queue::default(),
        decisions: Decisions::default(),
        disk: Disk::default(),
    };
    tokio::spawn(session.run(inputs));
}

/// One open chat; see the module documentation.
pub(crate) struct Session {
    ctx: Ctx,
    calls: Calls,
    request: Request,
    view: View,
    queue: Queue,
    policy: Policy,
    decisions: Decisions,
    disk: Disk,
}

/// Says if the next step can happen now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    Ready,
    /// An input comes when it is ready.
    Waiting,
}

impl Session {
    async fn run(mut self, mut inputs: Inputs) {
        while self.take_inputs(&mut inputs).await {
            // Twice per round: inputs may be lost in a crash during the step, and so may its
            // results.
            self.store();
            // Only after storing: the unsent messages of a closed buffer must be on disk.
            if self.ctx.buffer.is_gone() {
                break;
            }
            self.work();
            let has_started = self.calls.start_due_trials(&self.ctx);
            if has_started {
                self.view.redraw();
            }
            self.store();
            // After the step: calls that ended during it are recorded with the others.
            self.decisions.record_ends(&self.ctx);
            self.request.compare_sent(&self.ctx);
            self.show();
            self.report_idle();
            self.decisions.record(&self.ctx);
            self.disk.save_news(&self.ctx);
            if self.disk.has_chat() && self.is_idle() {
                self.disk.yield_chat();
            }
        }
        self.close();
    }

    /// Waits for an input or for something that is due, and takes everything that has
    /// arrived. Returns false when no more inputs can come.
    async fn take_inputs(&mut self, inputs: &mut Inputs) -> bool {
        let deadline = self.deadline();
        tokio::select! {
            // A key that waits for the chat lock is handled before later inputs.
            input = inputs.recv(), if !self.disk.has_waiting_key() => match input {
                Some(input) => self.take_input(input).await,
                None => return false,
            },
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => self.try_again(),
        }
        // Inputs that came together are handled together, so that the chat is drawn once for
        // them.
        self.take_waiting_inputs(inputs);
        true
    }

    async fn take_input(&mut self, input: Input) {
        let call_ended = matches!(input, Input::Work(WorkInput::ToolEnded(..)));
        self.handle(input);
        if call_ended {
            // The other calls run on this thread, too. They continue first, and those that end
            // now are handled in the same step.
            yield_now().await;
        }
    }

    /// Takes inputs that have arrived already, so that one decision and one drawing serve
    /// all of them. Bounded, because a fast stream would otherwise never be drawn.
    fn take_waiting_inputs(&mut self, inputs: &mut Inputs) {
        let (mut others, mut changes) = (0, 0);
        while others < MOST_INPUTS && changes < MOST_CHANGES {
            // What follows an edit is decided on the text that the edit made, before later
            // changes, such as an undo, are taken.
            if self.queue.first() == Some(&CycleEvent::Continue) || self.disk.has_waiting_key() {
                return;
            }
            let Ok(input) = inputs.try_recv() else {
                return;
            };
            match input {
                Input::Editor(EditorInput::Changed(_)) => changes += 1,
                _ => others += 1,
            }
            self.handle(input);
        }
    }

    /// Handles events and writes the answer until the editor has an edit to apply.
    fn work(&mut self) {
        while !self.ctx.buffer.is_busy()
            && !self.ctx.buffer.is_loading()
            && !self.policy.is_pending()
        {
            if self.request.is_lost() {
                self.end_lost_answer();
            } else if let Some(reason) = self.request.interrupted() {
                // The mark of an interrupted answer belongs directly below it, so it is written
                // before anything else.
                self.mark_interrupted(reason);
            } else if let Some(event) = self.queue.pop() {
                let gate = self.handle_event(event);
                if gate == Gate::Waiting {
                    return;
                }
            } else {
                let has_written = self.write_answer();
                if has_written {
                    continue;
                }
                let has_results = self.calls.take_due_results();
                if !has_results {
                    return;
                }
                self.step(CycleEvent::Continue);
            }
        }
    }

    /// Handles an event, such as a key: when everything that the decision depends on is
    /// known, the cycle decides, and the session carries out the effects.
    fn handle_event(&mut self, event: CycleEvent) -> Gate {
        let gate = self.prepare(&event);
        if gate == Gate::Waiting {
            // The event keeps its place, because later events build on it.
            self.queue.push_first(event);
            return Gate::Waiting;
        }
        if event == CycleEvent::Continue {
            // Results of one frame are written together.
            let gate = self.calls.hold_results(&self.ctx);
            if gate == Gate::Waiting {
                return Gate::Ready;
            }
        }
        self.step(event);
        Gate::Ready
    }

    /// Prepares what the decision about an event depends on. The gates of a key come before, in
    /// [`Session::pass_gates`].
    fn prepare(&mut self, event: &CycleEvent) -> Gate {
        let gates: [fn(&mut Self, &CycleEvent) -> Gate; 3] = [
            // The files of the pending calls, as they are shown. `WorkInput::Snapshots` wakes it.
            |it, event| it.calls.await_snapshots(event),
            // What tools say about the rejection of their calls. `WorkInput::Refused` wakes it.
            Self::ask_about_refusals,
            // The rules: the names of tools, which the frontmatter may use (`EditorInput::Settings` wakes
            // it), the project's options (`WorkInput::Project`), the tool folders (`ToolsScanned`), and the
            // frontmatter (`Rules`).
            Self::prepare_rules,
        ];
        for gate in gates {
            if gate(self, event) == Gate::Waiting {
                return Gate::Waiting;
            }
        }
        Gate::Ready
    }

    /// Asks the tools of the calls that an event rejects.
    fn ask_about_refusals(&mut self, event: &CycleEvent) -> Gate {
        // While an answer arrives, keys cannot reject calls.
        if self.request.is_open() {
            return Gate::Ready;
        }
        self.calls.ask_about_refusals(&self.ctx, event)
    }

    /// Makes the rules for an event, unless they are ready.
    fn prepare_rules(&mut self, event: &CycleEvent) -> Gate {
        if !self.policy.is_stale_for(event) {
            self.policy.expire();
            return Gate::Ready;
        }
        let tools = self.queue.await_tools(&self.ctx, event);
        if tools == Gate::Waiting {
            // The status line says so.
            self.view.redraw();
            return Gate::Waiting;
        }
        self.policy.prepare(&mut self.ctx)
    }

    /// Returns true if nothing happens until the user acts.
    fn is_idle(&self) -> bool {
        let is_decided = self.queue.is_empty()
            && !self.ctx.buffer.is_busy()
            && self.request.interrupted().is_none();
        let is_reading = self.ctx.buffer.is_loading() || self.policy.is_pending();
        let is_running = self.request.is_open() || !self.calls.is_empty() || self.calls.are_tried();
        is_decided && !is_reading && !is_running && self.ctx.cycle.is_idle()
    }

    /// Reports once per key that the session is idle, and why.
    fn report_idle(&mut self) {
        if !self.queue.is_unsettled() || !self.is_idle() {
            return;
        }
        let sight = self.calls.take_snapshots(&self.ctx);
        if sight == Gate::Waiting {
            return;
        }
        self.queue.settle();
        self.view.run_ended();
        let has_changed = self.calls.run_rests(&self.ctx);
        if has_changed {
            self.view.redraw_soon();
        }
        let (ctx, cycle) = (&self.ctx, &self.ctx.cycle);
        ctx.editor.emit(SessionEvent::Rested(Rested {
            buffer: ctx.buffer.id(),
            limit: cycle.reached_limit(),
            stuck: cycle.is_stuck(),
            queued: queued_count(ctx),
            waiting: cycle.waiting_tools(&ctx.buffer.document()),
        }));
    }

    /// Returns when something is due without an input.
    fn deadline(&self) -> Option<Instant> {
        let is_busy = self.ctx.buffer.is_busy();
        let write = self.request.next_write(is_busy);
        // Results cannot be written before the editor has answered; its answer is an input.
        let results = self.calls.results_due().filter(|_| !is_busy);
        let draw = self.view.next_draw();
        [write, results, draw, self.disk.next_try()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Tries again to take the chat lock, and then the key that waits for it, if that is due.
    fn try_again(&mut self) {
        let was_elsewhere = self.disk.is_elsewhere();
        let key = self.disk.try_again(&self.ctx);
        if self.disk.is_elsewhere() != was_elsewhere {
            self.view.redraw();
        }
        if let Some(key) = key {
            self.command(&key);
        }
    }

    /// Takes over changed options or tools.
    fn settings_changed(&mut self, shared: Arc<Shared>) {
        let shared = self.policy.in_project(&self.ctx, shared);
        if self.ctx.shared.settings.folds != shared.settings.folds {
            self.view.resend_folds();
        }
        self.ctx.shared = shared;
        self.view.redraw();
        let is_idle = self.is_idle();
        self.policy.settings_changed(&mut self.ctx, is_idle);
    }

    /// Stops everything that runs for the buffer, which was closed.
    fn close(&mut self) {
        // The provider would otherwise stream, and charge for, an answer without a reader.
        self.request.stop();
        self.calls.stop_all();
        self.ctx.buffer.close();
        self.decisions.record(&self.ctx);
    }
}
