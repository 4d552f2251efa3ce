//! Trials of pending calls: `:Flemma try` runs a call in a view where it changes nothing, and shows
//! what it would do. A decision to run the call takes that outcome, if it can be taken.
//!
//! Outcomes are never stored: after a restart the call is untried.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chat::approval::{self, CallKey, Decision, TRIAL, Verdict};
use chat::cycle::CycleEvent;
use chat::diff::{Counts, FileDiff};
use chat::marks::{self, Mark};
use chat::preview::one_line;
use chat::tool::ToolUseId;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tools::{FileState, OpenBuffers, ProposedFile, ToolContext, Trial};

use super::Calls;
use crate::audit::in_background;
use crate::call_environment::CallEnvironment;
use crate::diff::of_file;
use crate::frontend::{CallTrial, SessionEvent};
use crate::session::ctx::Ctx;
use crate::session::{Input, WorkInput};

/// A sentence about a command in plan mode.
const PLANNED: &str = "In plan mode, it runs as a trial, and its changes are discarded.";
/// The result of a command without output.
const NO_OUTPUT: &str = "(no output)";
/// Author of a trial that the user asked for.
const BY_USER: &str = "the user";
/// Most files and bytes that the rules for files decide about.
const MOST_FILES: usize = 50;
const MOST_BYTES: usize = 1 << 20;
/// Most lines of output that are shown below a call.
const OUTPUT_LINES: usize = 5;
/// Columns, and lines of a diff, on the command line.
const COLUMNS: usize = 100;
const WHOLE: usize = 300;
/// The age of an outcome from which on it is shown.
const OLD: Duration = Duration::from_secs(600);

/// The trials of calls that are shown.
#[derive(Debug, Default)]
pub(super) struct Trials {
    known: RefCell<HashMap<CallKey, TrialState>>,
    /// Calls that are tried once they are shown, and who asks for it.
    due: Vec<(CallKey, &'static str)>,
    /// Why a call could not be tried that no user asked for, so that it is said once.
    said: Option<String>,
}

/// How far the trial of a call is.
#[derive(Debug)]
enum TrialState {
    Running {
        stop: CancellationToken,
        /// True if a message said that the next key stops it.
        told: bool,
        is_unasked: bool,
    },
    Ended(Tried),
}

/// The outcome of a trial.
#[derive(Debug, Clone)]
pub struct Tried {
    trial: Arc<Trial>,
    counts: Counts,
    /// The files that it would change, as they are now.
    states: Vec<FileState>,
    /// True if the rules approve the call for what the trial showed. `None` if the user asked for it.
    approved: Option<bool>,
}

impl Trials {
    /// Drops the trials of calls that are no longer shown, and cancels those that run.
    pub(super) fn keep(&self, marks: &[Mark]) {
        self.known.borrow_mut().retain(|call, state| {
            let mut marks = marks.iter().filter(|it| it.call == *call);
            match state {
                // An approved call keeps its outcome until it starts.
                TrialState::Ended(_) => marks.next().is_some(),
                TrialState::Running { stop, .. } => {
                    let stays = marks.any(|it| it.pending);
                    if !stays {
                        stop.cancel();
                    }
                    stays
                }
            }
        });
    }

    fn ended(&self, call: &CallKey) -> Option<Tried> {
        match self.known.borrow().get(call)? {
            TrialState::Ended(tried) => Some(tried.clone()),
            TrialState::Running { .. } => None,
        }
    }

    /// Returns the trial whose outcome an approval of the call takes. In plan mode nothing else
    /// could come of an approval.
    fn to_take(&self, call: &CallKey, is_planning: bool) -> Option<Arc<Trial>> {
        let trial = self.ended(call)?.trial;
        (is_planning || trial.outcome.can_be_taken()).then_some(trial)
    }

    fn is_running(&self, call: &CallKey) -> bool {
        matches!(
            self.known.borrow().get(call),
            Some(TrialState::Running { .. })
        )
    }

    pub(super) fn are_any_underway(&self) -> bool {
        let is_running = |it: &TrialState| matches!(it, TrialState::Running { .. });
        !self.due.is_empty() || self.known.borrow().values().any(is_running)
    }

    pub(super) fn stop_all(&self) {
        for state in self.known.borrow().values() {
            if let TrialState::Running { stop, .. } = state {
                stop.cancel();
            }
        }
    }

    /// Notes a call on which no rule has an opinion.
    pub(super) fn note_due(&mut self, call: &CallKey) {
        self.due.push((call.clone(), TRIAL));
    }

