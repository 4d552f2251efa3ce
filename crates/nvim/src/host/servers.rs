//! `:Flemma mcp`: what it says of the servers, and does with them.

use serde_json::Value;

use super::Host;
use crate::protocol::Command;

impl Host {
    /// `:Flemma mcp` and its group.
    pub(super) fn mcp(&mut self, command: &Command) {
        let name = command.arguments.get("1").and_then(Value::as_str);
        match (command.name.as_str(), name) {
            ("mcp:trust", _) => {
                self.servers.trust();
                self.take_said();
            }
            ("mcp:accept", Some(name)) => self.servers.accept(name),
            ("mcp:restart", Some(name)) => self.servers.restart(name),
            ("mcp", name) => {
                let lines = self.servers.report(name);
                self.editor.report("mcp", lines);
            }
            (other, _) => self.editor.report_problem(&chat::Problem::new(
                format!(":Flemma {other} needs the name of a server."),
                ":Flemma mcp lists them.",
            )),
        }
    }
}
