//! Runs one tool call so that it always ends with an outcome.
//!
//! Catches panics, enforces the deadline, passes a cancel on, and waits for the tool to clean
//! up.

mod background;

use std::any::Any;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use chat::result_files::ResultFile;
use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::Value;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};

use crate::buffers::OpenBuffers;
use crate::checkpoints::CommandRun;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::jobs::{Background, Job};
use crate::process::leash_program;
use crate::sandbox::{Outlet, Sandbox, Watch, explain};
use crate::tool::{Tool, ToolResult};

/// How long a tool may take to clean up after a cancel. Killing a process tree takes up to a
/// second, so this is longer.
const GRACE: Duration = Duration::from_secs(3);

/// The outcome of a call, with data that the model does not get.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// The outcome for the model.
    pub outcome: ToolOutcome,
    /// See [`ToolResult::files`].
    pub files: Vec<ResultFile>,
    /// The details of a successful result.
    pub details: Option<Value>,
    /// See [`ToolResult::hindered`].
    pub hindered: Option<&'static str>,
}

impl From<ToolOutcome> for Ran {
    fn from(outcome: ToolOutcome) -> Self {
        Self {
            outcome,
            files: Vec::new(),
            details: None,
            hindered: None,
        }
    }
}

type Ended = Result<Result<ToolResult, ToolError>, JoinError>;

enum Stop {
    Cancelled,
    TimedOut(Duration),
}

/// Runs one call in its own task and returns the outcome. Dropping the future asks the tool to
/// stop.
pub async fn run(
    tool: Arc<dyn Tool>,
    id: ToolUseId,
    input: Value,
    ctx: ToolContext,
) -> ToolOutcome {
    run_in_full(tool, id, input, ctx).await.outcome
}

/// Runs a call like [`run`], and also returns the details that the model does not get. A call in
/// the background has its result once its process has started.
pub async fn run_in_full(
    tool: Arc<dyn Tool>,
    id: ToolUseId,
    input: Value,
    ctx: ToolContext,
) -> Ran {
    let wanted = tool.background(&input);
    let is_job = match wanted {
        Background::Never => false,
        Background::Possible => ctx.user.is_asked_about_jobs && !ctx.exec.is_planning,
        Background::Asked => true,
    };
    // What a trial showed needs no time.
    if is_job && ctx.exec.trial.is_none() {
        return background::run(wanted, tool, id, input, ctx).await;
    }
    with_notes(run_whole(tool, id, input, ctx).await)
}

/// Adds the notes to the outcome of a call.
fn with_notes((mut ran, notes): (Ran, Vec<String>)) -> Ran {
    let text = text_of(&mut ran.outcome);
    for note in notes {
        text.push_str("\n\n");
        text.push_str(&note);
    }
    ran
}

fn text_of(outcome: &mut ToolOutcome) -> &mut String {
    let (ToolOutcome::Done { content: text, .. }
    | ToolOutcome::Failed(text)
    | ToolOutcome::Cancelled(text)) = outcome;
    text
}

/// Runs a call with its checkpoint. Returns what happened, and notes for the model.
async fn run_whole(
    tool: Arc<dyn Tool>,
    id: ToolUseId,
    input: Value,
    ctx: ToolContext,
) -> (Ran, Vec<String>) {
    // What a trial showed is recorded like the change of an edit, and nothing runs. In plan mode,
    // nothing changes.
    if !tool.traits().runs_commands || ctx.exec.trial.is_some() || ctx.exec.is_planning {
        return run_to_end(tool, id, input, ctx).await;
    }
    // Not part of the call, whose time limit is the command's own.
    let checkpoint = CommandRun::begin(&ctx.files.recorder).await;
    let ran = run_to_end(tool, id, input, ctx).await;
    checkpoint.end().await;
    ran
}

