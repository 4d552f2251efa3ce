//! The window in which the user decides about a pending call: what it shows, and what the keys in
//! it do. A choice counts only for the call that was shown.

use std::collections::HashMap;

use chat::approval::CallKey;
use chat::cycle::CycleEvent;
use chat::fields::{self, WholeLine};
use chat::marks::{self, Mark};

use super::Calls;
use super::allow::offer_rules;
use crate::protocol::{Choice, Decision, DecisionLine, Display};
use crate::resolver_calls::Reason;
use crate::session::ctx::Ctx;
use crate::session::policy::guard;
use crate::session::{Input, WorkInput};

/// The calls whose windows were opened, by number.
#[derive(Debug, Default)]
pub(super) struct Windows {
    last: u64,
    calls: HashMap<u64, CallKey>,
}

/// Columns of what a trial showed; the window breaks longer lines.
const TRIAL_WIDTH: usize = 200;

impl Windows {
    /// Forgets calls that are no longer shown.
    pub(super) fn keep(&mut self, marks: &[Mark]) {
        self.calls
            .retain(|_, call| marks.iter().any(|mark| mark.call == *call));
    }

    fn open(&mut self, call: CallKey) -> u64 {
        self.last += 1;
        self.calls.insert(self.last, call);
        self.last
    }
}

impl Calls {
    /// Shows a pending call in a window of its own. `problem` says why it has no review.
    pub(crate) fn open_decision(&mut self, ctx: &Ctx, call: CallKey, problem: Option<String>) {
        self.find_reason(ctx, call, problem, false);
    }

    fn find_reason(&self, ctx: &Ctx, call: CallKey, problem: Option<String>, refresh: bool) {
        let Some(inbox) = ctx.inbox.upgrade() else {
            return;
        };
        let by = self.waits_by(&call);
        let guard = guard(ctx);
        tokio::task::spawn_blocking(move || {
            let reason = guard.reason(&call, by.as_ref());
            drop(inbox.send(Input::Work(WorkInput::Decision(
                call, reason, problem, refresh,
            ))));
        });
    }

    /// Shows the window of a call again, if it is open.
    pub(crate) fn refresh_decision(&mut self, ctx: &Ctx, call: CallKey) {
        let is_open = self.windows.get_mut().calls.values().any(|it| *it == call);
        if is_open {
            self.find_reason(ctx, call, None, true);
        }
    }

    /// Shows the window with the reason why the call waits.
    pub(crate) fn show_decision(
        &mut self,
        ctx: &Ctx,
        call: CallKey,
        reason: Option<&Reason>,
        problem: Option<String>,
        refresh: bool,
    ) {
        let document = ctx.buffer.document();
        let marks = marks::marks(&document, &ctx.cycle, &(), 1);
        let Some(mark) = marks.into_iter().find(|it| it.call == call && it.pending) else {
            return;
        };
        let remark = |text: String| DecisionLine("remark", text);
        let mut lines = vec![DecisionLine("title", call.name.clone())];
        if let Some(reason) = reason {
            lines.push(DecisionLine("asks", format!("asks: {}", reason.brief)));
            lines.extend(
                Some(reason.full.clone())
                    .filter(|it| !it.is_empty())
                    .map(remark),
            );
        }
        if ctx.is_unsandboxed(&call.name) {
            lines.push(remark("No sandbox confines it.".to_owned()));
        }
        lines.extend(problem.map(remark));
        lines.extend(self.plan_line(ctx, &call).map(|it| remark(it.to_owned())));
        lines.extend(
            self.trial_lines(ctx, &call, TRIAL_WIDTH)
                .into_iter()
                .map(remark),
        );
        lines.push(DecisionLine("value", String::new()));
        let arguments = fields::arguments(&call.input).into_iter();
        lines.extend(arguments.map(|line| match line {
            WholeLine::Name(name) => DecisionLine("name", name),
            WholeLine::Value(text) => DecisionLine("value", format!("  {text}")),
        }));
        let decision = Decision {
            buffer: ctx.buffer.id(),
            id: mark.key,
            number: self.windows.get_mut().open(call),
            least_ms: ctx.shared.settings.tools.review_delay,
            refresh,
            lines,
        };
        ctx.editor.show(Display::Decision(decision));
    }

    /// Does what the user chose in the window with this number. Returns the event of a decision.
    pub(crate) fn decide(&mut self, ctx: &Ctx, number: u64, choice: &Choice) -> Option<CycleEvent> {
        let document = ctx.buffer.document();
        let windows = self.windows.borrow();
        let shown = windows.calls.get(&number);
        let marks = marks::marks(&document, &ctx.cycle, &(), 1);
        let pending = marks
            .iter()
            .find(|it| it.pending && Some(&it.call) == shown);
        let line = pending.map(|it| it.call_line);
        drop(windows);
        let Some(line) = line else {
            ctx.inform(
                "The call is not pending any more, or not as it was shown. Nothing was decided.",
            );
            return None;
        };
        match choice {
            Choice::Try => {
                self.try_call(ctx, line);
                None
            }
            Choice::Run => {
                let is_held_back = self.mention_trial(ctx, line);
                (!is_held_back).then_some(CycleEvent::Resolve { line })
            }
            Choice::RunAll => Some(CycleEvent::ApproveAll),
            Choice::Allow => {
                offer_rules(ctx, line);
                None
            }
            Choice::Reject(reason) => {
                let reason = reason.clone();
                Some(CycleEvent::Reject { line, reason })
            }
        }
    }
}
