//! Runs one call so that it always ends with an outcome.
//!
//! Contains panics, gives up at the deadline, passes a cancel on and waits for
//! the tool to clean up. Knows no tool by name and decides nothing.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::Value;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};

use crate::context::ToolContext;
use crate::error::ToolError;
use crate::sandbox::{Sandbox, Watch, explain, lacking};
use crate::tool::{Tool, ToolResult};

/// How long a tool may take to clean up once it was asked to stop. Killing a
/// process tree takes up to a second by rule, so this is more.
const GRACE: Duration = Duration::from_secs(3);

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// What the model reads.
    pub outcome: ToolOutcome,
    /// What the tool has to say beyond that, when it was done.
    pub details: Option<Value>,
}

impl From<ToolOutcome> for Ran {
    fn from(outcome: ToolOutcome) -> Self {
        let details = None;
        Self { outcome, details }
    }
}

type Ended = Result<Result<ToolResult, ToolError>, JoinError>;

enum Stop {
    Cancelled,
    TimedOut(Duration),
}

/// Runs one call in a task of its own and reports how it ended.
///
/// Dropping the future asks the tool to stop.
pub async fn run(
    tool: Arc<dyn Tool>,
    id: ToolUseId,
    input: Value,
    ctx: ToolContext,
) -> ToolOutcome {
    run_in_full(tool, id, input, ctx).await.outcome
}

/// [`run`], with what the model does not read.
pub async fn run_in_full(
    tool: Arc<dyn Tool>,
    id: ToolUseId,
    input: Value,
    mut ctx: ToolContext,
) -> Ran {
    let cancelled_by_user = ctx.cancel.clone();
    ctx.cancel = ctx.cancel.child_token();
    let stop_tool = ctx.cancel.clone().drop_guard();
    let name = tool.name().to_owned();
    let limit = tool.deadline(&input, ctx.timeout);
    let lacks = tool.runs_commands().then(|| Lacks {
        variables: explain::Variables::of(&input),
        input: input.clone(),
    });
    let sets_bits = tool.runs_commands() && explain::sets_bits(&input);
    let watch = watch(tool.as_ref(), &mut ctx).await;
    let (buffers, sandbox) = (ctx.buffers.clone(), ctx.sandbox.clone());
    let mut task = tokio::spawn(async move { tool.execute(&id, input, ctx).await });
    let stop = tokio::select! {
        biased;
        ended = &mut task => {
            buffers.check();
            let ran = ran(&name, ended, &Stop::Cancelled);
            return noted(ran, watch, &sandbox, lacks, sets_bits).await;
        }
        () = cancelled_by_user.cancelled() => Stop::Cancelled,
        () = sleep(limit) => Stop::TimedOut(limit),
    };
    drop(stop_tool);
    let ran = give_up(&name, task, &stop).await;
    buffers.check();
    noted(ran, watch, &sandbox, lacks, sets_bits).await
}

/// What a call that runs commands may have lacked.
struct Lacks {
    variables: explain::Variables,
    /// Its arguments.
    input: Value,
}

/// Has what commands may not make looked for before they run.
async fn watch(tool: &dyn Tool, ctx: &mut ToolContext) -> Option<Watch> {
    if !tool.runs_commands() || ctx.sandbox.is_off() {
        return None;
    }
    let sandbox = ctx.sandbox.clone();
    let found = spawn_blocking(move || sandbox.watch()).await;
    let (held, watch) = found.ok().flatten()?;
    ctx.sandbox = Arc::new(held);
    Some(watch)
}

/// Adds what was made all the same, however the call ended, and what stood in its way.
/// Names below `/tmp` become those that commands use.
async fn noted(
    mut ran: Ran,
    watch: Option<Watch>,
    sandbox: &Sandbox,
    lacks: Option<Lacks>,
    sets_bits: bool,
) -> Ran {
    let failed = !matches!(
        ran.outcome,
        ToolOutcome::Done {
            marked_failed: false,
            ..
        }
    );
    let (ToolOutcome::Done { content: text, .. }
    | ToolOutcome::Failed(text)
    | ToolOutcome::Cancelled(text)) = &mut ran.outcome;
    *text = sandbox.named_inside(std::mem::take(text));
    if let Some(lacks) = lacks {
        let said = failed.then_some(text.as_str());
        let secrets = watch
            .as_ref()
            .and_then(|watch| lacking::note(watch.concealed(), watch.work(), &lacks.input, said));
        let notes = lacks.variables.note(said).into_iter().chain(secrets);
        for note in notes.collect::<Vec<String>>() {
            text.push_str("\n\n");
            text.push_str(&note);
        }
    }
    let Some(watch) = watch else { return ran };
    if sets_bits && text.contains(explain::BITS_REFUSED) && crate::sandbox::keeps_from_setuid() {
        text.push_str("\n\n");
        text.push_str(explain::BITS_NOTE);
    }
    let said = text.clone();
    let notes = spawn_blocking(move || {
        let explained = watch.explain(&said).into_iter();
        explained.chain(watch.end()).collect::<Vec<String>>()
    });
    let missing = sandbox.limits().map(|limits| limits.missing.as_slice());
    let missing = explain::notes(missing.unwrap_or_default(), text).collect::<Vec<String>>();
    for note in missing.into_iter().chain(notes.await.unwrap_or_default()) {
        text.push_str("\n\n");
        text.push_str(&note);
    }
    ran
}

/// Waits for a tool that was asked to stop, and no longer than [`GRACE`].
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
        // What was finished was finished, even when a cancel came in between.
        Ok(Ok(result)) => Ran {
            outcome: ToolOutcome::Done {
                content: result.content,
                marked_failed: result.marked_failed,
            },
            details: result.details,
        },
        Ok(Err(ToolError::Cancelled)) => stopped(stop).into(),
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
