//! The servers that the user's options and their projects configure: found, started on
//! demand, and compared with the tools that the user accepted.
//!
//! The caller decides whether a project's servers are used ([`Consent`]) and how addresses
//! are reached.

mod pins;
mod servers;

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use self::servers::origin;
use crate::{Definition, Http, Reach, Server, ServerSpec, ServerStatus, State};

pub use pins::Pins;
pub use servers::{Parts, Servers, source};

/// The user's consent to files of projects.
pub trait Consent: Send + Sync {
    /// Returns true if the user trusts this text of a file.
    fn is_trusted(&self, file: &Path, text: &str) -> bool;

    /// Remembers that the user trusts this text of a file.
    ///
    /// # Errors
    ///
    /// The consent can't be saved.
    fn trust(&self, file: &Path, text: &str) -> io::Result<()>;
}

/// The servers in the options, and the folder whose project may configure more.
#[derive(Debug, Clone)]
pub struct Configured<'a> {
    /// The option `mcp.servers`.
    pub table: Map<String, Value>,
    /// True if the project's servers are used: the option `mcp.project`.
    pub with_project: bool,
    /// The configuration file of the options; `None` for `setup()`.
    pub file: Option<&'a Path>,
    /// A folder of the project.
    pub folder: &'a Path,
}

impl<'a> Configured<'a> {
    /// Reads options that may be invalid. A value of the wrong type counts as absent.
    pub fn in_options(options: &Value, file: Option<&'a Path>, folder: &'a Path) -> Self {
        let table = options.pointer("/mcp/servers").and_then(Value::as_object);
        Self {
            table: table.cloned().unwrap_or_default(),
            with_project: options.pointer("/mcp/project") != Some(&Value::Bool(false)),
            file,
            folder,
        }
    }

    /// Returns the servers in use, and a sentence for each problem and for a project that
    /// needs the user's consent.
    pub fn specs(&self, consent: &dyn Consent) -> (Vec<ServerSpec>, Vec<String>) {
        let variable = |name: &str| tools::variable(name);
        let (mut specs, mut words) = crate::read_specs(&self.table, &origin(self.file), &variable);
        let Some(project) = Project::around(self.folder).filter(|_| self.with_project) else {
            return (specs, words);
        };
        words.extend(project.problems.iter().cloned());
        if project.is_trusted(consent) {
            // The user's own configuration wins over a project's.
            for spec in project.specs {
                if specs.iter().all(|it| it.name != spec.name) {
                    specs.push(spec);
                }
            }
        } else if !project.specs.is_empty() {
            words.push(waiting(&project));
        }
        (specs, words)
    }

    /// Returns the names of the servers, started before or not.
    pub fn names(&self, consent: &dyn Consent) -> Vec<String> {
        let (specs, _) = self.specs(consent);
        specs.into_iter().map(|spec| spec.name).collect()
    }

    /// Returns the servers whose tools are known from an earlier start.
    pub fn met(&self, consent: &dyn Consent, pins: &Pins, http: &Http) -> Vec<Arc<Server>> {
        let (specs, _) = self.specs(consent);
        let servers = specs.into_iter().map(|spec| known(pins, spec, http));
        servers.filter(|it| it.status().agreed.is_some()).collect()
    }
}

/// Returns a server that is not started, with the definitions that the user accepted.
pub fn known(pins: &Pins, spec: ServerSpec, http: &Http) -> Arc<Server> {
    let agreed = pins.agreed(&spec);
    let http = http.clone();
    // A server that is never started has no events.
    Server::new(spec, agreed, http, |_| {})
}

const FILE: &str = ".mcp.json";
/// Largest file that is read (1 MB).
const LARGEST: u64 = 1024 * 1024;

/// A `.mcp.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Path of the file.
    pub path: PathBuf,
    text: String,
    /// The servers.
    pub specs: Vec<ServerSpec>,
    /// The names of all servers, also of those whose options are wrong.
    names: BTreeSet<String>,
    /// The file's problems, one sentence each.
    pub problems: Vec<String>,
}

impl Project {
    /// Returns the file of the project that contains a folder: in the folder or the nearest
    /// parent, up to the one with `.git`.
    pub fn around(folder: &Path) -> Option<Self> {
        for folder in folder.ancestors() {
            let path = folder.join(FILE);
            if path.is_file() {
                return Some(Self::read(path));
            }
            // In a worktree, `.git` is a file.
            if folder.join(".git").exists() {
                return None;
            }
        }
        None
    }

    fn read(path: PathBuf) -> Self {
        let mut text = String::new();
        let read = File::open(&path)
            // One byte more shows whether the file is larger than the limit.
            .and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text))
            .map_err(|error| error.to_string());
        let table = match read {
            Ok(size) if size as u64 > LARGEST => Err("it is larger than 1 MB".to_owned()),
            Ok(_) => crate::project_table(&text),
            Err(error) => Err(error),
        };
        let (table, unreadable) = match table {
            Ok(table) => (table, None),
            Err(why) => {
                let shown = path.display();
                let problem = format!("{shown} cannot be read: {why}. Its servers are not used.");
                (Map::new(), Some(problem))
            }
        };
        let (mut specs, mut problems) =
            crate::read_specs(&table, &path.to_string_lossy(), &variable);
        problems.extend(unreadable);
        let folder = path.parent().unwrap_or(Path::new("/"));
        for spec in &mut specs {
            if let Reach::Program { cwd, .. } = &mut spec.reach {
                // Relative folders start at the file's folder.
                *cwd = Some(folder.join(cwd.take().unwrap_or_default()));
            }
        }
        Self {
            path,
            text,
            specs,
            names: table.into_iter().map(|(name, _)| name).collect(),
            problems,
        }
    }

    /// Returns true if a server of this name is configured for chats in a folder. Without the user's
    /// trust, the file says nothing about chats elsewhere.
    fn names(&self, name: &str, folder: &Path, consent: &dyn Consent) -> bool {
        let is_around = || self.path.parent().is_some_and(|it| folder.starts_with(it));
        self.names.contains(name) && (is_around() || self.is_trusted(consent))
    }

    /// Returns true if the user trusts the current text.
    pub fn is_trusted(&self, consent: &dyn Consent) -> bool {
        // The text from which `specs` was read, because the file may have changed since.
        consent.is_trusted(&self.path, &self.text)
    }

    /// Saves the user's consent to the current text.
    ///
    /// # Errors
    ///
    /// The consent can't be saved.
    pub fn trust(&self, consent: &dyn Consent) -> std::io::Result<()> {
        consent.trust(&self.path, &self.text)
    }

    /// Lists the programs and addresses that the user would trust.
    pub fn would(&self) -> String {
        let servers = self.specs.iter();
        let servers = servers.map(|it| format!("{} ({})", it.name, it.shown()));
        servers.collect::<Vec<_>>().join(", ")
    }
}

