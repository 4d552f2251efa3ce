//! Files that calls which wait would change, as they stood when the calls were shown:
//! what the user approves by hand is a change of that file.
//!
//! Looking takes a while and is done beside the session; keys wait for it. What follows
//! from a file that changed is decided in the cycle.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use chat::approval::{self, Answers, CallKey, Decision, FunctionId, Question};
use chat::cycle::{Event, Level, Notice};
use chat::marks::Mark;
use serde_json::Value;
use tools::{Changes, FileState, OpenBuffers, ShownFile};

use super::{Input, Session};
use crate::buffers::EditorBuffers;
use crate::frontend::SessionEvent;
use crate::protocol::Command;

/// How long something is on the screen before it can have been read, in milliseconds:
/// a key that is pressed twice is pressed again within this.
const LEAST_READ_MS: u64 = 500;

/// The files of calls that are shown, and what became of them.
#[derive(Debug, Default)]
pub(super) struct FileSnapshots {
    known: RefCell<HashMap<CallKey, Sight>>,
    /// How often a call was shown again.
    again: u64,
    /// What approved calls made of files.
    changes: Changes,
    /// Looks that are not back yet.
    awaited: Cell<usize>,
    /// Where the paths of calls led that a policy approved.
    approved: HashMap<CallKey, PathBuf>,
}

/// The file of one call.
#[derive(Debug)]
enum Sight {
    /// The call changes no file.
    None,
    /// Somebody is looking.
    Awaited,
    /// As it was when the call was shown; and which time that was of all, when it had been
    /// shown before as another.
    Shown(FileState, Option<u64>),
}

/// Somebody looked.
#[derive(Debug)]
pub enum Look {
    /// At the file of a call that is to be shown.
    First(CallKey, FileState),
    /// At those of calls that the user approved.
    Again(Vec<(CallKey, Option<FileState>)>),
}

impl Session {
    /// Whether it is known what a call that waits would change, so that it can be shown.
    /// Where it is not somebody looks.
    pub(super) fn is_in_sight(&self, call: &CallKey) -> bool {
        if let Some(sight) = self.calls.snapshots.known.borrow().get(call) {
            return !matches!(sight, Sight::Awaited);
        }
        let target = self.changed_file(call, None);
        let sight = target.as_ref().map_or(Sight::None, |_| Sight::Awaited);
        self.calls
            .snapshots
            .known
            .borrow_mut()
            .insert(call.clone(), sight);
        let (Some(path), Some(inbox)) = (target, self.inbox.upgrade()) else {
            return true;
        };
        self.calls
            .snapshots
            .awaited
            .set(self.calls.snapshots.awaited.get() + 1);
        let (call, buffers) = (call.clone(), self.open_buffers());
        tokio::spawn(async move {
            let standing = FileState::of(&path, buffers).await;
            drop(inbox.send(Input::Look(Look::First(call, standing))));
        });
        false
    }

    /// The file of a call, as it was when the call was shown.
    pub(super) fn standing(&self, call: &CallKey) -> Option<FileState> {
        match self.calls.snapshots.known.borrow().get(call) {
            Some(Sight::Shown(standing, _)) => Some(standing.clone()),
            _ => None,
        }
    }

    /// The file that a call would change, if it is one whose changes are shown.
    pub(super) fn changed_file(&self, call: &CallKey, input: Option<&Value>) -> Option<PathBuf> {
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
        let path = guarded.then(|| tool.changes(&input, &self.folder()));
        Some(self.sandbox().outside(&path.flatten()?))
    }

    fn open_buffers(&self) -> Arc<dyn OpenBuffers> {
        Arc::new(EditorBuffers(self.editor.clone()))
    }

    /// Whether every call that waits is in sight: somebody is to decide about them.
    pub(super) fn sees_all(&self) -> bool {
        let document = self.buffer.mirror.document();
        let waiting = chat::marks::marks(&document, &self.cycle, &(), 1);
        for mark in waiting.iter().filter(|mark| mark.pending) {
            self.is_in_sight(&mark.call);
        }
        self.calls.snapshots.awaited.get() == 0
    }

    /// Whether an event can be decided on: a key is about what was shown.
    pub(super) fn has_looked(&self, event: &Event) -> bool {
        !decides(event) || self.calls.snapshots.awaited.get() == 0
    }

    /// Looks whether the files of calls that the user approved are as they were shown.
    pub(super) fn look_again(&self, questions: Vec<Question>) {
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        self.calls
            .snapshots
            .awaited
            .set(self.calls.snapshots.awaited.get() + 1);
        let target = |it: Question| {
            let path = self.changed_file(&it.call, Some(&it.input));
            (it.call, path)
        };
        let calls: Vec<_> = questions.into_iter().map(target).collect();
        let buffers = self.open_buffers();
        tokio::spawn(async move {
            let mut seen = Vec::new();
            for (call, path) in calls {
                let standing = match path {
                    Some(path) => Some(FileState::of(&path, buffers.clone()).await),
                    None => None,
                };
                seen.push((call, standing));
            }
            drop(inbox.send(Input::Look(Look::Again(seen))));
        });
    }

