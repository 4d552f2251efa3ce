//! `flemma health`: what `:checkhealth flemma` says about everything but the editor, as text or
//! as JSON lines.
//!
//! For JSON, the options come from standard input, in the form that `setup()` takes; for text, from
//! the configuration file. Reports whether a
//! key is set, and never shows, fetches, or sends one. Starts the configured MCP servers, and a
//! command that tries to leave the sandbox.

mod providers;

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use mcp::configured::{Configured, known};
use mcp::{Commands, Server};
use policy::options::{BackendChoice, InvalidOption, SandboxSettings, Scope};
use policy::project::ProjectConfig;
use policy::settings::{Here, Settings};
use policy::trust::Trust;
use serde::Serialize;
use serde_json::Value;
use session::mcp_servers::{ProjectConsent, http, pins};
use tokio::time::timeout;
use tools::{Registry, TemporaryFile, state_dir};

use crate::terminal::{self, Code};
use crate::{block_on, config};

/// One line of the report.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Finding {
    /// The function of `vim.health` that shows it: `start`, `ok`, `info`, `warn`, or
    /// `error`.
    level: &'static str,
    /// One sentence.
    text: String,
    /// Advice, if something is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Finding {
    fn new(level: &'static str, text: String) -> Self {
        Self {
            level,
            text,
            fix: None,
        }
    }

    fn start(heading: &str) -> Self {
        Self::new("start", heading.to_owned())
    }

    /// Returns it as text.
    fn line(&self) -> String {
        let sign = match self.level {
            "start" => return format!("\n{}", self.text),
            "ok" => "ok     ",
            "warn" => "warning",
            "error" => "error  ",
            _ => "       ",
        };
        let text = self.text.replace('\n', "\n           ");
        match &self.fix {
            Some(fix) => format!("  {sign}  {text}\n           → {fix}"),
            None => format!("  {sign}  {text}"),
        }
    }

    /// Adds what the user can do.
    fn fixed_by(self, fix: impl Into<String>) -> Self {
        Self {
            fix: Some(fix.into()),
            ..self
        }
    }
}

/// Prints the report. If `offline`, starts and contacts nothing, and reports only on the options and
/// keys.
pub fn print(as_json: bool, offline: bool) -> ExitCode {
    let given = if as_json {
        let mut given = String::new();
        // Without options the report is about the defaults.
        drop(std::io::stdin().read_to_string(&mut given));
        serde_json::from_str(&given).unwrap_or_default()
    } else {
        match config::of_file() {
            Ok(given) => given,
            Err(problem) => return Code::Error.report(&problem),
        }
    };
    let (settings, problems) = Settings::examine(&given, Scope::Setup, &Registry::builtin());
    let mut findings = configured(&settings, &problems.invalid);
    if !offline {
        try_parts(&given, &settings, &mut findings);
    }
    if as_json {
        let lines = findings
            .iter()
            .filter_map(|it| serde_json::to_string(it).ok());
        return terminal::print(&lines.collect::<Vec<_>>().join("\n")).into();
    }
    let lines: Vec<String> = findings.iter().map(Finding::line).collect();
    let printed = terminal::print(lines.join("\n").trim_start());
    if findings.iter().any(|it| it.level == "error") {
        Code::Error.into()
    } else {
        printed.into()
    }
}

/// Returns what the options, files, and variables say.
fn configured(settings: &Settings, invalid: &[InvalidOption]) -> Vec<Finding> {
    let mut findings = options(invalid);
    findings.extend(project_options(settings));
    findings.push(Finding::start("Providers"));
    findings.extend(providers::report(settings, &|name: &str| {
        tools::variable(name)
    }));
    findings
}

/// Adds what became of trying each part.
fn try_parts(given: &Value, settings: &Settings, findings: &mut Vec<Finding>) {
    let variables = |name: &str| tools::variable(name);
    // Both wait for others, so they wait together.
    let waited = block_on(async {
        tokio::join!(
            providers::reached(settings, &variables),
            server_findings(given)
        )
    });
    // Without a runtime there is no thread left, and the checks below say enough.
    let (reached, servers) = waited.unwrap_or_default();
    // Behind the provider in use, which follows the last heading so far, and before the others.
    let first = findings
        .iter()
        .rposition(|it| it.level == "start")
        .unwrap_or_default();
    if let Some(reached) = reached {
        findings.insert(first + 2, reached);
    }
    findings.push(Finding::start("Sandbox"));
    findings.extend(sandbox_findings(&settings.sandbox));
    findings.push(Finding::start("MCP servers"));
    findings.extend(servers);
    findings.push(Finding::start("State folder"));
    findings.push(state_finding(&state_dir::path()));
}

