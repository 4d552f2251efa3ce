//! The `bash` tool: runs one command and returns its output and exit status.
//!
//! Checks the arguments and starts the command. `supervise` supervises it and words the result. `attempt`
//! tries it, and `take` makes the changes of a trial.

mod attempt;
mod supervise;
mod take;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chat::tool::ToolUseId;
use platform::paths::canonicalize;
use platform::programs::SHELL_ADVICE;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub use self::attempt::why_untried;
use self::supervise::Supervised;
use crate::alias::{Alias, text};
use crate::builtin::{BuiltIn, TypedTool};
use crate::context::{BashOptions, Confinement, ToolContext};
use crate::error::ToolError;
use crate::files::resolve;
use crate::jobs::{Background, IN_BACKGROUND};
use crate::process::{Command, ProcessMark, Running, child_environment};
use crate::proposal::Proposal;
use crate::sandbox::{RETRIES, Sandbox};
use crate::schema;
use crate::shell::{self, Machine, Needs};
use crate::tool::{CallResult, ProposalResult, ToolResult};
use crate::trial::{SIGNS, Trial};

/// Minimum and maximum time limit of a call, in seconds.
const TIMEOUT_RANGE: (f64, f64) = (1.0, 3600.0);
/// Maximum length of a command in bytes: Linux's limit for one argument (MAX_ARG_STRLEN, minus
/// the NUL).
const MAX_COMMAND: usize = 128 * 1024 - 1;

/// Added to the result of a command that runs `apply_patch`.
const NO_PROGRAM: &str = "\n\n[apply_patch is a tool, not a program. Call it as a tool if you have it; otherwise use edit.]";

/// Runs a command in a shell.
pub(crate) struct Bash;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What the command is for, in a few words. The user reads it before allowing the call.
    #[serde(default)]
    label: String,
    /// The command, passed to `bash -c`. It may have several lines.
    command: String,
    /// Seconds after which the command is stopped, 1 to 3600. Null for the default of 120, or for
    /// none in the background.
    timeout: Option<f64>,
    /// True to return at once with the name of a job, while the command runs on: for servers, and for
    /// builds that take minutes. Null for false.
    #[serde(default)]
    background: Option<bool>,
}

/// The row of `bash`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    alias: Some(("shell", |_| Box::new(shell()))),
    ..BuiltIn::new("bash", |_| Box::new(Bash))
};

impl TypedTool for Bash {
    type Arguments = Arguments;
    type Needs = ToolContext;

    const NAME: &'static str = "bash";
    const LABEL: &'static str = "Bash";
    const DESCRIPTION: &'static str = "Run a shell command in the working directory and return what it prints, standard output \
        and standard error together. A non-zero exit code is reported in the text. There is no \
        terminal and no input: commands that ask or page do not work. Background processes are \
        stopped when the command ends, unless background is true. Of long output only the end is returned (2000 lines or \
        50 KB), with the path of a file that has all of it.";
    const ENABLED: bool = true;
    const RUNS_COMMANDS: bool = true;
    const CAN_BE_TRIED: bool = true;
    /// Ending a process tree takes time.
    const SLACK: Duration = Duration::from_secs(5);

    fn limit(&self, input: &Value, default: Duration) -> Duration {
        time_limit(input["timeout"].as_f64(), default)
    }

    fn background(&self, input: &Value) -> Background {
        match input["background"].as_bool() {
            Some(true) => Background::Asked,
            _ => Background::Possible,
        }
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let is_background = asked.background == Some(true);
        Some(format!(
            "{}$ {}{}",
            if is_background { IN_BACKGROUND } else { "" },
            asked.command,
            crate::builtin::label(&asked.label)
        ))
    }

    async fn plan(&self, _arguments: Arguments, ctx: ToolContext) -> ProposalResult {
        // A command does not say what it changes; its trial has shown it.
        Ok(ctx.exec.trial.as_ref().map(|it| Proposal {
            files: it.files.clone(),
        }))
    }

    async fn attempt(
        &self,
        arguments: Arguments,
        id: &ToolUseId,
        ctx: ToolContext,
    ) -> Result<Trial, ToolError> {
        attempt::attempt(arguments, id, ctx).await
    }

