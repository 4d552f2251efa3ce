//! The folders of script tools: the user's own, those that the options name, and those of
//! open chats' projects.
//!
//! Knows where the folders are and which are trusted; `tools` reads their contents.

mod project;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use policy::trust::Trust;
use serde_json::Value;
use tools::sources::{Catalogue, Change, Sources};
use tools::{Precedence, Registry, ScriptFolder, ScriptRoot, state_dir};

use crate::config_dir;

use project::Standing;

/// Names that `flemma tool` uses for its own commands.
pub const TAKEN: [&str; 2] = ["new", "help"];
pub use project::{ListedTools, project_of, remark, revoke, standing};

/// The tool folders of one host, shared by all clones.
#[derive(Clone)]
pub struct Scripts {
    state: Arc<Mutex<State>>,
    sources: Sources,
}

#[derive(Default)]
struct State {
    own: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
    projects: BTreeSet<PathBuf>,
    found: BTreeMap<PathBuf, Found>,
    /// Messages about untrusted projects that were shown.
    remarks: BTreeMap<PathBuf, String>,
}

struct Found {
    folder: ScriptFolder,
    /// Messages about broken tools that were shown.
    problems: BTreeSet<String>,
}

impl Scripts {
    /// Returns an instance without folders, which passes tools that it finds to `sources`.
    pub fn new(sources: Sources) -> Self {
        Self {
            state: Arc::default(),
            sources,
        }
    }

    /// Takes the user's folders from the options, which may be invalid.
    pub fn configure(&self, options: &Value) {
        let named = |pointer| folders(options.pointer(pointer));
        let own = config_dir::path().map(|folder| folder.join("tools"));
        let mut state = self.state();
        state.own = own
            .into_iter()
            .chain(named("/tools/script_paths"))
            .collect();
        state.libraries = named("/tools/script_libraries");
    }

    /// Adds the project of a chat in this folder, if it has tools.
    pub fn visit(&self, folder: &Path) {
        if let Some(project) = project_of(folder) {
            self.state().projects.insert(project);
        }
    }

    /// Returns the folders whose files run when a tool is called.
    pub fn folders(&self) -> Vec<PathBuf> {
        let state = self.state();
        let own = state.own.iter().chain(&state.libraries);
        own.chain(&state.projects).cloned().collect()
    }

    /// Returns true if there is no folder to scan.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        let none = |folder: &PathBuf| !folder.exists();
        state.found.is_empty() && state.own.iter().chain(&state.projects).all(none)
    }

    /// Scans all folders, and sends what changed to the sources. Blocking.
    pub fn look(&self) {
        let mut state = self.state();
        let mut there = BTreeSet::new();
        // Most users have no folder of tools, so a missing one is not scanned.
        for root in state.own.clone().into_iter().filter(|it| it.exists()) {
            let place = state.place(&root, None);
            state.look_at(place, Precedence::Own, &self.sources);
            there.insert(root);
        }
        for root in state.projects.clone() {
            // A project's folder may be a folder of the user, which needs no trust.
            if !there.contains(&root)
                && root.is_dir()
                && state.look_at_project(&root, &self.sources)
            {
                there.insert(root);
            }
        }
        // Tools of a folder that is gone, or no longer trusted, must not be called.
        state.found.retain(|root, _| {
            let stays = there.contains(root);
            if !stays {
                self.sources.gone(&source(root));
            }
            stays
        });
    }

    /// Scans the folders in the background, and calls `then` when all chats have the
    /// result.
    pub fn look_and(&self, then: impl FnOnce() + Send + 'static) {
        let scripts = self.clone();
        tokio::task::spawn_blocking(move || {
            scripts.look();
            scripts.sources.reached(then);
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn place(&self, root: &Path, agreed: Option<String>) -> ScriptRoot {
        ScriptRoot {
            root: root.to_owned(),
            libraries: self.libraries.clone(),
            agreed,
        }
    }

    /// Scans the folder of a project, if the user trusts it. Returns true if so.
    fn look_at_project(&mut self, root: &Path, sources: &Sources) -> bool {
        match standing(root, &Trust::open(&state_dir::path())) {
            Ok(Standing::Trusted(digest)) => {
                self.remarks.remove(root);
                let place = self.place(root, Some(digest));
                self.look_at(place, Precedence::Found, sources);
                return true;
            }
            Ok(standing) => self.remark(root, remark(root, &standing), sources),
            Err(problem) => self.remark(root, problem, sources),
        }
        false
    }

    fn look_at(&mut self, place: ScriptRoot, precedence: Precedence, sources: &Sources) {
        let root = place.root.clone();
        let same = self
            .found
            .get(&root)
            .is_some_and(|it| *it.folder.place() == place);
        if !same {
            let folder = ScriptFolder::new(place);
            let problems = BTreeSet::new();
            self.found.insert(root.clone(), Found { folder, problems });
        }
        let Some(found) = self.found.get_mut(&root) else {
            return;
        };
        // A new folder is reported even if it is empty, because it may have had tools before.
        if !found.folder.scan() && same {
            return;
        }
        let source = source(&root);
        sources.ready(&source, precedence, found.folder.tools());
        let problems = found.folder.problems();
        let left_out = problems
            .iter()
            .map(|it| format!("{it}. Until then the tool is not available."));
        let tools = found.folder.tools();
        let hidden = tools.iter().map(|tool| tool.name());
        let hidden = hidden.filter(|name| TAKEN.contains(name)).map(|name| {
            let root = root.display();
            format!("The tool \"{name}\" in {root} is called in a shell by `flemma tool -- {name}`, as `flemma tool {name}` means something else.")
        });
        let problems: BTreeSet<String> = left_out.chain(hidden).collect();
        // Reported once, until the problem changes.
        for problem in problems.difference(&found.problems) {
            sources.remark(problem.clone());
        }
        found.problems = problems;
    }

    /// Shows a message about a project, if it was not shown yet.
    fn remark(&mut self, root: &Path, text: String, sources: &Sources) {
        if self.remarks.get(root) != Some(&text) {
            self.remarks.insert(root.to_owned(), text.clone());
            sources.remark(text);
        }
    }
}

/// Returns the name that the registry uses for a folder's tools.
fn source(root: &Path) -> String {
    format!("scripts:{}", root.display())
}

/// Returns the folders that an option lists.
fn folders(list: Option<&Value>) -> Vec<PathBuf> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(folder).collect()
}

/// Returns the absolute path of a folder that the user wrote, perhaps with `~/`.
fn folder(text: &str) -> PathBuf {
    let home = |rest: &str| std::env::home_dir().map(|home| home.join(rest));
    let written = match text.strip_prefix("~/") {
        Some(rest) => home(rest).unwrap_or_else(|| text.into()),
        None => text.into(),
    };
    // Not `canonicalize`, because the folder may not exist yet.
    std::path::absolute(&written).unwrap_or(written)
}

/// Returns the tools of a command line in `folder` with these options, and messages about
/// them. Blocking.
pub fn registry(options: &Value, folder: &Path) -> (Registry, Vec<String>) {
    let (sources, mut changes) = Sources::new();
    let scripts = Scripts::new(sources);
    scripts.configure(options);
    scripts.visit(folder);
    scripts.look();
    let (mut catalogue, mut said) = (Catalogue::builtin(), Vec::new());
    while let Ok(change) = changes.try_recv() {
        match change {
            Change::Remark(text) => said.push(text),
            change => said.extend(catalogue.take(change)),
        }
    }
    (catalogue.registry, said)
}
