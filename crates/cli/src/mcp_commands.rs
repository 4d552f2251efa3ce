//! `flemma mcp`: serves our tools over the Model Context Protocol, and manages the
//! configured servers.

mod serve;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use futures::future::join_all;
use mcp::configured::{Configured, Pins, Project, all, known, one};
use mcp::{Commands, Server, ServerSpec};
use session::mcp_servers::{ProjectConsent, http, pins};

use crate::arguments::{Mcp, McpCommand};
use crate::block_on;
use crate::config::{self, Flags};
use crate::problems::{current_folder, fail};
use crate::terminal::{self, Code};

/// `flemma mcp`
pub fn command(mcp: Mcp) -> ExitCode {
    match mcp.command {
        McpCommand::Serve {
            http,
            approve,
            tools_dir,
            config,
        } => {
            let flags = Flags {
                file: config,
                approve,
                tools_dir,
                ..Flags::default()
            };
            serve::serve(http, &flags)
        }
        McpCommand::List {
            server,
            start,
            config,
        } => list(server.as_deref(), start, config),
        McpCommand::Accept { server, config } => accept(&server, config),
        McpCommand::Login { server, config } => log_in(&server, config),
        McpCommand::Logout { server, config } => log_out(&server, config),
        McpCommand::Trust => trust(),
    }
}

/// Lists the servers, or describes the named one. If `start` is true, starts them first.
fn list(name: Option<&str>, start: bool, file: Option<PathBuf>) -> ExitCode {
    let (specs, mut warnings) = match specs(file) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let pins = pins();
    let chosen = specs
        .into_iter()
        .filter(|it| name.is_none_or(|name| it.name == name));
    let http = http(Commands::Shell);
    let servers: Vec<Arc<Server>> = chosen.map(|spec| known(&pins, spec, &http)).collect();
    if let (Some(name), []) = (name, servers.as_slice()) {
        return unknown(name);
    }
    let lines = block_on(async {
        if start {
            warnings.extend(start_all(&servers, &pins).await);
        }
        // Here, because the servers end with the runtime.
        match (name, servers.as_slice()) {
            (Some(_), [server]) => one(&server.spec, &server.status()),
            _ => all(servers.iter().map(|it| (&it.spec, it.status()))),
        }
    });
    let code = match lines {
        Ok(lines) => print(&lines),
        Err(problem) => return fail(Code::Error, &[problem]),
    };
    for warning in warnings {
        terminal::report(&warning);
    }
    code.into()
}

fn unknown(name: &str) -> ExitCode {
    Code::Usage.report(&format!("There is no MCP server \"{name}\"."))
}

/// Accepts the current tools of a server.
fn accept(name: &str, file: Option<PathBuf>) -> ExitCode {
    let pins = pins();
    let server = match named(name, file) {
        Ok(server) => server,
        Err(code) => return code,
    };
    let started = block_on(start(&server));
    if let Some(problem) = started.unwrap_or_else(Some) {
        return fail(Code::Error, &[problem]);
    }
    let changes = server.status().changes().lines();
    // The changes are read before, because there are none once the server is accepted.
    server.accept();
    let accepted = server.status().agreed.unwrap_or_default();
    let count = accepted.len();
    if let Err(error) = pins.accept(&server.spec, accepted) {
        return fail(Code::Error, &[not_stored(name, &error)]);
    }
    let used = format!("The {count} tools of \"{name}\" are used as it describes them now.");
    print(&[changes, vec![used]].concat()).into()
}

/// Logs in at a server: prints the address to open, and waits.
fn log_in(name: &str, file: Option<PathBuf>) -> ExitCode {
    let server = match named(name, file) {
        Ok(server) => server,
        Err(code) => return code,
    };
    let done = block_on(async {
        let visit = |address: &str| {
            terminal::report(&format!(
                "Open this address in your browser to log in:\n{address}"
            ));
        };
        server.log_in(&visit).await
    });
    match done.unwrap_or_else(Err) {
        Ok(()) => print(&[format!("You are logged in to the MCP server \"{name}\".")]).into(),
        Err(why) => Code::Error.report(&format!(
            "You are not logged in to the MCP server \"{name}\": {why}."
        )),
    }
}

