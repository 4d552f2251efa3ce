//! Script tools: folders with a `tool.toml`, which describes the tool, and a script.
//!
//! This module knows no policy. A root may name the digest that the user trusts. Requests of a
//! script for other tools or a model go through [`crate::ToolContext`].

mod folder;
mod manifest;
mod run;
mod supervise;
mod wire;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use serde_json::Value;

use self::folder::read_manifest;
pub use self::folder::{ScriptFolder, ScriptProblem, digest};
use self::manifest::Manifest;
use self::run::{Call, LONGEST_WAIT};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::tool::{CallResult, Tool, ToolTraits};

// A script tool: a folder with a `tool.toml`.
//
// The model is offered the tool as it was when the folder was scanned. A call reads the folder
// again and runs its present script.

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
    /// The digest of the root that the user trusts. If it differs, no tool runs. `None` for
    /// the user's own folder.
    pub agreed: Option<String>,
}

/// A script tool. Cheap to clone.
#[derive(Debug, Clone)]
struct Script {
    manifest: Arc<Manifest>,
    folder: PathBuf,
    place: Arc<ScriptRoot>,
}

impl Script {
    /// Reads the tool again and prepares a call.
    fn read(&self, input: &Value, default: Duration) -> Result<Ready, ToolError> {
        // At each call, because a file may have changed since the scan.
        self.check_agreed()?;
        let manifest =
            read_manifest(&self.folder).map_err(|problem| not_run(&problem.to_string()))?;
        // The user's rules approved the call by its name.
        if manifest.name != self.manifest.name {
            return Err(not_run(&format!(
                "The tool \"{}\" is called \"{}\" now",
                self.manifest.name, manifest.name
            )));
        }
        let arguments = manifest::fit(&manifest.parameters, input).map_err(|why| {
            ToolError::InvalidInput(format!(
                "The arguments do not fit {}: {why}. Nothing was run.",
                manifest.name
            ))
        })?;
        let script = self.folder.join(&manifest.script);
        let start = begin(&script).map_err(|error| {
            let script = script.display();
            not_run(&format!("The script {script} cannot be read: {error}"))
        })?;
        Ok(Ready {
            script,
            program: find(&manifest.script, &start).map_err(|why| not_run(&why))?,
            arguments,
            limit: manifest.timeout.unwrap_or(default),
        })
    }

    /// Checks that the root is as the user trusted it.
    fn check_agreed(&self) -> Result<(), ToolError> {
        let Some(agreed) = &self.place.agreed else {
            return Ok(());
        };
        let root = self.place.root.display();
        let now = digest(&self.place.root)
            .map_err(|error| not_run(&format!("{root} cannot be read: {error}")))?;
        if now == *agreed {
            return Ok(());
        }
        Err(not_run(&format!(
            "Something in {root} has changed since the user trusted it; the user has to trust it again"
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

fn not_run(why: &str) -> ToolError {
    ToolError::Failed(format!("{why}. Nothing was run."))
}

/// A call that is ready to run.
struct Ready {
    script: PathBuf,
    program: Program,
    arguments: serde_json::Map<String, Value>,
    limit: Duration,
}

/// The first bytes of a script.
fn begin(script: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut start = Vec::new();
    // Opening a pipe would block.
    if !script.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    let file = std::fs::File::open(script)?;
    file.take(LONGEST_LINE as u64).read_to_end(&mut start)?;
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

    fn input_schema(&self) -> Value {
        manifest::schema(&self.manifest.parameters)
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            is_enabled: self.manifest.offered,
            runs_commands: true,
            ..ToolTraits::default()
        }
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

// Selects the program that runs a script: the one in its `#!` line, or Python.
//
// Pure; the caller reads the line.

/// Maximum length of the first line in bytes. The kernel's limit is 256.
pub(crate) const LONGEST_LINE: usize = 1024;

/// The program that runs a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// The program's name or path.
    pub name: String,
    /// Its arguments before the script.
    pub arguments: Vec<String>,
    /// True if it is Python, which gets the modules `llmr`.
    pub is_python: bool,
}

/// Selects the program for a script with this name whose first bytes are `start`.
///
/// # Errors
///
/// No program is known. The text says what to do.
pub(crate) fn find(script: &str, start: &[u8]) -> Result<Program, String> {
    let line = start
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    if let Some(named) = line.strip_prefix("#!") {
        return from_line(named).ok_or_else(|| {
            format!("The first line of {script} is \"#!\" and names no program. Name one")
        });
    }
    if script.ends_with(".py") {
        return Ok(program("python3", Vec::new()));
    }
    Err(format!(
        "Nothing says what runs {script}. Begin it with a line such as #!/usr/bin/env bash, or give it a name that \
         ends in .py"
    ))
}

fn from_line(named: &str) -> Option<Program> {
    let mut words = named.split_whitespace().map(str::to_owned);
    let first = words.next()?;
    let mut rest: Vec<String> = words.collect();
    if base(&first) != "env" {
        // The kernel takes the rest of the line as one argument.
        let one = named.trim().strip_prefix(&first)?.trim();
        let arguments = if one.is_empty() {
            Vec::new()
        } else {
            vec![one.to_owned()]
        };
        return Some(program(&first, arguments));
    }
    // This program splits the words itself, which is what `-S` asks env for.
    rest.retain(|word| word != "-S");
    let by_env = |word: &String| word.starts_with('-') || word.contains('=');
    match rest.split_first()? {
        // Variables and options are meant for env itself, so env is started with all words.
        (word, _) if by_env(word) => Some(program(&first, rest)),
        (name, arguments) => Some(program(name, arguments.to_vec())),
    }
}

fn program(name: &str, arguments: Vec<String>) -> Program {
    let base = base(name);
    Program {
        is_python: base.starts_with("python") || base.starts_with("pypy"),
        name: name.to_owned(),
        arguments,
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_the_program_and_python_is_recognised() {
        for (start, name, arguments, is_python) in [
            ("import os\n", "python3", &[][..], true),
            ("", "python3", &[], true),
            ("#!/usr/bin/env python3\n", "python3", &[], true),
            (
                "#!/opt/venv/bin/python3.12 -X dev\n",
                "/opt/venv/bin/python3.12",
                &["-X dev"],
                true,
            ),
            (
                "#!/usr/bin/env -S uv run --script\n",
                "uv",
                &["run", "--script"],
                false,
            ),
            ("#!/usr/bin/env bash\r\n", "bash", &[], false),
            ("#! /bin/sh -eu", "/bin/sh", &["-eu"], false),
            (
                "#!/usr/bin/env A=b node\n",
                "/usr/bin/env",
                &["A=b", "node"],
                false,
            ),
        ] {
            let found = find("s.py", start.as_bytes()).unwrap();
            assert_eq!(found.name, name, "{start}");
            assert_eq!(found.arguments, arguments, "{start}");
            assert_eq!(found.is_python, is_python, "{start}");
        }
    }

    #[test]
    fn a_script_that_nothing_runs_says_so() {
        for (script, start) in [
            ("s.sh", "echo\n"),
            ("s", ""),
            ("s.py", "#!\n"),
            ("s.py", "#!/usr/bin/env\n"),
        ] {
            assert!(find(script, start.as_bytes()).is_err(), "{script} {start}");
        }
    }
}
