//! Snapshots of the files that pending calls would modify, as they were when the calls
//! were shown: a user who approves a call approves a change of that file.
//!
//! Files are read in the background, and keys wait for that. The cycle decides what follows
//! from a file that changed.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use chat::approval::{self, Answers, CallKey, Decision, FunctionId, Question};
use chat::cycle::{CycleEvent, Level};
use chat::marks::Mark;
use serde_json::Value;
use tools::{ApprovedPath, Changes, FileState, OpenBuffers, ShownFiles};

use crate::buffers::EditorBuffers;
use crate::frontend::SessionEvent;
use crate::protocol::EditorCommand;
use crate::session::{Gate, Input, Session, WorkInput};

/// Minimum time on the screen, in milliseconds, before a key counts as a decision. An accidental
/// second press of the same key comes sooner.
const LEAST_READ_MS: u64 = 500;

/// Snapshots of the files of calls that are shown.
#[derive(Debug, Default)]
pub(super) struct FileSnapshots {
    known: RefCell<HashMap<CallKey, Snapshot>>,
    /// Number of times that a call was shown again.
    again: u64,
    /// The contents that approved calls gave to files.
    changes: Changes,
    /// Number of reads in progress.
    pending: Cell<usize>,
    /// The paths of calls that a policy approved.
    approved: HashMap<CallKey, Vec<ApprovedPath>>,
}

/// The files of one call.
#[derive(Debug)]
enum Snapshot {
    /// The call changes no file.
    None,
    /// The files are being read.
    Pending,
    /// The files when the call was shown. If the call was shown again because one had
    /// changed, the number of that repetition.
    Taken(Vec<FileState>, Option<u64>),
}

/// Files that were read.
#[derive(Debug)]
pub enum SnapshotsTaken {
    /// The files of a call that is about to be shown.
    First(CallKey, Vec<FileState>),
    /// The files of calls that the user approved.
    Again(Vec<(CallKey, Vec<FileState>)>),
}

impl FileSnapshots {
    /// Forgets calls that are no longer shown.
    pub(super) fn keep(&self, marks: &[Mark]) {
        let shown: HashSet<&CallKey> = marks.iter().map(|it| &it.call).collect();
        let mut known = self.known.borrow_mut();
        known.retain(|call, _| shown.contains(call));
    }

    fn is_pending(&self) -> bool {
        self.pending.get() > 0
    }

    fn read_started(&self) {
        self.pending.set(self.pending.get() + 1);
    }

    fn read_ended(&self) {
        self.pending.set(self.pending.get().saturating_sub(1));
    }

    /// Replaces the snapshot of a call. Returns which file changed in which way since the call
    /// was shown, if one did.
    fn replace(&mut self, call: &CallKey, now: Vec<FileState>) -> Option<String> {
        let changes = self.changes.clone();
        let known = self.known.get_mut();
        let became = match known.remove(call) {
            Some(Snapshot::Taken(states, _)) => ShownFiles { states, changes }.first_changed(&now),
            _ => None,
        };
        self.again += u64::from(became.is_some());
        let again = became.as_ref().map(|_| self.again);
        known.insert(call.clone(), Snapshot::Taken(now, again));
        became
    }
}

impl Session {
    /// Takes a snapshot of the files of a pending call, unless there is one. The call can be shown
    /// once that returns true.
    pub(crate) fn take_snapshot(&self, call: &CallKey) -> bool {
        let snapshots = &self.calls.snapshots;
        if let Some(known) = snapshots.known.borrow().get(call) {
            return !matches!(known, Snapshot::Pending);
        }
        // `execute_tool` is included, because the call inside may change files.
        let files = self.changed_files(call, None);
        let first = if files.is_empty() {
            Snapshot::None
        } else {
            Snapshot::Pending
        };
        // Stored even for a call without files, so that each call is looked up once.
        snapshots.known.borrow_mut().insert(call.clone(), first);
        // Without files, or if the chat is being closed, nothing has to be read.
        let Some(inbox) = self.inbox.upgrade().filter(|_| !files.is_empty()) else {
            return true;
        };
        snapshots.read_started();
        let (call, buffers) = (call.clone(), self.open_buffers());
        tokio::spawn(async move {
            let taken = SnapshotsTaken::First(call, states(files, &buffers).await);
            drop(inbox.send(Input::Work(WorkInput::Snapshots(taken))));
        });
        false
    }

