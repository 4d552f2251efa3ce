//! The servers that the user and their projects name, as sources of tools.
//!
//! A server whose tools are known is started by the first call of one; one that was
//! never met is started by the first key that sends. What it says is kept, and what
//! it says differently later waits for the user.

mod news;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chat::Problem;
use chat::cycle::{Level, Notice};
use mcp::{Http, Server, Spec};

use super::pins::Pins;
use super::project::Project;
use super::report;
use crate::editor::Editor;
use crate::settings::Settings;
use crate::sources::Sources;
use crate::state_dir;

/// How long a connection to a server at an address may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// The servers. Cheap to clone.
#[derive(Clone)]
pub struct Servers(Arc<Inner>);

struct Inner {
    sources: Sources,
    editor: Editor,
    pins: Pins,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Of the user's options.
    own: Vec<Spec>,
    /// Whether projects count.
    with_projects: bool,
    /// Folders in which a project was looked for.
    visited: BTreeSet<PathBuf>,
    projects: BTreeMap<PathBuf, Project>,
    live: BTreeMap<String, Arc<Server>>,
    /// Those that are being met.
    meeting: BTreeSet<String>,
    /// What the user was told once.
    told: BTreeSet<String>,
}

impl Servers {
    /// None yet; `sources` hears of their tools, and `editor` of what goes wrong.
    pub fn new(sources: Sources, editor: Editor) -> Self {
        Self(Arc::new(Inner {
            sources,
            editor,
            pins: Pins::open(&state_dir::path()),
            state: Mutex::default(),
        }))
    }

    /// Replaces the user's servers. `file` is the configuration file of the options, `None`
    /// for those of `setup()`.
    pub fn configure(&self, settings: &Settings, file: Option<&Path>) {
        let variable = |name: &str| tools::variable(name);
        let (own, problems) = mcp::read_specs(&settings.mcp.servers, &origin(file), &variable);
        {
            let mut state = self.0.state();
            state.own = own;
            state.with_projects = settings.mcp.project;
            if state.with_projects {
                for folder in state.visited.clone() {
                    state.look(&folder);
                }
            } else {
                state.projects.clear();
            }
        }
        for problem in problems {
            self.0.tell_once(Level::Error, problem);
        }
        self.settle();
    }

    /// A chat in this folder is open: its project may name servers.
    pub fn visit(&self, folder: &Path) {
        let mut state = self.0.state();
        let is_new = state.visited.insert(folder.to_owned());
        if is_new && state.with_projects {
            state.look(folder);
            drop(state);
            self.settle();
        }
    }

    /// Something is about to be sent: meets the servers that nobody met yet.
    pub fn needed(&self) {
        let unmet: Vec<Arc<Server>> = {
            let mut state = self.0.state();
            let unmet = state.live.values().filter(|it| it.status().is_unmet());
            let unmet: Vec<_> = unmet.cloned().collect();
            let is_new = |it: &Arc<Server>, meeting: &mut BTreeSet<String>| {
                meeting.insert(it.spec.name.clone())
            };
            unmet
                .into_iter()
                .filter(|it| is_new(it, &mut state.meeting))
                .collect()
        };
        for server in unmet {
            tokio::spawn(async move { server.start().await });
        }
    }

    /// Agrees to the projects that were found, as they stand.
    pub fn trust(&self) {
        let waiting: Vec<Project> = {
            let state = self.0.state();
            let waiting = state.projects.values().filter(|it| !it.is_trusted());
            waiting.cloned().collect()
        };
        for project in &waiting {
            if let Err(error) = project.trust() {
                let path = project.path.display();
                let problem =
                    format!("What you agreed to in {path} cannot be remembered: {error}.");
                self.0.editor.report_problem(&Problem::new(problem, ""));
            }
        }
        if waiting.is_empty() {
            let nothing = "There is no .mcp.json here that waits for you.";
            self.0.tell(Level::Info, nothing.to_owned());
        }
        self.settle();
    }

