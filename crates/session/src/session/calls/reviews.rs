//! `:Flemma review`: a review of a pending call, and what follows from it.
//!
//! An approval in a review is bound to the texts that the user left: the call stores these or
//! nothing.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chat::approval::CallKey;
use chat::cycle::{CycleEvent, REVIEWED};
use chat::marks::{self, Mark};
use tools::{Proposal, ToolContext};

use crate::frontend::{ReviewOutcome, SessionEvent};
use crate::protocol::{Action, Display, EditorCommand, ReviewClosed};
use crate::reviewing::{ApprovedChange, ReviewEnd, Reviewing};
use crate::session::{Input, Session, WorkInput};

/// Reviews of the calls of a chat.
#[derive(Debug, Default)]
pub(super) struct Reviews {
    /// Calls whose review was opened.
    open: HashSet<CallKey>,
    /// Reviews that ended and are not handled yet.
    ended: HashMap<CallKey, ReviewEnd>,
    /// The approved changes, until their calls start.
    approved: RefCell<HashMap<CallKey, ApprovedChange>>,
}

impl Reviews {
    /// Forgets calls that are no longer shown.
    pub(super) fn keep(&self, marks: &[Mark]) {
        self.approved
            .borrow_mut()
            .retain(|call, _| marks.iter().any(|mark| mark.call == *call));
    }
}

impl Session {
    /// `:Flemma review`: shows what the call on a line would change, as a diff to edit.
    pub(crate) fn review(&mut self, line: usize) {
        match self.call_to_review(line) {
            Ok(call)
                if (self.changed_files(&call, None).is_empty() || !self.is_reviewable(&call))
                    && !self.editor.is_headless() =>
            {
                self.open_decision(call, None);
            }
            Ok(call) => self.open_review(call, None),
            Err(problem) => self.decide_nothing(&problem),
        }
    }

    /// Ends a review, or the attempt to open one, without a decision.
    fn decide_nothing(&self, problem: &str) {
        self.inform(problem);
        self.emit_review_ended(ReviewOutcome::Undecided);
    }

    fn emit_review_ended(&self, outcome: ReviewOutcome) {
        self.editor.emit(SessionEvent::ReviewEnded(outcome));
    }

    /// Returns the pending call on a line, or why it cannot be reviewed.
    fn call_to_review(&self, line: usize) -> Result<CallKey, String> {
        let document = self.buffer.document();
        let marks = marks::marks(&document, &self.cycle, &(), 1);
        let line = match self.cycle.meant(line, &document) {
            Ok(line) => line,
            Err(0) => return Err("No call is pending here.".to_owned()),
            Err(count) => {
                return Err(format!(
                    "{count} calls are pending. Put the cursor on the one to review."
                ));
            }
        };
        let key = chat::cycle::key_at(&document, line);
        let at = marks
            .iter()
            .position(|it| it.pending && Some(&it.call) == key.as_ref());
        let Some(at) = at else {
            return Err("This call is not pending, so there is nothing to review.".to_owned());
        };
        let files = self.changed_files(&marks[at].call, None);
        // Both calls were proposed on the same text, and the second would fail on the first's
        // result.
        let earlier = marks[..at].iter().find(|it| {
            let others = self.changed_files(&it.call, None);
            others.iter().any(|it| files.contains(it))
        });
        if let Some(earlier) = earlier {
            return Err(format!(
                "The call \"{}\" above changes the same file. Decide about it first, because this change is made on its \
                 result.",
                earlier.call.id
            ));
        }
        Ok(marks[at].call.clone())
    }

