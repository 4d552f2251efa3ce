//! Adapter that makes a server's tool a `Tool`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use serde_json::Value;
use tools::{Tool, ToolContext, ToolError, ToolResult, ToolTraits};

use crate::client::{Called, Caller, PATIENCE};
use crate::definition::Definition;
use crate::server::Server;

/// Added to a call's time limit for starting the server.
const START: Duration = Duration::from_secs(40);

/// A tool of a server.
pub struct ServerTool {
    server: Arc<Server>,
    definition: Definition,
    name: String,
    label: String,
    offered: bool,
}

impl ServerTool {
    /// Returns the accepted tools of a server. Tools with changed definitions are not
    /// offered.
    pub fn all(server: &Arc<Server>) -> Vec<Arc<dyn Tool>> {
        let status = server.status();
        let changes = status.changes();
        let agreed = status.agreed.unwrap_or_default();
        let tools = agreed.into_iter().map(|definition| {
            let name = &definition.name;
            let offered = !changes.changed.contains_key(name) && !changes.removed.contains(name);
            let tool: Arc<dyn Tool> = Arc::new(Self::new(server.clone(), definition, offered));
            tool
        });
        tools.collect()
    }

    fn new(server: Arc<Server>, definition: Definition, offered: bool) -> Self {
        let server_name = &server.spec.name;
        Self {
            name: definition.public_name(server_name),
            label: format!("{} ({server_name})", definition.name),
            definition,
            server,
            offered,
        }
    }

    fn limit(&self, default: Duration) -> Duration {
        self.server
            .spec
            .timeout
            .map_or(default, Duration::from_secs)
    }
}

#[async_trait]
impl Tool for ServerTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn description(&self) -> &str {
        &self.definition.description
    }

    fn input_schema(&self) -> Value {
        self.definition.input_schema.clone()
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            is_enabled: self.offered,
            ..ToolTraits::default()
        }
    }

    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        // The outer deadline must not fire before the limits inside the call do.
        self.limit(default) + START + PATIENCE
    }

    async fn execute(
        &self,
        _id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let Value::Object(arguments) = input else {
            return Err(ToolError::InvalidInput(
                "The arguments must be an object.".to_owned(),
            ));
        };
        let name = &self.definition.name;
        let caller = Caller {
            limit: self.limit(ctx.timeout),
            progress: ctx.progress,
            elicitation: ctx.user.elicitation,
            cancel: ctx.cancel,
        };
        match self.server.call(name, arguments, &caller).await {
            Called::Answered {
                text,
                files,
                is_error: false,
            } => Ok(ToolResult {
                files,
                ..ToolResult::text(text)
            }),
            Called::Answered { text, .. } => Err(ToolError::Failed(text)),
            Called::Cancelled => Err(ToolError::Cancelled),
            Called::Failed(why) => Err(ToolError::Failed(format!(
                "The MCP server \"{name}\" failed: {why}. The user can inspect it with {command}.",
                name = self.server.spec.name,
                command = (self.server.status().commands).describing(&self.server.spec.name)
            ))),
        }
    }
}
