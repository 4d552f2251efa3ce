//! The configured servers of the user and of projects, as sources of tools.
//!
//! A server whose tools are known is started by the first call. A new server is started by
//! the first key that sends. Its definitions are pinned, and later changes need the user's
//! review.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use chat::Problem;
use chat::cycle::{Level, Notice};
use serde_json::{Map, Value};
use tokio::task::AbortHandle;
use tools::Precedence;
use tools::sources::Sources;

use super::Consent;
use super::Project;
use super::pins::Pins;
use crate::{
    Commands, Http, ResourceContent, ResourceUri, Server, ServerEvent, ServerSpec, ServerTool,
};

/// The servers. Cheap to clone.
#[derive(Clone)]
pub struct Servers(Arc<Inner>);

/// Interfaces to the program that uses the servers.
pub struct Parts {
    /// Receives their tools.
    pub sources: Sources,
    /// The accepted definitions.
    pub pins: Pins,
    /// Decides which projects are used.
    pub consent: Box<dyn Consent>,
    /// How servers at addresses are reached.
    pub http: Http,
    /// Shows the user a message.
    pub notify: Box<dyn Fn(&Notice) + Send + Sync>,
    /// Opens an address in the user's browser.
    pub visit: Box<dyn Fn(&str) + Send + Sync>,
}

struct Inner {
    parts: Parts,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Servers in the user's options.
    own: Vec<ServerSpec>,
    /// The names in the user's options, also of servers whose options are wrong.
    named: BTreeSet<String>,
    /// True if servers of projects are used.
    with_projects: bool,
    /// Folders that were searched for a project.
    visited: BTreeSet<PathBuf>,
    projects: BTreeMap<PathBuf, Project>,
    live: BTreeMap<String, Arc<Server>>,
    /// New servers that are being started.
    meeting: BTreeSet<String>,
    /// Messages that were already shown.
    shown: BTreeSet<String>,
    /// The login that waits for the user.
    login: Option<AbortHandle>,
}

impl Servers {
    /// Creates an empty set; [`Servers::configure`] adds servers.
    pub fn new(parts: Parts) -> Self {
        let state = Mutex::default();
        Self(Arc::new(Inner { parts, state }))
    }

    /// Replaces the user's servers. `table` is `mcp.servers`, and `with_projects` enables
    /// those of projects. `file` is the configuration file of the options; `None` for
    /// `setup()`.
    pub fn configure(&self, table: &Map<String, Value>, with_projects: bool, file: Option<&Path>) {
        let variable = |name: &str| tools::variable(name);
        let (own, problems) = crate::read_specs(table, &origin(file), &variable);
        // Unlocked at the end of the block, because `settle` locks the state again.
        {
            let mut state = self.0.state();
            state.own = own;
            state.named = table.keys().cloned().collect();
            state.with_projects = with_projects;
            // Read again, because a project's file may be gone.
            state.projects.clear();
            if state.with_projects {
                for folder in state.visited.clone() {
                    state.look(&folder);
                }
            }
        }
        for problem in problems {
            self.0.notify_once(Level::Warning, problem);
        }
        self.settle();
    }

    /// Adds the project of an open chat's folder.
    pub fn visit(&self, folder: &Path) {
        let mut state = self.0.state();
        let is_new = state.visited.insert(folder.to_owned());
        if is_new && state.with_projects {
            state.look(folder);
            drop(state);
            self.settle();
        }
    }

    /// Starts the new servers, because a request is about to be sent.
    pub fn needed(&self) {
        let unmet: Vec<Arc<Server>> = {
            let state = self.0.state();
            let unmet = state.live.values().filter(|it| it.status().is_unmet());
            unmet.cloned().collect()
        };
        for server in unmet {
            // A server in `meeting` was started before.
            let is_new = self.0.state().meeting.insert(server.spec.name.clone());
            tokio::spawn(async move {
                // A failure is reported as an event.
                if is_new || server.needs_login() && !server.has_current_login().await {
                    drop(server.start().await);
                }
            });
        }
    }

    /// Agrees to the current text of all projects found.
    pub fn trust(&self) {
        let waiting: Vec<Project> = {
            let state = self.0.state();
            let waiting = state.projects.values();
            let waiting = waiting.filter(|it| !it.is_trusted(self.consent()));
            waiting.cloned().collect()
        };
        // Without the lock, because each consent writes a file.
        for project in &waiting {
            if let Err(error) = project.trust(self.consent()) {
                let path = project.path.display();
                let problem = format!("Your consent to {path} cannot be saved: {error}.");
                self.0.report_problem(&Problem::new(problem, ""));
            }
        }
        if waiting.is_empty() {
            let nothing = "No .mcp.json here needs your consent.";
            self.0.notify(Level::Info, nothing.to_owned());
        }
        self.settle();
    }

