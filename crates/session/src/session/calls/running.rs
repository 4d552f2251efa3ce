//! Running calls: started, shown while they run, and removed when they end.

use std::collections::VecDeque;
use std::sync::Arc;

use chat::approval::{CallKey, only_reads};
use chat::cycle::{CycleEvent, Effect, is_by_hand};
use chat::diff::Counts;
use chat::outcome;
use chat::tool::{ToolOutcome, ToolUseId};
use policy::settings::Unlisted;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tools::checkpoints::Recorder;
use tools::{AppliedFiles, Elicitation, NoElicitation, Progress, Ran, Screen, Tool, ToolContext};

use super::applied::AppliedDiff;
use super::details::within_bounds;
use super::elicitation::{Question, User};
use super::new_problems::ProblemCheck;
use super::run_changes::ChangedFile;
use crate::call_environment::CallEnvironment;
use crate::frontend::SessionEvent;
use crate::half_done::Result;
use crate::session::{Input, Session, WorkInput};

/// Maximum lines of live output that are shown.
const OUTPUT_LINES: usize = 5;
/// Lines of live output that a program can still draw over.
const DRAWN_LINES: usize = 30;
/// Maximum characters of such a line.
const OUTPUT_WIDTH: usize = 300;
/// Maximum columns of a tool's name beside its spinner.
const LABEL_WIDTH: usize = 40;

/// A call that is about to start.
pub(crate) struct ApprovedCall {
    pub(crate) call: CallKey,
    pub(crate) input: Value,
    /// The user or rule that approved it.
    pub(crate) by: String,
}

/// Returns `first` with all calls that the next effects start.
pub(crate) fn together(first: ApprovedCall, effects: &mut VecDeque<Effect>) -> Vec<ApprovedCall> {
    // Their starts are recorded in the log with one write.
    let mut runs = vec![first];
    let is_run = |effect: &&Effect| matches!(effect, Effect::Run { .. });
    let count = effects.iter().take_while(is_run).count();
    for effect in effects.drain(..count) {
        if let Effect::Run { call, input, by } = effect {
            runs.push(ApprovedCall { call, input, by });
        }
    }
    runs
}

/// A call that runs.
pub(crate) struct RunningCall {
    cancel: CancellationToken,
    started: Instant,
    /// The last lines of its output; the last one may be unfinished.
    output: Screen,
    /// The files that it changes.
    recorder: Recorder,
    /// Questions to the user that are not answered yet.
    pub(super) questions: VecDeque<Question>,
}

impl RunningCall {
    fn new(context: &ToolContext) -> Self {
        Self {
            cancel: context.cancel.clone(),
            recorder: context.recorder.clone(),
            started: Instant::now(),
            output: Screen::new(DRAWN_LINES),
            questions: VecDeque::new(),
        }
    }

    /// Returns the last lines of its output.
    pub(crate) fn output(&self) -> Vec<String> {
        let rows: Vec<&str> = self.output.rows().collect();
        let last = match rows.as_slice() {
            [""] => &[],
            rows => &rows[rows.len().saturating_sub(OUTPUT_LINES)..],
        };
        // Control characters would break the line on the screen.
        let shown = |row: &&str| {
            row.chars()
                .filter(|c| !c.is_control())
                .take(OUTPUT_WIDTH)
                .collect()
        };
        last.iter().map(shown).collect()
    }

    fn add_output(&mut self, output: &str) {
        self.output.draw(output);
    }

    pub(crate) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the lines of its first question, for windows of `width` columns.
    pub(crate) fn question_lines(&self, width: usize) -> Option<Vec<String>> {
        self.questions.front().map(|question| question.lines(width))
    }

    /// Asks it to stop.
    pub(crate) fn stop(&self) {
        self.cancel.cancel();
    }
}

impl Session {
    /// Starts calls, unless the audit log cannot record their starts.
    pub(crate) fn run_tools(&mut self, runs: Vec<ApprovedCall>) {
        if self.editor.is_dry_run() {
            return runs.into_iter().for_each(|run| self.report_call(run));
        }
        self.view.wait_a_frame();
        let recorded = self.record_starts(&runs);
        if let Err(problem) = &recorded {
            self.editor.report_problem(problem);
        }
        for run in runs {
            // Without this record, a crash would leave no trace that the call may have changed
            // files.
            match &recorded {
                Ok(()) => self.run_tool(run),
                Err(problem) => self.fail_call(run.call, problem.what.clone()),
            }
        }
    }