async fn run_to_end(
    tool: Arc<dyn Tool>,
    id: ToolUseId,
    input: Value,
    mut ctx: ToolContext,
) -> (Ran, Vec<String>) {
    let cancelled_by_user = ctx.cancel.clone();
    // A child, so that a timeout stops the tool and not what else has the caller's token.
    ctx.cancel = ctx.cancel.child_token();
    let stop_tool = ctx.cancel.clone().drop_guard();
    let name = tool.name().to_owned();
    let limit = tool.deadline(&input, ctx.timeout);
    let job = ctx.exec.job.clone();
    let after = After::new(tool.as_ref(), &input, &mut ctx).await;
    // In a task of its own, so that a panic ends only the call.
    let mut task = tokio::spawn(async move { tool.execute(&id, input, ctx).await });
    let stop = tokio::select! {
        // Biased, so that a call that has ended is not reported as stopped.
        biased;
        ended = &mut task => return after.notes(ran(&name, ended, &Stop::Cancelled)).await,
        () = cancelled_by_user.cancelled() => Stop::Cancelled,
        () = time_up(limit, job) => Stop::TimedOut(limit),
    };
    // Cancels the tool's own token.
    drop(stop_tool);
    after.notes(give_up(&name, task, &stop).await).await
}

/// Waits until the time of a call is up; forever if it runs in the background.
async fn time_up(limit: Duration, job: Option<Arc<Job>>) {
    sleep(limit).await;
    if job.is_some_and(|it| it.is_in_background()) {
        pending::<()>().await;
    }
}

/// Data for the checks after a call, which explain what the sandbox withheld.
struct After {
    sandbox: Arc<Sandbox>,
    buffers: Arc<dyn OpenBuffers>,
    held: HeldCommands,
    /// Set for a tool that runs commands.
    command: Option<CommandNeeds>,
}

/// What a call's commands are restricted by, besides the limits of the chat.
#[derive(Default)]
struct HeldCommands {
    watch: Option<Watch>,
    /// The way to listed hosts, or why there is none.
    outlet: Option<io::Result<Arc<Outlet>>>,
}

/// The possible needs of a call's commands, according to its arguments.
struct CommandNeeds {
    variables: explain::HiddenVariables,
    sets_bits: bool,
    input: Value,
}

impl After {
    /// Collects what is known before the call. Starts the watch, which also restricts the
    /// sandbox in `ctx`, and gives that sandbox its outlet.
    async fn new(tool: &dyn Tool, input: &Value, ctx: &mut ToolContext) -> Self {
        let command = tool.traits().runs_commands.then(|| CommandNeeds {
            variables: explain::HiddenVariables::of(input),
            sets_bits: explain::sets_bits(input),
            input: input.clone(),
        });
        let (sandbox, buffers) = (ctx.files.sandbox.clone(), ctx.files.buffers.clone());
        let held = if command.is_some() && !sandbox.is_off() && ctx.exec.trial.is_none() {
            hold(ctx).await
        } else {
            HeldCommands::default()
        };
        Self {
            sandbox,
            buffers,
            held,
            command,
        }
    }

    /// Returns notes about what the sandbox withheld and what commands made although they may not.
    /// Replaces paths below the chat's own `/tmp` by the names that commands use.
    async fn notes(self, mut ran: Ran) -> (Ran, Vec<String>) {
        // Commands may have changed open files.
        self.buffers.check();
        let failed = !matches!(
            ran.outcome,
            ToolOutcome::Done {
                marked_failed: false,
                ..
            }
        );
        let text = text_of(&mut ran.outcome);
        *text = self.sandbox.named_inside(std::mem::take(text));
        for file in &mut ran.files {
            file.line = self.sandbox.named_inside(std::mem::take(&mut file.line));
        }
        let mut notes = self.needs(text, failed);
        notes.extend(self.sandbox_notes(text).await);
        (ran, notes)
    }

    /// Notes about variables and secrets that the commands may have needed.
    fn needs(&self, text: &str, failed: bool) -> Vec<String> {
        let Some(command) = &self.command else {
            return Vec::new();
        };
        let printed = failed.then_some(text);
        let variables = command.variables.note(printed);
        let secrets = self.held.watch.as_ref().and_then(|watch| {
            crate::sandbox::explain::note(watch.concealed(), watch.work(), &command.input, printed)
        });
        variables.into_iter().chain(secrets).collect()
    }

