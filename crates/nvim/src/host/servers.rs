//! `:Flemma mcp` and its group.

use super::Host;

impl Host {
    /// `:Flemma mcp`: reports on all servers, or on one.
    pub(super) fn report_mcp(&self, server: Option<&str>) {
        let lines = self.servers.report(server);
        self.editor.report("mcp", lines);
    }

    /// `:Flemma mcp:accept`
    pub(super) fn accept_mcp(&self, server: Option<&str>) {
        match server {
            Some(server) => self.servers.accept(server),
            None => self.report_no_server("mcp:accept"),
        }
    }

    /// `:Flemma mcp:restart`
    pub(super) fn restart_mcp(&self, server: Option<&str>) {
        match server {
            Some(server) => self.servers.restart(server),
            None => self.report_no_server("mcp:restart"),
        }
    }

    /// `:Flemma mcp:trust`
    pub(super) fn trust_mcp(&mut self) {
        self.servers.trust();
        self.take_queued_changes();
    }

    fn report_no_server(&self, command: &str) {
        self.editor.report_problem(&chat::Problem::new(
            format!(":Flemma {command} needs the name of a server."),
            ":Flemma mcp lists them.",
        ));
    }
}
