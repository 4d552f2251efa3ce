//! A script tool: a folder with a `tool.toml`.
//!
//! The model is offered the tool as it was when the folder was scanned. A call reads the folder
//! again and runs its present script.

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
use crate::tool::{CallResult, Tool};

/// Added to a call's time limit before the supervisor gives it up, because ending a process
/// tree takes time.
const SLACK: Duration = Duration::from_secs(5);

/// The settings of all tools in one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRoot {
    /// The folder that contains the tools' folders.
    pub root: PathBuf,
    /// Folders with Python modules, besides `lib` in the root.
    pub libraries: Vec<PathBuf>,
    /// The digest of the root that the user agreed to. If it differs, no tool runs. `None` for
    /// the user's own folder.
    pub agreed: Option<String>,
}

/// A script tool. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) manifest: Arc<Manifest>,
    pub(super) folder: PathBuf,
    pub(super) place: Arc<ScriptRoot>,
}

impl Script {
    /// Reads the tool again and prepares a call.
    fn read(&self, input: &Value, default: Duration) -> Result<Ready, ToolError> {
        // At each call, because a file may have changed since the scan.
        self.check_agreed()?;
        let manifest =
            read_manifest(&self.folder).map_err(|problem| not_run(problem.to_string()))?;
        // The user's rules approved the call by its name.
        if manifest.name != self.manifest.name {
            return Err(not_run(format!(
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
            let script = script.display();
            not_run(format!("The script {script} cannot be read: {error}"))
        })?;
        Ok(Ready {
            script,
            program: program::find(&manifest.script, &start).map_err(not_run)?,
            arguments,
            limit: manifest.timeout.unwrap_or(default),
        })
    }

    /// Checks that the root is as the user agreed to it.
    fn check_agreed(&self) -> Result<(), ToolError> {
        let Some(agreed) = &self.place.agreed else {
            return Ok(());
        };
        let root = self.place.root.display();
        let now = digest(&self.place.root)
            .map_err(|error| not_run(format!("{root} cannot be read: {error}")))?;
        if now == *agreed {
            return Ok(());
        }
        Err(not_run(format!(
            "Something in {root} has changed since the user agreed to what is in it; they have to agree again"
        )))
    }

    /// The folders in which Python looks for modules first.
    fn path(&self, script: &Path) -> Vec<PathBuf> {
        let own = script.parent().unwrap_or(&self.folder).to_owned();
        let mut path = vec![own, self.place.root.join("lib")];
        path.extend(self.place.libraries.iter().cloned());
        path
    }
}

fn not_run(why: String) -> ToolError {
    ToolError::Failed(format!("{why}. Nothing was run."))
}

/// A call that is ready to run.
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
    // Opening a pipe would block.
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
        // The script's own clock stops while it waits for others. That of the supervisor does
        // not.
        self.manifest.timeout.unwrap_or(default) + LONGEST_WAIT + SLACK
    }

    async fn execute(&self, id: &ToolUseId, input: Value, ctx: ToolContext) -> CallResult {
        let (script, default) = (self.clone(), ctx.timeout);
        // Blocking, because it may hash the whole folder.
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
