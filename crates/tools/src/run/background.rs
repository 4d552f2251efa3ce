//! Calls that run on after they have returned.

use std::sync::Arc;

use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Ran, run_whole, text_of, with_notes};
use crate::context::{Progress, ToolContext};
use crate::jobs::{Background, Job};
use crate::tool::Tool;

/// Runs a call in the background if its arguments ask for that, or if the user does at its time limit.
pub(super) async fn run(
    background: Background,
    tool: Arc<dyn Tool>,
    id: ToolUseId,
    input: Value,
    mut ctx: ToolContext,
) -> Ran {
    let is_asked = background == Background::Asked;
    if is_asked && ctx.exec.is_planning {
        return failed(
            "In plan mode, no background job can be started. Nothing was run. Commands without \
             \"background\" run.",
        );
    }
    // A job must not end with its call.
    let cancel = if is_asked {
        CancellationToken::new()
    } else {
        ctx.cancel.clone()
    };
    let title = tool.describe(&input).unwrap_or_default();
    let jobs = ctx.exec.jobs.clone();
    let ends = ctx.user.job_ends.clone();
    let job = Job::new(&jobs, &title, ctx.user.owner(), cancel, ends);
    let call = ctx.cancel.clone();
    ctx.exec.job = Some(job.clone());
    ctx.cancel = job.cancel.clone();
    if is_asked {
        if let Err(why) = job.detach(&jobs) {
            return failed(format!("{why} Nothing was run."));
        }
        // Its output is in its log.
        ctx.progress = Progress::default();
    }
    let mut running = Box::pin(run_whole(tool, id, input, ctx));
    tokio::select! {
        // Biased, so that a call that did not start, or has ended, gives its result.
        biased;
        ended = &mut running => {
            jobs.remove(&job);
            return with_notes(ended);
        }
        () = call.cancelled(), if is_asked => {
            job.cancel.cancel();
            let ended = running.await;
            jobs.remove(&job);
            return with_notes(ended);
        }
        () = job.wait_until_detached() => {}
    }
    let said = job.introduce(is_asked);
    tokio::spawn(async move {
        let (mut ran, notes) = running.await;
        let why = text_of(&mut ran.outcome);
        job.end(why.trim_end_matches('.'), notes);
    });
    Ran::from(ToolOutcome::Done {
        content: said,
        marked_failed: false,
    })
}

fn failed(why: impl Into<String>) -> Ran {
    ToolOutcome::Failed(why.into()).into()
}
