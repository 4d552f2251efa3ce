//! Messages that the user sends while the model works: their commands, and how they are
//! shown until the chat contains them. The cycle decides when they are sent.

use chat::cycle::CycleEvent;

use crate::protocol::{Display, Queued, QueuedItem};
use crate::session::Session;

impl Session {
    /// Queues the event of `:Flemma steer`, `:Flemma queue`, or `:Flemma queue!`.
    pub(crate) fn speak(&mut self, event: CycleEvent) {
        self.queue.push(event);
        self.view.redraw();
    }

    /// Shows `:Flemma queue`.
    pub(crate) fn list_queued(&self) {
        let items = self.queued_items();
        if items.is_empty() {
            return self.inform("No message is queued. Write one after :Flemma queue.");
        }
        let mut lines = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let mut text = item.text.lines();
            lines.push(format!("{:>2} {}", at + 1, text.next().unwrap_or_default()));
            lines.extend(text.map(|line| format!("   {line}")));
        }
        lines.push(String::new());
        lines.push(":Flemma queue! puts them into the prompt, unsent.".to_owned());
        self.editor.report("queue", lines);
    }

    /// Returns the messages that wait, in order.
    fn queued_items(&self) -> Vec<QueuedItem> {
        // In the order in which they will be sent.
        let now = self.cycle.steering().iter();
        let later = self.cycle.follow_ups();
        now.map(|text| item(text, "next"))
            .chain(later.map(|text| item(text, "later")))
            .collect()
    }

    /// Returns the number of messages that wait.
    pub(crate) fn queued_count(&self) -> usize {
        self.cycle.steering().len() + self.cycle.follow_ups().len()
    }

    /// Adds the number of messages that wait to the status line.
    pub(crate) fn with_queued(&self, text: String) -> String {
        match (self.queued_count(), text.is_empty()) {
            (0, _) => text,
            (count, true) => format!("{count} queued"),
            (count, false) => format!("{text}, {count} queued"),
        }
    }

    /// Notes messages that the editor still shows, from a host that ended.
    pub(crate) fn note_shown(&mut self, texts: &[String]) {
        // The editor shows them already, so the next frame has to replace or remove them.
        self.view.shown.queued = Some(Queued {
            buffer: self.buffer.id(),
            line: 0,
            items: texts.iter().map(|text| item(text, "next")).collect(),
            tasks: Vec::new(),
        });
    }

    /// Shows the model's tasks and the messages that wait, below the end of the chat.
    pub(super) fn show_queued(&mut self) {
        let queued = Queued {
            tasks: self.task_items(),
            buffer: self.buffer.id(),
            // Below the last line, so that they look like the continuation of the chat.
            line: self.buffer.text().line_count() - 1,
            items: self.queued_items(),
        };
        let shown = self.view.shown.queued.as_ref();
        let is_empty = |it: &Queued| it.items.is_empty() && it.tasks.is_empty();
        // The line number changes with every edit, which does not matter while nothing is shown.
        let nothing = is_empty(&queued) && shown.is_none_or(is_empty);
        if !nothing && shown != Some(&queued) {
            self.editor.show(Display::Queued(queued.clone()));
        }
        self.view.shown.queued = Some(queued);
    }
}

fn item(text: &str, when: &'static str) -> QueuedItem {
    QueuedItem {
        text: text.to_owned(),
        when,
    }
}
