//! One call of a script: starts its program, follows it, and words the result.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use chat::tool::ToolUseId;
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;

use super::clock::Clock;
use super::job::{Job, JobEnd, Over};
use super::parameters;
use super::program::Program;
use super::wire::{ScriptMessage, Wire};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::output::{self, Captured, tail, within_limits};
use crate::process::{Launch, Mark, Piped, child_environment};
use crate::sandbox::RETRIES;
use crate::tool::ToolResult;

/// What a Python runs first.
const BEGIN: &str = include_str!("python/begin.py");
/// What comes over the wire then.
const START: &str = include_str!("python/start.py");
const MCP: &str = include_str!("python/mcp.py");
const AI: &str = include_str!("python/ai.py");

/// Longest argument that is a variable as well, in bytes: a hundred parameters of this
/// length still fit what Linux lets an environment hold.
const LONGEST_VARIABLE: usize = 16 * 1024;

/// A script, and what it is called with.
pub(super) struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// What runs the script.
    pub program: Program,
    /// The script.
    pub script: &'a Path,
    /// Where a Python looks for modules first.
    pub path: Vec<PathBuf>,
    /// The arguments, as the script sees them.
    pub arguments: Map<String, Value>,
    /// How long it may take.
    pub limit: Duration,
}

impl Call<'_> {
    /// Runs it to its end.
    ///
    /// # Errors
    ///
    /// It could not be started, it failed, or it was stopped.
    pub(super) async fn run(
        self,
        id: &ToolUseId,
        ctx: &ToolContext,
    ) -> Result<ToolResult, ToolError> {
        if !ctx.cwd.is_dir() {
            return Err(ToolError::Failed(format!(
                "The working directory {} does not exist, so nothing was run.",
                ctx.cwd.display()
            )));
        }
        let clock = Clock::new(self.limit);
        let mut over = self.once(id, ctx, &clock).await?;
        for _ in 0..RETRIES {
            let JobEnd::Exited(status) = &over.end else {
                break;
            };
            let said = &over.complained.text;
            if !over.printed.text.is_empty() || !ctx.sandbox.is_failed_start(status.code(), said) {
                break;
            }
            over = self.once(id, ctx, &clock).await?;
        }
        report(over, self.tool, id, ctx).await
    }

    async fn once(
        &self,
        id: &ToolUseId,
        ctx: &ToolContext,
        clock: &Clock,
    ) -> Result<Over, ToolError> {
        if self.program.is_python {
            self.python(id, ctx, clock).await
        } else {
            self.other(id, ctx, clock).await
        }
    }

    async fn python(
        &self,
        id: &ToolUseId,
        ctx: &ToolContext,
        clock: &Clock,
    ) -> Result<Over, ToolError> {
        let (wire, stdin) = Wire::new().map_err(|error| self.not_started(&error))?;
        let piped = self.start(id, ctx, stdin, &["-c".as_ref(), BEGIN.as_ref()], &[])?;
        let start = json!({
            "program": START,
            "mcp": MCP,
            "ai": AI,
            "arguments": self.arguments,
            "script": self.script.to_string_lossy(),
            "path": self.path.iter().map(|it| it.to_string_lossy()).collect::<Vec<_>>(),
        });
        let job = Job::new(piped, ctx, self.tool, id.as_str());
        Ok(job.run(ctx, clock, wire.serve(&start, ctx, clock)).await)
    }

    async fn other(
        &self,
        id: &ToolUseId,
        ctx: &ToolContext,
        clock: &Clock,
    ) -> Result<Over, ToolError> {
        let (reader, writer) = std::io::pipe().map_err(|error| self.not_started(&error))?;
        let stdin = Stdio::from(OwnedFd::from(reader));
        let variables = variables(&self.arguments);
        let piped = self.start(id, ctx, stdin, &[self.script.as_os_str()], &variables)?;
        let writer = pipe::Sender::from_owned_fd(OwnedFd::from(writer));
        let mut writer = writer.map_err(|error| self.not_started(&error))?;
        let arguments = format!("{}\n", Value::Object(self.arguments.clone()));
        let talk = async {
            // A script that takes no arguments reads none.
            let _ = writer.write_all(arguments.as_bytes()).await;
            drop(writer);
            ScriptMessage::Nothing
        };
        let job = Job::new(piped, ctx, self.tool, id.as_str());
        Ok(job.run(ctx, clock, talk).await)
    }

    fn start(
        &self,
        id: &ToolUseId,
        ctx: &ToolContext,
        stdin: Stdio,
        last: &[&std::ffi::OsStr],
        variables: &[(String, String)],
    ) -> Result<Piped, ToolError> {
        let mark = Mark::new(id.as_str());
        // The script may be in a folder below `/tmp`, with modules beside it.
        let folder = self.script.parent().unwrap_or(self.script);
        let modules = self.path.iter().map(PathBuf::as_path);
        let needed: Vec<&Path> = modules.chain([folder]).collect();
        let prefix = ctx.sandbox.prefix(&ctx.cwd, &needed);
        let prefix = prefix.map_err(ToolError::Failed)?;
        let own = self.program.arguments.iter().map(OsString::from);
        let launch = Launch {
            prefix,
            program: &self.program.name,
            arguments: own.chain(last.iter().map(OsString::from)).collect(),
            cwd: &ctx.cwd,
            environment: child_environment(crate::variables(), variables, &mark),
            stdin,
        };
        Piped::start(launch, &mark).map_err(|error| self.not_started(&error))
    }

    fn not_started(&self, error: &std::io::Error) -> ToolError {
        let advice = if self.program.name == "python3" {
            "Is Python 3 installed? The first line of the script may name another, as #!/path/to/python3."
        } else {
            "The first line of the script names it."
        };
        ToolError::Failed(format!(
            "{:?}, which runs the script, could not be started: {error}. Nothing was run. {advice}",
            self.program.name
        ))
    }
}