/// Returns a heading and the invalid options.
fn options(invalid: &[InvalidOption]) -> Vec<Finding> {
    let mut lines = vec![Finding::new("start", "Options".to_owned())];
    if invalid.is_empty() {
        let text = "All options of setup() are valid.";
        lines.push(Finding::new("ok", text.to_owned()));
    }
    lines.extend(invalid.iter().map(|it| Finding {
        fix: Some("See `:help flemma-option-list`.".to_owned()),
        ..Finding::new("error", it.to_string())
    }));
    lines
}

/// Returns a finding about the options of the project that contains the current folder.
fn project_options(settings: &Settings) -> Option<Finding> {
    let folder = std::env::current_dir().ok()?;
    let config = ProjectConfig::around(&folder, &Trust::open(&state_dir::path()))?;
    // Tools that are registered later are not known here.
    let reading = config.apply(settings, None);
    let shown = config.path.display();
    Some(match config.messages(&reading).as_slice() {
        [] => Finding::new("ok", format!("Project: {shown} applies.")),
        messages => Finding {
            fix: Some("See `:help flemma-project`.".to_owned()),
            ..Finding::new("warn", messages.join(" "))
        },
    })
}

/// Tries to leave the sandbox, which takes some 30 ms.
fn sandbox_findings(settings: &SandboxSettings) -> Vec<Finding> {
    if !settings.enabled {
        let text = "The sandbox is off: approved commands run with all of your rights.";
        let off = Finding::new("warn", text.to_owned());
        return vec![off.fixed_by("Set sandbox.enabled = true.")];
    }
    match tools::find_out(&settings.backend()) {
        Ok(program) => in_sandbox(settings, &program.display().to_string()),
        Err(why) => vec![no_sandbox(settings, &why)],
    }
}

fn in_sandbox(settings: &SandboxSettings, program: &str) -> Vec<Finding> {
    let denied = "A command that tried it could not write outside its folders, mount, signal other processes, \
                  reach sockets of the session, or change the kernel.";
    let network = settings.policy.network.words();
    let folders = settings.policy.rw_paths.join(", ");
    vec![
        Finding::new("ok", format!("{program} confines commands. {denied}")),
        Finding::new(
            "info",
            format!(
                "Commands have {network} (sandbox.policy.network). They write below {folders}."
            ),
        ),
        trials(settings),
    ]
}

/// Returns true if commands can be tried in the working directory.
fn trials(settings: &SandboxSettings) -> Finding {
    let cwd = std::env::current_dir().unwrap_or_default();
    let here = Here {
        cwd: &cwd,
        chat: None,
    };
    let sandbox = Arc::new(policy::sandbox::of_chat(settings, here));
    let why = block_on(tools::why_untried(sandbox, cwd.clone()));
    match why.unwrap_or_else(Some) {
        None => Finding::new("ok", "Commands can be tried in this folder.".to_owned()),
        Some(why) => Finding::new(
            "info",
            format!("Commands cannot be tried in this folder: {why}."),
        )
        .fixed_by("See `:help flemma-trials-where`.".to_owned()),
    }
}

fn no_sandbox(settings: &SandboxSettings, why: &str) -> Finding {
    let (level, text) = match settings.backend {
        BackendChoice::Auto => (
            "warn",
            format!("There is no sandbox: {why}. Commands run with all of your rights."),
        ),
        _ => (
            "error",
            format!("The sandbox is required, and there is none: {why}. No command runs."),
        ),
    };
    let finding = Finding::new(level, text);
    match tools::SANDBOX_PROGRAM {
        Some(program) => {
            finding.fixed_by(format!("Install {program}; see `:help flemma-sandboxing`."))
        }
        None => finding,
    }
}