    /// Ends a call that cannot run with an error.
    fn fail_call(&mut self, call: CallKey, why: String) {
        let outcome = ToolOutcome::Failed(why);
        self.queue
            .push(CycleEvent::ToolsFinished(vec![(call, outcome)]));
    }

    fn run_tool(&mut self, ApprovedCall { call, input, by }: ApprovedCall) {
        let context = self.call_context(&call, &input, &by);
        // A call of `execute_tool` runs the tool that the decision was about.
        let (name, input) = match chat::approval::inside(&call.name, &input) {
            Some((inner, arguments)) => (inner.to_owned(), arguments),
            None => (call.name.clone(), input),
        };
        let Some(tool) = self.shared.registry.get(&name) else {
            return self.fail_call(call, format!("There is no tool named \"{name}\" any more."));
        };
        let running = RunningCall::new(&context);
        self.calls.running.insert(call.clone(), running);
        self.editor.emit(SessionEvent::ToolStarted {
            buffer: self.buffer.id(),
            call: call.clone(),
            label: tool.label().to_owned(),
        });
        self.spawn(tool, call, input, context, by);
    }

    fn spawn(
        &self,
        tool: Arc<dyn Tool>,
        call: CallKey,
        input: Value,
        context: ToolContext,
        by: String,
    ) {
        // The chat is closed.
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let audit = self.decisions.audit().clone();
        let document = self.disk.path().map(Into::into);
        let check = self.problem_check(&context);
        // If another rule or the user approved it, the result counts. Nobody is asked about commands
        // that are to be refused.
        let unlisted = self.policy.rules().settings.tools.bash.unlisted;
        let may_wait = only_reads(&by) && unlisted == Unlisted::Ask;
        tokio::spawn(async move {
            let id = ToolUseId::new(call.id.as_str());
            let (applied, secrets) = (context.applied.clone(), context.secrets.clone());
            let mut ran = tools::run_in_full(tool, id, input, context).await;
            ran.hindered = ran.hindered.filter(|_| may_wait);
            // After the call has ended, because it adds files as it changes them.
            let files = applied.take();
            if let Some(check) = check {
                check.add(&mut ran.outcome, &files).await;
            }
            // What the user approved by hand was on the screen.
            let unseen = files.iter().filter(|_| !is_by_hand(&by));
            let unseen = unseen.map(|it| ChangedFile::of(it, &secrets)).collect();
            let diff = AppliedDiff::of(files, secrets).await;
            let changed = diff.as_ref().map(|it| it.counts);
            if let Some(diff) = diff {
                diff.log(audit, document, call.clone()).await;
            }
            drop(inbox.send(Input::Work(WorkInput::ToolEnded(
                call, ran, changed, unseen,
            ))));
        });
    }

    /// Returns what finds the problems that a call causes. `None` if nothing should or can.
    fn problem_check(&self, context: &ToolContext) -> Option<ProblemCheck> {
        let is_wanted = self.shared.settings.tools.diagnostics && !self.editor.is_headless();
        is_wanted.then(|| ProblemCheck {
            editor: self.editor.clone(),
            secrets: context.secrets.clone(),
            cancel: context.cancel.clone(),
        })
    }

    fn call_context(&mut self, call: &CallKey, input: &Value, by: &str) -> ToolContext {
        let approved_paths = self.approved_paths(call, input);
        let mut context = self.call_environment(call).context(&call.id, by);
        context.progress = self.progress(call);
        // The user approves the files as shown; a policy approves the paths.
        if is_by_hand(by) {
            context.shown = self.shown(call);
        } else {
            context.approved_paths = approved_paths;
        }
        self.use_review(call, by, &mut context);
        self.use_trial(call, by, &mut context);
        context
    }

    pub(super) fn call_environment(&self, call: &CallKey) -> CallEnvironment {
        let elicitation: Arc<dyn Elicitation> = if self.editor.can_elicit() {
            Arc::new(User::new(&self.inbox, call))
        } else {
            Arc::new(NoElicitation)
        };
        CallEnvironment {
            editor: self.editor.clone(),
            shared: self.shared.clone(),
            rules: self.policy.rules().clone(),
            audit: self.decisions.audit().clone(),
            path: self.disk.path().map(Into::into),
            buffer: self.buffer.id(),
            folder: self.disk.folder(),
            cwd: self.disk.cwd().to_owned(),
            sandbox: self.sandbox().clone(),
            elicitation,
            seen: self.calls.seen.clone(),
            recorder: self.recorder(call),
            applied: AppliedFiles::default(),
        }
    }

