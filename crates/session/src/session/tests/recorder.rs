//! A front end that records what the session requests, and simulates the editor for one
//! buffer: it applies edits and answers questions from a script.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};

use chat::cycle::Notice;
use serde_bytes::ByteBuf;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::frontend::buffer::TextBuffer;
use crate::frontend::{Capabilities, Frontend, SessionEvent};
use crate::protocol::*;
use crate::session::{EditorInput, Input};

/// What the user makes of the diff in a review.
pub struct ReviewEdit(pub Box<dyn Fn(&str) -> String + Send>);

impl fmt::Debug for ReviewEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReviewEdit")
    }
}

/// What the front end received so far.
#[derive(Debug)]
pub struct Record {
    /// The buffer, with all edits applied.
    pub buffer: TextBuffer,
    /// The edits and pieces of answers, with their outcomes.
    pub edits: Vec<EditOutcome>,
    /// Messages to the user.
    pub notices: Vec<String>,
    /// The events, in order.
    pub events: Vec<SessionEvent>,
    /// Displays beside the text.
    pub shown: Vec<Display>,
    /// Answers to lookups.
    pub looked_up: Vec<(u64, LookupAnswer)>,
    /// Questions.
    pub asked: Vec<EditorQuestion>,
    /// Outcomes of the next edits; an edit with an outcome is not applied, `None` applies
    /// it.
    pub refuse: VecDeque<Option<EditOutcome>>,
    /// The user's answers to the next prompts.
    pub prompted: VecDeque<Prompted>,
    /// What the user makes of the next reviews. Without one, a review stays open.
    pub reviewed: VecDeque<ReviewEdit>,
    /// The problems of the next files that calls change.
    pub problems: VecDeque<ProblemsFound>,
    /// What references name, by kind and name.
    pub referred: BTreeMap<(&'static str, String), ReferenceAnswer>,
}

impl Record {
    /// Returns how often the session reported that it is idle.
    pub fn rests(&self) -> usize {
        let rested = |it: &&SessionEvent| matches!(it, SessionEvent::Rested(_));
        self.events.iter().filter(rested).count()
    }

    /// Returns the text of the buffer as its file would contain it.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.buffer.text().bytes()).into_owned() + "\n"
    }

    /// Returns the marks that were shown last.
    pub fn marks(&self) -> Vec<MarkItem> {
        let marks = self.shown.iter().rev().find_map(|it| match it {
            Display::Marks(marks) => Some(marks.items.clone()),
            _ => None,
        });
        marks.unwrap_or_default()
    }

    /// The diagnostics that were shown last.
    pub fn diagnostics(&self) -> Vec<DiagnosticItem> {
        let items = self.shown.iter().rev().find_map(|it| match it {
            Display::Diagnostics(it) => Some(it.items.clone()),
            _ => None,
        });
        items.unwrap_or_default()
    }

    /// The lines of the report that was shown last.
    pub fn reports(&self) -> Vec<String> {
        let lines = self.shown.iter().rev().find_map(|it| match it {
            Display::Report(it) => Some(it.lines.clone()),
            _ => None,
        });
        lines.unwrap_or_default()
    }
}

/// A front end; see the module.
#[derive(Debug)]
pub struct Recorder {
    capabilities: Capabilities,
    inbox: mpsc::WeakUnboundedSender<Input>,
    record: Arc<Mutex<Record>>,
    changed: Arc<Notify>,
}

impl Recorder {
    pub fn new(
        capabilities: Capabilities,
        buffer: TextBuffer,
        inbox: &mpsc::UnboundedSender<Input>,
    ) -> (Self, Arc<Mutex<Record>>, Arc<Notify>) {
        let record = Record {
            buffer,
            edits: Vec::new(),
            notices: Vec::new(),
            events: Vec::new(),
            shown: Vec::new(),
            looked_up: Vec::new(),
            asked: Vec::new(),
            refuse: VecDeque::new(),
            prompted: VecDeque::new(),
            reviewed: VecDeque::new(),
            problems: VecDeque::new(),
            referred: BTreeMap::new(),
        };
        let record = Arc::new(Mutex::new(record));
        let changed = Arc::new(Notify::new());
        let recorder = Self {
            capabilities,
            inbox: inbox.downgrade(),
            record: record.clone(),
            changed: changed.clone(),
        };
        (recorder, record, changed)
    }

    /// Changes the record, and wakes the test, which may wait on another thread.
    fn record<T>(&self, change: impl FnOnce(&mut Record) -> T) -> T {
        let result = change(&mut self.record.lock().unwrap());
        self.changed.notify_waiters();
        result
    }

    /// Refuses an edit if the script says so; otherwise applies it.
    fn write(&self, edit: u64, apply: impl FnOnce(&mut TextBuffer) -> Applied) {
        let applied = self.record(|record| {
            let applied = match record.refuse.pop_front().flatten() {
                Some(outcome) => Applied {
                    buffer: super::BUFFER,
                    edit,
                    outcome,
                    seq: record.buffer.seq(),
                    message: Some("it is locked".to_owned()),
                    at_row: None,
                    at_column: None,
                },
                None => apply(&mut record.buffer),
            };
            record.edits.push(applied.outcome);
            applied
        });
        if let Some(inbox) = self.inbox.upgrade() {
            drop(inbox.send(Input::Editor(EditorInput::Applied(applied))));
        }
    }
}

impl Frontend for Recorder {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn apply(&self, edit: BufferEdit) {
        self.write(edit.edit, |buffer| buffer.apply(&edit));
    }

    fn append(&self, chunk: AnswerChunk) {
        self.write(chunk.edit, |buffer| buffer.append(&chunk));
    }

    fn release_anchor(&self, anchor: ReleaseAnchor) {
        self.record(|it| it.buffer.release_anchor(anchor.anchor));
    }

    fn show(&self, display: Display) {
        self.record(|it| it.shown.push(display));
    }

    fn ask(&self, question: EditorQuestion) -> oneshot::Receiver<EditorReply> {
        let (sender, reply) = oneshot::channel();
        let answer = self.record(|record| {
            let answer = match &question {
                EditorQuestion::Prompt(_) => record.prompted.pop_front().map(EditorReply::Prompted),
                EditorQuestion::Reference(it) => {
                    let answer = record.referred.get(&(it.kind, it.name.clone()));
                    answer.cloned().map(EditorReply::Reference)
                }
                EditorQuestion::Review(review) => {
                    let text = record.reviewed.pop_front().map(|edit| edit.0(&review.text));
                    let text = text.map(|it| ByteBuf::from(it.into_bytes()));
                    text.map(|text| EditorReply::Reviewed(ReviewAnswer { text: Some(text) }))
                }
                EditorQuestion::FindProblems(_) => {
                    record.problems.pop_front().map(EditorReply::Problems)
                }
                _ => None,
            };
            record.asked.push(question);
            answer
        });
        if let Some(answer) = answer {
            drop(sender.send(answer));
        }
        reply
    }

    fn notify(&self, _buffer: Option<BufferId>, notice: &Notice) {
        self.record(|it| it.notices.push(notice.text.clone()));
    }

    fn looked_up(&self, lookup: u64, answer: LookupAnswer) {
        self.record(|it| it.looked_up.push((lookup, answer)));
    }

    fn emit(&self, event: SessionEvent) {
        self.record(|it| it.events.push(event));
    }
}
