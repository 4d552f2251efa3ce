//! Runs one call of a script: starts its program, supervises it, and words the result.

use std::ffi::OsString;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chat::tool::{ToolOutcome, ToolUseId};
use platform::{exit_status, pipe};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep};

use super::Program;
use super::supervise::{Over, ScriptEnd, Supervised};
use super::wire::{ScriptMessage, Wire};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::models::ModelRequest;
use crate::output::{self, tail, within_limits};
use crate::process::{Launch, Piped, ProcessMark, child_environment};
use crate::sandbox::RETRIES;
use crate::search::{SearchEntry, search};
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
        if !ctx.files.cwd.is_dir() {
            return Err(ToolError::Failed(format!(
                "The working directory {} does not exist, so nothing was run.",
                ctx.files.cwd.display()
            )));
        }
        // One clock, so that starting again does not extend the limit.
        let clock = Clock::new(self.limit);
        let mut over = self.once(id, ctx, &clock).await?;
        // Repeated only if bubblewrap failed before the script started.
        for _ in 0..RETRIES {
            let ScriptEnd::Exited(status) = &over.end else {
                break;
            };
            let stderr = &over.stderr.text;
            // Output means that the script did run, so it must not run twice.
            if !over.stdout.text.is_empty()
                || !ctx.files.sandbox.is_failed_start(status.code(), stderr)
            {
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
        let running = Supervised::new(piped, ctx, self.tool, id.as_str());
        Ok(running
            .run(ctx, clock, wire.serve(&start, ctx, clock))
            .await)
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
        let running = Supervised::new(piped, ctx, self.tool, id.as_str());
        Ok(running.run(ctx, clock, talk).await)
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
        let prefix = ctx.files.sandbox.prefix(&ctx.files.cwd, &needed);
        let prefix = prefix.map_err(ToolError::Failed)?;
        let own = self.program.arguments.iter().map(OsString::from);
        let launch = Launch {
            prefix,
            program: &self.program.name,
            arguments: own.chain(last.iter().map(OsString::from)).collect(),
            cwd: &ctx.files.cwd,
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
            (super::manifest::variable(name), text)
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
        (ScriptEnd::Cancelled, _) => return Err(ToolError::Cancelled),
        (ScriptEnd::TimedOut(limit), _) => Err(format!(
            "The script was stopped after {} seconds, its time limit.",
            limit.as_secs_f64()
        )),
        // What the script's code says counts more than how its process ended.
        (_, ScriptMessage::Failed(why)) => Err(why.clone()),
        (_, ScriptMessage::Done(Some(text))) => {
            Ok(within_limits(text.clone(), output::TextEnd::Head, tool, id, ctx).await)
        }
        (ScriptEnd::Exited(status), _) if status.success() => Ok(tail(&over.stdout)),
        (ScriptEnd::Exited(status), ScriptMessage::Done(None)) => {
            Err(format!("The script {}.", ended(*status)))
        }
        (ScriptEnd::Exited(status), ScriptMessage::Nothing) => {
            Err(format!("The script {} and gave no result.", ended(*status)))
        }
        (ScriptEnd::Unknown(error), _) => Err(format!(
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

// The time limit of a script. Time that it waits for a model or another tool doesn't count,
// because those have limits of their own.

/// Maximum total time that one call may wait for others.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// Measures the time of a call.
pub(super) struct Clock {
    limit: Duration,
    begun: Instant,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// The total of the waits that have ended.
    total: Duration,
    /// The start of the current wait.
    since: Option<Instant>,
}

impl Clock {
    /// Starts the clock.
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            begun: Instant::now(),
            waiting: Mutex::default(),
        }
    }

    /// The time limit.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// Waits until the limit is reached.
    pub(super) async fn up(&self) {
        loop {
            let left = self.left();
            if left.is_zero() {
                return;
            }
            // Checked again afterwards, because a wait in the meantime extends the time.
            sleep(left).await;
        }
    }

    /// Does work during which the script waits.
    pub(super) async fn pause<T>(&self, work: impl Future<Output = T>) -> T {
        self.waiting().since = Some(Instant::now());
        let done = work.await;
        let mut waiting = self.waiting();
        if let Some(since) = waiting.since.take() {
            waiting.total += since.elapsed();
        }
        done
    }

    fn left(&self) -> Duration {
        let waiting = self.waiting();
        let now = waiting
            .since
            .map_or(Duration::ZERO, |since| since.elapsed());
        let waited = (waiting.total + now).min(LONGEST_WAIT);
        (self.limit + waited).saturating_sub(self.begun.elapsed())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// Requests of a running script: calls of other tools, and completions.
//
// This module only forwards them. [`crate::Nested`] and [`crate::Models`] decide whether they
// are allowed.

/// A request of a script.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// The list of tools.
    List(#[expect(dead_code, reason = "it is always true")] bool),
    /// The tools that match a query.
    Search(String),
    /// A call of a tool.
    Call {
        /// The tool's name.
        name: String,
        /// The arguments.
        arguments: Value,
    },
    /// A completion of a model.
    Completion(ModelRequest),
}

/// Returns the response to a request, or the reason for its failure.
pub(super) async fn answer(request: Request, ctx: &ToolContext) -> Result<String, String> {
    match request {
        Request::List(_) => {
            let tools = ctx.exec.nested.tools().into_iter();
            let tools = tools.map(|it| json!({"name": it.name, "description": it.description}));
            Ok(Value::Array(tools.collect()).to_string())
        }
        Request::Search(query) => {
            let tools = ctx.exec.nested.tools();
            let hits = search(&query, tools.iter().map(SearchEntry::from)).into_iter();
            let hits = hits.map(|hit| {
                let description = &tools[hit.at].description;
                json!({"name": hit.name, "description": description, "score": hit.score})
            });
            Ok(Value::Array(hits.collect()).to_string())
        }
        Request::Call { name, arguments } => {
            match ctx.exec.nested.call(&name, arguments, &ctx.cancel).await {
                // A command that exits with an error code has a result as well.
                ToolOutcome::Done { content, .. } => Ok(content),
                ToolOutcome::Failed(why) | ToolOutcome::Cancelled(why) => Err(why),
            }
        }
        Request::Completion(asked) => {
            asked.check()?;
            ctx.exec
                .models
                .complete(asked, ctx.exec.nested.clone(), &ctx.cancel)
                .await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waiting_does_not_count_against_the_limit() {
        let begun = Instant::now();
        let clock = Clock::new(Duration::from_secs(10));
        let work = async {
            sleep(Duration::from_secs(4)).await;
            clock.pause(sleep(Duration::from_secs(60))).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = clock.up() => {}
            () = work => {}
        }
        assert_eq!(begun.elapsed().as_secs(), 70);
    }
}
