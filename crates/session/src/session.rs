//! One chat buffer: its text as the editor has it, its cycle, and what runs for it.
//!
//! A session is a task that handles everything about its buffer in order. What to
//! do is decided by [`chat::cycle::step`]; here it is done. While an edit is on its
//! way, whatever happens waits, so that every decision is made on a text that the
//! editor has.

mod answer;
mod await_tools;
mod buffer;
mod build_request;
mod calls;
mod chat_lock;
mod cut;
mod decide;
mod destination;
mod details;
mod disk;
mod dispatch;
mod dry_run;
mod edits;
mod elicitation;
mod file_snapshots;
mod first_look;
mod folding;
mod folds;
mod idle;
mod input;
mod kept;
mod keys;
mod mirror;
mod outcomes;
mod pace;
mod previews;
mod queue;
mod record;
mod references;
mod refusals;
mod reports;
mod request;
mod requests;
mod running;
mod show;
mod steps;
mod switching;
mod tasks;
#[cfg(test)]
mod tests;
mod trusting;
mod usage;
mod view;
mod words;

use std::sync::Arc;
use std::time::Duration;

use chat::cycle::{Cycle, Event, Level, Notice};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use self::buffer::Buffer;
use self::calls::Calls;
use self::disk::Disk;
use self::dispatch::Policy;
pub use self::input::Input;
use self::mirror::Loading;
use self::queue::Queue;
use self::record::Decisions;
use self::view::View;
use crate::audit::Audit;
use crate::editor::Editor;
use crate::protocol::*;
use crate::shared::Shared;
use crate::state_dir;

/// One frame of a 60 Hz screen: nothing is written or drawn more often.
const FRAME: Duration = Duration::from_millis(16);
/// Most inputs that are handled between two looks at the document.
const AT_A_LOOK: usize = 64;
/// Likewise of changes of the text: a command such as `:g` makes thousands, and reading
/// the document takes longer than many of them.
const CHANGES_AT_A_LOOK: usize = 4096;

/// Starts the session of a buffer. It ends when every sender but its own is gone.
pub fn start(
    buffer: BufferId,
    editor: Editor,
    shared: Arc<Shared>,
    inbox: mpsc::UnboundedSender<Input>,
    inputs: mpsc::UnboundedReceiver<Input>,
) {
    let session = Session {
        editor: editor.of_chat(buffer),
        inbox: inbox.downgrade(),
        policy: Policy::new(shared.plain.clone()),
        shared,
        cycle: Cycle::default(),
        buffer: Buffer::new(buffer),
        calls: Calls::default(),
        request: request::Request::default(),
        view: View::default(),
        queue: Queue::default(),
        decisions: Decisions::new(Audit::open(&state_dir::path())),
        disk: Disk::default(),
    };
    tokio::spawn(session.run(inputs));
}

/// See the module.
pub(crate) struct Session {
    editor: Editor,
    shared: Arc<Shared>,
    /// Weak: the session ends when the host lets go of it.
    inbox: mpsc::WeakUnboundedSender<Input>,
    cycle: Cycle,
    buffer: Buffer,
    calls: Calls,
    request: request::Request,
    view: View,
    queue: Queue,
    policy: Policy,
    decisions: Decisions,
    disk: Disk,
}

impl Session {
    async fn run(mut self, mut inputs: mpsc::UnboundedReceiver<Input>) {
        loop {
            let deadline = self.deadline();
            tokio::select! {
                // What comes after a key that waits is taken after it.
                input = inputs.recv(), if self.disk.lock.next_try().is_none() => match input {
                    Some(input) => self.handle(input),
                    None => break,
                },
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => self.try_again(),
            }
            // What has arrived meanwhile is handled before anything is decided or
            // drawn: one look at the document serves all of it. Not without end: a
            // stream that is faster than this would never be seen. What follows an edit
            // is decided on the text it made, before what was done to that, as an undo.
            let (mut others, mut changes) = (0, 0);
            while others < AT_A_LOOK && changes < CHANGES_AT_A_LOOK {
                if self.queue.first() == Some(&Event::Continue)
                    || self.disk.lock.next_try().is_some()
                {
                    break;
                }
                match inputs.try_recv() {
                    Ok(input) => {
                        match input {
                            Input::Changed(_) => changes += 1,
                            _ => others += 1,
                        }
                        self.handle(input);
                    }
                    Err(_) => break,
                }
            }
            self.keep_words();
            self.keep_half_done();
            if self.buffer.is_gone {
                break;
            }
            self.go_on();
            self.keep_words();
            self.keep_half_done();
            self.record_ends();
            self.show();
            self.tell_rest();
            self.record_decisions();
            self.yield_chat();
        }
        self.close();
    }