/// Returns a variable that a project may use: keys of models are only for their providers.
fn variable(name: &str) -> Option<String> {
    // Otherwise a server of the project could get a key by naming its variable.
    let is_key = tools::is_provider_key(name.as_ref());
    (!is_key).then(|| tools::variable(name)).flatten()
}

/// Why a server without a pin needs a review.
const LOST: &str = "The record of the tools that you accepted can't be read (mcp.json in the \
                    state folder), so all of them count as new.";

/// Lists all servers, one line each.
pub fn all<'a>(servers: impl Iterator<Item = (&'a ServerSpec, ServerStatus)>) -> Vec<String> {
    let lines = servers.map(|(spec, status)| {
        let review = if status.changes().need_review() {
            "  (its tools have changed)"
        } else {
            ""
        };
        let state = word(&status.state);
        format!(
            "{:<16} {state:<11} {:<9} {}{review}",
            spec.name,
            count(&status),
            spec.shown()
        )
    });
    let mut lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        lines.push("No MCP servers are configured. See :help flemma-mcp-servers.".to_owned());
    }
    lines
}

/// Describes one server.
pub fn one(spec: &ServerSpec, status: &ServerStatus) -> Vec<String> {
    let mut lines = vec![
        format!("{}  {}  {}", spec.name, word(&status.state), spec.shown()),
        String::new(),
    ];
    match &status.state {
        State::Failed(why) => {
            lines.push(format!("It cannot be used: {why}."));
            lines.push(String::new());
        }
        State::NeedsLogin => {
            let command = status.commands.named("login", &spec.name);
            lines.push(format!("It requires a login: {command}."));
            lines.extend(
                status
                    .login_problem
                    .iter()
                    .map(|why| format!("The last login failed: {why}.")),
            );
            lines.push(String::new());
        }
        State::Resting | State::Starting | State::Running => {}
    }
    let changes = status.changes();
    if status.is_lost {
        lines.push(LOST.to_owned());
        lines.push(String::new());
    }
    if !changes.lines().is_empty() {
        lines.push("Changes since you accepted them:".to_owned());
        lines.extend(changes.lines().into_iter().map(|it| format!("  {it}")));
        if changes.need_review() {
            let command = status.commands.named("accept", &spec.name);
            lines.push(format!("{command} accepts these changes."));
        }
        lines.push(String::new());
    }
    match &status.agreed {
        None => lines.push("It has not been started yet, so its tools are unknown.".to_owned()),
        Some(agreed) => lines.extend(agreed.iter().flat_map(|it| tool(spec, it))),
    }
    lines.extend(status.left_out.iter().cloned());
    if status.has_resources {
        lines.push(format!(
            "It has resources: write @{}:URI in a message to attach one.",
            spec.name
        ));
    }
    lines
}

fn tool(spec: &ServerSpec, definition: &Definition) -> Vec<String> {
    let mut lines = vec![definition.public_name(&spec.name)];
    let said = definition.description.lines();
    lines.extend(said.map(|it| format!("    {it}")));
    let properties = definition.input_schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let said = property["description"].as_str().unwrap_or_default();
        // A line break in the text could imitate another argument.
        let said = crate::clean(&said.replace('\n', " "), 500);
        lines.push(format!("    {name}: {said}"));
    }
    lines
}

/// Describes a project that needs the user's consent.
fn waiting(project: &Project) -> String {
    format!(
        "{} names MCP servers: {}. They are not used until you agree with `:Flemma mcp:trust` \
         or `flemma mcp trust`.",
        project.path.display(),
        project.would()
    )
}

/// Describes changed definitions, or lost ones.
fn differs(name: &str, status: &ServerStatus) -> String {
    let why = if status.is_lost {
        format!("The tools of the MCP server \"{name}\" need your review. {LOST}")
    } else {
        format!(
            "The MCP server \"{name}\" describes its tools differently than when you accepted them."
        )
    };
    let lines = status.changes().lines().join("\n");
    let command = status.commands.named("accept", name);
    format!("{why} These tools are disabled until {command}:\n{lines}")
}

fn word(state: &State) -> &'static str {
    match state {
        State::Resting => "not running",
        State::Starting => "starting",
        State::Running => "running",
        State::Failed(_) => "failed",
        State::NeedsLogin => "needs login",
    }
}

fn count(status: &ServerStatus) -> String {
    match status.agreed.as_ref().map(Vec::len) {
        None => "not met".to_owned(),
        Some(1) => "1 tool".to_owned(),
        Some(count) => format!("{count} tools"),
    }
}
