//! Runs one call of a script: starts its program, supervises it, and words the result.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use chat::tool::ToolUseId;
use platform::{exit_status, pipe};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;

use super::clock::Clock;
use super::job::{Job, JobEnd, Over};
use super::parameters;
use super::program::Program;
use super::wire::{ScriptMessage, Wire};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::output::{self, tail, within_limits};
use crate::process::{Launch, Piped, ProcessMark, child_environment};
use crate::sandbox::RETRIES;
use crate::tool::ToolResult;

/// The program that Python starts with.
const BEGIN: &str = include_str!("python/begin.py");
/// The programs that it then reads from the wire.
const START: &str = include_str!("python/start.py");
const MCP: &str = include_str!("python/mcp.py");
const AI: &str = include_str!("python/ai.py");

/// Maximum size in bytes of an argument that is also passed as a variable. A hundred of these
/// fit Linux's limit for an environment.
const LONGEST_VARIABLE: usize = 16 * 1024;

/// A script and its arguments.
pub(super) struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The program that runs the script.
    pub program: Program,
    /// The script.
    pub script: &'a Path,
    /// Folders in which Python looks for modules first.
    pub path: Vec<PathBuf>,
    /// The arguments, converted for the script.
    pub arguments: Map<String, Value>,
    /// The time limit.
    pub limit: Duration,
}

impl Call<'_> {
    /// Runs it to its end.
    ///
    /// # Errors
    ///
    /// It could not be started, failed, or was stopped.
    pub(super) async fn run(
        self,
        id: &ToolUseId,
        ctx: &ToolContext,
    ) -> Result<ToolResult, ToolError> {
        // The system reports it like a program that does not exist.
        if !ctx.cwd.is_dir() {
            return Err(ToolError::Failed(format!(
                "The working directory {} does not exist, so nothing was run.",
                ctx.cwd.display()
            )));
        }
        // One clock, so that starting again does not extend the limit.
        let clock = Clock::new(self.limit);
        let mut over = self.once(id, ctx, &clock).await?;
        // Repeated only if bubblewrap failed before the script started.
        for _ in 0..RETRIES {
            let JobEnd::Exited(status) = &over.end else {
                break;
            };
            let stderr = &over.stderr.text;
            // Output means that the script did run, so it must not run twice.
            if !over.stdout.text.is_empty() || !ctx.sandbox.is_failed_start(status.code(), stderr) {
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
        let stdin = Stdio::from(reader);
        let variables = variables(&self.arguments);
        let piped = self.start(id, ctx, stdin, &[self.script.as_os_str()], &variables)?;
        let mut writer = pipe::sender(writer).map_err(|error| self.not_started(&error))?;
        let arguments = format!("{}\n", Value::Object(self.arguments.clone()));
        let talk = async {
            // Fails if the script doesn't read its input.
            let _ = writer.write_all(arguments.as_bytes()).await;
            let _ = writer.flush().await;
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
        let mark = ProcessMark::new(id.as_str());
        // The script and its modules may be below `/tmp`.
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

/// Arguments as variables for shell scripts: `name` becomes `ARG_NAME`, text stays as it is, and
/// everything else is JSON. An argument that doesn't fit a variable is only in the JSON.
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
    let content = match (&over.end, &over.message) {
        (JobEnd::Cancelled, _) => return Err(ToolError::Cancelled),
        (JobEnd::TimedOut(limit), _) => Err(format!(
            "The script was stopped after {} seconds, its time limit.",
            limit.as_secs_f64()
        )),
        // What the script's code says counts more than how its process ended.
        (_, ScriptMessage::Failed(why)) => Err(why.clone()),
        (_, ScriptMessage::Done(Some(text))) => {
            Ok(within_limits(text.clone(), output::TextEnd::Head, tool, id, ctx).await)
        }
        (JobEnd::Exited(status), _) if status.success() => Ok(tail(&over.stdout)),
        (JobEnd::Exited(status), ScriptMessage::Done(None)) => {
            Err(format!("The script {}.", ended(*status)))
        }
        (JobEnd::Exited(status), ScriptMessage::Nothing) => {
            Err(format!("The script {} and gave no result.", ended(*status)))
        }
        (JobEnd::Unknown(error), _) => Err(format!(
            "The exit status of the script is unknown: {error}."
        )),
    };
    let stderr = &over.stderr.text;
    Ok(ToolResult {
        content: content.map_err(|why| failed(&why, &over))?,
        details: (!stderr.is_empty()).then(|| json!({"stderr": stderr})),
        ..ToolResult::default()
    })
}

/// The error of a failed script, with its output.
fn failed(why: &str, over: &Over) -> ToolError {
    let mut text = why.trim_end().to_owned();
    let outputs = [
        ("It printed", &over.stdout),
        ("Standard error", &over.stderr),
    ];
    for (title, output) in outputs {
        // The error may already quote the output.
        if !output.text.is_empty() && !why.contains(output.text.as_str()) {
            text.push_str(&format!("\n\n{title}:\n{}", tail(output)));
        }
    }
    ToolError::Failed(text)
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), exit_status::signal(status)) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended without an exit code".to_owned(),
    }
}
