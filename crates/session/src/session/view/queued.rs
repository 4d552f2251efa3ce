//! Messages that the user sends while the model works, and how they are shown until the chat contains them. The cycle decides when they are sent.

use super::View;
use super::tasks::Tasks;
use crate::protocol::{Display, Queued, QueuedItem};
use crate::session::ctx::Ctx;

impl View {
    /// Notes messages that the editor still shows, from a host that ended.
    pub(crate) fn note_shown(&mut self, ctx: &Ctx, texts: &[String]) {
        // The editor shows them already, so the next frame has to replace or remove them.
        self.shown.queued = Some(Queued {
            buffer: ctx.buffer.id(),
            line: 0,
            items: texts.iter().map(|text| item(text, "next")).collect(),
            tasks: Vec::new(),
        });
    }

    /// Shows the model's tasks and the messages that wait, below the end of the chat.
    pub(in crate::session) fn show_queued(&mut self, ctx: &Ctx, is_idle: bool) {
        // Pending calls count as work: a key will continue with them.
        if is_idle && ctx.buffer.document().unanswered_turns().next().is_none() {
            self.tasks = Tasks::default();
        }
        let queued = Queued {
            tasks: self.tasks.items(),
            buffer: ctx.buffer.id(),
            // Below the last line, so that they look like the continuation of the chat.
            line: ctx.buffer.text().line_count() - 1,
            items: queued_items(ctx),
        };
        let shown = self.shown.queued.as_ref();
        let is_empty = |it: &Queued| it.items.is_empty() && it.tasks.is_empty();
        // The line number changes with every edit, which does not matter while nothing is shown.
        let nothing = is_empty(&queued) && shown.is_none_or(is_empty);
        if !nothing && shown != Some(&queued) {
            ctx.editor.show(Display::Queued(queued.clone()));
        }
        self.shown.queued = Some(queued);
    }
}

fn item(text: &str, when: &'static str) -> QueuedItem {
    QueuedItem {
        text: text.to_owned(),
        when,
    }
}

/// Shows `:Flemma queue`.
pub(in crate::session) fn list_queued(ctx: &Ctx) {
    let items = queued_items(ctx);
    if items.is_empty() {
        return ctx.inform("No message is queued. Write one after :Flemma queue.");
    }
    let mut lines = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let mut text = item.text.lines();
        lines.push(format!("{:>2} {}", at + 1, text.next().unwrap_or_default()));
        lines.extend(text.map(|line| format!("   {line}")));
    }
    lines.push(String::new());
    lines.push(":Flemma queue! puts them into the prompt, unsent.".to_owned());
    ctx.editor.report("queue", lines);
}

/// Returns the messages that wait, in order.
fn queued_items(ctx: &Ctx) -> Vec<QueuedItem> {
    // In the order in which they will be sent.
    let now = ctx.cycle.steering().iter();
    let later = ctx.cycle.follow_ups();
    now.map(|text| item(text, "next"))
        .chain(later.map(|text| item(text, "later")))
        .collect()
}

/// Returns the number of messages that wait.
pub(in crate::session) fn queued_count(ctx: &Ctx) -> usize {
    ctx.cycle.steering().len() + ctx.cycle.follow_ups().len()
}
