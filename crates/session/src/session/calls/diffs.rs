//! Diffs of calls that change files, shown below their previews.
//!
//! Made in the background when a call is on the screen, because files are read and compared.
//! Nothing waits for them. They are made anew when the window gets another width, when the
//! files were read again, and when another call of the chat ended, which may have changed them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use chat::approval::CallKey;
use chat::marks::Mark;

use super::Calls;
use crate::protocol::DiffItem;
use crate::session::ctx::Ctx;
use crate::session::{Input, WorkInput};

/// The diff of a call: one item per file.
pub type Diff = Arc<[DiffItem]>;

/// Maximum lines of a diff that is shown whole.
const WHOLE: usize = 30;

/// Diffs of calls that are shown.
#[derive(Debug, Default)]
pub(super) struct Diffs {
    known: RefCell<HashMap<CallKey, Known>>,
    /// Number of calls that ended.
    ended: Cell<usize>,
}

/// The diff of one call.
#[derive(Debug, Default)]
struct Known {
    /// The state for which the last request was made; `None` if the call changes no files.
    basis: Option<Basis>,
    diff: Diff,
}

/// The state on which a diff depends, besides the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Basis {
    width: usize,
    /// Number of times that the call was shown again because a file had changed.
    again: Option<u64>,
    /// Number of calls that had ended.
    ended: usize,
}

impl Diffs {
    /// Forgets calls that are no longer shown.
    pub(super) fn keep(&self, marks: &[Mark]) {
        let is_shown = |call: &CallKey| marks.iter().any(|mark| mark.call == *call);
        self.known.borrow_mut().retain(|call, _| is_shown(call));
    }

    /// Forgets the diff of a call.
    pub(super) fn forget(&self, call: &CallKey) {
        self.known.borrow_mut().remove(call);
    }

    /// Notes that a call ended, which may have changed files.
    pub(super) fn call_ended(&self) {
        self.ended.set(self.ended.get() + 1);
    }
}

impl Calls {
    /// Returns the diff of a pending or running call as far as it is known, for windows of
    /// `width` columns. Requests it if it is missing and the call is on the screen.
    pub(crate) fn diff(&self, ctx: &Ctx, mark: &Mark, width: usize, is_visible: bool) -> Diff {
        let diffs = &self.diffs;
        let mut known = diffs.known.borrow_mut();
        let basis = Basis {
            width,
            again: self.again(&mark.call),
            ended: diffs.ended.get(),
        };
        // Stored even without a diff, so that the call is looked up once.
        let Some(entry) = known.get_mut(&mark.call) else {
            if is_visible {
                let changes = !self.changed_files(ctx, &mark.call, None).is_empty();
                let basis = changes
                    .then(|| self.request_diff(ctx, &mark.call, basis))
                    .flatten();
                known.insert(
                    mark.call.clone(),
                    Known {
                        basis,
                        ..Known::default()
                    },
                );
            }
            return Diff::default();
        };
        // A running call may have changed its file already.
        let is_stale = entry.basis.is_some_and(|it| it != basis) && !mark.running;
        if is_stale && is_visible {
            entry.basis = self.request_diff(ctx, &mark.call, basis);
        }
        entry.diff.clone()
    }

    /// Starts making a diff. Returns `None` if the tool is gone.
    fn request_diff(&self, ctx: &Ctx, call: &CallKey, basis: Basis) -> Option<Basis> {
        let inbox = ctx.inbox.upgrade()?;
        let (tool, input) = ctx.meant_tool(call)?;
        // No approval: nothing runs in this context.
        let mut context = self.call_environment(ctx, call).context(call, "");
        // Only the user sees the diff.
        context.files.reads_secrets = true;
        self.use_trial(ctx, call, "", &mut context);
        let call = call.clone();
        tokio::spawn(async move {
            let files = crate::diff::of_call(&*tool, &input, &context, basis.width, WHOLE);
            let diff = files.await.into();
            drop(inbox.send(Input::Work(WorkInput::Diff(call, basis, diff))));
        });
        Some(basis)
    }

    /// Takes a diff that was made.
    pub(crate) fn diff_made(&mut self, call: &CallKey, basis: Basis, diff: Diff) {
        let known = self.diffs.known.get_mut().get_mut(call);
        // A call that is no longer shown gets a new diff when it is shown again.
        if let Some(known) = known.filter(|it| it.basis == Some(basis)) {
            known.diff = diff;
        }
    }
}