    fn set(&self, call: CallKey, state: TrialState) {
        self.known.borrow_mut().insert(call, state);
    }
}

impl Tried {
    fn of(trial: Trial, states: Vec<FileState>, approved: Option<bool>) -> Self {
        let counts = |file: &ProposedFile| {
            let before = file.before.as_deref().unwrap_or_default();
            FileDiff::of(before, file.after.as_deref().unwrap_or_default()).counts
        };
        Self {
            counts: trial.files.iter().map(counts).sum(),
            trial: Arc::new(trial),
            states,
            approved,
        }
    }

    /// The outcome in one line.
    fn headline(&self, is_planning: bool) -> String {
        let trial = &self.trial;
        let mut words = vec![match (trial.outcome.reason(), trial.files.len()) {
            (Some(why), _) if is_planning => why,
            (Some(why), _) => format!("{why}, so approving runs it"),
            (None, 0) if trial.remarks().is_empty() => "no effect".to_owned(),
            (None, 0) => "no file of the project changes".to_owned(),
            (None, 1) => format!("would change 1 file {}", self.counts),
            (None, count) => format!("would change {count} files {}", self.counts),
        }];
        if trial.outcome.can_be_taken() {
            words.extend(trial.remarks());
        }
        words.push(trial.exit());
        words.push(format!("{:.1} s", trial.took.as_secs_f64()));
        let age = trial.ended.elapsed();
        if age > OLD {
            words.push(format!("{} minutes ago", age.as_secs() / 60));
        }
        format!("tried: {}", words.join(" · "))
    }

    /// The outcome and the end of the output.
    fn lines(&self, width: usize, is_planning: bool) -> Vec<String> {
        let output = self.output().into_iter().map(|it| format!("  {it}"));
        let lines = [self.headline(is_planning)].into_iter().chain(output);
        lines.map(|line| one_line(&line, width)).collect()
    }

    /// The last lines of its output.
    fn output(&self) -> Vec<&str> {
        let output = &self.trial.output;
        let lines = output.lines().filter(|it| !it.trim().is_empty());
        let lines: Vec<&str> = lines.filter(|it| *it != NO_OUTPUT).collect();
        lines[lines.len().saturating_sub(OUTPUT_LINES)..].to_vec()
    }
}

/// Returns true if the rules approve a call for what its trial showed: nothing changed, or a few texts did
/// that the rules would let `write` change.
async fn approves(environment: &CallEnvironment, trial: &Trial, buffers: &dyn OpenBuffers) -> bool {
    if !trial.outcome.can_be_taken() {
        return false;
    }
    let reads = CallKey {
        id: ToolUseId::new("read"),
        name: "read".to_owned(),
        input: "{}".to_owned(),
    };
    let chain = &environment.rules.options.chain;
    // What it read goes to the model.
    if !matches!(
        approval::decide_in_general(chain, &reads),
        Verdict::Decided(Decision::Approve, _)
    ) {
        return false;
    }
    if environment.rules.settings.is_planning() {
        // None of its changes stays, so no rule for files is concerned.
        return true;
    }
    let Some(files) = trial.written(MOST_FILES, MOST_BYTES) else {
        return false;
    };
    for (path, text) in files {
        let open = buffers.text(Path::new(path)).await;
        if open.is_some_and(|it| it.modified) {
            return false;
        }
        let input = json!({"label": "", "path": path, "content": text});
        let call = CallKey {
            id: ToolUseId::new("write"),
            name: "write".to_owned(),
            input: chat::json::canonical(&input),
        };
        if !environment.allows(&call, &input).await {
            return false;
        }
    }
    true
}

impl Calls {
    /// `:Flemma try`: tries the call on a line, or the only pending one.
    pub(crate) fn try_call(&mut self, ctx: &Ctx, line: usize) {
        let document = ctx.buffer.document();
        let marks = marks::marks(&document, &ctx.cycle, &(), 1);
        let line = match ctx.cycle.meant(line, &document) {
            Ok(line) => line,
            Err(0) => return ctx.inform("No call is pending here."),
            Err(count) => {
                return ctx.inform(&format!(
                    "{count} calls are pending. Put the cursor on the one to try."
                ));
            }
        };
        let key = chat::cycle::key_at(&document, line);
        let mark = marks
            .into_iter()
            .find(|it| it.pending && Some(&it.call) == key.as_ref());
        match mark {
            Some(mark) => self.start_trial(ctx, mark.call, BY_USER),
            None => ctx.inform("This call is not pending, so there is nothing to try."),
        }
    }

    /// Returns true if the user is offered to try a call.
    pub(crate) fn can_be_tried(&self, ctx: &Ctx, call: &CallKey) -> bool {
        let tool = ctx.meant_tool(call);
        tool.is_some_and(|(tool, input)| tool.can_be_tried(&input))
            && ctx.shared.settings.tools.bash.trial
    }

