//! The configured servers of a folder: their names, and those that were met before.

use std::path::Path;
use std::sync::Arc;

use mcp::{Server, Spec};
use serde_json::{Map, Value};

use super::pins::Pins;
use super::project::Project;
use super::{report, servers};
use crate::state_dir;

/// The servers that count in a folder, and what is to be said about others.
pub fn specs_in(
    table: &Map<String, Value>,
    origin: &str,
    with_project: bool,
    folder: &Path,
) -> (Vec<Spec>, Vec<String>) {
    let variable = |name: &str| tools::variable(name);
    let (mut specs, mut words) = mcp::read_specs(table, origin, &variable);
    let Some(project) = Project::around(folder).filter(|_| with_project) else {
        return (specs, words);
    };
    words.extend(project.problems.iter().cloned());
    if project.is_trusted() {
        for spec in project.specs {
            if specs.iter().all(|it| it.name != spec.name) {
                specs.push(spec);
            }
        }
    } else if !project.specs.is_empty() {
        words.push(report::waiting(&project));
    }
    (specs, words)
}

/// The names of the servers in a folder.
pub fn names_here(
    table: &Map<String, Value>,
    file: Option<&Path>,
    with_project: bool,
    folder: &Path,
) -> Vec<String> {
    let (specs, _) = specs_in(table, &servers::origin(file), with_project, folder);
    specs.into_iter().map(|spec| spec.name).collect()
}

/// The servers in a folder that were met before.
pub fn known_here(
    table: &Map<String, Value>,
    file: Option<&Path>,
    with_project: bool,
    folder: &Path,
) -> Vec<Arc<Server>> {
    let pins = Pins::open(&state_dir::path());
    let (specs, _) = specs_in(table, &servers::origin(file), with_project, folder);
    let servers = specs.into_iter().map(|spec| known(&pins, spec));
    servers.filter(|it| it.status().agreed.is_some()).collect()
}

/// A server that is not started, with what the user agreed to before.
pub fn known(pins: &Pins, spec: Spec) -> Arc<Server> {
    let agreed = pins.agreed(&spec);
    let http = servers::http(&spec);
    Server::new(spec, agreed, http, |_| {})
}
