//! One step of the cycle, and its effects. The cycle decides what follows from an event.

use std::collections::VecDeque;

use chat::approval::CallKey;
use chat::cycle::{CycleEvent, Decided, Effect, Level, Notice, Ruling, step};
use chat::document::Block;
use chat::preview::one_line;
use chat::tool::ToolOutcome;

use super::Session;
use super::calls::{ApprovedCall, together};
use crate::frontend::SessionEvent;

/// Columns of a tool's name in a message.
const LONGEST_NAME: usize = 40;

impl Session {
    /// Has the cycle decide on an event, and carries out the effects.
    pub(super) fn step(&mut self, event: CycleEvent) {
        let event = match event {
            // Handled without a document: an answer may make a hundred calls.
            CycleEvent::Recorded(call) => return self.cycle.record(call),
            // Results that wait in the queue are written together, as one change.
            CycleEvent::ToolsFinished(ended) => {
                CycleEvent::ToolsFinished(self.with_later_results(ended))
            }
            event => event,
        };
        // An edit that turns out to be stale is decided again.
        let again = match event {
            CycleEvent::AnswerEnded(end) => {
                self.calls.answer_ended();
                CycleEvent::AnswerEnded(end)
            }
            _ => CycleEvent::Continue,
        };
        // A change of the text has asked for a redraw already.
        if !matches!(event, CycleEvent::Changed) {
            self.view.redraw();
        }
        let has_results = matches!(
            event,
            CycleEvent::ToolsFinished(_) | CycleEvent::Hindered { .. }
        );
        self.disk.has_news |= has_results || matches!(event, CycleEvent::AnswerEnded(_));
        let document = self.buffer.document();
        let options = &self.policy.rules().options;
        let effects = step(&mut self.cycle, event, &document, options);
        if has_results {
            self.collect_results();
        }
        self.perform(effects.into(), again);
    }

    /// Adds the results at the head of the queue, so that all are written as one change.
    fn with_later_results(
        &mut self,
        mut ended: Vec<(CallKey, ToolOutcome)>,
    ) -> Vec<(CallKey, ToolOutcome)> {
        let is_result = |event: &CycleEvent| matches!(event, CycleEvent::ToolsFinished(_));
        while let Some(CycleEvent::ToolsFinished(more)) = self.queue.pop_if(is_result) {
            ended.extend(more);
        }
        ended
    }

    /// Carries out effects in order, up to an edit that the editor has to answer first.
    pub(super) fn perform(&mut self, mut effects: VecDeque<Effect>, again: CycleEvent) {
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Record(decided) => self.record(decided),
                // The editor's answer continues with the remaining effects, or the event is
                // decided again.
                Effect::Edit(edits) => return self.apply(edits, effects, again),
                Effect::Cursor {
                    line,
                    insert,
                    asked,
                } => self.move_cursor(line, insert, asked),
                Effect::Ask(questions) => self.ask_resolvers(questions),
                Effect::Run { call, input, by } => {
                    let first = ApprovedCall { call, input, by };
                    self.run_tools(together(first, &mut effects));
                }
                Effect::CancelTools(calls) => self.cancel_tools(&calls),
                Effect::Send => self.send(),
                Effect::CancelRequest => self.cancel_request(),
                Effect::TellWaiting { calls, words } => self.tell_waiting(&calls, words),
                Effect::Notify(notice) => self.notify_about_calls(notice.level, &notice.text),
            }
        }
    }

    /// Shows a message in which calls have a name and a line, which the user can find, where the text
    /// has their ids in quotes.
    pub(super) fn notify_about_calls(&self, level: Level, text: &str) {
        let mut text = text.to_owned();
        let document = self.buffer.document();
        let quotes = text.contains('"');
        let messages = document.messages.iter().filter(|_| quotes);
        for block in messages.flat_map(|it| document.blocks_of(it)) {
            let Block::ToolUse(call) = block else {
                continue;
            };
            let id = format!("\"{}\"", call.id);
            if text.contains(&id) {
                let line = call.lines.start + 1;
                let named = format!("{} on line {line}", one_line(&call.name, LONGEST_NAME));
                let of_call = format!("call of {named}");
                text = text
                    .replace(&format!("call {id}"), &of_call)
                    .replace(&id, &named);
            }
        }
        self.editor.notify(&Notice { level, text });
    }

    /// Notes decisions for the audit log, and reports denied calls to autocommands.
    fn record(&mut self, decided: Vec<Decided>) {
        let buffer = self.buffer.id();
        for denied in decided.iter().filter(|it| it.ruling == Ruling::Denied) {
            let call = denied.call.clone();
            self.editor.emit(SessionEvent::ToolDenied { buffer, call });
        }
        self.note_waits(&decided);
        self.decisions.decide(decided);
    }
}
