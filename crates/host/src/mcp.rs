//! The Model Context Protocol in the host: our tools for other programs.
//!
//! The protocol itself is in the crate of that name.

mod serve;

use std::process::ExitCode;

use crate::arguments::{Mcp, McpCommand};

/// `flemma mcp`
pub fn command(mcp: Mcp) -> ExitCode {
    match mcp.command {
        McpCommand::Serve {
            http,
            approve,
            config,
        } => serve::serve(http, approve, config),
    }
}