/// How long a server may take to start. A session waits longer, but a report should not.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts all servers at the same time, and stops them.
async fn server_findings(options: &Value) -> Vec<Finding> {
    let folder = std::env::current_dir().unwrap_or_default();
    let configured = Configured::in_options(options, None, &folder);
    let (specs, words) = configured.specs(&ProjectConsent);
    let warnings = words.into_iter().map(|it| {
        let warning = Finding::new("warn", it);
        warning.fixed_by("See `:help flemma-mcp`.")
    });
    let mut findings: Vec<Finding> = warnings.collect();
    let pins = pins();
    let servers: Vec<Arc<Server>> = specs
        .into_iter()
        .map(|it| known(&pins, it, &http(Commands::Neovim)))
        .collect();
    findings.extend(join_all(servers.iter().map(|it| started(it))).await);
    if findings.is_empty() {
        findings.push(Finding::new("info", "None is configured.".to_owned()));
    }
    findings
}

async fn started(server: &Server) -> Finding {
    let name = &server.spec.name;
    let begun = Instant::now();
    let started = timeout(PATIENCE, server.start()).await;
    let took = begun.elapsed().as_millis();
    let finding = match started {
        Ok(Ok(())) => running(server, took),
        Ok(Err(why)) => unusable(name, &why),
        Err(_) => unusable(
            name,
            &format!("it did not start within {} s", PATIENCE.as_secs()),
        ),
    };
    // Also after a time limit: a report must not leave a program running.
    server.stop().await;
    finding
}

fn running(server: &Server, took: u128) -> Finding {
    let name = &server.spec.name;
    let status = server.status();
    let count = status.said.as_ref().map_or(0, Vec::len);
    let tools = if count == 1 { "tool" } else { "tools" };
    let text = format!("{name} starts in {took} ms and has {count} {tools}.");
    let changes = status.changes().lines();
    if changes.is_empty() {
        return Finding::new("ok", text);
    }
    let text = format!(
        "{text} They changed since you accepted them: {}",
        changes.join(" ")
    );
    Finding::new("warn", text)
        .fixed_by(format!("Check them, then run `:Flemma mcp:accept {name}`."))
}

fn unusable(name: &str, why: &str) -> Finding {
    let text = format!("{name} cannot be used: {why}.");
    Finding::new("error", text).fixed_by(format!("Correct mcp.servers.{name}, or remove it."))
}

/// Most files that are counted; checkpoints of large projects have many.
const MOST_FILES: usize = 20_000;

/// Writes and deletes a file in the folder.
fn state_finding(folder: &Path) -> Finding {
    let shown = folder.display();
    match try_to_write(folder) {
        Ok(()) => {
            let (bytes, is_all) = size(folder);
            let more = if is_all { "" } else { "more than " };
            let size = shown_size(bytes);
            Finding::new(
                "ok",
                format!("{shown} can be written and has {more}{size}."),
            )
        }
        Err(error) => Finding::new(
            "error",
            format!(
                "{shown} cannot be written: {error}. Decisions cannot be logged, so no call runs."
            ),
        )
        .fixed_by("Make it a folder that you can write, or set $XDG_STATE_HOME to another one."),
    }
}

fn try_to_write(folder: &Path) -> io::Result<()> {
    tools::state_dir::make_folder(folder)?;
    // Removed on drop.
    TemporaryFile::make_in(folder, "")?
        .file
        .write_all(b"health")
}

/// Returns the size of the files, and whether all were counted.
fn size(folder: &Path) -> (u64, bool) {
    let (mut folders, mut bytes, mut files) = (vec![folder.to_owned()], 0, 0);
    while let Some(folder) = folders.pop() {
        // Folders that cannot be read are left out, because the size is only informative.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            // Links are not followed: they may lead anywhere.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            bytes += metadata.len();
            files += 1;
            if files == MOST_FILES {
                return (bytes, false);
            }
        }
    }
    (bytes, true)
}

fn shown_size(bytes: u64) -> String {
    match bytes {
        0..100_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_that_can_be_written_has_its_size_and_nothing_new() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        fs::create_dir_all(state.join("deep")).unwrap();
        fs::write(state.join("deep/file"), vec![0; 2_500_000]).unwrap();
        let finding = state_finding(&state);
        assert_eq!(finding.level, "ok");
        assert!(
            finding.text.ends_with("can be written and has 2.5 MB."),
            "{}",
            finding.text
        );
        assert_eq!(fs::read_dir(&state).unwrap().count(), 1);
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_is_an_error_with_a_fix() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        fs::write(&state, "").unwrap();
        let finding = state_finding(&state);
        assert_eq!(finding.level, "error");
        assert!(finding.fix.is_some());
    }
}