    /// `:Flemma mcp:accept`: agrees to what a server says of its tools now.
    pub fn accept(&self, name: &str) {
        match self.named(name) {
            Err(problem) => self.0.editor.report_problem(&problem),
            Ok(server) if server.status().changes().need_review() => {
                server.accept();
                let inner = self.0.clone();
                tokio::task::spawn_blocking(move || {
                    inner.keep(&server);
                    inner.publish(&server);
                    let name = &server.spec.name;
                    let done = format!(
                        "The tools of the MCP server \"{name}\" are used as it describes them now."
                    );
                    inner.tell(Level::Info, done);
                });
            }
            Ok(_) => {
                let nothing = format!("The MCP server \"{name}\" says nothing new of its tools.");
                self.0.tell(Level::Info, nothing);
            }
        }
    }

    /// `:Flemma mcp:restart`: ends a server and starts it again.
    pub fn restart(&self, name: &str) {
        let server = match self.named(name) {
            Ok(server) => server,
            Err(problem) => return self.0.editor.report_problem(&problem),
        };
        let inner = self.0.clone();
        tokio::spawn(async move {
            server.stop().await;
            // One that cannot be started has said so itself.
            if server.start().await.is_ok() {
                let name = &server.spec.name;
                inner.tell(
                    Level::Info,
                    format!("The MCP server \"{name}\" is running."),
                );
            }
        });
    }

    /// `:Flemma mcp`, of one server or of all.
    pub fn report(&self, name: Option<&str>) -> Vec<String> {
        match name.map(|name| self.named(name)) {
            Some(Ok(server)) => report::one(&server.spec, &server.status()),
            Some(Err(problem)) => vec![problem.to_string()],
            None => {
                let state = self.0.state();
                let waiting = state.projects.values().filter(|it| !it.is_trusted());
                let waiting = waiting.map(report::waiting);
                let servers = state.live.values().map(|it| (&it.spec, it.status()));
                report::all(servers).into_iter().chain(waiting).collect()
            }
        }
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

    /// Brings what is live in line with what is wanted.
    fn settle(&self) {
        let mut state = self.0.state();
        let (wanted, words) = state.wanted();
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
            state.meeting.remove(name);
            self.0.sources.gone(&source(name));
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
            self.0.tell_once(level, text);
        }
    }

    fn add(&self, spec: Spec) -> Arc<Server> {
        let agreed = self.0.pins.agreed(&spec);
        let inner = Arc::downgrade(&self.0);
        let name = spec.name.clone();
        let client = http(&spec);
        Server::new(spec, agreed, client, move |news| {
            news::hear(&inner, &name, news);
        })
    }
}

impl State {
    fn look(&mut self, folder: &Path) {
        if let Some(project) = Project::around(folder) {
            self.projects.insert(project.path.clone(), project);
        }
    }

    /// The servers there should be by name, and what to say about those that are not.
    fn wanted(&self) -> (BTreeMap<String, Spec>, Vec<(Level, String)>) {
        let own = self.own.iter().map(|it| (it.name.clone(), it.clone()));
        let mut wanted: BTreeMap<String, Spec> = own.collect();
        let mut words = Vec::new();
        for project in self.projects.values() {
            let problems = project.problems.iter().cloned();
            words.extend(problems.map(|it| (Level::Warning, it)));
            if !project.is_trusted() {
                if !project.specs.is_empty() {
                    words.push((Level::Warning, report::waiting(project)));
                }
                continue;
            }
            for spec in &project.specs {
                let before = wanted
                    .entry(spec.name.clone())
                    .or_insert_with(|| spec.clone());
                if before != spec {
                    let path = project.path.display();
                    let name = &spec.name;
                    words.push((
                        Level::Warning,
                        format!("The MCP server \"{name}\" of {path} is left out, because there is another of that name."),
                    ));
                }
            }
        }
        (wanted, words)
    }
}

/// The configuration file that a server's identity names.
pub fn origin(file: Option<&Path>) -> String {
    match file {
        Some(file) => file.to_string_lossy().into_owned(),
        None => "setup()".to_owned(),
    }
}

/// Gives the client for a server at an address.
pub fn http(spec: &Spec) -> Http {
    let address = spec.shown();
    Arc::new(move || {
        let client = agent::transport::client(&address, None, CONNECT);
        client.map_err(|problem| problem.what)
    })
}

impl Inner {
    fn tell(&self, level: Level, text: String) {
        self.editor.notify(&Notice { level, text });
    }

    fn tell_once(&self, level: Level, text: String) {
        if self.state().told.insert(text.clone()) {
            self.tell(level, text);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a server's tools as a source.
pub fn source(name: &str) -> String {
    format!("mcp:{name}")
}
