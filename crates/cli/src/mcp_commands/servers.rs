//! `flemma mcp list`, `accept` and `trust`: what `:Flemma mcp` does, from a shell.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use mcp::configured::{Configured, Pins, Project, all, known, one};
use mcp::{Server, Spec};

use crate::commands::{configured, fail};
use crate::config::Given;
use crate::exit_code::Code;
use crate::mcp_servers::{Trusted, http, pins};
use crate::{stdout, terminal};

/// Prints how the servers are, or what one says of its tools; `start` asks them now.
pub fn list(name: Option<&str>, start: bool, file: Option<PathBuf>) -> ExitCode {
    let (specs, mut words) = match specs(file) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let pins = pins();
    let chosen = specs
        .into_iter()
        .filter(|it| name.is_none_or(|name| it.name == name));
    let servers: Vec<Arc<Server>> = chosen.map(|spec| known(&pins, spec, http)).collect();
    if let (Some(name), []) = (name, servers.as_slice()) {
        return fail(
            Code::Usage,
            &[format!("There is no MCP server \"{name}\".")],
        );
    }
    let shown = block(async {
        if start {
            words.extend(start_all(&servers).await);
            for server in &servers {
                keep_if_new(&pins, server, &mut words);
            }
        }
        match (name, servers.as_slice()) {
            (Some(_), [server]) => one(&server.spec, &server.status()),
            _ => all(servers.iter().map(|it| (&it.spec, it.status()))),
        }
    });
    let lines = match shown {
        Ok(lines) => lines,
        Err(problem) => return fail(Code::Error, &[problem]),
    };
    let code = print(&lines);
    for word in words {
        terminal::tell(&word);
    }
    code.into()
}

/// Agrees to what a server says of its tools now.
pub fn accept(name: &str, file: Option<PathBuf>) -> ExitCode {
    let (specs, _) = match specs(file) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let pins = pins();
    let Some(spec) = specs.into_iter().find(|it| it.name == name) else {
        return fail(
            Code::Usage,
            &[format!("There is no MCP server \"{name}\".")],
        );
    };
    let server = known(&pins, spec, http);
    let started = block(start_all(std::slice::from_ref(&server)));
    let problems = started.unwrap_or_else(|problem| vec![problem]);
    if !problems.is_empty() {
        return fail(Code::Error, &problems);
    }
    let changes = server.status().changes().lines();
    server.accept();
    let agreed = server.status().agreed.unwrap_or_default();
    let count = agreed.len();
    if let Err(error) = pins.agree(&server.spec, agreed) {
        let problem = format!("What you agreed to cannot be kept: {error}.");
        return fail(Code::Error, &[problem]);
    }
    let used = format!("The {count} tools of \"{name}\" are used as it describes them now.");
    print(&[changes, vec![used]].concat()).into()
}

/// Agrees to the `.mcp.json` of the project we are in.
pub fn trust() -> ExitCode {
    let folder = std::env::current_dir().unwrap_or_default();
    let Some(project) = Project::around(&folder) else {
        let nothing = "There is no .mcp.json here, nor above up to the folder with .git.";
        return fail(Code::Error, &[nothing.to_owned()]);
    };
    if let Err(error) = project.trust(&Trusted) {
        let problem = format!("What you agreed to cannot be kept: {error}.");
        return fail(Code::Error, &[problem]);
    }
    let path = project.path.display();
    print(&[format!("{path} is used as it stands: {}.", project.would())]).into()
}

/// The servers that count here, and what is to be said about others.
fn specs(file: Option<PathBuf>) -> Result<(Vec<Spec>, Vec<String>), ExitCode> {
    let given = Given {
        file,
        ..Given::default()
    };
    let settings = configured(&given)?.settings;
    let folder = std::env::current_dir().unwrap_or_default();
    let file = crate::config::file(&given);
    let configured = Configured {
        table: settings.mcp.servers,
        with_project: settings.mcp.project,
        file: file.as_deref(),
        folder: &folder,
    };
    Ok(configured.specs(&Trusted))
}

/// Pins what a server said that was first met now.
fn keep_if_new(pins: &Pins, server: &Server, words: &mut Vec<String>) {
    let status = server.status();
    let Some(agreed) = status.agreed.filter(|_| !status.is_lost) else {
        return;
    };
    match pins.meet(&server.spec, agreed) {
        Ok(agreed) => server.agreed_elsewhere(agreed),
        Err(error) => {
            let name = &server.spec.name;
            words.push(format!(
                "What \"{name}\" says of its tools cannot be kept: {error}."
            ));
        }
    }
}

/// Starts servers, all at the same time; why those that cannot be started cannot.
async fn start_all(servers: &[Arc<Server>]) -> Vec<String> {
    let started = servers.iter().map(|server| async {
        let why = server.start().await.err()?;
        let name = &server.spec.name;
        Some(format!("The MCP server \"{name}\" cannot be used: {why}."))
    });
    let problems = futures::future::join_all(started).await;
    problems.into_iter().flatten().collect()
}

/// Runs a future to its end.
fn block<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime =
        runtime.map_err(|error| format!("The program could not start its runtime: {error}."))?;
    let result = runtime.block_on(future);
    runtime.shutdown_background();
    Ok(result)
}

fn print(lines: &[String]) -> Code {
    stdout::print(&lines.join("\n"))
}
