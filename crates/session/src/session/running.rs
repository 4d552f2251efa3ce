//! Calls that run, and the user's functions that are asked about them.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use chat::approval::{CallKey, Question};
use chat::cycle::{Effect, Event, is_by_hand};
use chat::outcome;
use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tools::{Elicitation, NoElicitation, Progress, Ran, Sandbox};

use super::details::within_bounds;
use super::{Input, Session, elicitation};
use crate::call_environment::CallEnvironment;
use crate::frontend::SessionEvent;
use crate::half_done::Result;
use crate::resolver_calls;
use crate::sandbox;
use crate::settings::Here;

/// Most lines of live output that are kept for showing.
const OUTPUT_LINES: usize = 5;
/// Longest line of it, in characters.
const OUTPUT_WIDTH: usize = 300;
/// Widest name of a tool beside its spinner, in columns.
const LABEL_WIDTH: usize = 40;

/// A call that is to start.
pub(super) struct Run {
    pub(super) call: CallKey,
    pub(super) input: Value,
    /// Who approved it.
    pub(super) by: String,
}

/// A call that is to start, and those that are to start right after it.
pub(super) fn together(first: Run, effects: &mut VecDeque<Effect>) -> Vec<Run> {
    let mut runs = vec![first];
    let is_run = |effect: &&Effect| matches!(effect, Effect::Run { .. });
    let count = effects.iter().take_while(is_run).count();
    for effect in effects.drain(..count) {
        if let Effect::Run { call, input, by } = effect {
            runs.push(Run { call, input, by });
        }
    }
    runs
}

/// A call that runs.
pub(super) struct Call {
    cancel: CancellationToken,
    /// When it started.
    pub(super) started: Instant,
    /// The last lines of its output, the newest unfinished.
    pub(super) output: VecDeque<String>,
    /// What it asks the user.
    pub(super) questions: VecDeque<elicitation::Question>,
}

impl Call {
    /// Asks it to stop.
    pub(super) fn stop(&self) {
        self.cancel.cancel();
    }
}

impl Session {
    /// Starts calls, when the log takes that they start.
    pub(super) fn run_tools(&mut self, runs: Vec<Run>) {
        if self.editor.is_dry_run() {
            return runs.into_iter().for_each(|run| self.report_call(run));
        }
        self.view.wait_a_frame();
        let recorded = self.record_starts(&runs);
        if let Err(problem) = &recorded {
            self.editor.report_problem(problem);
        }
        for run in runs {
            match &recorded {
                Ok(()) => self.run_tool(run),
                Err(problem) => {
                    let refused = ToolOutcome::Failed(problem.what.clone());
                    let ended = vec![(run.call, refused)];
                    self.queue.push(Event::ToolsFinished(ended));
                }
            }
        }
    }

    fn run_tool(&mut self, Run { call, input, by }: Run) {
        let approved_path = self.approved_path(&call, &input);
        let (name, input) = match chat::approval::inside(&call.name, &input) {
            // What was decided about is what runs.
            Some((inner, arguments)) => (inner.to_owned(), arguments),
            None => (call.name.clone(), input),
        };
        let Some(tool) = self.shared.registry.get(&name) else {
            let gone = ToolOutcome::Failed(format!("There is no tool named \"{name}\" any more."));
            return self.queue.push(Event::ToolsFinished(vec![(call, gone)]));
        };
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let mut context = self.call_environment(&call).context(&call.id, &by);
        context.progress = self.progress(&call);
        // A policy approves without a look.
        context.shown = self.shown(&call).filter(|_| is_by_hand(&by));
        context.approved_path = approved_path.filter(|_| !is_by_hand(&by));
        let running = Call {
            cancel: context.cancel.clone(),
            started: Instant::now(),
            output: VecDeque::new(),
            questions: VecDeque::new(),
        };
        self.calls.running.insert(call.clone(), running);
        self.editor.emit(SessionEvent::ToolStarted {
            buffer: self.buffer.id,
            call: call.clone(),
            label: tool.label().to_owned(),
        });
        tokio::spawn(async move {
            let id = ToolUseId::new(call.id.as_str());
            let ran = tools::run_in_full(tool, id, input, context).await;
            drop(inbox.send(Input::ToolEnded(call, ran)));
        });
    }

    /// What holds the calls of the chat.
    pub(crate) fn sandbox(&self) -> &Arc<Sandbox> {
        self.policy.sandbox(|| {
            let here = Here {
                cwd: &self.disk.cwd,
                chat: self.path(),
            };
            Arc::new(sandbox::of_chat(
                &self.policy.rules().settings.sandbox,
                here,
            ))
        })
    }

