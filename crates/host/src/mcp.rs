//! The Model Context Protocol in the host: our tools for other programs, and servers
//! whose tools our models can call.
//!
//! The protocol itself is in the crate of that name.

mod pins;
mod project;
mod report;
mod serve;
mod servers;
mod shell;

pub use servers::Servers;

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;
use tools::{Precedence, Registry};

use crate::arguments::{Mcp, McpCommand};
use crate::config::Given;

/// Adds the tools of servers that were met before, none of which is started by that.
/// `file` is the configuration file of the options.
pub fn add_known(registry: &mut Registry, options: &Value, file: Option<&Path>, folder: &Path) {
    let table = options.pointer("/mcp/servers").and_then(Value::as_object);
    let with_project = options.pointer("/mcp/project") != Some(&Value::Bool(false));
    let table = table.cloned().unwrap_or_default();
    for server in shell::known_here(&table, file, with_project, folder) {
        let source = servers::source(&server.spec.name);
        registry.set_source(&source, Precedence::Found, mcp::ServerTool::all(&server));
    }
}

/// The names of the configured servers, met before or not.
pub fn server_names(options: &Value, file: Option<&Path>, folder: &Path) -> Vec<String> {
    let table = options.pointer("/mcp/servers").and_then(Value::as_object);
    let with_project = options.pointer("/mcp/project") != Some(&Value::Bool(false));
    let table = table.cloned().unwrap_or_default();
    shell::names_here(&table, file, with_project, folder)
}

/// `flemma mcp`
pub fn command(mcp: Mcp) -> ExitCode {
    match mcp.command {
        McpCommand::Serve {
            http,
            approve,
            tools_dir,
            config,
        } => {
            let given = Given {
                file: config,
                approve,
                tools_dir,
                ..Given::default()
            };
            serve::serve(http, &given)
        }
        McpCommand::List {
            server,
            start,
            config,
        } => shell::list(server.as_deref(), start, config),
        McpCommand::Accept { server, config } => shell::accept(&server, config),
        McpCommand::Trust => shell::trust(),
    }
}
