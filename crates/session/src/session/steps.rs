//! One step of the cycle, and its effects. The cycle decides what follows from an event.

use std::collections::VecDeque;

use chat::approval::CallKey;
use chat::cycle::{CycleEvent, Decided, Effect, Ruling, step};
use chat::tool::ToolOutcome;

use super::Session;
use super::calls::{ApprovedCall, together};
use crate::frontend::SessionEvent;

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
        let has_results = matches!(event, CycleEvent::ToolsFinished(_));
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
                Effect::Notify(notice) => self.editor.notify(&notice),
            }
        }
    }

    /// Notes decisions for the audit log, and reports denied calls to autocommands.
    fn record(&mut self, decided: Vec<Decided>) {
        let buffer = self.buffer.id();
        for denied in decided.iter().filter(|it| it.ruling == Ruling::Denied) {
            let call = denied.call.clone();
            self.editor.emit(SessionEvent::ToolDenied { buffer, call });
        }
        self.decisions.decide(decided);
    }
}
