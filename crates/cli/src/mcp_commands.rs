//! `flemma mcp`: serves our tools over the Model Context Protocol, and manages the
//! configured servers.

mod notices;
mod offered;
mod serve;
mod servers;

use std::process::ExitCode;

use crate::arguments::{Mcp, McpCommand};
use crate::config::Flags;

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
        } => servers::list(server.as_deref(), start, config),
        McpCommand::Accept { server, config } => servers::accept(&server, config),
        McpCommand::Trust => servers::trust(),
    }
}
