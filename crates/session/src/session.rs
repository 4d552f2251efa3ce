//! One chat buffer: its text as the editor has it, its cycle, and what runs for it.
//!
//! A session is a task that handles everything about its buffer in order. What to
//! do is decided by [`chat::cycle::step`]; here it is done. While an edit is on its
//! way, whatever happens waits, so that every decision is made on a text that the
//! editor has.

mod answer;
mod await_tools;
mod build_request;
mod chat_lock;
mod cut;
mod decide;
mod destination;
mod details;
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
mod record;
mod references;
mod refusals;
mod reports;
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

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chat::approval::CallKey;
use chat::cycle::{Cycle, Decided, Event, Level, Notice};
use chat::tool::ToolOutcome;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tools::Sandbox;

pub use self::input::Input;
use self::mirror::{Loading, Mirror};
use crate::audit::Audit;
use crate::editor::Editor;
use crate::protocol::*;
use crate::rules::Rules;
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
    let rules = shared.plain.clone();
    let session = Session {
        buffer,
        editor: editor.of_chat(buffer),
        shared,
        is_switched: false,
        rules,
        rule: dispatch::Rule::default(),
        reading: 0,
        sandbox: OnceLock::new(),
        audit: Audit::open(&state_dir::path()),
        decided: Vec::new(),
        approved: BTreeSet::new(),
        remarks: BTreeSet::new(),
        references: references::References::default(),
        has_origin: false,
        partial: None,
        ends: Vec::new(),
        inbox: inbox.downgrade(),
        text: Mirror::default(),
        seq: 0,
        loading: None,
        path: None,
        chat_lock: chat_lock::ChatLock::default(),
        kept: kept::Kept::default(),
        cwd: PathBuf::from("/"),
        window: None,
        insert: false,
        cycle: Cycle::default(),
        waiting: VecDeque::new(),
        told_waiting: false,
        edit: None,
        last_number: 0,
        request: None,
        running: HashMap::new(),
        pace: pace::Pace::default(),
        view: view::View::default(),
        folds: folding::Folding::default(),
        previews: previews::Previews::default(),
        refusals: refusals::Refusals::default(),
        file_snapshots: file_snapshots::FileSnapshots::default(),
        first_look: first_look::FirstLook::default(),
        cut: cut::Cut::default(),
        interrupted: None,
        unsettled: false,
        gone: false,
    };
    tokio::spawn(session.run(inputs));
}

/// See the module.
pub(crate) struct Session {
    buffer: BufferId,
    editor: Editor,
    shared: Arc<Shared>,
    /// Whether `:Flemma switch` chose this chat's provider or model.
    is_switched: bool,
    /// What the chat goes by since the last key.
    rules: Arc<Rules>,
    rule: dispatch::Rule,
    /// The last reading of the frontmatter: what an earlier one finds is of no use.
    reading: u64,
    /// What holds the chat's calls, until the next key.
    sandbox: OnceLock<Arc<Sandbox>>,
    /// The log of decisions.
    audit: Audit,
    /// Decisions that are not in the log yet.
    decided: Vec<Decided>,
    /// Calls whose approval is in the log and that did not start since.
    approved: BTreeSet<CallKey>,
    /// What was said about requests, so that it is said once.
    remarks: BTreeSet<String>,
    references: references::References,
    /// Whether it is known which lines of the text were typed here.
    has_origin: bool,
    /// A change whose last pieces are on their way.
    partial: Option<Changed>,
    /// Calls that ended and are not in the log yet.
    ends: Vec<(CallKey, ToolOutcome)>,
    /// Weak: the session ends when the host lets go of it.
    inbox: mpsc::WeakUnboundedSender<Input>,
    text: Mirror,
    /// The number of `text`, in the editor's count.
    seq: u64,
    /// Where the text came from and its lines so far, while it arrives.
    loading: Option<Loading>,
    path: Option<PathBuf>,
    chat_lock: chat_lock::ChatLock,
    kept: kept::Kept,
    cwd: PathBuf,
    /// Where the user last pressed a key of ours, and in which mode.
    window: Option<WindowId>,
    insert: bool,
    cycle: Cycle,
    /// What happened and is not decided on yet.
    waiting: VecDeque<Event>,
    /// Whether it was said that a key waits for tools.
    told_waiting: bool,
    /// The edit that is on its way.
    edit: Option<edits::InFlight>,
    /// Numbers edits, anchors and requests.
    last_number: u64,
    request: Option<answer::Open>,
    running: HashMap<CallKey, running::Call>,
    pace: pace::Pace,
    view: view::View,
    folds: folding::Folding,
    previews: previews::Previews,
    refusals: refusals::Refusals,
    file_snapshots: file_snapshots::FileSnapshots,
    first_look: first_look::FirstLook,
    cut: cut::Cut,
    /// Why the last answer was cut off, until the text says so.
    interrupted: Option<&'static str>,
    /// Whether a key was pressed and it was not said since that everything rests.
    unsettled: bool,
    /// Whether the buffer is gone.
    gone: bool,
}

impl Session {
    async fn run(mut self, mut inputs: mpsc::UnboundedReceiver<Input>) {
        loop {
            let deadline = self.deadline();
            tokio::select! {
                // What comes after a key that waits is taken after it.
                input = inputs.recv(), if self.chat_lock.next_try().is_none() => match input {
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
                if self.waiting.front() == Some(&Event::Continue)
                    || self.chat_lock.next_try().is_some()
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
            if self.gone {
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
            Input::Attach(attach) => self.loading = Some(Loading::of(attach)),
            Input::Snapshot(snapshot) => self.snapshot(snapshot),
            Input::Changed(changed) => self.changed(changed),
            Input::Saved(seq) => self.saved(seq),
            Input::Renamed(renamed) => self.renamed(renamed),
            Input::Viewport(viewport) => self.view.look_at(viewport),
            Input::Applied(applied) => self.applied(applied),
            Input::Command(command) => self.command(command),
            Input::Detached => self.gone = true,
            Input::Looked => self.looked(),
            Input::Settings(shared) => self.settings_changed(self.with_own_target(shared)),
            Input::SwitchedBack => self.is_switched = false,
            Input::Rules(reading, rules) => self.rules_made(reading, *rules),
            Input::Remark(text) => self.remark(text),
            Input::Unresolved(places) => self.unresolved(places),
            Input::Functions(answers) => self.waiting.push_back(Event::ResolverAnswered(answers)),
            Input::Inspected(answers, told) => {
                told.iter().for_each(|it| self.inform(it));
                self.waiting.push_back(Event::ResolverAnswered(answers));
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
        while self.edit.is_none() && self.loading.is_none() && self.rule != dispatch::Rule::Reading
        {
            if self.ends_lost_answer() {
                continue;
            }
            if let Some(reason) = self.interrupted {
                self.mark_interrupted(reason);
                continue;
            }
            match self.waiting.pop_front() {
                Some(event) if !self.is_ready_for(&event) => {
                    self.waiting.push_front(event);
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
        self.path.as_deref()
    }

    pub(crate) fn is_sending(&self) -> bool {
        self.request.is_some()
    }

    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn inform(&self, text: &str) {
        self.editor.notify(&Notice {
            level: Level::Info,
            text: text.to_owned(),
        });
    }
}
