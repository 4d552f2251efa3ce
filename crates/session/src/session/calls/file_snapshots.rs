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

use super::Calls;
use crate::frontend::SessionEvent;
use crate::protocol::EditorCommand;
use crate::session::ctx::Ctx;
use crate::session::{Gate, Input, WorkInput};

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

/// The result of comparing files with what the user saw.
pub(in crate::session) struct Compared {
    /// For the calls that were approved.
    pub(in crate::session) answers: Answers,
    /// True if a file changed, so that keys that were pressed meanwhile do not count.
    pub(in crate::session) is_any_changed: bool,
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

impl Calls {
    /// Takes a snapshot of the files of a pending call, unless there is one.
    pub(super) fn take_snapshot(&self, ctx: &Ctx, call: &CallKey) {
        let snapshots = &self.snapshots;
        if snapshots.known.borrow().contains_key(call) {
            return;
        }
        // `execute_tool` is included, because the call inside may change files.
        let files = self.changed_files(ctx, call, None);
        let first = if files.is_empty() {
            Snapshot::None
        } else {
            Snapshot::Pending
        };
        // Stored even for a call without files, so that each call is looked up once.
        snapshots.known.borrow_mut().insert(call.clone(), first);
        // Without files, or if the chat is being closed, nothing has to be read.
        let Some(inbox) = ctx.inbox.upgrade().filter(|_| !files.is_empty()) else {
            return;
        };
        snapshots.read_started();
        let (call, buffers) = (call.clone(), ctx.open_buffers());
        tokio::spawn(async move {
            let taken = SnapshotsTaken::First(call, states(files, &buffers).await);
            drop(inbox.send(Input::Work(WorkInput::Snapshots(taken))));
        });
    }

    /// Returns true once a call can be shown.
    pub(super) fn has_snapshot(&self, call: &CallKey) -> bool {
        let known = self.snapshots.known.borrow();
        !matches!(known.get(call), None | Some(Snapshot::Pending))
    }

    /// Returns the files of a call as they were when the call was shown.
    pub(super) fn states_of(&self, call: &CallKey) -> Option<Vec<FileState>> {
        match self.snapshots.known.borrow().get(call) {
            Some(Snapshot::Taken(states, _)) => Some(states.clone()),
            _ => None,
        }
    }

    /// Returns the files that a call would change, if its tool is one whose changes are shown.
    pub(crate) fn changed_files(
        &self,
        ctx: &Ctx,
        call: &CallKey,
        input: Option<&Value>,
    ) -> Vec<PathBuf> {
        self.named_files(ctx, call, input).unwrap_or_default()
    }

    fn named_files(
        &self,
        ctx: &Ctx,
        call: &CallKey,
        input: Option<&Value>,
    ) -> Option<Vec<PathBuf>> {
        if let Some(trial) = self.to_take(ctx, call) {
            return Some(trial.files.iter().map(|it| it.path.clone()).collect());
        }
        let guarded = &ctx.rules().options.guarded;
        if !guarded.contains(&call.name) && call.name != approval::EXECUTE_TOOL {
            return None;
        }
        let input = match input {
            Some(input) => input.clone(),
            None => serde_json::from_str(&call.input).ok()?,
        };
        let (meant, input) = approval::meant(call, &input);
        let tool = ctx.shared.registry.get(&meant.name)?;
        let guarded = guarded.contains(&meant.name);
        let files = guarded.then(|| tool.changes(&input, &ctx.place.folder()))?;
        let sandbox = ctx.sandbox();
        Some(files.iter().map(|it| sandbox.outside(it)).collect())
    }

    /// Takes the snapshots that are missing. Ready once all pending calls can be shown, and so
    /// decided by the user.
    pub(crate) fn take_snapshots(&self, ctx: &Ctx) -> Gate {
        let document = ctx.buffer.document();
        let waiting = chat::marks::marks(&document, &ctx.cycle, &(), 1);
        for mark in waiting.iter().filter(|mark| mark.pending) {
            self.take_snapshot(ctx, &mark.call);
        }
        if self.snapshots.is_pending() {
            Gate::Waiting
        } else {
            Gate::Ready
        }
    }

    /// Waits for snapshots before an event that decides: a key decides about what was shown.
    pub(crate) fn await_snapshots(&mut self, event: &CycleEvent) -> Gate {
        if decides(event) && self.snapshots.is_pending() {
            Gate::Waiting
        } else {
            Gate::Ready
        }
    }

