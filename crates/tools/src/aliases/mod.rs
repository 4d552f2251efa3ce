//! Tools under the names and with the parameters of another system, document 4: for
//! prompts that were written for it. Each is one of our tools below.
//!
//! They are not offered to a model, which may call them all the same.

mod write_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use serde_json::{Value, json};

pub(crate) use write_file::WriteFile;

use crate::files::resolve;
use crate::schema;
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

/// Each name and the tool it stands for. Whatever approves or denies that one, holds
/// for both.
pub const ALIASES: [(&str, &str); 5] = [
    ("list_files", "ls"),
    ("read_file", "read"),
    ("search", "grep"),
    ("shell", "bash"),
    ("write_file", "write"),
];

/// A tool of ours under another name and with other parameters.
pub(crate) struct Alias {
    name: &'static str,
    label: &'static str,
    description: &'static str,
    schema: Value,
    /// What runs, unless the arguments ask for [`Alias::other`].
    tool: Arc<dyn Tool>,
    other: Option<Arc<dyn Tool>>,
    translate: Translate,
}

/// The arguments in our words; what they say of the place is laid into the context.
type Translate = fn(&Value, &mut ToolContext) -> Result<Own, ToolError>;

/// Arguments in our words.
enum Own {
    /// Of [`Alias::tool`].
    Tool(Value),
    /// Of [`Alias::other`].
    Other(Value),
}

/// `shell`: a command, in a folder that the call may name.
pub(crate) fn shell(bash: Arc<dyn Tool>) -> Alias {
    let properties = json!({
        "command": {"type": "string", "description": "The command."},
        "working_dir": {"type": ["string", "null"], "description": "The folder it runs in."},
    });
    Alias {
        name: "shell",
        label: "Shell",
        description: "Run a shell command and return what it prints.",
        schema: schema::object(properties, &["command"]),
        tool: bash,
        other: None,
        translate: |input, ctx| {
            if let Some(folder) = input["working_dir"].as_str() {
                ctx.cwd = ctx.sandbox.outside(&resolve(&ctx.cwd, folder)?);
                ctx.bash.cwd = None;
            }
            let command = text("command", input)?;
            Ok(Own::Tool(
                json!({"label": "", "command": command, "timeout": null}),
            ))
        },
    }
}

/// `read_file`: the first lines of a file.
pub(crate) fn read_file(read: Arc<dyn Tool>) -> Alias {
    let properties = json!({
        "path": {"type": "string", "description": "The file."},
        "max_lines": {"type": ["number", "null"], "description": "Most lines to read."},
    });
    Alias {
        name: "read_file",
        label: "Read file",
        description: "Read a text file, or its first lines.",
        schema: schema::object(properties, &["path"]),
        tool: read,
        other: None,
        translate: |input, _| {
            let (path, limit) = (text("path", input)?, &input["max_lines"]);
            Ok(Own::Tool(
                json!({"label": "", "path": path, "offset": null, "limit": limit}),
            ))
        },
    }
}

/// `search`: lines that a pattern matches.
pub(crate) fn search(grep: Arc<dyn Tool>) -> Alias {
    let properties = json!({
        "pattern": {"type": "string", "description": "The regular expression."},
        "path": {"type": ["string", "null"], "description": "A folder or a file."},
        "include": {"type": ["string", "null"], "description": "Only files that fit this glob."},
        "case_sensitive": {"type": ["boolean", "null"], "description": "Whether case matters; it does unless false."},
    });
    Alias {
        name: "search",
        label: "Search",
        description: "Search files for lines that match a regular expression.",
        schema: schema::object(properties, &["pattern"]),
        tool: grep,
        other: None,
        translate: |input, _| {
            let pattern = text("pattern", input)?;
            let pattern = match input["case_sensitive"].as_bool() {
                Some(false) if !pattern.is_empty() => format!("(?i){pattern}"),
                _ => pattern,
            };
            Ok(Own::Tool(json!({
                "label": "", "pattern": pattern, "path": input["path"], "glob": input["include"],
                "limit": null,
            })))
        },
    }
}

/// `list_files`: what is in a folder, or what in it fits a glob.
pub(crate) fn list_files(list: Arc<dyn Tool>, find: Arc<dyn Tool>) -> Alias {
    let properties = json!({
        "path": {"type": ["string", "null"], "description": "The folder."},
        "pattern": {"type": ["string", "null"], "description": "Only what fits this glob."},
        "max_depth": {"type": ["number", "null"], "description": "How many levels, without a pattern."},
    });
    Alias {
        name: "list_files",
        label: "List files",
        description: "List a folder, or the files below it that fit a glob.",
        schema: schema::object(properties, &[]),
        tool: list,
        other: Some(find),
        translate: |input, _| {
            let path = &input["path"];
            Ok(match input["pattern"].as_str() {
                Some(pattern) => Own::Other(
                    json!({"label": "", "pattern": pattern, "path": path, "limit": null}),
                ),
                None => Own::Tool(
                    json!({"label": "", "path": path, "max_depth": input["max_depth"], "limit": null}),
                ),
            })
        },
    }
}

fn text(name: &str, input: &Value) -> Result<String, ToolError> {
    let value = input.get(name).and_then(Value::as_str);
    value.map(str::to_owned).ok_or_else(|| {
        ToolError::InvalidInput(format!("\"{name}\" must be a string. Nothing was done."))
    })
}

#[async_trait]
impl Tool for Alias {
    fn name(&self) -> &str {
        self.name
    }

    fn label(&self) -> &str {
        self.label
    }

    fn description(&self) -> &str {
        self.description
    }

    fn input_schema(&self) -> Value {
        self.schema.clone()
    }

    fn enabled(&self) -> bool {
        false
    }

    fn runs_commands(&self) -> bool {
        self.tool.runs_commands()
    }

    fn reads(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        let tool = match (&self.other, &input["pattern"]) {
            (Some(other), Value::String(_)) => other,
            _ => &self.tool,
        };
        tool.reads(input, cwd)
    }

    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        self.tool.deadline(&Value::Null, default)
    }

    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        mut ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        match (self.translate)(&input, &mut ctx)? {
            Own::Tool(own) => self.tool.execute(id, own, ctx).await,
            Own::Other(own) => {
                let tool = self.other.as_ref().unwrap_or(&self.tool);
                tool.execute(id, own, ctx).await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Registry;

    pub(super) async fn call(
        folder: &std::path::Path,
        name: &str,
        input: Value,
    ) -> Result<String, String> {
        let tool = Registry::builtin().get(name).unwrap();
        let ctx = ToolContext::new(folder, folder.join("outputs"));
        let id = ToolUseId::new("t");
        let result = tool.execute(&id, input, ctx).await;
        result.map(|it| it.content).map_err(|it| it.to_string())
    }

    #[tokio::test]
    async fn the_parameters_of_the_other_names_do_what_they_say() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::fs::create_dir(path.join("sub")).unwrap();
        std::fs::write(path.join("f"), "a\nb\nc\nd\n").unwrap();
        let read = call(path, "read_file", json!({"path": "f", "max_lines": 2}))
            .await
            .unwrap();
        assert!(
            read.starts_with("a\nb\n") && read.contains("2 more lines"),
            "{read}"
        );
        let whole = call(path, "read_file", json!({"path": "f"})).await.unwrap();
        assert_eq!(whole, "a\nb\nc\nd");
        let there = call(
            path,
            "shell",
            json!({"command": "pwd", "working_dir": "sub"}),
        )
        .await
        .unwrap();
        assert!(there.trim_end().ends_with("/sub"), "{there}");
    }
}
