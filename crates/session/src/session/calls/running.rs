//! Running calls: started, shown while they run, and removed when they end.

use std::collections::VecDeque;
use std::sync::Arc;

use chat::approval::{self, CallKey, only_reads};
use chat::cycle::{Effect, is_by_hand};
use chat::diff::Counts;
use chat::outcome::CallRun;
use chat::tool::{ToolOutcome, ToolUseId};
use policy::options::Unlisted;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tools::checkpoints::Recorder;
use tools::{AppliedFiles, Elicitation, NoElicitation, Progress, Screen, Tool, ToolContext};

use super::Calls;
use super::applied::AppliedDiff;
use super::elicitation::{Question, User};
use super::new_problems::ProblemCheck;
use super::run_changes::ChangedFile;
use crate::call_environment::CallEnvironment;
use crate::frontend::SessionEvent;
use crate::session::checkpoints::{recorder, report_checkpoint};
use crate::session::ctx::Ctx;
use crate::session::request::ResultFiles;
use crate::session::{Input, WorkInput};

/// Maximum lines of live output that are shown.
const OUTPUT_LINES: usize = 5;
/// Lines of live output that a program can still draw over.
const DRAWN_LINES: usize = 30;
/// Maximum characters of such a line.
const OUTPUT_WIDTH: usize = 300;

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
            recorder: context.files.recorder.clone(),
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

impl Calls {
    /// Starts a call, whose result may show `files`.
    ///
    /// # Errors
    ///
    /// The call cannot run: why.
    pub(in crate::session) fn run(
        &mut self,
        ctx: &Ctx,
        ApprovedCall { call, input, by }: ApprovedCall,
        files: ResultFiles,
    ) -> Result<(), String> {
        let context = self.call_context(ctx, &call, &input, &by);
        // A call of `execute_tool` runs the tool that the decision was about.
        let (name, input) = match chat::approval::inside(&call.name, &input) {
            Some((inner, arguments)) => (inner.to_owned(), arguments),
            None => (call.name.clone(), input),
        };
        let Some(tool) = ctx.shared.registry.get(&name) else {
            return Err(format!("There is no tool named \"{name}\" any more."));
        };
        let running = RunningCall::new(&context);
        self.running.insert(call.clone(), running);
        ctx.editor.emit(SessionEvent::ToolStarted {
            buffer: ctx.buffer.id(),
            call: call.clone(),
            label: tool.label().to_owned(),
        });
        spawn(ctx, tool, call, input, context, by, files);
        Ok(())
    }

