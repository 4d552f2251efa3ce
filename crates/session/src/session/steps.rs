//! One step of the cycle, and what follows from it. What that is, the cycle decides.

use std::collections::VecDeque;

use chat::cycle::{Effect, Event, Ruling, step};

use super::{Session, running};
use crate::frontend::SessionEvent;

impl Session {
    /// Has an event decided on, and does what follows.
    pub(super) fn step(&mut self, event: Event) {
        // Several calls that ended are written as one change, and what is recorded
        // asks for no look at the document: an answer may make a hundred calls.
        let event = match event {
            Event::Recorded(call) => return self.cycle.record(call),
            Event::ToolsFinished(mut ended) => {
                while let Some(Event::ToolsFinished(more)) = self.queue.first_mut() {
                    ended.append(more);
                    self.queue.pop();
                }
                Event::ToolsFinished(ended)
            }
            event => event,
        };
        if matches!(event, Event::AnswerEnded(_)) {
            self.calls.first_look.answered();
        }
        // An edit that turns out stale is decided on again.
        let again = match event {
            Event::AnswerEnded(end) => Event::AnswerEnded(end),
            _ => Event::Continue,
        };
        let quiet = matches!(event, Event::Changed);
        let ended = matches!(event, Event::ToolsFinished(_));
        let document = self.buffer.mirror.document();
        let effects = step(
            &mut self.cycle,
            event,
            &document,
            &self.policy.rules().options,
        );
        if !quiet {
            self.view.redraw();
        }
        if ended {
            self.collect_results();
        }
        self.perform(effects.into(), again);
    }

    /// Does what was decided, in order, up to an edit that the editor has to answer first.
    pub(super) fn perform(&mut self, mut effects: VecDeque<Effect>, again: Event) {
        while let Some(effect) = effects.pop_front() {
            match effect {
                // Written with the start of the calls, or when nothing waits for it.
                Effect::Record(decided) => {
                    let denied = decided.iter().filter(|it| it.ruling == Ruling::Denied);
                    let buffer = self.buffer.id;
                    denied.for_each(|it| {
                        let call = it.call.clone();
                        self.editor.emit(SessionEvent::ToolDenied { buffer, call });
                    });
                    self.decisions.decide(decided);
                }
                Effect::Edit(edits) => return self.apply(edits, effects, again),
                Effect::Cursor {
                    line,
                    insert,
                    asked,
                } => self.move_cursor(line, insert, asked),
                Effect::Ask(questions) => self.ask_all(questions),
                Effect::Run { call, input, by } => {
                    let first = running::Run { call, input, by };
                    self.run_tools(running::together(first, &mut effects));
                }
                Effect::CancelTools(calls) => self.cancel_tools(&calls),
                Effect::Send => self.send(),
                Effect::CancelRequest => self.cancel_request(),
                Effect::Notify(notice) => self.editor.notify(&notice),
            }
        }
    }
}