/// Arguments as a shell reads them most easily: `name` is `ARG_NAME`, text as it is and
/// anything else as JSON. What an environment cannot hold is only in the JSON.
fn variables(arguments: &Map<String, Value>) -> Vec<(String, String)> {
    let fits = |value: &String| value.len() <= LONGEST_VARIABLE && !value.contains('\0');
    let mut all: Vec<_> = arguments
        .iter()
        .map(|(name, value)| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            (parameters::variable(name), text)
        })
        .collect();
    all.retain(|(_, value)| fits(value));
    all
}

/// Words the result.
async fn report(
    over: Over,
    tool: &str,
    id: &ToolUseId,
    ctx: &ToolContext,
) -> Result<ToolResult, ToolError> {
    let details =
        (!over.complained.text.is_empty()).then(|| json!({"stderr": over.complained.text}));
    match (&over.end, &over.said) {
        (JobEnd::Cancelled, _) => Err(ToolError::Cancelled),
        (JobEnd::TimedOut(limit), _) => Err(failed(
            &format!(
                "The script was stopped after {} seconds, its time limit.",
                limit.as_secs_f64()
            ),
            &over,
        )),
        (_, ScriptMessage::Failed(why)) => Err(failed(why, &over)),
        (_, ScriptMessage::Done(Some(text))) => {
            let content = within_limits(text.clone(), output::TextEnd::Head, tool, id, ctx).await;
            Ok(ToolResult {
                content,
                details,
                marked_failed: false,
            })
        }
        (JobEnd::Exited(status), _) if status.success() => Ok(ToolResult {
            content: tail(&over.printed),
            details,
            marked_failed: false,
        }),
        (JobEnd::Exited(status), ScriptMessage::Done(None)) => {
            Err(failed(&format!("The script {}.", ended(*status)), &over))
        }
        (JobEnd::Exited(status), ScriptMessage::Nothing) => Err(failed(
            &format!("The script {} and gave no result.", ended(*status)),
            &over,
        )),
        (JobEnd::Unknown(error), _) => Err(failed(
            &format!("How the script ended is not known: {error}."),
            &over,
        )),
    }
}

/// What went wrong, and what there is to look at.
fn failed(why: &str, over: &Over) -> ToolError {
    let mut text = why.trim_end().to_owned();
    for (title, output) in [
        ("It printed", &over.printed),
        ("Standard error", &over.complained),
    ] {
        // What the program wrote about itself may be told already.
        if !output.text.is_empty() && !why.contains(output.text.as_str()) {
            text.push_str(&format!("\n\n{title}:\n{}", shown(output)));
        }
    }
    ToolError::Failed(text)
}

fn shown(output: &Captured) -> String {
    tail(output)
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended without an exit code".to_owned(),
    }
}