    /// Starts the trials that were not asked for by a key, once their calls are shown. Returns true if
    /// there are any.
    pub(crate) fn start_due_trials(&mut self, ctx: &Ctx) -> bool {
        if self.trials.due.is_empty() || ctx.buffer.is_busy() {
            return false;
        }
        let due = std::mem::take(&mut self.trials.due);
        if ctx.editor.is_dry_run() {
            return false;
        }
        let tries = ctx.rules().tries;
        let document = ctx.buffer.document();
        let marks = marks::marks(&document, &ctx.cycle, &(), 1);
        for (call, by) in due.into_iter().filter(|it| tries || it.1 != TRIAL) {
            let is_pending = marks.iter().any(|it| it.pending && it.call == call);
            if is_pending && self.can_be_tried(ctx, &call) {
                self.start_trial(ctx, call, by);
            }
        }
        true
    }

    /// Has calls tried again whose outcomes can't be applied any more, because a call that ended changed
    /// the same files.
    pub(crate) fn renew_trials(&mut self) {
        let trials = &mut self.trials;
        for (call, state) in trials.known.get_mut() {
            if let TrialState::Ended(tried) = state
                // The others run already.
                && tried.approved != Some(true)
                && tried.trial.is_outdated()
            {
                let by = if tried.approved.is_some() {
                    TRIAL
                } else {
                    BY_USER
                };
                trials.due.push((call.clone(), by));
            }
        }
    }

    fn start_trial(&mut self, ctx: &Ctx, call: CallKey, by: &'static str) {
        if self.trials.is_running(&call) {
            return ctx.inform("This call is being tried already.");
        }
        let meant = ctx.meant_tool(&call);
        let (Some((tool, input)), Some(inbox)) = (meant, ctx.inbox.upgrade()) else {
            return ctx.inform("This call cannot run, so there is nothing to try.");
        };
        if !tool.can_be_tried(&input) {
            return ctx.inform("Only commands can be tried, and none that runs in the background.");
        } else if !ctx.shared.settings.tools.bash.trial {
            return ctx.inform("Commands are not tried here: tools.bash.trial is false.");
        }
        // Nothing that a trial does reaches the project, so it has no approval.
        let environment = self.call_environment(ctx, &call);
        let mut context = environment.clone().context(&call, "");
        context.exec.is_unasked = by == TRIAL;
        let stop = context.cancel.clone();
        let state = TrialState::Running {
            stop,
            told: false,
            is_unasked: context.exec.is_unasked,
        };
        self.trials.set(call.clone(), state);
        // Shows what an earlier trial did.
        self.diffs.forget(&call);
        let audit = ctx.shared.audit.clone();
        let document = ctx.place.path().map(std::path::PathBuf::from);
        let buffers = ctx.open_buffers();
        tokio::spawn(async move {
            // Like the start of a call: without this record, nothing would show that it ran.
            let logged = call.clone();
            let written = in_background(move || audit.tried(document.as_deref(), &logged, by));
            let tried = match written.await {
                Ok(Ok(())) => {
                    let id = ToolUseId::new(call.id.as_str());
                    tool.attempt(&id, input, context)
                        .await
                        .map_err(|error| error.to_string())
                }
                _ => Err("The call was not tried, because the log cannot be written.".to_owned()),
            };
            let tried = match tried {
                Err(why) => Err(why),
                Ok(trial) => {
                    let mut states = Vec::new();
                    for file in &trial.files {
                        states.push(FileState::of(&file.path, buffers.clone()).await);
                    }
                    let approved = if by == TRIAL {
                        Some(approves(&environment, &trial, &*buffers).await)
                    } else {
                        None
                    };
                    // Comparing large texts would block the thread that handles keys.
                    let compared = tokio::task::spawn_blocking(move || {
                        Box::new(Tried::of(trial, states, approved))
                    });
                    compared.await.map_err(|error| error.to_string())
                }
            };
            drop(inbox.send(Input::Work(WorkInput::Tried(call, tried))));
        });
    }

