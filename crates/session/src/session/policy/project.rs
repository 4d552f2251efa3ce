//! The options of the chat's project: read again before each key's work, and laid over
//! those of the user as far as the user trusts them.

use std::path::Path;
use std::sync::Arc;

use chat::cycle::{Level, Notice};
use policy::project::{self, ProjectConfig};
use policy::trust::{Escalation, Trust};
use tools::state_dir;

use super::Freshness;
use crate::projects::{self, ProjectContent};
use crate::scripts;
use crate::session::{Input, Session, WorkInput};
use crate::shared::Shared;

const NOTHING: &str = "This project has no options, skills, or templates in a folder .flemma, so there is nothing to trust.";

/// The project of a chat.
#[derive(Default)]
pub(super) struct ProjectState {
    /// Its options, if it has a file of them.
    config: Option<Arc<ProjectConfig>>,
    /// Those of its options that do not apply until the user trusts the file.
    withheld: Vec<Escalation>,
}

impl Session {
    /// Starts to read the options of the project that contains the working directory.
    pub(crate) fn look_at_project(&self) {
        self.read_project(false);
    }

    /// Starts to read the options for a key. Returns false if that was done, or there are
    /// none.
    pub(super) fn reads_project(&mut self) -> bool {
        let is_done = matches!(
            self.policy.freshness,
            Freshness::ProjectRead | Freshness::ToolsScanned
        );
        let is_needed = || {
            let known = &self.policy.project.config;
            known.is_some() || project::config_path(self.disk.cwd()).is_some()
        };
        if is_done || !is_needed() || !self.read_project(true) {
            return false;
        }
        self.policy.freshness = Freshness::Pending;
        true
    }

    fn read_project(&self, for_key: bool) -> bool {
        let Some(inbox) = self.inbox.upgrade() else {
            return false;
        };
        let folder = self.disk.cwd().to_owned();
        tokio::task::spawn_blocking(move || {
            drop(inbox.send(Input::Work(WorkInput::Project(read(&folder), for_key))));
        });
        true
    }

    /// Takes the options that were read, for a key or not.
    pub(crate) fn project_read(&mut self, config: Option<Arc<ProjectConfig>>, for_key: bool) {
        // A change of the options makes the rules stale below, so this is read first.
        let is_awaited = for_key && self.policy.is_pending();
        if self.policy.project.config != config {
            self.policy.project.config = config;
            self.settings_changed(self.shared.clone());
        }
        if is_awaited {
            self.policy.freshness = Freshness::ProjectRead;
        }
    }

    /// Returns the state of all sessions with the options of this chat's project, and reports
    /// what does not apply.
    pub(super) fn in_project(&mut self, shared: Arc<Shared>) -> Arc<Shared> {
        let Some(config) = self.policy.project.config.clone() else {
            self.policy.project.withheld.clear();
            return if shared.settings.has_project() {
                Arc::new(shared.with_settings(shared.settings.without_project()))
            } else {
                shared
            };
        };
        // While tools are loading, an unknown name may be that of one of them.
        let registry = (!shared.loading).then_some(&shared.registry);
        let reading = config.apply(&shared.settings, registry);
        for text in config.messages(&reading) {
            // Every chat of a project reads the same file, so only the first one reports.
            if shared.reported.is_new(&config, &text) {
                self.editor.notify(&Notice {
                    level: Level::Warning,
                    text,
                });
            }
        }
        self.policy.project.withheld = reading.withheld;
        Arc::new(shared.with_settings(reading.settings))
    }

    /// Returns the lines of `:Flemma status` about the project's options.
    pub(crate) fn project_lines(&self) -> Vec<String> {
        let state = &self.policy.project;
        let Some(config) = &state.config else {
            return Vec::new();
        };
        let shown = config.path.display();
        let mut lines = vec![match state.withheld.as_slice() {
            [] => format!("project    {shown} applies"),
            _ => format!("project    {shown}, except for this until :Flemma trust project:"),
        }];
        let withheld = state.withheld.iter();
        lines.extend(withheld.map(|it| format!("           line {}: {}", it.line, it.what)));
        lines
    }

    /// `:Flemma trust project`: asks whether the project's options apply as they are, or
    /// revokes that.
    pub(crate) fn trust_project(&self, trusts: bool) {
        self.ask_about_project(trusts, NOTHING);
    }

    /// The same with another message if there is nothing. If that is empty, there is no
    /// message unless something waits for trust.
    pub(super) fn ask_about_project(&self, trusts: bool, nothing: &'static str) {
        let folder = self.disk.cwd().to_owned();
        let (editor, inbox) = (self.editor.clone(), self.inbox.clone());
        let (buffer, shared) = (self.buffer.id(), self.shared.clone());
        tokio::spawn(async move {
            let said = match ProjectContent::around(&folder) {
                Ok(offered) if nothing.is_empty() && offered.is_trusted() => Ok(None),
                Ok(offered) if offered.is_empty() => Ok(Some(with_tools(nothing, &folder))),
                Ok(offered) if !trusts => offered.revoke().map(Some),
                Ok(_) => {
                    projects::trust(&editor, buffer, &folder, &shared.settings, &shared.registry)
                        .await
                }
                Err(why) => Err(why),
            };
            match said {
                Ok(None) => return,
                Ok(Some(text)) => editor.notify(&Notice {
                    level: Level::Info,
                    text,
                }),
                Err(why) => editor.report_problem(&chat::Problem::new(why, "")),
            }
            if let Some(inbox) = inbox.upgrade() {
                drop(inbox.send(Input::Work(WorkInput::Project(read(&folder), false))));
            }
        });
    }
}

/// Adds how to trust the tools of a project, if it has some: they are code, so they are trusted
/// by name only.
fn with_tools(nothing: &str, folder: &Path) -> String {
    match scripts::project_of(folder) {
        Some(_) => format!("{nothing} For its tools, use :Flemma trust tools."),
        None => nothing.to_owned(),
    }
}

/// Reads the options of the project that contains a folder. Blocking.
fn read(folder: &Path) -> Option<Arc<ProjectConfig>> {
    let trust = Trust::open(&state_dir::path());
    ProjectConfig::around(folder, &trust).map(Arc::new)
}
