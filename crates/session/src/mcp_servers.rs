//! Gives the configured MCP servers what they need from this program: the trust store, HTTP
//! clients, and the state folder.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp::configured::{Configured, Consent, Parts, Pins, Servers, source};
use mcp::{Commands, Http, ServerTool};
use policy::trust::Trust;
use serde_json::Value;
use tools::sources::Sources;
use tools::{Precedence, Registry, state_dir};

use crate::editor::Editor;
use crate::logins::LoginFile;
use crate::protocol::{Display, Visit};

/// Maximum time to connect to a server at an address.
const CONNECT: Duration = Duration::from_secs(10);

/// The trust store, as far as it concerns projects that name servers.
pub struct ProjectConsent;

impl Consent for ProjectConsent {
    fn is_trusted(&self, file: &Path, text: &str) -> bool {
        Trust::open(&state_dir::path()).is_trusted(file, text)
    }

    fn trust(&self, file: &Path, text: &str) -> io::Result<()> {
        Trust::open(&state_dir::path()).trust(file, text)
    }
}

/// Returns the servers of a host; `sources` gets their tools, and `editor` shows messages and opens
/// pages.
pub fn servers(sources: Sources, editor: Editor) -> Servers {
    let browser = editor.clone();
    let commands = if editor.is_headless() {
        Commands::Shell
    } else {
        Commands::Neovim
    };
    Servers::new(Parts {
        sources,
        pins: pins(),
        consent: Box::new(ProjectConsent),
        http: http(commands),
        notify: Box::new(move |notice| editor.notify(notice)),
        visit: Box::new(move |url| {
            let url = url.to_owned();
            browser.show(Display::Visit(Visit { url }));
        }),
    })
}

/// Returns the store of pinned tool definitions.
pub fn pins() -> Pins {
    Pins::open(&state_dir::path())
}

/// Returns how servers are reached, with the user's logins. Messages name `commands`.
pub fn http(commands: Commands) -> Http {
    // Clients are created when a server is first reached, because certificates cost memory.
    let http = Http::new(|address| {
        let client = agent::transport::client(address, None, CONNECT);
        client.map_err(|problem| problem.what)
    });
    let logins = Arc::new(LoginFile::open(&state_dir::path()));
    http.with_logins(logins).with_commands(commands)
}

/// Adds the tools of servers that were used before, without starting any. `file` is the
/// configuration file of the options.
pub fn add_known(registry: &mut Registry, options: &Value, file: Option<&Path>, folder: &Path) {
    let configured = Configured::in_options(options, file, folder);
    for server in configured.met(&ProjectConsent, &pins(), &http(Commands::Shell)) {
        let source = source(&server.spec.name);
        registry.set_source(&source, Precedence::Found, ServerTool::all(&server));
    }
}

/// Returns the names of the configured servers, used before or not.
pub fn server_names(options: &Value, file: Option<&Path>, folder: &Path) -> Vec<String> {
    Configured::in_options(options, file, folder).names(&ProjectConsent)
}