    /// Opens a review; `earlier` is one of the same call with other arguments.
    fn open_review(&mut self, call: CallKey, earlier: Option<ApprovedChange>) {
        let files = self.changed_files(&call, None);
        let meant = self.meant_tool(&call);
        let (Some((tool, input)), Some(inbox)) = (meant, self.inbox.upgrade()) else {
            return self.decide_nothing("This call cannot run, so there is nothing to review.");
        };
        let mut context = self.call_environment(&call).context(&call.id, "");
        // The diff is shown to the user, not to the model.
        context.reads_secrets = true;
        self.use_trial(&call, "", &mut context);
        let reviewing = Reviewing {
            editor: self.editor.clone(),
            buffer: self.buffer.id(),
            id: call.id.as_str().to_owned(),
            tool,
            input,
            context,
            buffers: self.open_buffers(),
            files,
            earlier,
        };
        self.calls.reviews.open.insert(call.clone());
        tokio::spawn(async move {
            let end = reviewing.run().await.map(Box::new);
            drop(inbox.send(Input::Work(WorkInput::Reviewed(call, end))));
        });
    }

    /// Takes the end of a review, which is handled like a key.
    pub(crate) fn reviewed(&mut self, call: CallKey, end: Option<ReviewEnd>) {
        let end = match end {
            None => return self.emit_review_ended(ReviewOutcome::Undecided),
            Some(ReviewEnd::Failed(problem)) => {
                self.decide_nothing(&problem);
                // Without a review, the user decides about the call as it is.
                return if !(self.editor.is_headless()) {
                    self.open_decision(call, Some(problem))
                };
            }
            Some(end) => end,
        };
        self.calls.reviews.ended.insert(call.clone(), end);
        self.command(EditorCommand {
            buffer: self.buffer.id(),
            action: Action::EndReview(call),
            // A review has no line of its own; `EndReview` names the call.
            line: 0,
            window: self.view.last_key().window.unwrap_or_default(),
            shown: None,
            hidden: Vec::new(),
            drawn_ms: HashMap::new(),
        });
    }

    /// Approves or rejects the call of a review that ended.
    pub(crate) fn end_review(&mut self, call: &CallKey) {
        let refused = match self.calls.reviews.ended.remove(call) {
            Some(ReviewEnd::Approved(change)) => {
                // The user may have edited the call meanwhile, so the review starts again with
                // their text.
                if let Some(now) = self.with_other_arguments(call) {
                    return self.open_review(now, Some(change));
                }
                // The user saw the files in the review.
                self.see(call, change.states.clone());
                let approved = self.calls.reviews.approved.get_mut();
                approved.insert(call.clone(), change);
                self.emit_review_ended(ReviewOutcome::Approved);
                None
            }
            Some(ReviewEnd::Rejected(reason)) => {
                self.close_review(call);
                self.emit_review_ended(ReviewOutcome::Rejected(call.clone()));
                Some(reason)
            }
            Some(ReviewEnd::Failed(_)) | None => return,
        };
        let call = call.clone();
        self.queue.push(CycleEvent::Review { call, refused });
    }

    /// Closes the review of a call that was decided about. Until then it keeps the user's text.
    fn close_review(&mut self, call: &CallKey) {
        if self.calls.reviews.open.remove(call) {
            self.editor.show(Display::ReviewClosed(ReviewClosed {
                buffer: self.buffer.id(),
                call: call.id.as_str().to_owned(),
            }));
        }
    }

    /// Returns the pending call with the same id, if its arguments were changed.
    fn with_other_arguments(&self, call: &CallKey) -> Option<CallKey> {
        let document = self.buffer.document();
        let marks = marks::marks(&document, &self.cycle, &(), 1);
        if marks.iter().any(|it| it.call == *call) {
            return None;
        }
        let same = |it: &Mark| it.pending && it.call.id == call.id && it.call.name == call.name;
        let other = marks.into_iter().find(same);
        other.map(|it| it.call)
    }

    /// Has a call that the user approved in a review store what was approved. A call that was
    /// approved otherwise does what it proposes.
    pub(super) fn use_review(&mut self, call: &CallKey, by: &str, context: &mut ToolContext) {
        // Taken in any case, because an approval in a review counts for one start.
        let approved = self.calls.reviews.approved.get_mut().remove(call);
        self.close_review(call);
        if by != REVIEWED {
            return;
        }
        let (reviewed, account) = match approved {
            Some(change) => (change.reviewed, change.account),
            // Without the reviewed texts, the call must store nothing.
            None => (Arc::new(Proposal::default()), None),
        };
        context.reviewed = Some(reviewed);
        context.review_account = account;
    }
}
