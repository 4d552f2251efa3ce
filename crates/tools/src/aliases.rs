//! Tools under the names and with the parameters of another system, document 4: for
//! prompts that were written for it. Each is one of our tools below.
//!
//! They are not offered to a model, which may call them all the same.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use serde_json::{Map, Value, json};

use crate::files::{FileLocks, Target, resolve};
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

/// `shell`: a command, in a folder that the call may name.
pub(crate) struct Shell(pub Arc<dyn Tool>);

/// `read_file`: the first lines of a file.
pub(crate) struct ReadFile(pub Arc<dyn Tool>);

/// `write_file`: a file's text, or more at its end.
pub(crate) struct WriteFile {
    pub write: Arc<dyn Tool>,
    pub locks: FileLocks,
}

fn schema(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn text(name: &str, input: &Value) -> Result<String, ToolError> {
    let value = input.get(name).and_then(Value::as_str);
    value.map(str::to_owned).ok_or_else(|| {
        ToolError::InvalidInput(format!("\"{name}\" must be a string. Nothing was done."))
    })
}

fn bash_input(command: &str) -> Value {
    json!({"label": "", "command": command, "timeout": null})
}

#[async_trait]
impl Tool for Shell {
    fn name(&self) -> &str {
        "shell"
    }

    fn label(&self) -> &str {
        "Shell"
    }

    fn description(&self) -> &str {
        "Run a shell command and return what it prints."
    }

    fn input_schema(&self) -> Value {
        let properties = json!({
            "command": {"type": "string", "description": "The command."},
            "working_dir": {"type": ["string", "null"], "description": "The folder it runs in."},
        });
        schema(properties, &["command"])
    }

    fn enabled(&self) -> bool {
        false
    }

    fn runs_commands(&self) -> bool {
        true
    }

    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        self.0.deadline(&bash_input(""), default)
    }

    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        mut ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let command = text("command", &input)?;
        if let Some(folder) = input.get("working_dir").and_then(Value::as_str) {
            ctx.cwd = resolve(&ctx.cwd, folder)?;
            ctx.bash.cwd = None;
        }
        self.0.execute(id, bash_input(&command), ctx).await
    }
}

#[async_trait]
impl Tool for ReadFile {
    fn name(&self) -> &str {
        "read_file"
    }

    fn label(&self) -> &str {
        "Read file"
    }

    fn description(&self) -> &str {
        "Read a text file, or its first lines."
    }

    fn input_schema(&self) -> Value {
        let properties = json!({
            "path": {"type": "string", "description": "The file."},
            "max_lines": {"type": ["number", "null"], "description": "Most lines to read."},
        });
        schema(properties, &["path"])
    }

    fn enabled(&self) -> bool {
        false
    }

    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let limit = input.get("max_lines").cloned().unwrap_or_default();
        let own =
            json!({"label": "", "path": text("path", &input)?, "offset": null, "limit": limit});
        self.0.execute(id, own, ctx).await
    }
}

#[async_trait]
impl Tool for WriteFile {
    fn name(&self) -> &str {
        "write_file"
    }

    fn label(&self) -> &str {
        "Write file"
    }

    fn description(&self) -> &str {
        "Create a file, replace its text, or add to its end."
    }

    fn input_schema(&self) -> Value {
        let properties = json!({
            "path": {"type": "string", "description": "The file."},
            "content": {"type": "string", "description": "The text."},
            "append": {"type": ["boolean", "null"], "description": "Whether to add to what is there."},
        });
        schema(properties, &["path", "content"])
    }

    fn enabled(&self) -> bool {
        false
    }

    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let (path, content) = (text("path", &input)?, text("content", &input)?);
        if input.get("append").and_then(Value::as_bool) == Some(true) {
            return self.append(&path, &content, ctx).await;
        }
        let own: Map<String, Value> = [("label", ""), ("path", &path), ("content", &content)]
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .into_iter()
            .collect();
        self.write.execute(id, Value::Object(own), ctx).await
    }
}

impl WriteFile {
    async fn append(
        &self,
        path: &str,
        content: &str,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let resolved = resolve(&ctx.cwd, path)?;
        ctx.check_writable(&resolved)?;
        let target = Target::find(resolved, ctx.buffers.clone()).await?;
        let _lock = self.locks.lock(target.path()).await;
        if ctx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let stored = match target.text().await {
            Ok(old) => {
                let new = format!("{old}{content}");
                target.store(Some(old), new).await?
            }
            Err(ToolError::NotFound(_)) => target.store(None, content.to_owned()).await?,
            Err(error) => return Err(error),
        };
        let bytes = content.len();
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        Ok(ToolResult::text(format!(
            "Added {bytes} {unit} at the end of {path}.{}",
            stored.remark()
        )))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Registry;

    async fn call(folder: &std::path::Path, name: &str, input: Value) -> Result<String, String> {
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

    #[tokio::test]
    async fn appending_twice_doubles_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let more = json!({"path": "new", "content": "x\n", "append": true});
        for _ in 0..2 {
            call(folder.path(), "write_file", more.clone())
                .await
                .unwrap();
        }
        let file = folder.path().join("new");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\nx\n");
        let over = json!({"path": "new", "content": "y"});
        call(folder.path(), "write_file", over).await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "y");
    }
}
