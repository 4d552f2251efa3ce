//! The user's trust in a project's options, skills, and templates: the question, and which
//! messages were shown.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use chat::preview::one_line;
use platform::paths;
use policy::project::{ProjectConfig, ProjectFolder};
use policy::settings::Settings;
use policy::sha256;
use policy::trust::Trust;
use tools::{Registry, state_dir};

use crate::editor::Editor;
use crate::form::Prompts;
use crate::protocol::BufferId;
use crate::skills;

/// The folder of templates in `.flemma`.
pub const TEMPLATES: &str = "templates";
/// Maximum columns of the question.
const COLUMNS: usize = 1_000;

/// Messages about projects that a host has shown, shared by all clones.
#[derive(Debug, Clone, Default)]
pub struct ReportedProjects(Arc<Mutex<BTreeSet<String>>>);

impl ReportedProjects {
    /// Returns true if a message about this text of a file was not shown yet.
    pub fn note(&self, config: &ProjectConfig, message: &str) -> bool {
        let digest = sha256(config.text.as_bytes());
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.insert(format!("{digest} {message}"))
    }
}

/// The parts of a project that apply only as the user trusted them, besides its tools.
#[derive(Debug)]
pub struct ProjectContent {
    /// Its options.
    config: Option<ProjectConfig>,
    /// Its folders, with what each contains.
    folders: Vec<(ProjectFolder, String)>,
    store: Trust,
}

impl ProjectContent {
    /// Reads what the project that contains a folder offers. Blocking.
    ///
    /// # Errors
    ///
    /// A folder of it cannot be read: a message for the user.
    pub fn around(folder: &Path) -> Result<Self, String> {
        let store = Trust::open(&state_dir::path());
        let mut folders = Vec::new();
        for name in [skills::FOLDER, TEMPLATES] {
            if let Some(found) = ProjectFolder::around(folder, name, &store) {
                let found = found?;
                let content = content(name, &found.path);
                folders.push((found, content));
            }
        }
        Ok(Self {
            config: ProjectConfig::around(folder, &store),
            folders,
            store,
        })
    }

    /// Returns true if there is nothing to trust.
    pub fn is_empty(&self) -> bool {
        self.config.is_none() && self.folders.is_empty()
    }

    /// Returns true if all of it is trusted as it is.
    pub fn is_trusted(&self) -> bool {
        self.config.iter().all(|it| it.trusted) && self.folders.iter().all(|(it, _)| it.trusted)
    }

    /// Returns the effects of trusting it, a sentence each.
    pub fn would(&self, settings: &Settings, registry: &Registry) -> Vec<String> {
        let mut lines = Vec::new();
        for config in self.config.iter().filter(|it| !it.trusted) {
            let shown = self.name(&config.path);
            let reading = config.apply(settings, Some(registry));
            let problems = reading.problems.iter();
            lines.extend(problems.map(|it| format!("{shown}, line {}: {}", it.line, it.message)));
            let withheld = reading.withheld.iter();
            lines.extend(withheld.map(|it| format!("{shown}, line {} {}.", it.line, it.what)));
            if reading.withheld.is_empty() {
                lines.push(format!("{shown} only tightens your options."));
            }
        }
        let folders = self.folders.iter().filter(|(it, _)| !it.trusted);
        lines.extend(folders.map(|(it, content)| format!("{}{content}", self.name(&it.path))));
        lines
    }

    /// Returns the folder `.flemma` of the first part.
    pub fn root(&self) -> &Path {
        let paths = self.paths();
        paths
            .first()
            .and_then(|it| it.parent())
            .unwrap_or(Path::new("/"))
    }

    /// Returns the name of a part in the folder `.flemma`, or its path in another one.
    fn name(&self, path: &Path) -> String {
        paths::below(path, self.root())
    }

    /// Returns the text of the options, if they are not trusted.
    fn text(&self) -> Option<&str> {
        let config = self.config.as_ref().filter(|it| !it.trusted)?;
        Some(&config.text)
    }

