//! `job_output` and `job_stop`, with which the model reads and stops the jobs of its chat.

use std::sync::Arc;
use std::time::Duration;

use chat::tool::ToolUseId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::builtin::{BuiltIn, TypedTool};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::jobs::{Job, JobOwner, Jobs, STOP_WITHIN, duration};
use crate::tool::{CallResult, ToolResult};

/// The tools of jobs, which are of no use without `bash`.
pub const JOB_TOOLS: [&str; 2] = ["job_output", "job_stop"];
/// Maximum time that `job_output` waits.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The parts of a call's environment that the tools of jobs touch.
pub(crate) struct OwnJobs {
    jobs: Jobs,
    owner: JobOwner,
    cancel: CancellationToken,
}

impl From<ToolContext> for OwnJobs {
    fn from(ctx: ToolContext) -> Self {
        Self {
            owner: ctx.user.owner(),
            jobs: ctx.exec.jobs,
            cancel: ctx.cancel,
        }
    }
}

impl OwnJobs {
    fn find(&self, name: &str) -> Result<Arc<Job>, ToolError> {
        self.jobs
            .find(name.trim(), &self.owner)
            .map_err(ToolError::Failed)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputArguments {
    /// The job's name, such as job-1a2b3.
    name: String,
    /// Most seconds to wait for new lines, 0 to 600. Null for not at all.
    wait: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StopArguments {
    /// The job's name, such as job-1a2b3.
    name: String,
}

/// The row of `job_output`.
pub(crate) const OUTPUT: BuiltIn = BuiltIn {
    // Its jobs were approved, and their output with them.
    harmless: true,
    ..BuiltIn::new(JOB_TOOLS[0], |_| Box::new(JobOutput))
};

/// The row of `job_stop`.
pub(crate) const STOP: BuiltIn = BuiltIn {
    harmless: true,
    ..BuiltIn::new(JOB_TOOLS[1], |_| Box::new(JobStop))
};

/// Reads the output of a job.
struct JobOutput;

/// Stops a job.
struct JobStop;

fn wait(seconds: Option<f64>) -> Duration {
    // `max` comes first because it also turns a NaN into the minimum.
    let most = LONGEST_WAIT.as_secs_f64();
    Duration::from_secs_f64(seconds.unwrap_or_default().max(0.0).min(most))
}

impl TypedTool for JobOutput {
    type Arguments = OutputArguments;
    type Needs = OwnJobs;

    const NAME: &'static str = JOB_TOOLS[0];
    const LABEL: &'static str = "Job output";
    const DESCRIPTION: &'static str = "Return what a background job of this chat has printed since the last call, in whole lines, \
        and whether it still runs or how it ended. With a wait, it returns as soon as there are new \
        lines and the job prints nothing for a second, when the job ends, or when the time is up.";
    const ENABLED: bool = true;
    const SLACK: Duration = Duration::from_secs(5);

    fn limit(&self, input: &Value, _default: Duration) -> Duration {
        wait(input["wait"].as_f64())
    }

    fn summary(&self, asked: &OutputArguments) -> Option<String> {
        let seconds = wait(asked.wait);
        let waits = if seconds.is_zero() {
            String::new()
        } else {
            format!("  up to {}", duration(seconds))
        };
        Some(format!("{}{waits}", asked.name))
    }

    async fn call(&self, asked: OutputArguments, _id: &ToolUseId, own: OwnJobs) -> CallResult {
        let job = own.find(&asked.name)?;
        tokio::select! {
            () = job.wait_for_lines(wait(asked.wait)) => {}
            () = own.cancel.cancelled() => return Err(ToolError::Cancelled),
        }
        Ok(ToolResult::text(job.report()))
    }
}

impl TypedTool for JobStop {
    type Arguments = StopArguments;
    type Needs = OwnJobs;

    const NAME: &'static str = JOB_TOOLS[1];
    const LABEL: &'static str = "Stop a job";
    const DESCRIPTION: &'static str = "Stop a background job of this chat, with all of its processes, and return what it has \
        printed since the last call of job_output.";
    const ENABLED: bool = true;

    fn limit(&self, _input: &Value, _default: Duration) -> Duration {
        2 * STOP_WITHIN
    }

    fn summary(&self, asked: &StopArguments) -> Option<String> {
        Some(asked.name.clone())
    }

    async fn call(&self, asked: StopArguments, _id: &ToolUseId, own: OwnJobs) -> CallResult {
        let job = own.find(&asked.name)?;
        job.ask_to_stop();
        job.wait_for_end(STOP_WITHIN).await;
        Ok(ToolResult::text(job.report()))
    }
}