    async fn call(&self, arguments: Arguments, id: &ToolUseId, ctx: ToolContext) -> CallResult {
        check(&arguments.command)?;
        if let Some(trial) = &ctx.exec.trial {
            return if ctx.exec.is_planning {
                Ok(take::discard(trial))
            } else {
                take::take(trial, &ctx).await
            };
        }
        let job = ctx.exec.job.as_ref();
        let is_background = job.is_some_and(|it| it.is_in_background());
        let default = if is_background {
            Duration::MAX
        } else {
            ctx.timeout
        };
        let limit = time_limit(arguments.timeout, default);
        let held = hold(&arguments.command, &ctx).await?;
        if ctx.exec.is_planning && held.reading.is_none() {
            return attempt::plan(arguments, id, ctx).await;
        }
        let mut report = None;
        // Repeated only if bubblewrap failed before the command started.
        for _ in 0..=RETRIES {
            let running = start(id, &arguments.command, &ctx, &held, is_background)?;
            let ended = Supervised::new(running, id, &ctx).run(limit).await;
            if !report.insert(ended).is_not_started(&held.sandbox) {
                break;
            }
        }
        // The loop runs at least once, so there is a report.
        let report = report.ok_or(ToolError::Cancelled)?;
        let mut result = report.into_result()?;
        if let Some(needs) = &held.reading
            && held.sandbox.can_hold_reading()
        {
            explain(&mut result, needs, &ctx.files.sandbox);
        }
        // Models that are trained on it look for it in the shell.
        if result.marked_failed
            && ["apply_patch: command not found", "apply_patch: not found"]
                .iter()
                .any(|it| result.content.contains(it))
        {
            result.content.push_str(NO_PROGRAM);
        }
        if !result.marked_failed {
            let cwd = ctx.exec.bash.cwd.as_deref().unwrap_or(&ctx.files.cwd);
            take::remember(&arguments.command, cwd, &result.content, &ctx).await;
        }
        Ok(result)
    }
}

/// The alias `shell`, whose calls may name a folder.
fn shell() -> Alias {
    let properties = json!({
        "command": {"type": "string", "description": "The command."},
        "working_dir": {"type": ["string", "null"], "description": "The folder it runs in."},
    });
    Alias {
        name: "shell",
        label: "Shell",
        description: "Run a shell command and return what it prints.",
        schema: schema::object(&properties, &["command"]),
        tool: |_| Arc::new(Bash),
        translate: |input, ctx| {
            if let Some(folder) = input["working_dir"].as_str() {
                ctx.files.cwd = ctx.files.sandbox.outside(&resolve(&ctx.files.cwd, folder)?);
                // The folder of the call precedes that of the option.
                ctx.exec.bash.cwd = None;
            }
            let command = text("command", input)?;
            Ok(json!({"label": "", "command": command, "timeout": null, "background": null}))
        },
    }
}

/// Refuses commands that no shell could run.
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
    // `max` comes first because it also turns a NaN into the minimum.
    seconds.map_or(default, |seconds| {
        Duration::from_secs_f64(seconds.max(least).min(most))
    })
}

/// How a command is restricted to what it was approved for.
struct HeldProcesses {
    /// The chat's sandbox, or one that only allows reading.
    sandbox: Arc<Sandbox>,
    /// The access that a read-only command needs. Its environment names no programs.
    reading: Option<Needs>,
    /// The words that start the command in a trial view.
    trial: Option<Vec<OsString>>,
}

/// Selects the sandbox of a call's command. A command that was approved because it only reads
/// is inspected again, since files may have changed in the meantime.
async fn hold(script: &str, ctx: &ToolContext) -> Result<HeldProcesses, ToolError> {
    let as_the_chat = || HeldProcesses {
        sandbox: ctx.files.sandbox.clone(),
        reading: None,
        trial: None,
    };
    if ctx.exec.confinement == Confinement::Chat {
        return Ok(as_the_chat());
    }
    let cwd = ctx.exec.bash.cwd.as_ref().unwrap_or(&ctx.files.cwd).clone();
    let (script, lists) = (script.to_owned(), ctx.exec.bash.lists.clone());
    let (sandbox, secrets) = (ctx.files.sandbox.clone(), ctx.files.secrets.clone());
    // Blocking, because it follows links.
    let inspected = tokio::task::spawn_blocking(move || {
        let machine = Machine::here(cwd, secrets, sandbox.can_hold_reading());
        shell::inspect(&script, &lists, &machine)
    });
    match inspected.await {
        // The user listed one of its programs, so it may do anything.
        Ok(Ok(needs)) if needs.more => Ok(as_the_chat()),
        Ok(Ok(needs)) => Ok(HeldProcesses {
            sandbox: Arc::new(
                ctx.files
                    .sandbox
                    .reading(needs.network, needs.named.as_deref()),
            ),
            reading: Some(needs),
            trial: None,
        }),
        Ok(Err(problem)) => Err(ToolError::Failed(format!(
            "{problem} Nothing was run: this changed since the command was approved."
        ))),
        Err(error) => Err(ToolError::Failed(format!("Nothing was run: {error}."))),
    }
}