    /// Returns the name of a call's sandbox in the audit log.
    pub(in crate::session) fn sandbox_name(&self, ctx: &Ctx, run: &ApprovedCall) -> &'static str {
        if self.takes_trial(ctx, &run.call) {
            return "trial";
        }
        let (meant, _) = approval::meant(&run.call, &run.input);
        if ctx.is_held(&meant.name) {
            let settings = &ctx.rules().settings;
            settings.held_by(ctx.sandbox(), &meant, &run.by)
        } else {
            "none"
        }
    }

    fn call_context(&mut self, ctx: &Ctx, call: &CallKey, input: &Value, by: &str) -> ToolContext {
        let approved_paths = self.approved_paths(call, input);
        let mut context = self.call_environment(ctx, call).context(call, by);
        context.progress = progress(ctx, call);
        // `flemma send` ends when nothing runs any more.
        context.user.is_asked_about_jobs = ctx.editor.can_elicit() && !ctx.editor.is_headless();
        // The user approves the files as shown; a policy approves the paths.
        if is_by_hand(by) {
            context.files.shown = self.shown(call);
        } else {
            context.files.approved_paths = approved_paths;
        }
        self.use_review(ctx, call, by, &mut context);
        self.use_trial(ctx, call, by, &mut context);
        context
    }

    pub(super) fn call_environment(&self, ctx: &Ctx, call: &CallKey) -> CallEnvironment {
        let elicitation: Arc<dyn Elicitation> = if ctx.editor.can_elicit() {
            Arc::new(User::new(&ctx.inbox, call))
        } else {
            Arc::new(NoElicitation)
        };
        CallEnvironment {
            editor: ctx.editor.clone(),
            shared: ctx.shared.clone(),
            rules: ctx.rules().clone(),
            audit: ctx.shared.audit.clone(),
            path: ctx.place.path().map(Into::into),
            buffer: ctx.buffer.id(),
            folder: ctx.place.folder(),
            cwd: ctx.place.cwd().to_owned(),
            sandbox: ctx.sandbox().clone(),
            elicitation,
            seen: self.seen.clone(),
            recorder: recorder(ctx, call),
            applied: AppliedFiles::default(),
        }
    }

    /// Takes live output of a call.
    pub(crate) fn tool_output(&mut self, call: &CallKey, output: &str) {
        if let Some(running) = self.running.get_mut(call) {
            running.output.draw(output);
        }
    }

    /// Removes a call that ended; `None` if it has ended already.
    pub(in crate::session) fn take_running(&mut self, call: &CallKey) -> Option<RunningCall> {
        self.running.remove(call)
    }

    /// Notes how a call ended, and what it did to files: others may have to be looked at again.
    pub(in crate::session) fn ended(
        &mut self,
        ctx: &Ctx,
        ran: &RunningCall,
        outcome: &ToolOutcome,
        changed: Option<Counts>,
        unseen: Vec<ChangedFile>,
    ) -> CallRun {
        self.diffs.call_ended();
        self.run_changes.add(unseen);
        self.renew_trials();
        let failed = !matches!(
            outcome,
            ToolOutcome::Done {
                marked_failed: false,
                ..
            }
        );
        CallRun {
            failed,
            took: ran.started.elapsed(),
            changed,
            undo: report_checkpoint(ctx, &ran.recorder),
        }
    }

    pub(crate) fn cancel_tools(&self, calls: &[CallKey]) {
        let running = calls.iter().filter_map(|call| self.running.get(call));
        running.for_each(RunningCall::stop);
    }

    /// Returns the running calls with their seconds, the oldest first.
    pub(crate) fn running_calls(&self) -> Vec<(&CallKey, u64)> {
        let mut calls: Vec<_> = self.running.iter().collect();
        calls.sort_by_key(|(_, call)| call.started);
        let seconds = |call: &RunningCall| call.started.elapsed().as_secs();
        let calls = calls.into_iter();
        calls.map(|(key, call)| (key, seconds(call))).collect()
    }
}

fn spawn(
    ctx: &Ctx,
    tool: Arc<dyn Tool>,
    call: CallKey,
    input: Value,
    context: ToolContext,
    by: String,
    result_files: ResultFiles,
) {
    // The chat is closed.
    let Some(inbox) = ctx.inbox.upgrade() else {
        return;
    };
    let audit = ctx.shared.audit.clone();
    let document = ctx.place.path().map(Into::into);
    let check = problem_check(ctx, &context);
    // If another rule or the user approved it, the result counts. Nobody is asked about commands
    // that are to be refused.
    let unlisted = ctx.rules().settings.tools.bash.unlisted;
    let may_wait = only_reads(&by) && unlisted == Unlisted::Ask;
    tokio::spawn(async move {
        let id = ToolUseId::new(call.id.as_str());
        let (applied, secrets) = (context.files.applied.clone(), context.files.secrets.clone());
        let mut ran = tools::run_in_full(tool, id.clone(), input, context).await;
        result_files.keep(id, std::mem::take(&mut ran.files)).await;
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
fn problem_check(ctx: &Ctx, context: &ToolContext) -> Option<ProblemCheck> {
    let is_wanted = ctx.shared.settings.tools.diagnostics && !ctx.editor.is_headless();
    is_wanted.then(|| ProblemCheck {
        editor: ctx.editor.clone(),
        secrets: context.files.secrets.clone(),
        cancel: context.cancel.clone(),
    })
}

fn progress(ctx: &Ctx, call: &CallKey) -> Progress {
    let (inbox, call) = (ctx.inbox.clone(), call.clone());
    Progress::new(move |output| {
        if let Some(inbox) = inbox.upgrade() {
            drop(inbox.send(Input::Work(WorkInput::ToolOutput(
                call.clone(),
                output.to_owned(),
            ))));
        }
    })
}

/// Reports the end of a call to autocommands and the host's log.
pub(in crate::session) fn report_end(
    ctx: &Ctx,
    call: &CallKey,
    failed: bool,
    details: Option<Value>,
) {
    if let Some(details) = &details {
        tracing::debug!(tool = call.name, id = call.id.as_str(), %details, "a call ended");
    }
    ctx.editor.emit(SessionEvent::ToolFinished {
        buffer: ctx.buffer.id(),
        call: call.clone(),
        failed,
        details,
    });
}