    /// Reads the files of calls that the user approved again.
    pub(crate) fn look_again(&self, ctx: &Ctx, questions: Vec<Question>) {
        let Some(inbox) = ctx.inbox.upgrade() else {
            return;
        };
        self.snapshots.read_started();
        let files = questions.into_iter().map(|it| {
            let files = self.changed_files(ctx, &it.call, Some(&it.input));
            (it.call, files)
        });
        let files: Vec<_> = files.collect();
        let buffers = ctx.open_buffers();
        tokio::spawn(async move {
            let mut taken = Vec::new();
            for (call, files) in files {
                taken.push((call, states(files, &buffers).await));
            }
            let taken = SnapshotsTaken::Again(taken);
            drop(inbox.send(Input::Work(WorkInput::Snapshots(taken))));
        });
    }

    /// Takes files that were read. Returns what follows if they are those of approved calls.
    pub(in crate::session) fn snapshots_taken(
        &mut self,
        ctx: &Ctx,
        taken: SnapshotsTaken,
    ) -> Option<Compared> {
        self.snapshots.read_ended();
        match taken {
            SnapshotsTaken::First(call, states) => {
                // A call that is no longer shown gets a new snapshot when it is shown
                // again.
                let known = self.snapshots.known.get_mut();
                if let Some(snapshot) = known.get_mut(&call) {
                    *snapshot = Snapshot::Taken(states, None);
                }
                None
            }
            SnapshotsTaken::Again(taken) => {
                let answers = taken.into_iter().map(|(call, now)| {
                    let decision = self.compare(ctx, &call, now);
                    ((call, FunctionId::Sight), decision)
                });
                let answers: Answers = answers.collect();
                Some(Compared {
                    is_any_changed: answers.values().any(Option::is_some),
                    answers,
                })
            }
        }
    }

    /// Makes an approved call wait again if one of its files is not as it was shown.
    fn compare(&mut self, ctx: &Ctx, call: &CallKey, now: Vec<FileState>) -> Option<Decision> {
        if now.is_empty() {
            return None;
        }
        let became = self.snapshots.replace(call, now)?;
        let text = format!(
            "The call \"{}\" was not run, because since it was shown {became}. Look again, then approve it again to \
             run it.",
            call.id
        );
        ctx.notify_about_calls(Level::Warning, &text);
        ctx.editor.emit(SessionEvent::CallShownAgain(call.clone()));
        Some(Decision::RequireApproval)
    }

    /// Notes that the user saw a call's files elsewhere than below its preview.
    pub(super) fn see(&mut self, call: &CallKey, states: Vec<FileState>) {
        let known = self.snapshots.known.get_mut();
        known.insert(call.clone(), Snapshot::Taken(states, None));
    }

    /// Returns what the user saw of a call's files before approving the call by hand.
    pub(super) fn shown(&self, call: &CallKey) -> Option<ShownFiles> {
        Some(ShownFiles {
            states: self.states_of(call)?,
            changes: self.snapshots.changes.clone(),
        })
    }

    /// Remembers the paths of calls that a policy approves.
    pub(crate) fn keep_paths(&mut self, paths: Vec<(CallKey, Vec<ApprovedPath>)>) {
        let approved = &mut self.snapshots.approved;
        for (call, paths) in paths {
            // The paths at the time of the rule's approval count, even if the guard looked
            // later.
            approved.entry(call).or_insert(paths);
        }
    }

    /// Takes the paths of a call when a policy approved it.
    pub(super) fn approved_paths(&mut self, call: &CallKey, input: &Value) -> Vec<ApprovedPath> {
        let (meant, _) = approval::meant(call, input);
        let paths = self.snapshots.approved.remove(&meant);
        paths.unwrap_or_default()
    }

    /// Returns the label of a call that was shown again because its file had changed.
    pub(crate) fn shown_again(&self, call: &CallKey) -> Option<String> {
        let again = self.again(call);
        again.map(|_| "its file changed since you saw it".to_owned())
    }

    /// Returns the number of the repetition, if a call was shown again.
    pub(crate) fn again(&self, call: &CallKey) -> Option<u64> {
        match self.snapshots.known.borrow().get(call) {
            Some(Snapshot::Taken(_, again)) => *again,
            _ => None,
        }
    }

    /// Returns true if calls that were shown again had been on the screen long enough to be
    /// read when a key was pressed.
    pub(crate) fn has_been_read(&self, ctx: &Ctx, command: &EditorCommand) -> bool {
        // A headless front end asks only after it has shown the call.
        if !command.action.approves() || ctx.editor.is_headless() {
            return true;
        }
        let known = self.snapshots.known.borrow();
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
pub(in crate::session) fn decides(event: &CycleEvent) -> bool {
    matches!(
        event,
        CycleEvent::Advance
            | CycleEvent::Resolve { .. }
            | CycleEvent::Review { .. }
            | CycleEvent::ApproveAll
    )
}