    /// The folder that the chat's relative paths start from.
    pub(super) fn folder(&self) -> PathBuf {
        let parent = self.disk.path.as_deref().and_then(std::path::Path::parent);
        parent
            .filter(|it| it.is_dir())
            .map_or_else(|| self.disk.cwd.clone(), PathBuf::from)
    }

    fn call_environment(&self, call: &CallKey) -> CallEnvironment {
        let elicitation: Arc<dyn Elicitation> = match self.editor.can_elicit() {
            true => Arc::new(elicitation::User::new(&self.inbox, call)),
            false => Arc::new(NoElicitation),
        };
        CallEnvironment {
            editor: self.editor.clone(),
            shared: self.shared.clone(),
            rules: self.policy.rules().clone(),
            audit: self.decisions.audit().clone(),
            path: self.disk.path.clone(),
            buffer: self.buffer.id,
            folder: self.folder(),
            cwd: self.disk.cwd.clone(),
            sandbox: self.sandbox().clone(),
            elicitation,
        }
    }

    /// Whether a call of a tool is held by the sandbox, where there is one.
    pub(super) fn is_held(&self, tool: &str) -> bool {
        let tool = self.shared.registry.get(tool);
        tool.is_some_and(|tool| tool.runs_commands())
    }

    fn progress(&self, call: &CallKey) -> Progress {
        let (inbox, call) = (self.inbox.clone(), call.clone());
        Progress::new(move |output| {
            if let Some(inbox) = inbox.upgrade() {
                drop(inbox.send(Input::ToolOutput(call.clone(), output.to_owned())));
            }
        })
    }

    pub(super) fn tool_output(&mut self, call: &CallKey, output: &str) {
        let Some(running) = self.calls.running.get_mut(call) else {
            return;
        };
        for (at, piece) in output.split('\n').enumerate() {
            if at > 0 || running.output.is_empty() {
                running.output.push_back(String::new());
            }
            if running.output.len() > OUTPUT_LINES {
                running.output.pop_front();
            }
            if let Some(line) = running.output.back_mut() {
                let room = OUTPUT_WIDTH.saturating_sub(line.chars().count());
                line.extend(piece.chars().filter(|c| !c.is_control()).take(room));
            }
        }
        self.view.redraw_soon();
    }

    pub(super) fn tool_ended(&mut self, call: CallKey, Ran { outcome, details }: Ran) {
        let Some(ran) = self.calls.running.remove(&call) else {
            return;
        };
        self.decisions.end(&call, &outcome);
        self.note_result(Result::of(&call, &outcome));
        let failed = !matches!(
            outcome,
            ToolOutcome::Done {
                marked_failed: false,
                ..
            }
        );
        let took = ran.started.elapsed();
        self.view
            .outcomes
            .ended(&call, outcome::Run { failed, took });
        self.view.redraw();
        self.view.tasks.update(details.as_ref());
        self.tell_end(&call, failed, details.and_then(within_bounds));
        self.queue.push(Event::ToolsFinished(vec![(call, outcome)]));
    }

    /// Tells autocommands and the log how a call ended.
    fn tell_end(&mut self, call: &CallKey, failed: bool, details: Option<Value>) {
        if let Some(details) = &details {
            tracing::debug!(tool = call.name, id = call.id.as_str(), %details, "a call ended");
        }
        self.editor.emit(SessionEvent::ToolFinished {
            buffer: self.buffer.id,
            call: call.clone(),
            failed,
            details,
        });
    }

    pub(super) fn cancel_tools(&self, calls: &[CallKey]) {
        for running in calls.iter().filter_map(|call| self.calls.running.get(call)) {
            running.stop();
        }
    }

    /// What people call a tool, beside a call of it that runs.
    pub(super) fn tool_label(&self, name: &str) -> Option<String> {
        let tool = self.shared.registry.get(name)?;
        Some(chat::preview::one_line(tool.label(), LABEL_WIDTH))
    }

    /// The calls that run and for how many seconds, the oldest first.
    pub(crate) fn running_calls(&self) -> Vec<(&CallKey, u64)> {
        let mut calls: Vec<_> = self
            .calls
            .running
            .iter()
            .map(|(call, it)| (call, it.started.elapsed().as_secs()))
            .collect();
        calls.sort_by_key(|(_, seconds)| std::cmp::Reverse(*seconds));
        calls
    }

    /// Asks the user's functions about calls, all in one message.
    pub(super) fn ask(&self, questions: Vec<Question>) {
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let asked = resolver_calls::together(self.policy.rules(), questions);
        let (editor, buffer) = (self.editor.clone(), self.buffer.id);
        tokio::spawn(async move {
            let answers = resolver_calls::ask_functions(&editor, buffer, asked).await;
            drop(inbox.send(Input::Functions(answers)));
        });
    }
}
