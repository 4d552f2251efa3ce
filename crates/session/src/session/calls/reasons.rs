//! Why pending calls wait, as the policy decided it. Found in the background when a call is shown,
//! because files may have to be looked at.

use std::cell::RefCell;
use std::collections::HashMap;

use chat::approval::{CallKey, only_reads};
use chat::cycle::{DEFAULT, Decided, Ruling};
use chat::marks::Mark;

use super::Calls;
use crate::frontend::SessionEvent;
use crate::resolver_calls::{Reason, WaitsBy};
use crate::session::ctx::Ctx;
use crate::session::policy::guard;
use crate::session::{Input, WorkInput};

/// The reasons of the calls that are shown.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    /// The recorded decision of each call in this session.
    by: RefCell<HashMap<CallKey, WaitsBy>>,
    /// Reasons that were requested, and those that were found.
    found: RefCell<HashMap<CallKey, Option<Reason>>>,
}

impl Reasons {
    /// Forgets calls that are no longer shown.
    pub(super) fn keep(&self, marks: &[Mark]) {
        let is_shown = |call: &CallKey| marks.iter().any(|mark| mark.call == *call);
        self.by.borrow_mut().retain(|call, _| is_shown(call));
        self.found.borrow_mut().retain(|call, _| is_shown(call));
    }
}

impl Calls {
    /// Remembers what made calls wait.
    pub(crate) fn note_waits(&mut self, ctx: &Ctx, decided: &[Decided]) {
        for it in decided.iter().filter(|it| it.ruling == Ruling::Waits) {
            // A rule that has the call ask wants the user's decision.
            if it.by == DEFAULT && it.reason.is_none() {
                self.trials.note_due(&it.call);
            }
            self.remark_on(ctx, it);
            let by = (it.by.clone(), it.reason);
            let reasons = &mut self.reasons;
            reasons.by.get_mut().insert(it.call.clone(), by);
            reasons.found.get_mut().remove(&it.call);
        }
    }

    /// Reports what is to be known about a call to a front end that has no place beside it.
    fn remark_on(&self, ctx: &Ctx, waiting: &Decided) {
        if !ctx.editor.is_headless() {
            return;
        }
        let planned = self.plan_line(ctx, &waiting.call).map(str::to_owned);
        let hindered = waiting.reason.filter(|_| only_reads(&waiting.by));
        let hindered = hindered.map(|why| format!("The command {why}."));
        for remark in planned.into_iter().chain(hindered) {
            let remark = SessionEvent::CallRemark(waiting.call.clone(), remark);
            ctx.editor.emit(remark);
        }
    }

    /// Returns why a pending call waits, if it has been found.
    pub(crate) fn reason(&self, call: &CallKey) -> Option<Reason> {
        self.reasons.found.borrow().get(call).cloned()?
    }

    /// Returns true if the reason of a call was requested.
    pub(crate) fn is_explained(&self, call: &CallKey) -> bool {
        self.reasons.found.borrow().contains_key(call)
    }

    /// Finds the reasons of calls that are shown without them: one after the other, because the
    /// editor draws meanwhile.
    pub(crate) fn explain(&mut self, ctx: &Ctx, calls: Vec<CallKey>) {
        let Some(inbox) = ctx.inbox.upgrade().filter(|_| !calls.is_empty()) else {
            return;
        };
        let found = self.reasons.found.get_mut();
        found.extend(calls.iter().map(|call| (call.clone(), None)));
        let guard = guard(ctx);
        let calls = calls.into_iter().map(|call| (self.waits_by(&call), call));
        let calls: Vec<_> = calls.collect();
        tokio::task::spawn_blocking(move || {
            let reason = |(by, call): (Option<WaitsBy>, CallKey)| {
                let reason = guard.reason(&call, by.as_ref())?;
                Some((call, reason))
            };
            let reasons = calls.into_iter().filter_map(reason).collect();
            drop(inbox.send(Input::Work(WorkInput::Reasons(reasons))));
        });
    }

    /// Returns what made a call wait in this session.
    pub(super) fn waits_by(&self, call: &CallKey) -> Option<WaitsBy> {
        self.reasons.by.borrow().get(call).cloned()
    }

    /// Takes reasons that were found.
    pub(crate) fn reasons_found(&mut self, reasons: Vec<(CallKey, Reason)>) {
        for (call, reason) in reasons {
            // A call that is no longer shown gets a new one when it is shown again.
            if let Some(entry) = self.reasons.found.get_mut().get_mut(&call) {
                *entry = Some(reason);
            }
        }
    }
}