    fn handle(&mut self, input: Input) {
        match input {
            Input::Attach(attach) => self.buffer.loading = Some(Loading::of(attach)),
            Input::Snapshot(snapshot) => self.snapshot(snapshot),
            Input::Changed(changed) => self.changed(changed),
            Input::Saved(seq) => self.saved(seq),
            Input::Renamed(renamed) => self.renamed(renamed),
            Input::Viewport(viewport) => self.view.look_at(viewport),
            Input::Applied(applied) => self.applied(applied),
            Input::Command(command) => self.command(command),
            Input::Detached => self.buffer.is_gone = true,
            Input::Looked => self.looked(),
            Input::Settings(shared) => self.settings_changed(self.with_own_target(shared)),
            Input::SwitchedBack => self.policy.set_switched(false),
            Input::Rules(reading, rules) => self.rules_made(reading, *rules),
            Input::Remark(text) => self.remark(text),
            Input::Unresolved(places) => self.unresolved(places),
            Input::Functions(answers) => self.queue.push(Event::ResolverAnswered(answers)),
            Input::Inspected(answers, told) => {
                told.iter().for_each(|it| self.inform(it));
                self.queue.push(Event::ResolverAnswered(answers));
            }
            Input::ToolOutput(call, output) => self.tool_output(&call, &output),
            Input::Asked(call, news) => self.asked(call, news),
            Input::ToolEnded(call, ran) => self.tool_ended(call, ran),
            Input::Preview(call, width, said) => self.previewed(call, width, said),
            Input::Look(look) => self.looked_at(look),
            Input::Directory(cwd) => self.change_directory(cwd),
            Input::Refused(call, words) => self.heard_refusal(call, words),
            Input::Label(number, label, tariff) => self.label(number, label, tariff),
            Input::Note(number, note) => self.note(number, note),
            Input::Ids(number, ids) => self.told_apart(number, ids),
            Input::Stream(number, events) => self.stream(number, events),
        }
    }

    /// Decides and writes until the editor has to answer.
    fn go_on(&mut self) {
        while self.buffer.in_flight.is_none()
            && self.buffer.loading.is_none()
            && !self.policy.is_reading()
        {
            if self.ends_lost_answer() {
                continue;
            }
            if let Some(reason) = self.request.interrupted() {
                self.mark_interrupted(reason);
                continue;
            }
            match self.queue.pop() {
                Some(event) if !self.is_ready_for(&event) => {
                    self.queue.push_first(event);
                    return;
                }
                Some(Event::Continue) if self.results_wait() => {}
                Some(event) => self.step(event),
                None if self.write_answer() => {}
                None if self.results_are_due() => self.step(Event::Continue),
                None => return,
            }
        }
    }

    /// Whether everything is known that an event is decided by; if not it is to wait.
    fn is_ready_for(&mut self, event: &Event) -> bool {
        self.has_looked(event) && self.has_heard_refusals(event) && self.has_rules_for(event)
    }

    pub(crate) fn path(&self) -> Option<&std::path::Path> {
        self.disk.path.as_deref()
    }

    pub(crate) fn is_sending(&self) -> bool {
        self.request.open.is_some()
    }

    fn inform(&self, text: &str) {
        self.editor.notify(&Notice {
            level: Level::Info,
            text: text.to_owned(),
        });
    }
}