    /// Returns the paths of everything.
    fn paths(&self) -> Vec<&Path> {
        let config = self.config.iter().map(|it| it.path.as_path());
        config
            .chain(self.folders.iter().map(|(it, _)| it.path.as_path()))
            .collect()
    }

    fn shown(&self) -> String {
        let paths = self.paths().into_iter();
        let paths: Vec<String> = paths.map(|it| it.display().to_string()).collect();
        paths.join(" and ")
    }

    /// Stores that the user trusts all of it as it was read. Returns a message.
    ///
    /// # Errors
    ///
    /// A file could not be read, or the trust store cannot be written.
    pub fn trust(&self) -> Result<String, String> {
        if let Some(config) = &self.config {
            config
                .trust(&self.store)
                .map_err(|error| kept_no_trust(&error))?;
        }
        for (folder, _) in &self.folders {
            folder
                .trust(&self.store)
                .map_err(|error| kept_no_trust(&error))?;
        }
        Ok(format!(
            "Trusted as it is now: {}. When it changes, you are asked again; :Flemma trust! project revokes that.",
            self.shown()
        ))
    }

    /// Revokes the trust in all of it. Returns a message.
    ///
    /// # Errors
    ///
    /// The trust store cannot be written.
    pub fn revoke(&self) -> Result<String, String> {
        if let Some(config) = &self.config {
            self.store
                .revoke(&config.path)
                .map_err(|error| kept_no_trust(&error))?;
        }
        for (folder, _) in &self.folders {
            self.store
                .revoke_folder(&folder.path)
                .map_err(|error| kept_no_trust(&error))?;
        }
        Ok(format!("No longer trusted: {}.", self.shown()))
    }
}

/// Returns what follows the name of a folder in the question.
fn content(name: &str, path: &Path) -> String {
    match name {
        TEMPLATES => format!(
            ", which may set options in new chats: {}.",
            template_names(path).join(", ")
        ),
        _ => format!(" for the model: {}.", skills::names(path).join(", ")),
    }
}

/// Returns the names of the templates in a folder.
pub fn template_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|it| it.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = files
        .filter_map(|it| Some(it.strip_suffix(".chat")?.to_owned()))
        .collect();
    names.sort();
    names
}

/// Asks whether what the project that contains `folder` offers applies as it is, and stores
/// that. Returns a message, or nothing if the user left.
///
/// # Errors
///
/// A file cannot be read, or the trust store cannot be written.
pub async fn trust(
    editor: &Editor,
    buffer: BufferId,
    folder: &Path,
    settings: &Settings,
    registry: &Registry,
) -> Result<Option<String>, String> {
    let offered = ProjectContent::around(folder)?;
    if offered.is_trusted() {
        return Ok(Some(format!(
            "Trusted already, as it is now: {}.",
            offered.shown()
        )));
    }
    let lines = offered.would(settings, registry);
    let title = format!(
        "Trust {} as it is now? {}",
        offered.root().display(),
        lines.join(" ")
    );
    let items = ["Trust it", "Show it", "Do not trust it"].map(str::to_owned);
    let (prompts, title) = (editor.prompts(buffer), one_line(&title, COLUMNS));
    match prompts.choose(&title, &items).await {
        // Stores what was read before the question, not what is there by now.
        Some(0) => offered.trust().map(Some),
        // The question covers the report, so the user asks again after reading it.
        Some(1) => {
            editor.report("trust", shown_lines(&offered, lines));
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Returns the report shown before trusting: what changes, and the options' text with nothing
/// hidden.
fn shown_lines(offered: &ProjectContent, mut lines: Vec<String>) -> Vec<String> {
    if let Some(text) = offered.text() {
        lines.push(String::new());
        lines.extend(text.lines().map(|line| one_line(line, 1_000)));
    }
    lines
}

/// Says why the user's trust was not stored.
pub(crate) fn kept_no_trust(error: &std::io::Error) -> String {
    format!("The trust store cannot be changed: {error}.")
}