    /// Returns the files of a call as they were when the call was shown.
    pub(super) fn states_of(&self, call: &CallKey) -> Option<Vec<FileState>> {
        match self.calls.snapshots.known.borrow().get(call) {
            Some(Snapshot::Taken(states, _)) => Some(states.clone()),
            _ => None,
        }
    }

    /// Returns the files that a call would change, if its tool is one whose changes are shown.
    pub(crate) fn changed_files(&self, call: &CallKey, input: Option<&Value>) -> Vec<PathBuf> {
        self.named_files(call, input).unwrap_or_default()
    }

    fn named_files(&self, call: &CallKey, input: Option<&Value>) -> Option<Vec<PathBuf>> {
        if let Some(trial) = self.to_take(call) {
            return Some(trial.files.iter().map(|it| it.path.clone()).collect());
        }
        let guarded = &self.policy.rules().options.guarded;
        if !guarded.contains(&call.name) && call.name != approval::EXECUTE_TOOL {
            return None;
        }
        let input = match input {
            Some(input) => input.clone(),
            None => serde_json::from_str(&call.input).ok()?,
        };
        let (meant, input) = approval::meant(call, &input);
        let tool = self.shared.registry.get(&meant.name)?;
        let guarded = guarded.contains(&meant.name);
        let files = guarded.then(|| tool.changes(&input, &self.disk.folder()))?;
        let sandbox = self.sandbox();
        Some(files.iter().map(|it| sandbox.outside(it)).collect())
    }

    pub(crate) fn open_buffers(&self) -> Arc<dyn OpenBuffers> {
        Arc::new(EditorBuffers(self.editor.clone()))
    }

    /// Returns true if all pending calls can be shown, and so decided by the user.
    pub(crate) fn sees_all(&self) -> bool {
        let document = self.buffer.document();
        let waiting = chat::marks::marks(&document, &self.cycle, &(), 1);
        // Called to start the snapshots that are still missing.
        for mark in waiting.iter().filter(|mark| mark.pending) {
            self.take_snapshot(&mark.call);
        }
        !self.calls.snapshots.is_pending()
    }

    /// Waits for snapshots before an event that decides: a key decides about what was shown.
    pub(crate) fn await_snapshots(&mut self, event: &CycleEvent) -> Gate {
        if decides(event) && self.calls.snapshots.is_pending() {
            Gate::Waiting
        } else {
            Gate::Ready
        }
    }

    /// Reads the files of calls that the user approved again.
    pub(crate) fn look_again(&self, questions: Vec<Question>) {
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        self.calls.snapshots.read_started();
        let files = questions.into_iter().map(|it| {
            let files = self.changed_files(&it.call, Some(&it.input));
            (it.call, files)
        });
        let files: Vec<_> = files.collect();
        let buffers = self.open_buffers();
        tokio::spawn(async move {
            let mut taken = Vec::new();
            for (call, files) in files {
                taken.push((call, states(files, &buffers).await));
            }
            let taken = SnapshotsTaken::Again(taken);
            drop(inbox.send(Input::Work(WorkInput::Snapshots(taken))));
        });
    }

    /// Takes files that were read.
    pub(crate) fn snapshots_taken(&mut self, taken: SnapshotsTaken) {
        self.calls.snapshots.read_ended();
        match taken {
            SnapshotsTaken::First(call, states) => {
                // A call that is no longer shown gets a new snapshot when it is shown
                // again.
                let known = self.calls.snapshots.known.get_mut();
                if let Some(snapshot) = known.get_mut(&call) {
                    *snapshot = Snapshot::Taken(states, None);
                }
                self.view.redraw();
            }
            SnapshotsTaken::Again(taken) => {
                let answers: Answers = taken
                    .into_iter()
                    .map(|(call, now)| {
                        let decision = self.compare(&call, now);
                        ((call, FunctionId::Sight), decision)
                    })
                    .collect();
                // Before keys that were pressed later.
                self.queue.push_first(CycleEvent::ResolverAnswered(answers));
            }
        }
    }