    /// `:Flemma mcp:accept`: accepts a server's current definitions.
    pub fn accept(&self, name: &str) {
        match self.named(name) {
            Err(problem) => self.0.report_problem(&problem),
            Ok(server) if server.status().changes().need_review() => {
                // At once, so that the next call can use the tools. The pin is saved below.
                server.accept();
                let inner = self.0.clone();
                // Saving the pin takes a file lock.
                tokio::task::spawn_blocking(move || {
                    inner.keep(&server);
                    inner.publish(&server);
                    let name = &server.spec.name;
                    let done = format!(
                        "The tools of the MCP server \"{name}\" are used as it describes them now."
                    );
                    inner.notify(Level::Info, done);
                });
            }
            Ok(_) => {
                let nothing = format!("The MCP server \"{name}\" has no changed tools to accept.");
                self.0.notify(Level::Info, nothing);
            }
        }
    }

    /// `:Flemma mcp:restart`: restarts a server.
    pub fn restart(&self, name: &str) {
        let server = match self.named(name) {
            Ok(server) => server,
            Err(problem) => return self.0.report_problem(&problem),
        };
        let inner = self.0.clone();
        tokio::spawn(async move {
            server.stop().await;
            // A failed start reports itself.
            if server.start().await.is_ok() {
                let name = &server.spec.name;
                inner.notify(
                    Level::Info,
                    format!("The MCP server \"{name}\" is running."),
                );
            }
        });
    }

    /// `:Flemma mcp:login`: logs in at a server, and starts it.
    pub fn log_in(&self, name: &str) {
        let server = match self.named(name) {
            Ok(server) => server,
            Err(problem) => return self.0.report_problem(&problem),
        };
        let inner = self.0.clone();
        let name = name.to_owned();
        let task = tokio::spawn(async move {
            let visit = |address: &str| {
                (inner.parts.visit)(address);
                let text =
                    format!("Log in to the MCP server \"{name}\" in your browser: {address}");
                inner.notify(Level::Info, text);
            };
            if let Err(why) = server.log_in(&visit).await {
                let problem = format!("You are not logged in to the MCP server \"{name}\": {why}.");
                let fix = format!("`:Flemma mcp:login {name}` tries again.");
                return inner.report_problem(&Problem::new(problem, fix));
            }
            // A failed start reports itself.
            if server.start().await.is_ok() {
                let text = format!("You are logged in to the MCP server \"{name}\".");
                inner.notify(Level::Info, text);
            }
        });
        // A page that the user closed gets no answer, so the latest login counts.
        let earlier = self.0.state().login.replace(task.abort_handle());
        if let Some(earlier) = earlier {
            earlier.abort();
        }
    }

    /// `:Flemma mcp:logout`: removes the login at a server.
    pub fn log_out(&self, name: &str) {
        let server = match self.named(name) {
            Ok(server) => server,
            Err(problem) => return self.0.report_problem(&problem),
        };
        let inner = self.0.clone();
        let name = name.to_owned();
        tokio::spawn(async move {
            match server.log_out().await {
                Ok(had) => {
                    let not = if had { "no longer" } else { "not" };
                    let text = format!("You are {not} logged in to the MCP server \"{name}\".");
                    inner.notify(Level::Info, text);
                }
                Err(why) => {
                    let problem = format!("The login at the MCP server \"{name}\" stays: {why}.");
                    inner.report_problem(&Problem::new(problem, ""));
                }
            }
        });
    }

    /// Returns true if a server of this name is configured for a chat in a folder, by the user or a
    /// project, usable or not.
    pub fn knows(&self, name: &str, folder: &Path) -> bool {
        let state = self.0.state();
        let mut projects = state.projects.values();
        state.named.contains(name) || projects.any(|it| it.names(name, folder, self.consent()))
    }

    /// Reads a resource of a server.
    ///
    /// # Errors
    ///
    /// The server can't be used, or the resource can't be read; the end of a sentence that begins with
    /// the reference.
    pub async fn read(&self, name: &str, uri: &str) -> Result<ResourceContent, String> {
        let server = self.named(name).map_err(|_| {
            format!(
                "cannot be read, because the MCP server \"{name}\" has wrong options or is not trusted. Correct \
                 that, or write a backslash before it, which makes it text."
            )
        })?;
        let read = server.read(uri).await;
        read.map_err(|why| format!("cannot be read from the MCP server \"{name}\": {why}."))
    }

