//! Tool calls of a run: approval, start, and end.

use chat::approval::{self, CallKey, Question};
use chat::cycle;
use chat::tool::ToolOutcome;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tools::{Progress, Ran, ToolContext};

use super::Run;
use crate::approval::Approval;
use crate::event::{Call, Event};
use crate::remote::RunInput;

/// A running call.
pub(super) struct Running {
    cancel: CancellationToken,
    label: String,
}

impl Run<'_> {
    /// Asks the program whether a call may run.
    pub(super) fn ask(&mut self, question: Question) {
        let Question { call, input, .. } = question;
        let asked = self.agent.approval.may_run(Call {
            id: call.id.clone(),
            name: call.name.clone(),
            input,
        });
        let inbox = self.agent.inbox.clone();
        let asking = tokio::spawn(asked);
        self.asked.insert(call.clone(), asking.abort_handle());
        tokio::spawn(async move {
            // A panic in the program's function counts as a refusal.
            let may_run = asking.await.unwrap_or_default();
            // Sending fails only after the agent was dropped.
            drop(inbox.send(RunInput::Decided(call, may_run)));
        });
    }

    /// Handles the program's decision about a call.
    pub(super) fn call_decided(&mut self, call: CallKey, may_run: bool) {
        // After a cancel the question was answered already.
        if self.asked.remove(&call).is_some() {
            let answers = Approval::answers(call, may_run);
            self.waiting
                .push_back(cycle::CycleEvent::ResolverAnswered(answers));
        }
    }

    /// Stops waiting for decisions; undecided calls do not run.
    pub(super) fn stop_asking(&mut self) {
        let asked: Vec<CallKey> = self.asked.keys().cloned().collect();
        for call in asked {
            if let Some(asking) = self.asked.get(&call) {
                asking.abort();
            }
            self.call_decided(call, false);
        }
    }

    /// Returns a context whose output goes to the run.
    fn context_of(&self, call: &CallKey) -> ToolContext {
        let (inbox, id) = (self.agent.inbox.clone(), call.id.clone());
        ToolContext {
            cancel: CancellationToken::new(),
            progress: Progress::new(move |text| {
                drop(inbox.send(RunInput::Output(id.clone(), text.to_owned())));
            }),
            ..self.agent.context.clone()
        }
    }

    /// Starts an approved call.
    pub(super) fn run_call(&mut self, call: CallKey, input: Value) {
        let (name, input) = match approval::inside(&call.name, &input) {
            // Approval was decided for the inner call, so run that one.
            Some((inner, arguments)) if self.agent.registry.get(inner).is_some() => {
                (inner.to_owned(), arguments)
            }
            // The inner tool is nested; the outer tool runs it.
            _ => (call.name.clone(), input),
        };
        let Some(tool) = self.agent.registry.get(&name) else {
            let gone = ToolOutcome::Failed(format!("There is no tool named \"{name}\"."));
            let ended = vec![(call, gone)];
            return self
                .waiting
                .push_back(cycle::CycleEvent::ToolsFinished(ended));
        };
        let context = self.context_of(&call);
        let label = tool.label().to_owned();
        self.emit(Event::ToolStarted {
            call: Call {
                id: call.id.clone(),
                name: call.name.clone(),
                input: input.clone(),
            },
            label: label.clone(),
        });
        let cancel = context.cancel.clone();
        self.running.insert(call.clone(), Running { cancel, label });
        let inbox = self.agent.inbox.clone();
        tokio::spawn(async move {
            let ran = tools::run_in_full(tool, call.id.clone(), input, context).await;
            drop(inbox.send(RunInput::Ended(call, ran)));
        });
    }

    pub(super) fn call_ended(&mut self, call: CallKey, ran: Ran) {
        // A call of an earlier run, which has a result already.
        let Some(Running { label, .. }) = self.running.remove(&call) else {
            return;
        };
        let (content, is_error) = match &ran.outcome {
            ToolOutcome::Done { content, .. } => (content, false),
            ToolOutcome::Failed(text) | ToolOutcome::Cancelled(text) => (text, true),
        };
        self.emit(Event::ToolFinished {
            id: call.id.clone(),
            name: call.name.clone(),
            label,
            content: content.clone(),
            is_error,
            details: ran.details,
        });
        // `ToolFinished` has reported the end already.
        self.refused.retain(|refused| *refused != call);
        let ended = vec![(call, ran.outcome)];
        self.waiting
            .push_back(cycle::CycleEvent::ToolsFinished(ended));
    }

    pub(super) fn cancel_calls(&self, calls: &[CallKey]) {
        for running in calls.iter().filter_map(|call| self.running.get(call)) {
            running.cancel.cancel();
        }
    }
}