    /// Makes an approved call wait again if one of its files is not as it was shown.
    fn compare(&mut self, call: &CallKey, now: Vec<FileState>) -> Option<Decision> {
        if now.is_empty() {
            return None;
        }
        let became = self.calls.snapshots.replace(call, now)?;
        // Waiting keys were pressed before the user could see this change.
        self.queue.retain(|event| !decides(event));
        self.view.redraw();
        let text = format!(
            "The call \"{}\" was not run, because since it was shown {became}. Look again, then approve it again to \
             run it.",
            call.id
        );
        self.notify_about_calls(Level::Warning, &text);
        self.editor.emit(SessionEvent::CallShownAgain(call.clone()));
        Some(Decision::RequireApproval)
    }

    /// Notes that the user saw a call's files elsewhere than below its preview.
    pub(super) fn see(&mut self, call: &CallKey, states: Vec<FileState>) {
        let known = self.calls.snapshots.known.get_mut();
        known.insert(call.clone(), Snapshot::Taken(states, None));
    }

    /// Returns what the user saw of a call's files before approving the call by hand.
    pub(super) fn shown(&self, call: &CallKey) -> Option<ShownFiles> {
        Some(ShownFiles {
            states: self.states_of(call)?,
            changes: self.calls.snapshots.changes.clone(),
        })
    }

    /// Remembers the paths of calls that a policy approves.
    pub(crate) fn keep_paths(&mut self, paths: Vec<(CallKey, Vec<ApprovedPath>)>) {
        let approved = &mut self.calls.snapshots.approved;
        for (call, paths) in paths {
            // The paths at the time of the rule's approval count, even if the guard looked
            // later.
            approved.entry(call).or_insert(paths);
        }
    }

    /// Takes the paths of a call when a policy approved it.
    pub(super) fn approved_paths(&mut self, call: &CallKey, input: &Value) -> Vec<ApprovedPath> {
        let (meant, _) = approval::meant(call, input);
        let paths = self.calls.snapshots.approved.remove(&meant);
        paths.unwrap_or_default()
    }

    /// Returns the label of a call that was shown again because its file had changed.
    pub(crate) fn shown_again(&self, call: &CallKey) -> Option<String> {
        let again = self.again(call);
        again.map(|_| "its file changed since you saw it".to_owned())
    }

    /// Returns the number of the repetition, if a call was shown again.
    pub(crate) fn again(&self, call: &CallKey) -> Option<u64> {
        match self.calls.snapshots.known.borrow().get(call) {
            Some(Snapshot::Taken(_, again)) => *again,
            _ => None,
        }
    }

    /// Returns true if calls that were shown again had been on the screen long enough to be
    /// read when a key was pressed.
    pub(crate) fn has_been_read(&self, command: &EditorCommand) -> bool {
        // A headless front end asks only after it has shown the call.
        if !command.action.approves() || self.editor.is_headless() {
            return true;
        }
        let known = self.calls.snapshots.known.borrow();
        let last = known.values().filter_map(|snapshot| match snapshot {
            Snapshot::Taken(_, again) => *again,
            _ => None,
        });
        last.max().is_none_or(|last| {
            let shown = command.shown.filter(|it| it.again >= last);
            shown.is_some_and(|it| it.for_ms >= LEAST_READ_MS)
        })
    }
}

async fn states(files: Vec<PathBuf>, buffers: &Arc<dyn OpenBuffers>) -> Vec<FileState> {
    let mut states = Vec::new();
    for path in files {
        states.push(FileState::of(&path, buffers.clone()).await);
    }
    states
}

/// Returns true if an event may approve pending calls.
fn decides(event: &CycleEvent) -> bool {
    matches!(
        event,
        CycleEvent::Advance
            | CycleEvent::Resolve { .. }
            | CycleEvent::Review { .. }
            | CycleEvent::ApproveAll
    )
}