/// Says what hindered a command in the read-only view, with a note for those who cannot ask the user.
/// An approved command runs in the sandbox `real`.
fn explain(result: &mut ToolResult, needs: &Needs, real: &Sandbox) {
    const OFFLINE: [&str; 4] = [
        "Could not resolve host",
        "Temporary failure in name resolution",
        "Network is unreachable",
        "no servers could be reached",
    ];
    if !result.marked_failed {
        return;
    }
    let offline = OFFLINE.iter().filter(|_| !needs.network);
    let mut signs = offline.map(|it| (*it, "needs the network")).chain(SIGNS);
    // An approval would not open the secrets that are hidden from every command, such as a `.env` that
    // a search in the project meets.
    let hidden = real.limits().and_then(|it| it.concealed.as_deref());
    let hidden = hidden.unwrap_or_default().iter();
    let hidden: Vec<_> = hidden
        .filter_map(|it| it.path.file_name()?.to_str())
        .collect();
    let lines = result.content.lines();
    let open: Vec<&str> = lines
        .filter(|line| !hidden.iter().any(|it| line.contains(it)))
        .collect();
    let found = signs.find(|(sign, _)| open.iter().any(|line| line.contains(sign)));
    result.hindered = found.map(|(_, why)| why);
    if result.hindered.is_some() {
        result.content.push_str(
            "\n\n[The command ran read-only and without network, because $shell-safe approved it. \
             It can do more if the user approves it by hand.]",
        );
    }
}

/// Starts the command.
fn start(
    id: &ToolUseId,
    script: &str,
    ctx: &ToolContext,
    held: &HeldProcesses,
    waits_for_all: bool,
) -> Result<Running, ToolError> {
    let BashOptions { cwd, env, .. } = &ctx.exec.bash;
    let program = ctx.exec.bash.shell.as_deref().unwrap_or("bash");
    let cwd: &Path = cwd.as_ref().unwrap_or(&ctx.files.cwd);
    // Checked here, because a failed start would look as if the shell were missing.
    if !cwd.is_dir() {
        return Err(ToolError::Failed(format!(
            "The working directory {} does not exist, so nothing was run.",
            cwd.display()
        )));
    }
    let mark = ProcessMark::new(id.as_str());
    let environment = environment(cwd, env, held, &mark);
    let prefix = match &held.trial {
        Some(words) => words.clone(),
        None => held.sandbox.prefix(cwd, &[]).map_err(ToolError::Failed)?,
    };
    let command = Command {
        prefix,
        shell: program,
        script,
        cwd,
        environment,
        waits_for_all,
    };
    Running::start(command, &mark).map_err(|error| {
        ToolError::Failed(format!(
            "The shell {program:?} could not be started: {error}. Nothing was run; the user can \
             {SHELL_ADVICE}."
        ))
    })
}

/// The variables that the command gets. A read-only command gets none that name programs.
fn environment(
    cwd: &Path,
    added: &[(String, String)],
    held: &HeldProcesses,
    mark: &ProcessMark,
) -> Vec<(OsString, OsString)> {
    let Some(_) = &held.reading else {
        let mut variables = child_environment(crate::variables(), added, mark);
        if held.trial.is_some() {
            // `git status` would otherwise write the index, which is no effect of the command.
            variables.push(("GIT_OPTIONAL_LOCKS".into(), "0".into()));
        }
        return variables;
    };
    // Programs in the working directory are not found, also if `PATH` has a link to it.
    let real = canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
    let is_viewed = held.sandbox.can_hold_reading();
    let mut environment = shell::environment(crate::variables(), &[real], is_viewed);
    environment.push((ProcessMark::NAME.into(), mark.value().into()));
    environment
}