    /// Notes about what the sandbox refused and about files that the commands made.
    async fn sandbox_notes(self, text: &str) -> Vec<String> {
        let mut notes = match &self.held.outlet {
            Some(Ok(outlet)) => outlet.notes(),
            Some(Err(error)) => vec![format!(
                "[Network: no host could be reached, because the proxy did not start: {error}.]"
            )],
            None => Vec::new(),
        };
        let Some(watch) = self.held.watch else {
            return notes;
        };
        let sets_bits = self.command.is_some_and(|it| it.sets_bits);
        if sets_bits && text.contains(explain::BITS_REFUSED) && crate::sandbox::keeps_from_setuid()
        {
            notes.push(explain::BITS_NOTE.to_owned());
        }
        let missing = self
            .sandbox
            .limits()
            .map(|limits| limits.missing.as_slice());
        notes.extend(explain::notes(missing.unwrap_or_default(), text));
        let printed = text.to_owned();
        // Blocking, because both read the file system.
        let made = spawn_blocking(move || {
            let explained = watch.explain(&printed).into_iter();
            explained.chain(watch.end()).collect::<Vec<String>>()
        });
        notes.extend(made.await.unwrap_or_default());
        notes
    }
}

/// Looks for files that commands may not make, before they run, and opens the way to listed hosts.
/// Changes the sandbox in `ctx` accordingly.
async fn hold(ctx: &mut ToolContext) -> HeldCommands {
    // Spares a thread where there is no sandbox.
    if ctx.files.sandbox.lacking().is_some() {
        return HeldCommands::default();
    }
    let sandbox = ctx.files.sandbox.clone();
    let prepare = move || {
        // Without a watch, the chat's limits still apply.
        let (watched, watch) = sandbox.watch().unzip();
        let mut sandbox = watched.map_or(sandbox, Arc::new);
        let outlet = match sandbox.with_outlet(leash_program()).transpose() {
            Some(Ok((held, outlet))) => {
                sandbox = Arc::new(held);
                Some(Ok(outlet))
            }
            Some(Err(error)) => Some(Err(error)),
            None => None,
        };
        (sandbox, HeldCommands { watch, outlet })
    };
    let Ok((sandbox, held)) = spawn_blocking(prepare).await else {
        return HeldCommands::default();
    };
    ctx.files.sandbox = sandbox;
    held
}

/// Waits for a tool that was asked to stop, for at most [`GRACE`].
async fn give_up(
    name: &str,
    mut task: JoinHandle<Result<ToolResult, ToolError>>,
    stop: &Stop,
) -> Ran {
    match timeout(GRACE, &mut task).await {
        Ok(ended) => ran(name, ended, stop),
        Err(_) => {
            tracing::warn!(name, "a tool did not stop when asked and was dropped");
            task.abort();
            stopped(stop).into()
        }
    }
}

fn ran(name: &str, ended: Ended, stop: &Stop) -> Ran {
    match ended {
        // A call that finished counts as done, even if it was cancelled at the same moment.
        Ok(Ok(result)) => Ran {
            outcome: ToolOutcome::Done {
                content: result.content,
                marked_failed: result.marked_failed,
            },
            files: result.files,
            details: result.details,
            hindered: result.hindered,
        },
        Ok(Err(ToolError::Cancelled)) => stopped(stop).into(),
        // The tool cannot know whether the user or the time limit stopped it.
        Ok(Err(ToolError::CancelledAfter(output))) => match stopped(stop) {
            ToolOutcome::Failed(why) => ToolOutcome::Failed(format!("{output}\n\n{why}")),
            ToolOutcome::Cancelled(why) => ToolOutcome::Cancelled(format!("{output}\n\n{why}")),
            done @ ToolOutcome::Done { .. } => done,
        }
        .into(),
        Ok(Err(error)) => ToolOutcome::Failed(error.to_string()).into(),
        Err(error) => ToolOutcome::Failed(crashed(name, error)).into(),
    }
}

fn stopped(stop: &Stop) -> ToolOutcome {
    match stop {
        Stop::Cancelled => ToolOutcome::Cancelled(ToolError::Cancelled.to_string()),
        Stop::TimedOut(limit) => ToolOutcome::Failed(format!(
            "The tool was stopped after {} seconds, its time limit.",
            limit.as_secs_f64()
        )),
    }
}

fn crashed(name: &str, error: JoinError) -> String {
    let reason = match error.try_into_panic() {
        Ok(panic) => panic_text(panic.as_ref()),
        Err(error) => error.to_string(),
    };
    format!("The tool {name} crashed and gave no result: {reason}")
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason was given".to_owned())
}
