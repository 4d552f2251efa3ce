//! Built-in tools under the names and with the parameters of another system, so that prompts
//! written for it work. Each alias is defined in the file of its tool.
//!
//! Aliases are not offered to models, but can be called.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use serde_json::Value;

use crate::context::ToolContext;
use crate::error::ToolError;
use crate::jobs::Background;
use crate::tool::{CallResult, Tool, ToolTraits};
use crate::trial::Trial;

/// A built-in tool under another name and with other parameters.
pub(crate) struct Alias {
    pub name: &'static str,
    pub label: &'static str,
    pub description: &'static str,
    pub schema: Value,
    /// Selects the tool that runs for these arguments.
    pub tool: fn(&Value) -> Arc<dyn Tool>,
    /// Translates the arguments to those of the tool. May also modify the context.
    pub translate: fn(&Value, &mut ToolContext) -> Result<Value, ToolError>,
}

/// A required string argument.
///
/// # Errors
///
/// The argument is missing or not a string.
pub(crate) fn text(name: &str, input: &Value) -> Result<String, ToolError> {
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

    fn traits(&self) -> ToolTraits {
        // Only the tools of `list_files` depend on the arguments, and neither runs commands.
        let own = (self.tool)(&Value::Null).traits();
        ToolTraits {
            runs_commands: own.runs_commands,
            can_be_tried: own.can_be_tried,
            is_enabled: false,
            ..ToolTraits::default()
        }
    }

    fn reads(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        // Not translated, because both have the paths in arguments of the same names.
        (self.tool)(input).reads(input, cwd)
    }

    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        // No alias has an argument for the time limit.
        (self.tool)(&Value::Null).deadline(&Value::Null, default)
    }

    fn background(&self, _input: &Value) -> Background {
        // No alias has an argument for it.
        (self.tool)(&Value::Null).background(&Value::Null)
    }

    async fn attempt(
        &self,
        id: &ToolUseId,
        input: Value,
        mut ctx: ToolContext,
    ) -> Result<Trial, ToolError> {
        let own = (self.translate)(&input, &mut ctx)?;
        (self.tool)(&input).attempt(id, own, ctx).await
    }

    async fn execute(&self, id: &ToolUseId, input: Value, mut ctx: ToolContext) -> CallResult {
        let own = (self.translate)(&input, &mut ctx)?;
        (self.tool)(&input).execute(id, own, ctx).await
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::Registry;

    pub(crate) async fn call(
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
