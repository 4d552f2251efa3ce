//! One step of the cycle, and its effects. The cycle decides what follows from an event.

use std::collections::VecDeque;

use chat::approval::{CallKey, Question};
use chat::cycle::{CycleEvent, Decided, Effect, Ruling, step};
use chat::diff::Counts;
use chat::origin::ChangeSource;
use chat::tool::ToolOutcome;
use tools::Ran;

use super::Session;
use super::calls::{ApprovedCall, ChangedFile, report_end, together, within_bounds};
use super::policy::{Questions, guard};
use super::request::report_call;
use super::waiting::tell_waiting;
use crate::frontend::SessionEvent;
use crate::half_done::Result;

impl Session {
    /// Feeds an event to the cycle and performs the effects.
    pub(super) fn step(&mut self, event: CycleEvent) {
        let event = match event {
            // Handled without a document: an answer may make a hundred calls.
            CycleEvent::Recorded(call) => return self.ctx.cycle.record(call),
            // Results that wait in the queue are written together, as one change.
            CycleEvent::ToolsFinished(mut ended) => {
                self.queue.take_results(&mut ended);
                CycleEvent::ToolsFinished(ended)
            }
            event => event,
        };
        // An edit that turns out to be stale is decided again.
        let again = match event {
            CycleEvent::AnswerEnded(end) => {
                self.calls.answer_ended();
                CycleEvent::AnswerEnded(end)
            }
            CycleEvent::Summarize { .. } => event.clone(),
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
        if has_results || matches!(event, CycleEvent::AnswerEnded(_)) {
            self.disk.note_news();
        }
        let document = self.ctx.buffer.document();
        let options = &self.ctx.rules.options;
        let effects = step(&mut self.ctx.cycle, event, &document, options);
        if has_results {
            self.calls.collect_results(&self.ctx);
        }
        self.perform(effects.into(), again);
    }

    /// Carries out effects in order, up to an edit that the editor has to answer first.
    pub(super) fn perform(&mut self, mut effects: VecDeque<Effect>, again: CycleEvent) {
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Record(decided) => self.record(decided),
                // The editor's answer continues with the remaining effects, or the event is
                // decided again.
                Effect::Edit(edits) => {
                    return self.apply(ChangeSource::Host, edits, effects, again);
                }
                Effect::Cursor {
                    line,
                    insert,
                    asked,
                } => self.view.move_cursor(&self.ctx, line, insert, asked),
                Effect::Ask(questions) => self.ask_resolvers(questions),
                Effect::Run { call, input, by } => {
                    let first = ApprovedCall { call, input, by };
                    self.run_tools(together(first, &mut effects));
                }
                Effect::CancelTools(calls) => self.calls.cancel_tools(&calls),
                Effect::Send => self.send(),
                Effect::Summarize(wishes) => self.summarize(wishes, false),
                Effect::CancelRequest => self.cancel_request(),
                Effect::TellWaiting { calls, words } => tell_waiting(&self.ctx, &calls, words),
                Effect::Notify(notice) => self.ctx.notify_about_calls(notice.level, &notice.text),
            }
        }
    }

    /// Notes decisions for the audit log, and reports denied calls to autocommands.
    fn record(&mut self, decided: Vec<Decided>) {
        let buffer = self.ctx.buffer.id();
        for denied in decided.iter().filter(|it| it.ruling == Ruling::Denied) {
            let call = denied.call.clone();
            self.ctx
                .editor
                .emit(SessionEvent::ToolDenied { buffer, call });
        }
        self.calls.note_waits(&self.ctx, &decided);
        self.decisions.decide(decided);
    }

    /// Sends each question to its resolver. The answers come as inputs or events.
    fn ask_resolvers(&mut self, questions: Vec<Question>) {
        let mut questions = Questions::sort(questions);
        let sights = std::mem::take(&mut questions.sights);
        if !sights.is_empty() {
            self.calls.look_again(&self.ctx, sights);
        }
        let rules = std::mem::take(&mut questions.rules);
        if !rules.is_empty() {
            let found = guard(&self.ctx).answer(rules);
            found.messages.iter().for_each(|it| self.ctx.inform(it));
            self.calls.keep_paths(found.paths);
            self.decisions.note_rules(found.rules);
            self.queue
                // Known at once, so no other event may come between.
                .push_first(CycleEvent::ResolverAnswered(found.answers));
        }
        questions.ask(&self.ctx);
    }

    /// Starts calls, unless the audit log cannot record their starts.
    fn run_tools(&mut self, runs: Vec<ApprovedCall>) {
        if self.ctx.editor.is_dry_run() {
            for run in runs {
                self.queue.push(report_call(&self.ctx, run));
            }
            return;
        }
        self.view.wait_a_frame();
        let sandboxes = runs.iter().map(|run| {
            let sandbox = self.calls.sandbox_name(&self.ctx, run);
            (run, sandbox)
        });
        let starts: Vec<_> = sandboxes.collect();
        let recorded = self.decisions.record_starts(&self.ctx, &starts);
        if let Err(problem) = &recorded {
            self.ctx.editor.report_problem(problem);
        }
        for run in runs {
            let call = run.call.clone();
            // Without this record, a crash would leave no trace that the call may have changed
            // files.
            let started = match &recorded {
                Ok(()) => {
                    let files = self.request.result_files(&self.ctx);
                    self.calls.run(&self.ctx, run, files)
                }
                Err(problem) => Err(problem.what.clone()),
            };
            if let Err(why) = started {
                let failed = (call, ToolOutcome::Failed(why));
                self.queue.push(CycleEvent::ToolsFinished(vec![failed]));
            }
        }
    }

    /// Takes the end of a call, which the next step writes.
    pub(super) fn tool_ended(
        &mut self,
        call: CallKey,
        ran: Ran,
        changed: Option<Counts>,
        unseen: Vec<ChangedFile>,
    ) {
        // A call that is not running has ended already.
        let Some(running) = self.calls.take_running(&call) else {
            return;
        };
        let Ran {
            outcome,
            details,
            hindered,
            // They are kept already.
            files: _,
        } = ran;
        self.decisions.end(&call, &outcome);
        if let Some(why) = hindered {
            // It had no effect, and the user decides whether it runs with more rights.
            report_end(&self.ctx, &call, true, None);
            return self.queue.push(CycleEvent::Hindered { call, why });
        }
        self.disk.note_result(Result::of(&call, &outcome));
        let run = self
            .calls
            .ended(&self.ctx, &running, &outcome, changed, unseen);
        let failed = run.failed;
        self.view.call_ended(&call, run, details.as_ref());
        report_end(&self.ctx, &call, failed, details.and_then(within_bounds));
        self.queue
            .push(CycleEvent::ToolsFinished(vec![(call, outcome)]));
    }
}
