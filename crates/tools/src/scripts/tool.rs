//! A folder with a `tool.toml` as a tool.
//!
//! What the model is offered is what stood there when the folder was looked at; what
//! runs is what stands there at the call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use serde_json::Value;

use super::clock::LONGEST_WAIT;
use super::digest::digest;
use super::folder::read_manifest;
use super::manifest::Manifest;
use super::run::Call;
use super::{parameters, program};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::tool::{Tool, ToolResult};

/// On top of a call's time limit before anybody else gives it up: ending a tree of
/// processes takes time.
const SLACK: Duration = Duration::from_secs(5);

/// What all tools of one folder have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRoot {
    /// The folder of the tools' folders.
    pub root: PathBuf,
    /// Folders with modules for Python, beside `lib` in the root.
    pub libraries: Vec<PathBuf>,
    /// The digest of the root that somebody agreed to; with another one nothing of it
    /// runs. `None` where the folder is the user's own.
    pub agreed: Option<String>,
}

/// See the module. Clones share what was read.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) manifest: Arc<Manifest>,
    pub(super) folder: PathBuf,
    pub(super) place: Arc<ScriptRoot>,
}

impl Script {
    /// What stands there now, checked.
    fn read(&self, input: &Value, default: Duration) -> Result<Ready, ToolError> {
        let gone = |why: String| ToolError::Failed(format!("{why}. Nothing was run."));
        let place = &self.place;
        if let Some(agreed) = &place.agreed {
            let now = digest(&place.root).map_err(|error| {
                gone(format!("{} cannot be read: {error}", place.root.display()))
            })?;
            if now != *agreed {
                return Err(gone(format!(
                    "Something in {} has changed since the user agreed to what is in it; they have to agree again",
                    place.root.display()
                )));
            }
        }
        let manifest = read_manifest(&self.folder).map_err(|problem| gone(problem.to_string()))?;
        if manifest.name != self.manifest.name {
            return Err(gone(format!(
                "The tool \"{}\" is called \"{}\" now",
                self.manifest.name, manifest.name
            )));
        }
        let arguments = parameters::fit(&manifest.parameters, input).map_err(|why| {
            ToolError::InvalidInput(format!(
                "The arguments do not fit {}: {why}. Nothing was run.",
                manifest.name
            ))
        })?;
        let script = self.folder.join(&manifest.script);
        let start = begin(&script).map_err(|error| {
            gone(format!(
                "The script {} cannot be read: {error}",
                script.display()
            ))
        })?;
        let program = program::find(&manifest.script, &start).map_err(gone)?;
        let limit = manifest.timeout.unwrap_or(default);
        Ok(Ready {
            script,
            program,
            arguments,
            limit,
        })
    }

    /// Where its Python looks for modules first.
    fn path(&self, script: &Path) -> Vec<PathBuf> {
        let own = script.parent().unwrap_or(&self.folder).to_owned();
        let mut path = vec![own, self.place.root.join("lib")];
        path.extend(self.place.libraries.iter().cloned());
        path
    }
}

struct Ready {
    script: PathBuf,
    program: program::Program,
    arguments: serde_json::Map<String, Value>,
    limit: Duration,
}

/// The first bytes of a script.
fn begin(script: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut start = Vec::new();
    if !script.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no file"));
    }
    let file = std::fs::File::open(script)?;
    file.take(program::LONGEST_LINE as u64)
        .read_to_end(&mut start)?;
    Ok(start)
}

#[async_trait]
impl Tool for Script {
    fn name(&self) -> &str {
        &self.manifest.name
    }

    fn label(&self) -> &str {
        &self.manifest.name
    }

    fn description(&self) -> &str {
        &self.manifest.description
    }

    fn keywords(&self) -> &[String] {
        &self.manifest.keywords
    }

    fn enabled(&self) -> bool {
        self.manifest.offered
    }

    fn input_schema(&self) -> Value {
        parameters::schema(&self.manifest.parameters)
    }

    fn runs_commands(&self) -> bool {
        true
    }

    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        self.manifest.timeout.unwrap_or(default) + LONGEST_WAIT + SLACK
    }

    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let (script, default) = (self.clone(), ctx.timeout);
        let read = tokio::task::spawn_blocking(move || script.read(&input, default));
        let ready = read
            .await
            .map_err(|error| ToolError::Failed(error.to_string()))??;
        let call = Call {
            tool: &self.manifest.name,
            path: self.path(&ready.script),
            script: &ready.script,
            program: ready.program,
            arguments: ready.arguments,
            limit: ready.limit,
        };
        call.run(id, &ctx).await
    }
}
