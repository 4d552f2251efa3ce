//! The configured servers of a folder, without starting any: their names, and those whose
//! tools are known.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::pins::Pins;
use super::project::Project;
use super::servers::origin;
use super::{Consent, HttpOf, report};
use crate::{Server, ServerSpec};

/// The servers in the options, and the folder whose project may configure more.
#[derive(Debug, Clone)]
pub struct Configured<'a> {
    /// The option `mcp.servers`.
    pub table: Map<String, Value>,
    /// Whether the project's servers are used: the option `mcp.project`.
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
            words.push(report::waiting(&project));
        }
        (specs, words)
    }

    /// Returns the names of the servers, started before or not.
    pub fn names(&self, consent: &dyn Consent) -> Vec<String> {
        let (specs, _) = self.specs(consent);
        specs.into_iter().map(|spec| spec.name).collect()
    }

    /// Returns the servers whose tools are known from an earlier start.
    pub fn met(&self, consent: &dyn Consent, pins: &Pins, http: HttpOf) -> Vec<Arc<Server>> {
        let (specs, _) = self.specs(consent);
        let servers = specs.into_iter().map(|spec| known(pins, spec, http));
        servers.filter(|it| it.status().agreed.is_some()).collect()
    }
}

/// Returns a server that is not started, with the definitions that the user accepted.
pub fn known(pins: &Pins, spec: ServerSpec, http: HttpOf) -> Arc<Server> {
    let agreed = pins.agreed(&spec);
    let http = http(&spec);
    // A server that is never started has no events.
    Server::new(spec, agreed, http, |_| {})
}
