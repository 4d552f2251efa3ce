//! Tools that can explain why their call was rejected. They are asked before the key is
//! handled, because that writes the rejection.

use std::collections::BTreeSet;

use chat::approval::CallKey;
use chat::cycle::{CycleEvent, key};
use chat::document::{Document, PairedCall, Status};

use super::Calls;
use super::covers;
use crate::session::ctx::Ctx;
use crate::session::{Gate, Input, WorkInput};

/// Rejected calls whose tools were asked.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    asked: BTreeSet<CallKey>,
    /// Number of them that have not answered yet.
    pending: usize,
}

impl Calls {
    /// Asks the tools of all calls that an event rejects, and waits until they have answered.
    pub(crate) fn ask_about_refusals(&mut self, ctx: &Ctx, event: &CycleEvent) -> Gate {
        let refuses = matches!(
            event,
            CycleEvent::Advance | CycleEvent::Resolve { .. } | CycleEvent::Reject { .. }
        );
        if !refuses {
            return Gate::Ready;
        }
        for call in self.refused_by(ctx, event) {
            self.ask_about_refusal(ctx, call);
        }
        if self.refusals.pending == 0 {
            Gate::Ready
        } else {
            Gate::Waiting
        }
    }

    /// Returns the calls that an event rejects and whose tools were not asked yet.
    fn refused_by(&self, ctx: &Ctx, event: &CycleEvent) -> Vec<CallKey> {
        let document = ctx.buffer.document();
        let is_refused = |call: &PairedCall<'_>| match event {
            CycleEvent::Reject { line, .. } => !call.is_answered() && covers(call, *line),
            CycleEvent::Resolve { line } => is_rejected(call) && covers(call, *line),
            _ => is_rejected(call),
        };
        let refused = calls(&document, is_refused).into_iter();
        refused
            .filter(|call| self.is_to_be_asked(ctx, call))
            .collect()
    }

    fn is_to_be_asked(&self, ctx: &Ctx, call: &CallKey) -> bool {
        let tool = ctx.shared.registry.get(&call.name);
        tool.is_some_and(|tool| tool.traits().hears_refusals) && !self.refusals.asked.contains(call)
    }

    fn ask_about_refusal(&mut self, ctx: &Ctx, call: CallKey) {
        let tool = ctx.shared.registry.get(&call.name);
        let (Some(tool), Some(inbox)) = (tool, ctx.inbox.upgrade()) else {
            return;
        };
        // Asked once, whatever the answer, so that a key cannot wait forever.
        self.refusals.asked.insert(call.clone());
        self.refusals.pending += 1;
        let buffer = ctx.buffer.id();
        tokio::spawn(async move {
            let input = serde_json::from_str(&call.input).unwrap_or_default();
            let words = tool.refused(&input, buffer).await;
            drop(inbox.send(Input::Work(WorkInput::Refused(call, words))));
        });
    }

    /// Notes that a tool answered.
    pub(crate) fn heard_refusal(&mut self) {
        let pending = &mut self.refusals.pending;
        *pending = pending.saturating_sub(1);
    }
}

fn is_rejected(call: &PairedCall<'_>) -> bool {
    call.status() == Some(Status::Rejected)
}

/// Returns the unanswered calls for which `is` returns true.
fn calls(document: &Document<'_>, is: impl Fn(&PairedCall<'_>) -> bool) -> Vec<CallKey> {
    let calls = document.unanswered_turns().flat_map(|turn| turn.calls);
    let calls = calls.filter(|call| is(call));
    calls.map(|call| key(document, call.tool_use)).collect()
}