    /// Returns the URIs of a server's resources that what was typed may become.
    pub async fn complete_uri(&self, server: &str, typed: &str) -> Vec<ResourceUri> {
        match self.named(server) {
            Ok(server) => server.complete_uri(typed).await,
            Err(_) => Vec::new(),
        }
    }

    /// Returns the names of the servers that have resources, or may have some.
    pub fn with_resources(&self) -> Vec<String> {
        let state = self.0.state();
        let servers = state.live.values().filter(|server| {
            let status = server.status();
            // Nothing is known about a server that was not started yet.
            status.has_resources || status.said.is_none()
        });
        servers.map(|it| it.spec.name.clone()).collect()
    }

    /// `:Flemma mcp`: describes one server, or all.
    pub fn report(&self, name: Option<&str>) -> Vec<String> {
        match name.map(|name| self.named(name)) {
            Some(Ok(server)) => super::one(&server.spec, &server.status()),
            Some(Err(problem)) => vec![problem.to_string()],
            None => {
                let state = self.0.state();
                let waiting = state.projects.values();
                let waiting = waiting.filter(|it| !it.is_trusted(self.consent()));
                let waiting = waiting.map(super::waiting);
                let servers = state.live.values().map(|it| (&it.spec, it.status()));
                super::all(servers).into_iter().chain(waiting).collect()
            }
        }
    }

    fn consent(&self) -> &dyn Consent {
        &*self.0.parts.consent
    }

    fn named(&self, name: &str) -> Result<Arc<Server>, Problem> {
        let state = self.0.state();
        state.live.get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = state.live.keys().map(String::as_str).collect();
            let fix = if known.is_empty() {
                "There are none; see :help flemma-mcp-servers.".to_owned()
            } else {
                format!("Servers: {}.", known.join(", "))
            };
            Problem::new(format!("There is no MCP server \"{name}\"."), fix)
        })
    }

    /// Stops servers that are no longer configured and adds new ones. A changed
    /// configuration does both.
    fn settle(&self) {
        let mut state = self.0.state();
        let (wanted, words) = state.wanted(self.consent());
        // A server whose configuration is unchanged keeps running.
        let is_wanted = |server: &Arc<Server>| wanted.get(&server.spec.name) == Some(&server.spec);
        let gone: Vec<Arc<Server>> = state
            .live
            .values()
            .filter(|it| !is_wanted(it))
            .cloned()
            .collect();
        for server in gone {
            let name = &server.spec.name;
            state.live.remove(name);
            // Otherwise `needed` would not start a later server of that name.
            state.meeting.remove(name);
            // Its tools must disappear before the program has ended.
            self.0.parts.sources.gone(&source(name));
            tokio::spawn(async move { server.stop().await });
        }
        for (name, spec) in wanted {
            state.live.entry(name).or_insert_with(|| {
                let server = self.add(spec);
                self.0.publish(&server);
                server
            });
        }
        drop(state);
        for (level, text) in words {
            self.0.notify_once(level, text);
        }
    }

    fn add(&self, spec: ServerSpec) -> Arc<Server> {
        let agreed = self.0.parts.pins.agreed(&spec);
        // Weak, because the state holds the servers, and they hold this closure.
        let inner = Arc::downgrade(&self.0);
        let name = spec.name.clone();
        let http = self.0.parts.http.clone();
        Server::new(spec, agreed, http, move |news| {
            hear(&inner, &name, news);
        })
    }
}

impl State {
    fn look(&mut self, folder: &Path) {
        if let Some(project) = Project::around(folder) {
            self.projects.insert(project.path.clone(), project);
        }
    }

    /// Returns the configured servers by name, and messages about those that are not used.
    fn wanted(
        &self,
        consent: &dyn Consent,
    ) -> (BTreeMap<String, ServerSpec>, Vec<(Level, String)>) {
        let own = self.own.iter().map(|it| (it.name.clone(), it.clone()));
        let mut wanted: BTreeMap<String, ServerSpec> = own.collect();
        let mut words = Vec::new();
        for project in self.projects.values() {
            let problems = project.problems.iter().cloned();
            words.extend(problems.map(|it| (Level::Warning, it)));
            if !project.is_trusted(consent) {
                if !project.specs.is_empty() {
                    words.push((Level::Warning, super::waiting(project)));
                }
                continue;
            }
            for spec in &project.specs {
                // The first server of a name is used, and the user's own come first.
                let before = wanted
                    .entry(spec.name.clone())
                    .or_insert_with(|| spec.clone());
                if before != spec {
                    let path = project.path.display();
                    let name = &spec.name;
                    words.push((
                        Level::Warning,
                        format!("The MCP server \"{name}\" of {path} is not used, because another server has that name."),
                    ));
                }
            }
        }
        (wanted, words)
    }
}

