//! The window in which the user decides about a pending call: what it shows, and what the keys in
//! it do. A choice counts only for the call that was shown.

use std::collections::HashMap;

use chat::approval::CallKey;
use chat::cycle::CycleEvent;
use chat::marks::{self, Mark};
use chat::whole::{self, WholeLine};

use crate::protocol::{Choice, Decision, DecisionLine, Display};
use crate::resolver_calls::Reason;
use crate::session::{Input, Session, WorkInput};

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

impl Session {
    /// Shows a pending call in a window of its own. `problem` says why it has no review.
    pub(crate) fn open_decision(&mut self, call: CallKey, problem: Option<String>) {
        self.find_reason(call, problem, false);
    }

    fn find_reason(&self, call: CallKey, problem: Option<String>, refresh: bool) {
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let by = self.waits_by(&call);
        let guard = self.guard();
        tokio::task::spawn_blocking(move || {
            let reason = guard.reason(&call, by.as_ref());
            drop(inbox.send(Input::Work(WorkInput::Decision(
                call, reason, problem, refresh,
            ))));
        });
    }

    /// Shows the window of a call again, if it is open.
    pub(crate) fn refresh_decision(&mut self, call: CallKey) {
        let is_open = self
            .calls
            .windows
            .get_mut()
            .calls
            .values()
            .any(|it| *it == call);
        if is_open {
            self.find_reason(call, None, true);
        }
    }

    /// Shows the window with the reason why the call waits.
    pub(crate) fn show_decision(
        &mut self,
        call: CallKey,
        reason: Option<&Reason>,
        problem: Option<String>,
        refresh: bool,
    ) {
        let document = self.buffer.document();
        let marks = marks::marks(&document, &self.cycle, &(), 1);
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
        if self.is_unsandboxed(&call.name) {
            lines.push(remark("No sandbox confines it.".to_owned()));
        }
        lines.extend(problem.map(remark));
        lines.extend(self.plan_line(&call).map(|it| remark(it.to_owned())));
        lines.extend(self.trial_lines(&call, TRIAL_WIDTH).into_iter().map(remark));
        lines.push(DecisionLine("value", String::new()));
        let arguments = whole::arguments(&call.input).into_iter();
        lines.extend(arguments.map(|line| match line {
            WholeLine::Name(name) => DecisionLine("name", name),
            WholeLine::Value(text) => DecisionLine("value", format!("  {text}")),
        }));
        let decision = Decision {
            buffer: self.buffer.id(),
            id: mark.key,
            number: self.calls.windows.get_mut().open(call),
            least_ms: self.shared.settings.tools.review_delay,
            refresh,
            lines,
        };
        self.editor.show(Display::Decision(decision));
    }

    /// Does what the user chose in the window with this number.
    pub(crate) fn decide(&mut self, number: u64, choice: &Choice) {
        let document = self.buffer.document();
        let windows = self.calls.windows.borrow();
        let shown = windows.calls.get(&number);
        let marks = marks::marks(&document, &self.cycle, &(), 1);
        let pending = marks
            .iter()
            .find(|it| it.pending && Some(&it.call) == shown);
        let line = pending.map(|it| it.call_line);
        drop(windows);
        let Some(line) = line else {
            return self.inform(
                "The call is not pending any more, or not as it was shown. Nothing was decided.",
            );
        };
        match choice {
            Choice::Try => self.try_call(line),
            Choice::Run => {
                if !self.mention_trial(line) {
                    self.queue.push(CycleEvent::Resolve { line });
                }
            }
            Choice::RunAll => self.queue.push(CycleEvent::ApproveAll),
            Choice::Allow => self.offer_rules(line),
            Choice::Reject(reason) => {
                let reason = reason.clone();
                self.queue.push(CycleEvent::Reject { line, reason });
            }
        }
    }
}
