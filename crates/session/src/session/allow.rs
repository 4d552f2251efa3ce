//! `:Flemma allow`: finds the call, and approves it once the user has chosen a rule.

use chat::approval::{self, CallKey};
use chat::cycle::CycleEvent;
use chat::document::{Document, PairedCall, Status};
use policy::remembered::offers;
use serde_json::Value;

use super::calls::covers;
use super::{Input, Session, WorkInput};
use crate::remembering::Remembering;

impl Session {
    /// Offers rules for the pending call on a line, or for the only one.
    pub(super) fn offer_rules(&mut self, line: usize) {
        let Some((call, input)) = self.pending_call(line) else {
            return;
        };
        let guard = self.guard();
        let (meant, input) = approval::meant(&call, &input);
        let facts = guard.facts(&meant, &input);
        let offers = match offers(&facts) {
            Ok(offers) => offers,
            Err(why) => {
                return self.inform(&format!(
                    "No rule can allow calls like this one: it contains {why}, so it may do other things than it \
                     says. Approve it with Alt-Enter."
                ));
            }
        };
        // A rule cannot replace a sandbox, so the user learns now that it has no effect.
        let still_asks = self.is_held(&meant.name) && guard.inspection.runs_free(&meant);
        let inbox = self.inbox.clone();
        let remembering = Remembering {
            editor: self.editor.clone(),
            buffer: self.buffer.id(),
            chosen: Box::new(move |rule| {
                // The chat may be closed by the time the user has chosen.
                if let Some(inbox) = inbox.upgrade() {
                    drop(inbox.send(Input::Work(WorkInput::Allowed(call, rule))));
                }
            }),
            store: self.shared.remembered.clone(),
            audit: self.decisions.audit().clone(),
            registry: self.shared.registry.clone(),
            facts,
            offers,
            still_asks,
            folder: self.disk.folder(),
            // A copy for another thread: the log's calls are compared with the chat as it is
            // now.
            chat: (self.disk.path().map(Into::into), self.buffer.text().clone()),
        };
        tokio::spawn(remembering.run());
    }

    /// Returns the pending call that a line means, or says why there is none.
    fn pending_call(&self, line: usize) -> Option<(CallKey, Value)> {
        let document = self.buffer.document();
        let found = match self.cycle.meant(line, &document) {
            Ok(line) => pending(&document, |call| {
                covers(call, line).then(|| chat::cycle::key(&document, call.tool_use))
            }),
            Err(0) => None,
            Err(count) => {
                self.inform(&format!(
                    "{count} calls are pending. Put the cursor on the one to allow."
                ));
                return None;
            }
        };
        if found.is_none() {
            self.inform("No call is pending here.");
        }
        found
    }

    /// Approves the call for which the user chose a rule, if it still waits as it was shown.
    pub(super) fn allowed(&mut self, call: &CallKey, rule: String) {
        let document = self.buffer.document();
        // The call may have been edited or answered while the question was open.
        let line = pending(&document, |it| {
            let is_same = chat::cycle::key(&document, it.tool_use) == *call;
            is_same.then_some(it.tool_use.lines.start)
        });
        if let Some((line, _)) = line {
            self.decisions.note_allowed(call.id.clone(), rule);
            self.queue.push(CycleEvent::Resolve { line });
        }
    }
}

/// Returns what `wanted` makes of the first pending call that it accepts, and the arguments
/// of that call.
fn pending<T>(
    document: &Document<'_>,
    wanted: impl Fn(&PairedCall<'_>) -> Option<T>,
) -> Option<(T, Value)> {
    let calls = document.unanswered_turns().flat_map(|turn| turn.calls);
    let mut pending = calls.filter(|it| it.status() == Some(Status::Pending));
    pending.find_map(|call| {
        let found = wanted(&call)?;
        Some((found, document.input(call.tool_use).ok()?))
    })
}
