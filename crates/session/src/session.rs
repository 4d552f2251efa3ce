//! A session: one open chat, with its text as the editor has it, its cycle, and everything
//! that runs for it.
//!
//! A session is a task that handles all inputs of its chat in order.
//! [`chat::cycle::step`] decides what to do, and the session does it. While an edit is in
//! flight, events wait, so that each decision is made on the text that the editor has.
//!
//! Its parts have private fields, which only their own modules see: [`buffer`], [`calls`],
//! [`request`], [`view`], [`queue`], [`policy`], [`decisions`], and [`disk`].

mod allow;
mod approve;
mod buffer;
mod calls;
mod checkpoints;
mod copies;
mod decisions;
mod disk;
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

use chat::cycle::{Cycle, CycleEvent, Level};
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};
use tools::state_dir;

use self::buffer::Buffer;
use self::calls::Calls;
use self::decisions::Decisions;
use self::disk::Disk;
pub(crate) use self::input::WorkInput;
pub use self::input::{EditorInput, Input};
use self::policy::Policy;
use self::queue::Queue;
use self::request::Request;
use self::view::View;
use crate::audit::Audit;
use crate::editor::Editor;
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
    editor: Editor,
    shared: Arc<Shared>,
    inbox: mpsc::UnboundedSender<Input>,
    inputs: mpsc::UnboundedReceiver<Input>,
) {
    let session = Session {
        editor: editor.of_chat(buffer),
        // Weak, so that a session whose buffer is gone ends when nothing else holds its inbox.
        inbox: inbox.downgrade(),
        policy: Policy::new(shared.plain.clone()),
        shared,
        cycle: Cycle::default(),
        buffer: Buffer::new(buffer),
        calls: Calls::default(),
        request: Request::default(),
        view: View::default(),
        queue: Queue::default(),
        decisions: Decisions::new(Audit::open(&state_dir::path())),
        disk: Disk::default(),
    };
    tokio::spawn(session.run(inputs));
}

/// One open chat; see the module documentation.
pub(crate) struct Session {
    editor: Editor,
    shared: Arc<Shared>,
    /// Weak, so that the session ends when the host drops its sender.
    inbox: mpsc::WeakUnboundedSender<Input>,
    cycle: Cycle,
    buffer: Buffer,
    calls: Calls,
    request: Request,
    view: View,
    queue: Queue,
    policy: Policy,
    decisions: Decisions,
    disk: Disk,
}

/// Whether what is next can happen now.
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
            if self.buffer.is_gone() {
                break;
            }
            self.work();
            self.start_due_trials();
            self.store();
            // After the step: calls that ended during it are recorded with the others.
            self.record_ends();
            self.compare_sent();
            self.show();
            self.report_idle();
            self.record_decisions();
            self.save_news();
            self.yield_chat();
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

    /// Stores what a crash must not lose: unsent messages and unfinished work.
    fn store(&mut self) {
        self.store_queue();
        self.store_unfinished();
    }

    /// Handles events and writes the answer until the editor has an edit to apply.
    fn work(&mut self) {
        while !self.buffer.is_busy() && !self.buffer.is_loading() && !self.policy.is_pending() {
            if self.ends_lost_answer() {
                continue;
            }
            // The mark of an interrupted answer belongs directly below it, so it is written
            // before anything else.
            if let Some(reason) = self.request.interrupted() {
                self.mark_interrupted(reason);
                continue;
            }
            match self.queue.pop() {
                Some(event) => {
                    if !self.handle_event(event) {
                        return;
                    }
                }
                None if self.write_answer() => {}
                None if self.results_are_due() => self.step(CycleEvent::Continue),
                None => return,
            }
        }
    }

    /// Handles an event, such as a key: when everything that the decision depends on is
    /// known, the cycle decides, and the session carries out the effects. Returns false if
    /// the event has to wait.
    fn handle_event(&mut self, event: CycleEvent) -> bool {
        if self.prepare(&event) == Gate::Waiting {
            // The event keeps its place, because later events build on it.
            self.queue.push_first(event);
            return false;
        }
        // Results of one frame are written together.
        if event != CycleEvent::Continue || !self.results_wait() {
            self.step(event);
        }
        true
    }

    /// Prepares what the decision about an event depends on. The gates of a key come before, in
    /// [`Session::pass_gates`].
    fn prepare(&mut self, event: &CycleEvent) -> Gate {
        let gates: [fn(&mut Self, &CycleEvent) -> Gate; 3] = [
            // The files of the pending calls, as they are shown. `WorkInput::Snapshots` wakes it.
            Self::await_snapshots,
            // What tools say about the rejection of their calls. `WorkInput::Refused` wakes it.
            Self::ask_about_refusals,
            // The project's options, the tool folders, and the frontmatter: `WorkInput::Project`,
            // `ToolsScanned`, and `Rules` wake it.
            Self::prepare_rules,
        ];
        for gate in gates {
            if gate(self, event) == Gate::Waiting {
                return Gate::Waiting;
            }
        }
        Gate::Ready
    }

    /// Stops everything that runs for the buffer, which was closed.
    fn close(&mut self) {
        // The provider would otherwise stream, and charge for, an answer without a reader.
        self.request.stop();
        self.calls.stop_all();
        self.buffer.close();
        self.record_decisions();
    }

    pub(crate) fn path(&self) -> Option<&std::path::Path> {
        self.disk.path()
    }

    pub(crate) fn is_sending(&self) -> bool {
        self.request.is_open()
    }

    fn inform(&self, text: &str) {
        self.notify_about_calls(Level::Info, text);
    }
}
