//! `search` and `list_files`: looking around under the names and with the parameters
//! of another system. Each is one of our tools below.
//!
//! They are not offered to a model, which may call them all the same.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use serde_json::{Value, json};

use super::SLACK;
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

/// `search`: lines that a pattern matches.
pub(crate) struct Search(pub Arc<dyn Tool>);

/// `list_files`: what is in a folder, or what in it fits a glob.
pub(crate) struct ListFiles {
    pub list: Arc<dyn Tool>,
    pub find: Arc<dyn Tool>,
}

#[async_trait]
impl Tool for Search {
    fn name(&self) -> &str {
        "search"
    }

    fn label(&self) -> &str {
        "Search"
    }

    fn description(&self) -> &str {
        "Search files for lines that match a regular expression."
    }

    fn input_schema(&self) -> Value {
        let properties = json!({
            "pattern": {"type": "string", "description": "The regular expression."},
            "path": {"type": ["string", "null"], "description": "A folder or a file."},
            "include": {"type": ["string", "null"], "description": "Only files that fit this glob."},
            "case_sensitive": {"type": ["boolean", "null"], "description": "Whether case matters; it does unless false."},
        });
        json!({
            "type": "object",
            "properties": properties,
            "required": ["pattern"],
            "additionalProperties": false,
        })
    }

    fn enabled(&self) -> bool {
        false
    }

    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        default + SLACK
    }

    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let pattern = input["pattern"].as_str().unwrap_or_default();
        let pattern = match input["case_sensitive"].as_bool() {
            Some(false) if !pattern.is_empty() => format!("(?i){pattern}"),
            _ => pattern.to_owned(),
        };
        let own = json!({
            "label": "", "pattern": pattern, "path": input["path"], "glob": input["include"],
            "limit": null,
        });
        self.0.execute(id, own, ctx).await
    }
}

#[async_trait]
impl Tool for ListFiles {
    fn name(&self) -> &str {
        "list_files"
    }

    fn label(&self) -> &str {
        "List files"
    }

    fn description(&self) -> &str {
        "List a folder, or the files below it that fit a glob."
    }

    fn input_schema(&self) -> Value {
        let properties = json!({
            "path": {"type": ["string", "null"], "description": "The folder."},
            "pattern": {"type": ["string", "null"], "description": "Only what fits this glob."},
            "max_depth": {"type": ["number", "null"], "description": "How many levels, without a pattern."},
        });
        json!({
            "type": "object",
            "properties": properties,
            "required": [],
            "additionalProperties": false,
        })
    }

    fn enabled(&self) -> bool {
        false
    }

    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        default + SLACK
    }

    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let path = &input["path"];
        match input["pattern"].as_str() {
            Some(pattern) => {
                let own = json!({"label": "", "pattern": pattern, "path": path, "limit": null});
                self.find.execute(id, own, ctx).await
            }
            None => {
                let depth = &input["max_depth"];
                let own = json!({"label": "", "path": path, "max_depth": depth, "limit": null});
                self.list.execute(id, own, ctx).await
            }
        }
    }
}