/// Removes the login at a server.
fn log_out(name: &str, file: Option<PathBuf>) -> ExitCode {
    let server = match named(name, file) {
        Ok(server) => server,
        Err(code) => return code,
    };
    match block_on(server.log_out()).unwrap_or_else(Err) {
        Ok(had) => {
            let not = if had { "no longer" } else { "not" };
            print(&[format!(
                "You are {not} logged in to the MCP server \"{name}\"."
            )])
            .into()
        }
        Err(why) => Code::Error.report(&format!(
            "The login at the MCP server \"{name}\" stays: {why}."
        )),
    }
}

/// Returns a configured server.
fn named(name: &str, file: Option<PathBuf>) -> Result<Arc<Server>, ExitCode> {
    let (specs, _) = specs(file)?;
    let spec = specs.into_iter().find(|it| it.name == name);
    let spec = spec.ok_or_else(|| unknown(name))?;
    Ok(known(&pins(), spec, &http(Commands::Shell)))
}

fn not_stored(name: &str, error: &std::io::Error) -> String {
    format!("The tools of the MCP server \"{name}\" cannot be stored: {error}.")
}

/// Trusts the `.mcp.json` of the current project.
fn trust() -> ExitCode {
    let folder = match current_folder() {
        Ok(folder) => folder,
        Err(problem) => return fail(Code::Error, &[problem]),
    };
    let Some(project) = Project::around(&folder) else {
        return Code::Error.report(
            "There is no .mcp.json in this folder or in those above it, up to the one with .git.",
        );
    };
    if let Err(error) = project.trust(&ProjectConsent) {
        return Code::Error.report(&format!("The trust store cannot be changed: {error}."));
    }
    let path = project.path.display();
    print(&[format!(
        "{path} is trusted as long as it does not change: {}.",
        project.would()
    )])
    .into()
}

/// Returns the configured servers that may be used here, and warnings about others.
fn specs(file: Option<PathBuf>) -> Result<(Vec<ServerSpec>, Vec<String>), ExitCode> {
    let flags = Flags {
        file,
        ..Flags::default()
    };
    let config = config::load(&flags)?;
    let folder = std::env::current_dir().unwrap_or_default();
    let configured = Configured {
        table: config.settings.mcp.servers.clone(),
        with_project: config.settings.mcp.project,
        file: config.file.as_deref(),
        folder: &folder,
    };
    Ok(configured.specs(&ProjectConsent))
}

/// Starts servers concurrently, stores the tools of those that are new, and returns the
/// problems.
async fn start_all(servers: &[Arc<Server>], pins: &Pins) -> Vec<String> {
    // All at the same time, because some start for seconds.
    let started = join_all(servers.iter().map(|server| start(server))).await;
    let stored = servers.iter().map(|server| pin_if_new(pins, server));
    started.into_iter().chain(stored).flatten().collect()
}

/// Starts a server; returns the problem if that fails.
async fn start(server: &Server) -> Option<String> {
    let why = server.start().await.err()?;
    let name = &server.spec.name;
    Some(format!("The MCP server \"{name}\" cannot be used: {why}."))
}

/// Pins the tools of a server that was never started before; returns the problem if they
/// cannot be stored.
fn pin_if_new(pins: &Pins, server: &Server) -> Option<String> {
    let status = server.status();
    // If the pins were lost, the tools need a review and must not count as new.
    let tools = status.agreed.filter(|_| !status.is_lost)?;
    match pins.meet(&server.spec, tools) {
        Ok(pinned) => {
            server.agreed_elsewhere(pinned);
            None
        }
        Err(error) => Some(not_stored(&server.spec.name, &error)),
    }
}

fn print(lines: &[String]) -> Code {
    terminal::print(&lines.join("\n"))
}
