//! `:Flemma allow`: finds the call, and approves it once the user has chosen a rule.

use chat::approval::{self, CallKey};
use chat::document::{Document, PairedCall, Status};
use policy::remembered::offers;
use serde_json::Value;

use super::covers;
use crate::remembering::Remembering;
use crate::session::WorkInput;
use crate::session::ctx::Ctx;
use crate::session::policy::guard;

/// Returns the line of the call for which the user chose a rule, if it still waits as it was shown.
pub(in crate::session) fn allowed(ctx: &Ctx, call: &CallKey) -> Option<usize> {
    let document = ctx.buffer.document();
    // The call may have been edited or answered while the question was open.
    let line = pending(&document, |it| {
        let is_same = chat::cycle::key(&document, it.tool_use) == *call;
        is_same.then_some(it.tool_use.lines.start)
    });
    line.map(|(line, _)| line)
}

/// Offers rules for the pending call on a line, or for the only one.
pub(in crate::session) fn offer_rules(ctx: &Ctx, line: usize) {
    let Some((call, input)) = pending_call(ctx, line) else {
        return;
    };
    let guard = guard(ctx);
    let (meant, input) = approval::meant(&call, &input);
    let facts = guard.facts(&meant, &input);
    let offers = match offers(&facts) {
        Ok(offers) => offers,
        Err(why) => {
            return ctx.inform(&format!(
                "No rule can allow calls like this one: it contains {why}, so it may do other things than it \
                 says. Approve it with Alt-Enter."
            ));
        }
    };
    // A rule does not replace a sandbox, so tell the user now that it would have no effect.
    let still_asks = ctx.is_held(&meant.name) && guard.inspection.runs_free(&meant);
    let inbox = ctx.inbox.clone();
    let remembering = Remembering {
        editor: ctx.editor.clone(),
        buffer: ctx.buffer.id(),
        chosen: Box::new(move |rule| {
            inbox.deliver(WorkInput::Allowed(call, rule));
        }),
        store: ctx.shared.remembered.clone(),
        audit: ctx.shared.audit.clone(),
        registry: ctx.shared.registry.clone(),
        facts,
        offers,
        still_asks,
        folder: ctx.place.folder(),
        // A copy for another thread: the log's calls are compared with the chat as it is
        // now.
        chat: (ctx.place.path().map(Into::into), ctx.buffer.text().clone()),
    };
    tokio::spawn(remembering.run());
}

/// Returns the pending call that a line means, or says why there is none.
fn pending_call(ctx: &Ctx, line: usize) -> Option<(CallKey, Value)> {
    let document = ctx.buffer.document();
    let found = match ctx.cycle.meant(line, &document) {
        Ok(line) => pending(&document, |call| {
            covers(call, line).then(|| chat::cycle::key(&document, call.tool_use))
        }),
        Err(0) => None,
        Err(count) => {
            ctx.inform(&format!(
                "{count} calls are pending. Put the cursor on the one to allow."
            ));
            return None;
        }
    };
    if found.is_none() {
        ctx.inform("No call is pending here.");
    }
    found
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