/// Returns the `origin` of a server's identity.
pub(super) fn origin(file: Option<&Path>) -> String {
    match file {
        Some(file) => file.to_string_lossy().into_owned(),
        None => "setup()".to_owned(),
    }
}

impl Inner {
    fn notify(&self, level: Level, text: String) {
        (self.parts.notify)(&Notice { level, text });
    }

    fn report_problem(&self, problem: &Problem) {
        self.notify(Level::Error, problem.to_string());
    }

    fn notify_once(&self, level: Level, text: String) {
        if self.state().shown.insert(text.clone()) {
            self.notify(level, text);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the name of a server's source of tools.
pub fn source(name: &str) -> String {
    format!("mcp:{name}")
}

/// Handles an event of a server.
fn hear(inner: &Weak<Inner>, name: &str, news: ServerEvent) {
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
            let has_resources = server.status().has_resources;
            let mut text = format!("The MCP server \"{name}\" ");
            if count > 0 || !has_resources {
                let command = server.status().commands.describing(name);
                text.push_str(&format!("offers {count} tools. {command} lists them."));
            }
            if has_resources {
                let and = if count > 0 { " It " } else { "" };
                text.push_str(&format!(
                    "{and}has resources: write @{name}:URI in a message to attach one."
                ));
            }
            self.notify(Level::Info, text);
        }
    }

    fn differs(&self, server: &Arc<Server>) {
        // Published again, because the changed tools are disabled now.
        self.publish(server);
        let name = &server.spec.name;
        self.notify(Level::Warning, super::differs(name, &server.status()));
    }

    /// Pins the accepted definitions.
    fn keep(&self, server: &Arc<Server>) {
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

    fn publish(&self, server: &Arc<Server>) {
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
            let commands = server.status().commands;
            let problem = if server.needs_login() {
                let command = commands.named("login", name);
                format!(
                    "The MCP server \"{name}\" requires a login. Its tools are left out until {command}."
                )
            } else {
                let until = match commands {
                    Commands::Neovim => format!(" until `:Flemma mcp:restart {name}`"),
                    // The next command starts it again.
                    Commands::Shell => String::new(),
                };
                format!(
                    "The MCP server \"{name}\" cannot be used: {why}. Its tools are left out{until}."
                )
            };
            self.parts.sources.failed(&source(name), problem);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::io;

    use super::*;

    /// Trusts files in folders named `trusted`.
    struct ByFolder;

    impl Consent for ByFolder {
        fn is_trusted(&self, file: &Path, _text: &str) -> bool {
            file.parent().is_some_and(|it| it.ends_with("trusted"))
        }

        fn trust(&self, _file: &Path, _text: &str) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn names_count_with_wrong_options_but_not_elsewhere_without_trust() {
        let folder = tempfile::tempdir().unwrap();
        let servers = Servers::new(Parts {
            sources: Sources::new().0,
            pins: Pins::open(folder.path()),
            consent: Box::new(ByFolder),
            http: Http::new(|_| Err("no requests".to_owned())),
            notify: Box::new(|_| {}),
            visit: Box::new(|_| {}),
        });
        servers.configure(&Map::new(), true, None);
        let [trusted, other] = ["trusted", "other"].map(|name| folder.path().join(name));
        for (folder, good, wrong) in [(&trusted, "a", "a-wrong"), (&other, "b", "b-wrong")] {
            fs::create_dir_all(folder.join("deep")).unwrap();
            let text =
                format!(r#"{{"mcpServers": {{"{good}": {{"command": "x"}}, "{wrong}": 7}}}}"#);
            fs::write(folder.join(".mcp.json"), text).unwrap();
            servers.visit(&folder.join("deep"));
        }
        for name in ["a", "a-wrong"] {
            assert!(servers.knows(name, &trusted.join("deep")), "{name}");
            // The servers of a trusted project are used in all chats.
            assert!(servers.knows(name, &other), "{name}");
        }
        for name in ["b", "b-wrong"] {
            assert!(servers.knows(name, &other.join("deep")), "{name}");
            assert!(!servers.knows(name, &trusted), "{name}");
        }
        assert!(!servers.knows("c", &trusted));
    }
}
