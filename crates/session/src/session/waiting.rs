//! Messages for a key that finds only calls that wait for the user, and the fate of a message that
//! was typed below them.

use chat::approval::CallKey;
use chat::cycle::CycleEvent;
use chat::write::TextEdit;
use chat::{marks, write};

use super::ctx::Ctx;
use super::{Input, WorkInput};
use crate::form::Prompts;

/// Returns the rejection of a call for a message that was typed below it, and the edits with which
/// the message leaves the prompt. `None` if the call is not pending any more.
pub(super) fn rejected_for(
    ctx: &Ctx,
    call: &CallKey,
    words: String,
) -> Option<(CycleEvent, Vec<TextEdit>)> {
    let document = ctx.buffer.document();
    let marks = marks::marks(&document, &ctx.cycle, &(), 1);
    let pending = marks.iter().find(|it| it.pending && it.call == *call)?;
    // The user may have written on while the question was open.
    let edits = write::take_words(&document, &words);
    let rejection = CycleEvent::Reject {
        line: pending.call_line,
        reason: words,
    };
    Some((rejection, edits))
}

/// Says which calls wait and which keys decide, and offers `words`, the message below them, as
/// the reason of a rejection.
pub(super) fn tell_waiting(ctx: &Ctx, calls: &[CallKey], words: Option<String>) {
    // A headless front end asks about the calls by itself.
    let (Some(first), false) = (calls.first(), ctx.editor.is_headless()) else {
        return;
    };
    let what = match calls.len() {
        1 => format!("{} waits", first.name),
        2 => format!("{} and another call wait", first.name),
        count => format!("{} and {} other calls wait", first.name, count - 1),
    };
    let keys = match calls.len() {
        1 => "Enter decides, Alt-Enter runs, Alt-r rejects.",
        _ => "Enter decides, Alt-a runs all, Alt-r rejects.",
    };
    let Some(words) = words.filter(|it| !it.trim().is_empty()) else {
        return ctx.inform(&format!("{what}: {keys}"));
    };
    ctx.inform(&format!("{what}, so your message is not sent. {keys}"));
    let Some(inbox) = ctx.inbox.upgrade() else {
        return;
    };
    let (prompts, call) = (ctx.editor.prompts(ctx.buffer.id()), first.clone());
    tokio::spawn(async move {
        let title = format!("Your message is not sent, because {what} for your decision:");
        let items = [
            "Decide about it first".to_owned(),
            format!("Reject {}, with the message as the reason", call.name),
        ];
        if prompts.choose(&title, &items).await == Some(1) {
            drop(inbox.send(Input::Work(WorkInput::RejectFor(call, words))));
        }
    });
}
