//! The `bash` tool: one command, its output and how it ended.
//!
//! Checks the arguments and starts the command. `job` follows and stops it, `report`
//! words the result.

mod job;
mod report;

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::process::{Command, Mark, Running, child_environment};
use crate::schema;
use crate::tool::{BashOptions, Tool, ToolContext, ToolError, ToolResult};
use job::Job;

/// Shortest and longest time limit that a call may ask for, in seconds.
const TIMEOUT_RANGE: (f64, f64) = (1.0, 3600.0);
/// Longest command in bytes: Linux takes no longer argument (MAX_ARG_STRLEN, with its NUL).
const MAX_COMMAND: usize = 128 * 1024 - 1;
/// On top of a call's time limit before anybody else gives it up: ending a tree of
/// processes takes time.
const SLACK: Duration = Duration::from_secs(5);

/// Runs a command in a shell.
pub(crate) struct Bash;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What the command is for, in a few words. The user reads it before allowing the call.
    #[serde(default, rename = "label")]
    _label: String,
    /// The command, passed to `bash -c`. It may have several lines.
    command: String,
    /// Seconds after which the command is stopped, 1 to 3600. Null for the default of 30.
    timeout: Option<f64>,
}

#[async_trait]
impl Tool for Bash {
    fn name(&self) -> &str {
        "bash"
    }

    fn label(&self) -> &str {
        "Bash"
    }

    fn description(&self) -> &str {
        "Run a shell command in the working directory and return what it prints, standard output \
         and standard error together. A non-zero exit code is reported in the text. There is no \
         terminal and no input: commands that ask or page do not work. Background processes are \
         stopped when the command ends. Of long output only the end is returned (2000 lines or \
         50 KB), with the path of a file that has all of it."
    }

    fn input_schema(&self) -> Value {
        schema::strict::<Arguments>()
    }

    fn strict(&self) -> bool {
        true
    }

    fn runs_commands(&self) -> bool {
        true
    }

    fn deadline(&self, input: &Value, default: Duration) -> Duration {
        time_limit(input["timeout"].as_f64(), default) + SLACK
    }

    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let arguments: Arguments = schema::arguments(self.name(), input)?;
        check(&arguments.command)?;
        let limit = time_limit(arguments.timeout, ctx.timeout);
        let running = start(id, &arguments.command, &ctx)?;
        Job::new(running, id, &ctx).run(limit).await.into_result()
    }
}

/// Refuses what no shell could run.
fn check(command: &str) -> Result<(), ToolError> {
    let problem = if command.trim().is_empty() {
        "The command is empty. Nothing was run."
    } else if command.contains('\0') {
        "The command contains a NUL character, which no shell takes. Nothing was run."
    } else if command.len() > MAX_COMMAND {
        "The command is longer than 128 KB. Write it to a file and run that. Nothing was run."
    } else {
        return Ok(());
    };
    Err(ToolError::InvalidInput(problem.to_owned()))
}

fn time_limit(seconds: Option<f64>, default: Duration) -> Duration {
    let (least, most) = TIMEOUT_RANGE;
    // `max` first: it also turns a NaN into the least.
    seconds.map_or(default, |seconds| {
        Duration::from_secs_f64(seconds.max(least).min(most))
    })
}

fn start(id: &ToolUseId, script: &str, ctx: &ToolContext) -> Result<Running, ToolError> {
    let BashOptions { shell, cwd, env } = &ctx.bash;
    let shell = shell.as_deref().unwrap_or("bash");
    let cwd: &Path = cwd.as_ref().unwrap_or(&ctx.cwd);
    if !cwd.is_dir() {
        return Err(ToolError::Failed(format!(
            "The working directory {} does not exist, so nothing was run.",
            cwd.display()
        )));
    }
    let mark = Mark::new(id.as_str());
    let environment = child_environment(std::env::vars_os(), env, &mark);
    let prefix = ctx.sandbox.prefix(cwd).map_err(ToolError::Failed)?;
    let command = Command {
        prefix,
        shell,
        script,
        cwd,
        environment,
    };
    Running::start(command, &mark).map_err(|error| {
        ToolError::Failed(format!(
            "The shell {shell:?} could not be started: {error}. Nothing was run; the user can \
             set tools.bash.shell."
        ))
    })
}
