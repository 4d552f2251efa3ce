//! Runs a command in a trial.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chat::tool::ToolUseId;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::supervise::{CommandEnd, Supervised};
use super::take::discard;
use super::{Arguments, HeldProcesses, check, start, time_limit};
use crate::checkpoints::changed_at;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::process::leash_program;
use crate::sandbox::{Sandbox, TrialView, ViewReport, Watch, view_report};
use crate::state_dir;
use crate::tool::{CallResult, ToolResult};
use crate::trial::{Ended, Layer, MOST_BYTES, Trial};

/// Trials that run at a time; the others wait.
static SLOTS: Semaphore = Semaphore::const_new(2);
/// Precedes the reason why a call can't be tried.
const UNTRIED: &str = "The call cannot be tried: ";
/// How often the size of a layer is checked.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A trial that is ready to start.
struct Prepared {
    layer: Layer,
    sandbox: Sandbox,
    /// Hides what commands may not read, until the trial ends.
    _watch: Option<Watch>,
    program: PathBuf,
}

/// Runs a command in a trial once one of few slots is free. Nothing outside of it changes.
///
/// # Errors
///
/// The project can't be tried, or the user cancelled the trial.
pub(super) async fn attempt(
    arguments: Arguments,
    id: &ToolUseId,
    ctx: ToolContext,
) -> Result<Trial, ToolError> {
    check(&arguments.command)?;
    if arguments.background == Some(true) {
        return Err(ToolError::cannot_be_tried());
    }
    let _slot = tokio::select! {
        slot = SLOTS.acquire() => slot,
        () = ctx.cancel.cancelled() => return Err(ToolError::Cancelled),
    };
    run(arguments, id, ctx).await
}

/// Runs the command of a call in plan mode: in a trial, whose changes are discarded.
///
/// # Errors
///
/// As [`attempt`].
pub(super) async fn plan(arguments: Arguments, id: &ToolUseId, ctx: ToolContext) -> CallResult {
    // Without a slot: its time limit is running, and `tools.max_concurrent` bounds the calls.
    match run(arguments, id, ctx).await {
        Ok(trial) => Ok(discard(&trial)),
        Err(ToolError::Failed(why)) => Err(ToolError::Failed(format!(
            "In plan mode, commands run only in a trial. {why}"
        ))),
        Err(error) => Err(error),
    }
}

async fn run(
    arguments: Arguments,
    id: &ToolUseId,
    mut ctx: ToolContext,
) -> Result<Trial, ToolError> {
    let limit = time_limit(arguments.timeout, ctx.timeout);
    let sandbox = ctx.files.sandbox.clone();
    let shown = ctx
        .exec
        .is_unasked
        .then(|| ctx.exec.bash.trial_home.clone());
    let prepared = blocking_clause(move || prepare(&sandbox, shown.as_deref())).await?;
    let cwd = ctx
        .exec
        .bash
        .cwd
        .clone()
        .unwrap_or_else(|| ctx.files.cwd.clone());
    let view = TrialView {
        program: &prepared.program,
        layer: prepared.layer.path(),
        bytes: MOST_BYTES,
        cwd: &cwd,
    };
    let prefix = prepared
        .sandbox
        .view_prefix(&view, &prepared.layer.overlays)
        .map_err(ToolError::Failed)?;
    let held = HeldProcesses {
        sandbox: Arc::new(prepared.sandbox.clone()),
        reading: None,
        trial: Some(prefix),
    };
    let cancelled_by_user = ctx.cancel.clone();
    ctx.cancel = cancelled_by_user.child_token();
    let since = Instant::now();
    let running = start(id, &arguments.command, &ctx, &held, false)?;
    let watched = watch(prepared.layer.uppers(), ctx.cancel.clone());
    let supervised = Supervised::new(running, id, &ctx).run(limit);
    let watcher = tokio::spawn(watched);
    let report = supervised.await;
    watcher.abort();
    let is_too_large = ctx.cancel.is_cancelled() && !cancelled_by_user.is_cancelled();
    if cancelled_by_user.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    if report.is_not_started(&prepared.sandbox) {
        return Err(ToolError::Failed(format!(
            "{UNTRIED}the sandbox could not be set up: {}.",
            report.captured.text.trim()
        )));
    }
    let (code, timed_out) = match &report.end {
        CommandEnd::Exited(status) => (status.code(), None),
        CommandEnd::TimedOut(limit) => (None, Some(*limit)),
        CommandEnd::Cancelled | CommandEnd::Unknown(_) => (None, None),
    };
    let result = match report.into_result() {
        Ok(result) => result,
        Err(error) => ToolResult {
            marked_failed: true,
            ..ToolResult::text(error.to_string())
        },
    };
    let took = since.elapsed();
    blocking_clause(move || {
        let started = changed_at(&TrialView::start(prepared.layer.path()));
        let file = TrialView::report(prepared.layer.path());
        let refused = match view_report(&file) {
            Some(ViewReport::Ran(refused)) => refused,
            Some(ViewReport::Failed(why)) => return Err(why),
            // It was stopped.
            None if timed_out.is_some() || is_too_large => 0,
            None => return Err("the view ended early".to_owned()),
        };
        let ended = Ended {
            output: result.content,
            details: result.details,
            is_marked_failed: result.marked_failed,
            code,
            timed_out,
            is_too_large,
            refused,
            started: started.map_err(|error| error.to_string())?,
            took,
        };
        let read = prepared.layer.read(ended, &prepared.sandbox, cwd);
        read.map_err(|error| error.to_string())
    })
    .await
}

/// Tries a command that does nothing in `cwd`. Returns why the project can't be tried, a clause.
/// `None` if it can.
pub async fn why_untried(sandbox: Arc<Sandbox>, cwd: PathBuf) -> Option<String> {
    let mut ctx = ToolContext::new(cwd, state_dir::path().join("outputs"));
    ctx.files.sandbox = sandbox;
    let nothing = Arguments {
        label: String::new(),
        command: ":".to_owned(),
        timeout: None,
        background: None,
    };
    let tried = attempt(nothing, &ToolUseId::new("probe"), ctx).await;
    let why = tried.err()?.to_string();
    let clause = why.strip_prefix(UNTRIED).unwrap_or(&why);
    Some(clause.trim_end_matches('.').to_owned())
}

fn prepare(sandbox: &Sandbox, shown: Option<&[PathBuf]>) -> Result<Prepared, String> {
    let sandbox = sandbox
        .trial(shown)
        .ok_or("bubblewrap does not work here")?;
    let program = leash_program().ok_or("the program for views is missing")?;
    let (sandbox, watch) = match sandbox.watch() {
        Some((held, watch)) => (held, Some(watch)),
        None => (sandbox, None),
    };
    Ok(Prepared {
        layer: Layer::make(&sandbox, shown.is_some())?,
        sandbox,
        _watch: watch,
        program,
    })
}

/// Runs `work`, which may block, and completes the clause that it fails with.
async fn blocking_clause<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, ToolError> {
    let done = spawn_blocking(work).await;
    let done = done.map_err(|error| ToolError::Failed(error.to_string()))?;
    done.map_err(|why| ToolError::Failed(format!("{UNTRIED}{why}.")))
}

/// Stops a trial that writes too much.
async fn watch(uppers: Vec<PathBuf>, stop: CancellationToken) {
    loop {
        sleep(LOOK_EVERY).await;
        let uppers = uppers.clone();
        if let Ok(true) = spawn_blocking(move || Layer::is_too_large(&uppers)).await {
            return stop.cancel();
        }
    }
}
