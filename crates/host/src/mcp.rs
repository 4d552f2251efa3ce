//! The Model Context Protocol in the host: our tools for other programs, and servers
//! whose tools our models can call.
//!
//! The protocol itself is in the crate of that name.

pub mod known;
pub mod pins;
pub mod project;
pub mod report;
pub mod servers;

pub use servers::Servers;

use std::path::Path;

use serde_json::Value;
use tools::{Precedence, Registry};

/// Adds the tools of servers that were met before, none of which is started by that.
/// `file` is the configuration file of the options.
pub fn add_known(registry: &mut Registry, options: &Value, file: Option<&Path>, folder: &Path) {
    let table = options.pointer("/mcp/servers").and_then(Value::as_object);
    let with_project = options.pointer("/mcp/project") != Some(&Value::Bool(false));
    let table = table.cloned().unwrap_or_default();
    for server in known::known_here(&table, file, with_project, folder) {
        let source = servers::source(&server.spec.name);
        registry.set_source(&source, Precedence::Found, mcp::ServerTool::all(&server));
    }
}

/// The names of the configured servers, met before or not.
pub fn server_names(options: &Value, file: Option<&Path>, folder: &Path) -> Vec<String> {
    let table = options.pointer("/mcp/servers").and_then(Value::as_object);
    let with_project = options.pointer("/mcp/project") != Some(&Value::Bool(false));
    let table = table.cloned().unwrap_or_default();
    known::names_here(&table, file, with_project, folder)
}
