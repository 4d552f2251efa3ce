//! `flemma mcp`: the tools as a server for other programs, and the configured servers.

mod notices;
mod serve;
mod servers;

use std::process::ExitCode;

use crate::arguments::{Mcp, McpCommand};
use crate::config::Given;

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
        } => servers::list(server.as_deref(), start, config),
        McpCommand::Accept { server, config } => servers::accept(&server, config),
        McpCommand::Trust => servers::trust(),
    }
}
