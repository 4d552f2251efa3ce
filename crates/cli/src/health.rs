//! `flemma health`: what `:checkhealth flemma` says about everything but the editor, as text or
//! as JSON lines.
//!
//! For JSON, the options come from standard input, in the form that `setup()` takes; for text, from
//! the configuration file. Reports whether a
//! key is set, and never shows, fetches, or sends one. Starts the configured MCP servers, and a
//! command that tries to leave the sandbox.

mod providers;
mod sandbox;
mod servers;
mod state;

use std::io::Read;
use std::process::ExitCode;

use policy::options::{InvalidOption, Scope};
use policy::project::ProjectConfig;
use policy::settings::Settings;
use policy::trust::Trust;
use serde::Serialize;
use serde_json::Value;
use tools::{Registry, state_dir};

use crate::config;
use crate::exit_code::Code;
use crate::{runtime, stdout};

/// One line of the report.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Finding {
    /// The function of `vim.health` that shows it: `start`, `ok`, `info`, `warn`, or
    /// `error`.
    level: &'static str,
    /// One sentence.
    text: String,
    /// What the user can do, if something is missing.
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
        return stdout::print(&lines.collect::<Vec<_>>().join("\n")).into();
    }
    let lines: Vec<String> = findings.iter().map(Finding::line).collect();
    let printed = stdout::print(lines.join("\n").trim_start());
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
    let waited = runtime::block_on(async {
        tokio::join!(
            providers::reached(settings, &variables),
            servers::report(given)
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
    findings.extend(sandbox::report(&settings.sandbox));
    findings.push(Finding::start("MCP servers"));
    findings.extend(servers);
    findings.push(Finding::start("State folder"));
    findings.push(state::report(&state_dir::path()));
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