    /// Returns the tool that a call means, and its arguments. `None` if it cannot run.
    pub(super) fn meant_tool(&self, call: &CallKey) -> Option<(Arc<dyn Tool>, Value)> {
        let input: Value = serde_json::from_str(&call.input).ok()?;
        let (meant, input) = chat::approval::meant(call, &input);
        Some((self.shared.registry.get(&meant.name)?, input))
    }

    /// Returns true if calls of this tool run in the sandbox, if there is one.
    pub(crate) fn is_held(&self, tool: &str) -> bool {
        let tool = self.shared.registry.get(tool);
        tool.is_some_and(|tool| tool.runs_commands())
    }

    fn progress(&self, call: &CallKey) -> Progress {
        let (inbox, call) = (self.inbox.clone(), call.clone());
        Progress::new(move |output| {
            if let Some(inbox) = inbox.upgrade() {
                drop(inbox.send(Input::Work(WorkInput::ToolOutput(
                    call.clone(),
                    output.to_owned(),
                ))));
            }
        })
    }

    pub(crate) fn tool_output(&mut self, call: &CallKey, output: &str) {
        if let Some(running) = self.calls.running.get_mut(call) {
            running.add_output(output);
            self.view.redraw_soon();
        }
    }

    /// Takes the end of a call, which the next step writes.
    pub(crate) fn tool_ended(
        &mut self,
        call: CallKey,
        Ran {
            outcome,
            details,
            hindered,
        }: Ran,
        changed: Option<Counts>,
        unseen: Vec<ChangedFile>,
    ) {
        // A call that is not running has ended already.
        let Some(ran) = self.calls.running.remove(&call) else {
            return;
        };
        self.decisions.end(&call, &outcome);
        if let Some(why) = hindered {
            // It had no effect, and the user decides whether it runs with more rights.
            self.report_end(&call, true, None);
            return self.queue.push(CycleEvent::Hindered { call, why });
        }
        self.note_result(Result::of(&call, &outcome));
        self.calls.diffs.call_ended();
        self.calls.run_changes.add(unseen);
        self.renew_trials();
        let failed = !matches!(
            outcome,
            ToolOutcome::Done {
                marked_failed: false,
                ..
            }
        );
        let took = ran.started.elapsed();
        let undo = self.report_checkpoint(&ran.recorder);
        let run = outcome::CallRun {
            failed,
            took,
            changed,
            undo,
        };
        self.view.call_ended(&call, run, details.as_ref());
        self.report_end(&call, failed, details.and_then(within_bounds));
        self.queue
            .push(CycleEvent::ToolsFinished(vec![(call, outcome)]));
    }

    /// Reports the end of a call to autocommands and the host's log.
    fn report_end(&mut self, call: &CallKey, failed: bool, details: Option<Value>) {
        if let Some(details) = &details {
            tracing::debug!(tool = call.name, id = call.id.as_str(), %details, "a call ended");
        }
        self.editor.emit(SessionEvent::ToolFinished {
            buffer: self.buffer.id(),
            call: call.clone(),
            failed,
            details,
        });
    }

    pub(crate) fn cancel_tools(&self, calls: &[CallKey]) {
        let running = calls.iter().filter_map(|call| self.calls.running.get(call));
        running.for_each(RunningCall::stop);
    }

    /// Returns the name of a tool beside the spinner of its call.
    pub(crate) fn tool_label(&self, name: &str) -> Option<String> {
        let tool = self.shared.registry.get(name)?;
        Some(chat::preview::one_line(tool.label(), LABEL_WIDTH))
    }

    /// Returns the running calls with their seconds, the oldest first.
    pub(crate) fn running_calls(&self) -> Vec<(&CallKey, u64)> {
        let mut calls: Vec<_> = self.calls.running.iter().collect();
        calls.sort_by_key(|(_, call)| call.started);
        let seconds = |call: &RunningCall| call.started.elapsed().as_secs();
        let calls = calls.into_iter();
        calls.map(|(key, call)| (key, seconds(call))).collect()
    }
}
