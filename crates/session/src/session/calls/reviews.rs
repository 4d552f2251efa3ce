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

use super::Calls;
use crate::frontend::{ReviewOutcome, SessionEvent};
use crate::protocol::WindowId;
use crate::protocol::{Action, Display, EditorCommand, ReviewClosed};
use crate::reviewing::{ApprovedChange, ReviewEnd, Reviewing};
use crate::session::ctx::Ctx;
use crate::session::{Input, WorkInput};

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

impl Calls {
    /// `:Flemma review`: opens the question of the call on a line, or shows what the call would change,
    /// as a diff to edit.
    pub(crate) fn review(&mut self, ctx: &Ctx, line: usize) {
        let is_answered = self.answer_question(ctx, line);
        if is_answered {
            return;
        }
        let call = match self.call_to_review(ctx, line) {
            Ok(call) => call,
            Err(problem) => return decide_nothing(ctx, &problem),
        };
        let has_diff = !self.changed_files(ctx, &call, None).is_empty();
        if ctx.editor.is_headless() || has_diff && self.is_reviewable(ctx, &call) {
            self.open_review(ctx, call, None);
        } else {
            self.open_decision(ctx, call, None);
        }
    }

    /// Returns the pending call on a line, or why it cannot be reviewed.
    fn call_to_review(&self, ctx: &Ctx, line: usize) -> Result<CallKey, String> {
        let document = ctx.buffer.document();
        let marks = marks::marks(&document, &ctx.cycle, &(), 1);
        let line = match ctx.cycle.meant(line, &document) {
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
        let files = self.changed_files(ctx, &marks[at].call, None);
        // Both calls were proposed on the same text, and the second would fail on the first's
        // result.
        let earlier = marks[..at].iter().find(|it| {
            let others = self.changed_files(ctx, &it.call, None);
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
    fn open_review(&mut self, ctx: &Ctx, call: CallKey, earlier: Option<ApprovedChange>) {
        let files = self.changed_files(ctx, &call, None);
        let meant = ctx.meant_tool(&call);
        let (Some((tool, input)), Some(inbox)) = (meant, ctx.inbox.upgrade()) else {
            return decide_nothing(ctx, "This call cannot run, so there is nothing to review.");
        };
        let mut context = self.call_environment(ctx, &call).context(&call, "");
        // The diff is shown to the user, not to the model.
        context.files.reads_secrets = true;
        self.use_trial(ctx, &call, "", &mut context);
        let reviewing = Reviewing {
            editor: ctx.editor.clone(),
            buffer: ctx.buffer.id(),
            id: call.id.as_str().to_owned(),
            tool,
            input,
            context,
            buffers: ctx.open_buffers(),
            files,
            earlier,
        };
        self.reviews.open.insert(call.clone());
        tokio::spawn(async move {
            let end = reviewing.run().await.map(Box::new);
            drop(inbox.send(Input::Work(WorkInput::Reviewed(call, end))));
        });
    }

    /// Takes the end of a review. Returns a command if it decides, which is handled like a key.
    pub(crate) fn reviewed(
        &mut self,
        ctx: &Ctx,
        call: CallKey,
        end: Option<ReviewEnd>,
        window: WindowId,
    ) -> Option<EditorCommand> {
        let end = match end {
            None => {
                emit_review_ended(ctx, ReviewOutcome::Undecided);
                return None;
            }
            Some(ReviewEnd::Failed(problem)) => {
                decide_nothing(ctx, &problem);
                // Without a review, the user decides about the call as it is.
                if !ctx.editor.is_headless() {
                    self.open_decision(ctx, call, Some(problem));
                }
                return None;
            }
            Some(end) => end,
        };
        self.reviews.ended.insert(call.clone(), end);
        Some(EditorCommand {
            buffer: ctx.buffer.id(),
            action: Action::EndReview(call),
            // A review has no line of its own; `EndReview` names the call.
            line: 0,
            window,
            shown: None,
            hidden: Vec::new(),
            drawn_ms: HashMap::new(),
        })
    }

    /// Approves or rejects the call of a review that ended.
    pub(crate) fn end_review(&mut self, ctx: &Ctx, call: &CallKey) -> Option<CycleEvent> {
        let refused = match self.reviews.ended.remove(call) {
            Some(ReviewEnd::Approved(change)) => {
                // The user may have edited the call meanwhile, so the review starts again with
                // their text.
                if let Some(now) = self.with_other_arguments(ctx, call) {
                    self.open_review(ctx, now, Some(change));
                    return None;
                }
                // The user saw the files in the review.
                self.see(call, change.states.clone());
                let approved = self.reviews.approved.get_mut();
                approved.insert(call.clone(), change);
                emit_review_ended(ctx, ReviewOutcome::Approved);
                None
            }
            Some(ReviewEnd::Rejected(reason)) => {
                self.close_review(ctx, call);
                emit_review_ended(ctx, ReviewOutcome::Rejected(call.clone()));
                Some(reason)
            }
            Some(ReviewEnd::Failed(_)) | None => return None,
        };
        let call = call.clone();
        Some(CycleEvent::Review { call, refused })
    }

    /// Closes the review of a call that was decided. Until then it keeps the user's text.
    fn close_review(&mut self, ctx: &Ctx, call: &CallKey) {
        if self.reviews.open.remove(call) {
            ctx.editor.show(Display::ReviewClosed(ReviewClosed {
                buffer: ctx.buffer.id(),
                call: call.id.as_str().to_owned(),
            }));
        }
    }

    /// Returns the pending call with the same id, if its arguments were changed.
    fn with_other_arguments(&self, ctx: &Ctx, call: &CallKey) -> Option<CallKey> {
        let document = ctx.buffer.document();
        let marks = marks::marks(&document, &ctx.cycle, &(), 1);
        if marks.iter().any(|it| it.call == *call) {
            return None;
        }
        let same = |it: &Mark| it.pending && it.call.id == call.id && it.call.name == call.name;
        let other = marks.into_iter().find(same);
        other.map(|it| it.call)
    }

    /// Has a call that the user approved in a review store what was approved. A call that was
    /// approved otherwise does what it proposes.
    pub(super) fn use_review(
        &mut self,
        ctx: &Ctx,
        call: &CallKey,
        by: &str,
        context: &mut ToolContext,
    ) {
        // Taken in any case, because an approval in a review counts for one start.
        let approved = self.reviews.approved.get_mut().remove(call);
        self.close_review(ctx, call);
        if by != REVIEWED {
            return;
        }
        let (reviewed, account) = match approved {
            Some(change) => (change.reviewed, change.account),
            // Without the reviewed texts, the call must store nothing.
            None => (Arc::new(Proposal::default()), None),
        };
        context.files.reviewed = Some(reviewed);
        context.files.review_account = account;
    }
}

/// Ends a review, or the attempt to open one, without a decision.
fn decide_nothing(ctx: &Ctx, problem: &str) {
    ctx.inform(problem);
    emit_review_ended(ctx, ReviewOutcome::Undecided);
}

fn emit_review_ended(ctx: &Ctx, outcome: ReviewOutcome) {
    ctx.editor.emit(SessionEvent::ReviewEnded(outcome));
}
