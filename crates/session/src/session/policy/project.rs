//! The options of the chat's project: read again before each key's work, and laid over
//! those of the user as far as the user trusts them.

use std::path::Path;
use std::sync::Arc;

use chat::cycle::{Level, Notice};
use policy::project::{self, ProjectConfig};
use policy::trust::{Escalation, Trust};
use tools::state_dir;

use super::{Freshness, Policy};
use crate::projects::{self, ProjectContent};
use crate::scripts;
use crate::session::ctx::Ctx;
use crate::session::{Gate, Input, WorkInput};
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

impl Policy {
    /// Starts to read the options for a key. Ready if that was done, or there are none.
    pub(super) fn read_project_for_key(&mut self, ctx: &Ctx) -> Gate {
        let is_done = match self.freshness {
            Freshness::ProjectRead | Freshness::ToolsScanned => true,
            Freshness::Stale | Freshness::Pending | Freshness::Fresh => false,
        };
        let is_known = self.project.config.is_some();
        if is_done || !is_known && project::config_path(ctx.place.cwd()).is_none() {
            return Gate::Ready;
        }
        let is_started = read_project(ctx, true);
        if !is_started {
            return Gate::Ready;
        }
        self.freshness = Freshness::Pending;
        Gate::Waiting
    }

    /// Takes the options that were read. Returns true if they are other ones.
    pub(crate) fn project_read(&mut self, config: Option<Arc<ProjectConfig>>) -> bool {
        let is_new = self.project.config != config;
        self.project.config = config;
        is_new
    }

    /// Notes that the options were read for a key.
    pub(crate) fn project_is_read(&mut self) {
        self.freshness = Freshness::ProjectRead;
    }

    /// Returns the state of all sessions with the options of this chat's project, and reports
    /// what does not apply.
    pub(in crate::session) fn in_project(&mut self, ctx: &Ctx, shared: Arc<Shared>) -> Arc<Shared> {
        let Some(config) = self.project.config.clone() else {
            self.project.withheld.clear();
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
            let is_new = shared.reported.note(&config, &text);
            if is_new {
                ctx.editor.notify(&Notice {
                    level: Level::Warning,
                    text,
                });
            }
        }
        self.project.withheld = reading.withheld;
        Arc::new(shared.with_settings(reading.settings))
    }

    /// Returns the lines of `:Flemma status` about the project's options.
    pub(crate) fn project_lines(&self) -> Vec<String> {
        let state = &self.project;
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
}

/// Starts to read the options of the project that contains the working directory.
pub(crate) fn look_at_project(ctx: &Ctx) {
    read_project(ctx, false);
}

fn read_project(ctx: &Ctx, for_key: bool) -> bool {
    let Some(inbox) = ctx.inbox.upgrade() else {
        return false;
    };
    let folder = ctx.place.cwd().to_owned();
    tokio::task::spawn_blocking(move || {
        drop(inbox.send(Input::Work(WorkInput::Project(read(&folder), for_key))));
    });
    true
}

/// `:Flemma trust project`: asks whether the project's options apply as they are, or
/// revokes that.
pub(crate) fn trust_project(ctx: &Ctx, trusts: bool) {
    ask_about_project(ctx, trusts, NOTHING);
}

/// The same with another message if there is nothing. If that is empty, there is no
/// message unless something waits for trust.
pub(super) fn ask_about_project(ctx: &Ctx, trusts: bool, nothing: &'static str) {
    let folder = ctx.place.cwd().to_owned();
    let (editor, inbox) = (ctx.editor.clone(), ctx.inbox.clone());
    let (buffer, shared) = (ctx.buffer.id(), ctx.shared.clone());
    tokio::spawn(async move {
        let said = match ProjectContent::around(&folder) {
            Ok(offered) if nothing.is_empty() && offered.is_trusted() => Ok(None),
            Ok(offered) if offered.is_empty() => Ok(Some(with_tools(nothing, &folder))),
            Ok(offered) if !trusts => offered.revoke().map(Some),
            Ok(_) => {
                projects::trust(&editor, buffer, &folder, &shared.settings, &shared.registry).await
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