    /// Somebody looked.
    pub(super) fn looked_at(&mut self, look: Look) {
        let left = self.calls.snapshots.awaited.get().saturating_sub(1);
        self.calls.snapshots.awaited.set(left);
        match look {
            Look::First(call, standing) => {
                // One that is shown no more is looked at again when it is.
                if let Some(sight) = self.calls.snapshots.known.get_mut().get_mut(&call) {
                    *sight = Sight::Shown(standing, None);
                }
                self.view.redraw();
            }
            Look::Again(seen) => {
                let answers: Answers = seen
                    .into_iter()
                    .map(|(call, now)| {
                        let said = now.and_then(|now| self.compare(&call, now));
                        ((call, FunctionId::Sight), said)
                    })
                    .collect();
                self.queue.push_first(Event::ResolverAnswered(answers));
            }
        }
    }

    /// What is to be said of an approval when the call's file is this one now.
    fn compare(&mut self, call: &CallKey, now: FileState) -> Option<Decision> {
        let changes = self.calls.snapshots.changes.clone();
        let known = self.calls.snapshots.known.get_mut();
        let became = match known.remove(call) {
            Some(Sight::Shown(standing, _)) => ShownFile {
                state: standing,
                changes,
            }
            .became(&now),
            _ => None,
        };
        let path = now.path.display().to_string();
        self.calls.snapshots.again += u64::from(became.is_some());
        let again = became.as_ref().map(|_| self.calls.snapshots.again);
        known.insert(call.clone(), Sight::Shown(now, again));
        let became = became?;
        // Keys that wait were pressed before this could be seen.
        self.queue.retain(|event| !decides(event));
        self.view.redraw();
        self.editor.notify(&Notice {
            level: Level::Warning,
            text: format!(
                "The call \"{}\" was not run, because since it was shown {} {became}. Look again, then approve it again \
                 to run it.",
                call.id,
                path.escape_debug()
            ),
        });
        self.editor.emit(SessionEvent::CallShownAgain(call.clone()));
        Some(Decision::RequireApproval)
    }

    /// What the user saw of a call's file, for a call that they approved by hand.
    pub(super) fn shown(&self, call: &CallKey) -> Option<ShownFile> {
        Some(ShownFile {
            state: self.standing(call)?,
            changes: self.calls.snapshots.changes.clone(),
        })
    }

    /// Remembers where the paths of calls led when a policy decided on them.
    pub(super) fn keep_paths(&mut self, paths: Vec<(CallKey, PathBuf)>) {
        self.calls.snapshots.approved.extend(paths);
    }

    /// Where the path of a call led that a policy approved.
    pub(super) fn approved_path(&mut self, call: &CallKey, input: &Value) -> Option<PathBuf> {
        let (meant, _) = approval::meant(call, input);
        self.calls.snapshots.approved.remove(&meant)
    }

    /// What is said beside a call that was shown before its file was another.
    pub(super) fn shown_again(&self, call: &CallKey) -> Option<String> {
        let again = self.again(call);
        again.map(|_| "its file changed since you saw it".to_owned())
    }

    /// Which time of all a call is shown again, if it is.
    pub(super) fn again(&self, call: &CallKey) -> Option<u64> {
        match self.calls.snapshots.known.borrow().get(call) {
            Some(Sight::Shown(_, again)) => *again,
            _ => None,
        }
    }

    /// Whether what a key may decide about was on the screen, and long enough to be read,
    /// before it was pressed. A front end in this process asks after it has shown.
    pub(super) fn has_been_read(&self, command: &Command) -> bool {
        let known = self.calls.snapshots.known.borrow();
        let last = known.values().filter_map(|sight| match sight {
            Sight::Shown(_, again) => *again,
            _ => None,
        });
        let read = |last: u64| {
            let shown = command.shown.filter(|it| it.again >= last);
            shown.is_some_and(|it| it.for_ms >= LEAST_READ_MS)
        };
        !command.action.approves() || self.editor.is_headless() || last.max().is_none_or(read)
    }
}

/// Whether calls that wait may be approved with an event.
fn decides(event: &Event) -> bool {
    matches!(
        event,
        Event::Advance | Event::Resolve { .. } | Event::ApproveAll
    )
}

impl FileSnapshots {
    /// Forgets calls that are not shown any more.
    pub(super) fn keep(&self, marks: &[Mark]) {
        let shown: HashSet<&CallKey> = marks.iter().map(|it| &it.call).collect();
        let mut known = self.known.borrow_mut();
        known.retain(|call, _| shown.contains(call));
    }
}