    /// Takes the end of a trial. Returns an event if the rules approve the call for it.
    pub(crate) fn trial_ended(
        &mut self,
        ctx: &Ctx,
        call: CallKey,
        tried: Result<Box<Tried>, String>,
    ) -> Option<CycleEvent> {
        let trials = self.trials.known.get_mut();
        // The call may have been decided in the meantime.
        let Some(TrialState::Running { is_unasked, .. }) = trials.get(&call) else {
            return None;
        };
        let is_unasked = *is_unasked;
        trials.remove(&call);
        match tried {
            Ok(tried) => {
                // A diff that was made before does not show what the call would do.
                self.diffs.forget(&call);
                self.see(&call, tried.states.clone());
                let approved = tried.approved == Some(true);
                report_trial(ctx, &call, &tried);
                let state = TrialState::Ended(*tried);
                self.trials.set(call.clone(), state);
                if approved {
                    return Some(CycleEvent::Tried { call });
                }
                self.refresh_decision(ctx, call);
            }
            // A hundred calls must not say the same.
            Err(why) if is_unasked && self.trials.said.as_ref() == Some(&why) => {}
            Err(why) => {
                ctx.inform(&why);
                self.trials.said = Some(why);
            }
        }
        None
    }

    /// Stops the trials that run. Returns true if there are any.
    pub(crate) fn stop_trials(&mut self, ctx: &Ctx) -> bool {
        let mut is_any = false;
        self.trials.known.get_mut().retain(|_, state| match state {
            TrialState::Running { stop, .. } => {
                stop.cancel();
                is_any = true;
                false
            }
            TrialState::Ended(_) => true,
        });
        if is_any {
            ctx.inform("The trial was stopped. The call is pending.");
        }
        is_any
    }

    /// Says that the call on a line is still being tried, when a key would run it. Returns true if
    /// the key does nothing else: pressed again, it stops the trial and runs the call.
    pub(crate) fn mention_trial(&mut self, ctx: &Ctx, line: usize) -> bool {
        let document = ctx.buffer.document();
        let Ok(line) = ctx.cycle.meant(line, &document) else {
            return false;
        };
        let key = chat::cycle::key_at(&document, line);
        let trials = self.trials.known.get_mut();
        let state = key.and_then(|key| trials.get_mut(&key));
        match state {
            Some(TrialState::Running { told, .. }) if !*told => {
                *told = true;
                // It may stay on the screen after the trial.
                ctx.inform(
                    "This call was still being tried. Press the key again to run it without waiting.",
                );
                true
            }
            // Deciding a call discards its trial.
            _ => false,
        }
    }

    /// Has a call take what its trial showed, if that can be taken.
    pub(super) fn use_trial(&self, ctx: &Ctx, call: &CallKey, by: &str, context: &mut ToolContext) {
        context.exec.trial = self.to_take(ctx, call);
        context.exec.is_unasked = by == TRIAL;
    }

    /// Returns true if an approval of the call takes the outcome of its trial.
    pub(crate) fn takes_trial(&self, ctx: &Ctx, call: &CallKey) -> bool {
        self.to_take(ctx, call).is_some()
    }

    pub(super) fn to_take(&self, ctx: &Ctx, call: &CallKey) -> Option<Arc<Trial>> {
        self.trials.to_take(call, ctx.is_planning())
    }

    /// Returns what becomes of a pending call in plan mode. `None` if that is nothing special.
    pub(crate) fn plan_line(&self, ctx: &Ctx, call: &CallKey) -> Option<&'static str> {
        let (tool, input) = ctx.meant_tool(call)?;
        let is_tried = ctx.is_planning() && tool.can_be_tried(&input);
        is_tried.then_some(PLANNED)
    }

    /// Returns false if a review could not show all that a tried call changes, or if nothing of that
    /// is applied.
    pub(crate) fn is_reviewable(&self, ctx: &Ctx, call: &CallKey) -> bool {
        let trial = self.to_take(ctx, call);
        trial.is_none_or(|trial| trial.is_reviewable() && !ctx.is_planning())
    }

    /// Returns what the trial of a call showed: a line, and the end of its output.
    pub(crate) fn trial_lines(&self, ctx: &Ctx, call: &CallKey, width: usize) -> Vec<String> {
        let tried = self.trials.ended(call);
        tried.map_or_else(Vec::new, |it| it.lines(width, ctx.is_planning()))
    }

    /// Returns the label of a call that is being tried.
    pub(crate) fn trial_label(&self, call: &CallKey) -> Option<String> {
        let is_running = self.trials.is_running(call);
        is_running.then(|| "is being tried…".to_owned())
    }
}

/// Shows a trial in a front end that has no place beside the call.
fn report_trial(ctx: &Ctx, call: &CallKey, tried: &Tried) {
    if !ctx.editor.is_headless() {
        return;
    }
    let files = tried.trial.files.iter();
    let files = files.filter(|_| tried.trial.outcome.can_be_taken());
    let trial = CallTrial {
        call: call.clone(),
        lines: tried.lines(COLUMNS, ctx.is_planning()),
        diff: files.map(|it| of_file(it, COLUMNS, WHOLE)).collect(),
    };
    ctx.editor.emit(SessionEvent::CallTried(trial));
}
