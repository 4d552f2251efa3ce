//! Handles events of servers: pins definitions, publishes tools, and notifies the user.

use std::sync::{Arc, Weak};

use chat::cycle::Level;
use tools::Precedence;

use super::{Inner, report, source};
use crate::{Server, ServerEvent, ServerTool};

/// Handles an event of a server.
pub(super) fn hear(inner: &Weak<Inner>, name: &str, news: ServerEvent) {
    let Some(inner) = inner.upgrade() else {
        return;
    };
    // Servers send events while a request waits for them, so don't block here.
    let name = name.to_owned();
    tokio::task::spawn_blocking(move || inner.take(&name, news));
}

impl Inner {
    fn take(&self, name: &str, news: ServerEvent) {
        // Events of a server that was removed meanwhile are ignored.
        let Some(server) = self.state().live.get(name).cloned() else {
            return;
        };
        match news {
            ServerEvent::Agreed => self.met(&server),
            ServerEvent::Differs => self.differs(&server),
            ServerEvent::Failed(why) => self.failed(name, &server, &why),
            ServerEvent::Declined(asked) => {
                let text = format!(
                    "The MCP server \"{name}\" asked for input that it cannot get here: {asked}"
                );
                self.notify(Level::Warning, text);
            }
        }
    }

    /// Pins a server's first definitions and publishes its tools.
    fn met(&self, server: &Arc<Server>) {
        let name = &server.spec.name;
        let said = server.status().agreed.unwrap_or_default();
        let count = said.len();
        match self.parts.pins.meet(&server.spec, said) {
            Ok(agreed) => server.agreed_elsewhere(agreed),
            Err(error) => self.cannot_keep(name, &error),
        }
        let is_meeting = self.state().meeting.remove(name);
        if server.status().changes().need_review() {
            // Another process may have pinned other definitions first.
            return self.differs(server);
        }
        self.publish(server);
        if is_meeting {
            let text = format!(
                "The MCP server \"{name}\" offers {count} tools. `:Flemma mcp {name}` lists them."
            );
            self.notify(Level::Info, text);
        }
    }

    fn differs(&self, server: &Arc<Server>) {
        // Published again, because the changed tools are disabled now.
        self.publish(server);
        let name = &server.spec.name;
        self.notify(Level::Warning, report::differs(name, &server.status()));
    }

    /// Pins the accepted definitions.
    pub(super) fn keep(&self, server: &Arc<Server>) {
        let agreed = server.status().agreed.unwrap_or_default();
        if let Err(error) = self.parts.pins.accept(&server.spec, agreed) {
            self.cannot_keep(&server.spec.name, &error);
        }
    }

    fn cannot_keep(&self, name: &str, error: &std::io::Error) {
        // A warning: the chat goes on without it.
        let text = format!(
            "The tools of the MCP server \"{name}\" cannot be saved: {error}. They are requested again next time."
        );
        self.notify(Level::Warning, text);
    }

    pub(super) fn publish(&self, server: &Arc<Server>) {
        let source = source(&server.spec.name);
        if server.status().agreed.is_some() {
            let tools = ServerTool::all(server);
            self.parts.sources.ready(&source, Precedence::Found, tools);
        } else {
            // Requests wait for sources that are loading, so the first one has its tools.
            self.parts.sources.loading(&source);
        }
    }

    fn failed(&self, name: &str, server: &Arc<Server>, why: &str) {
        // A failed call already has the reason in its result.
        if server.status().agreed.is_none() {
            let problem = format!(
                "The MCP server \"{name}\" cannot be used: {why}. Its tools are left out until \
                 `:Flemma mcp:restart {name}`."
            );
            self.parts.sources.failed(&source(name), problem);
        }
    }
}
