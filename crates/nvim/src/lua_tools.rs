//! Tools that the user registered in Lua: they run in their Neovim, called with a
//! message and answered by messages.
//!
//! Nobody waits: the call ends when its answer is there, when it is cancelled, or at
//! its deadline, whatever Neovim does meanwhile. What a tool does is not known here.

mod schema;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use serde_json::Value;
use tools::{TextEnd, Tool, ToolContext, ToolError, ToolResult};

use crate::editor::Editor;
use crate::lua_calls::Said;
use crate::protocol::{
    CommandEnded, FunctionCall, Held, LuaMessage, RegisteredTool, RegisteredTools, ToolCall,
    ToolCommand, ToolStop,
};

/// The name of this source of tools.
pub const SOURCE: &str = "lua";
/// What is waited for while functions still look for tools.
pub const FINDING: &str = "sources in Lua";

/// What a tool that says nothing has said.
const NOTHING: &str = "(no output)";

/// The registered tools as they were last told. Those that stay the same are kept.
#[derive(Default)]
pub struct LuaTools(HashMap<String, (RegisteredTool, Result<Arc<LuaTool>, String>)>);

impl LuaTools {
    /// Takes over what is registered now: the tools, and why others can not be used.
    pub fn take(
        &mut self,
        editor: &Editor,
        told: RegisteredTools,
    ) -> (Vec<Arc<dyn Tool>>, Vec<String>) {
        let mut before = std::mem::take(&mut self.0);
        for item in told.items {
            let name = item.name.clone();
            let entry = match before.remove(&name) {
                Some(entry) if entry.0 == item => entry,
                _ => (item.clone(), LuaTool::of(editor.clone(), item)),
            };
            self.0.insert(name, entry);
        }
        let tools = self.0.values().filter_map(|(_, tool)| tool.as_ref().ok());
        let tools = tools.map(|tool| tool.clone() as Arc<dyn Tool>).collect();
        let problems = self.0.values().filter_map(|(_, tool)| tool.as_ref().err());
        (tools, problems.cloned().collect())
    }
}

/// One of them.
struct LuaTool {
    editor: Editor,
    item: RegisteredTool,
    description: String,
    input_schema: Value,
}

impl LuaTool {
    /// A tool, or why the model cannot be offered it.
    fn of(editor: Editor, item: RegisteredTool) -> Result<Arc<Self>, String> {
        let input_schema = schema::arguments(&item.input_schema).map_err(|why| {
            format!(
                "tools.register(): \"{}\" is left out, because {why}.",
                item.name
            )
        })?;
        Ok(Arc::new(Self {
            editor,
            description: schema::description(&item.description, item.output_schema.as_ref()),
            input_schema,
            item,
        }))
    }
}

impl LuaTool {
    /// Runs a command of a call, and says how it ended.
    async fn command(
        &self,
        command: &ToolCommand,
        id: &ToolUseId,
        ctx: &ToolContext,
    ) -> Result<(), ToolError> {
        let (said, problem) = match tools::run_argv(&command.argv, id, ctx).await {
            Ok(ended) => (Some(ended), None),
            Err(ToolError::Cancelled) => return Err(ToolError::Cancelled),
            Err(error) => (None, Some(error.to_string())),
        };
        let lines = |text: &'_ str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
        let said = said.as_ref();
        self.editor.call_lua(LuaMessage::CommandEnded(CommandEnded {
            buffer: ctx.buffer,
            call: command.call,
            command: command.command,
            code: said.and_then(|it| it.code),
            stdout: said.map(|it| lines(&it.stdout)).unwrap_or_default(),
            stderr: said.map(|it| lines(&it.stderr)).unwrap_or_default(),
            problem,
        }));
        Ok(())
    }

    /// What one of its functions says, if that is a text.
    async fn ask(&self, function: u64, what: &str, arguments: Vec<Value>) -> Option<String> {
        let call = FunctionCall {
            functions: vec![function],
            arguments,
        };
        let answers = self.editor.call_functions(vec![call]).await?;
        let answer = answers.into_iter().next()?.into_iter().next()?;
        match answer.value {
            Value::String(text) if answer.ok => Some(text),
            Value::Null if answer.ok => None,
            _ => {
                let (tool, message) = (&self.item.name, answer.message.unwrap_or_default());
                tracing::warn!(tool, what, message, "a function of a tool gave no text");
                None
            }
        }
    }
}

#[async_trait]
impl Tool for LuaTool {
    fn name(&self) -> &str {
        &self.item.name
    }

    fn label(&self) -> &str {
        &self.item.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn input_schema(&self) -> Value {
        self.input_schema.clone()
    }

    fn strict(&self) -> bool {
        self.item.strict
    }

    fn enabled(&self) -> bool {
        self.item.enabled
    }

    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        let own = self.item.timeout.map(|it| it.clamp(0.001, 86_400.0));
        own.map_or(default, Duration::from_secs_f64)
    }

    fn runs_commands(&self) -> bool {
        // Tools whose output is read from its end are made of commands.
        self.item.tail
    }

    fn asks_always(&self) -> bool {
        self.item.requires_approval
    }

    fn hears_refusals(&self) -> bool {
        self.item.rejected.is_some()
    }

    async fn refused(&self, input: &Value, buffer: i64) -> Option<String> {
        let arguments = vec![input.clone(), buffer.into()];
        self.ask(self.item.rejected?, "output.rejected", arguments)
            .await
    }

    fn has_preview(&self) -> bool {
        self.item.preview.is_some()
    }

    async fn preview(&self, input: &Value, width: usize) -> Option<String> {
        let arguments = vec![input.clone(), width.into()];
        self.ask(self.item.preview?, "format_preview", arguments)
            .await
    }

    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let Some(function) = self.item.execute else {
            return Err(ToolError::Failed(format!(
                "The tool {} has no function `execute`, so it cannot run.",
                self.item.name
            )));
        };
        let editor = self.editor.clone();
        let stop = move |call| editor.call_lua(LuaMessage::Stop(ToolStop { call }));
        let mut call = self.editor.calls().start(stop);
        let path = ctx.chat.as_ref();
        let message = ToolCall {
            buffer: ctx.buffer,
            call: call.number(),
            function,
            is_async: self.item.is_async,
            tool: self.item.name.clone(),
            input,
            cwd: ctx.cwd.to_string_lossy().into_owned(),
            path: path.map_or_else(String::new, |it| it.to_string_lossy().into_owned()),
            timeout: ctx.timeout.as_secs_f64(),
            sandbox: held(&ctx).await,
        };
        self.editor.call_lua(LuaMessage::Call(Box::new(message)));
        let end = if self.item.tail {
            TextEnd::Tail
        } else {
            TextEnd::Head
        };
        loop {
            let said = tokio::select! {
                biased;
                () = ctx.cancel.cancelled() => return Err(ToolError::Cancelled),
                said = call.next() => said,
            };
            match said {
                Said::Command(command) => self.command(&command, id, &ctx).await?,
                Said::Output(text) if text.is_empty() => return Ok(ToolResult::text(NOTHING)),
                Said::Output(text) => {
                    let text = tools::within_limits(text, end, self.name(), id, &ctx).await;
                    return Ok(ToolResult::text(text));
                }
                Said::Problem(text) => {
                    let text =
                        tools::within_limits(text, TextEnd::Tail, self.name(), id, &ctx).await;
                    return Err(ToolError::Failed(text));
                }
            }
        }
    }
}

/// The sandbox of a call, for tools that write and start programs themselves.
async fn held(ctx: &ToolContext) -> Option<Held> {
    let text = |path: &std::ffi::OsStr| path.to_string_lossy().into_owned();
    ctx.sandbox.limits()?;
    let (sandbox, cwd) = (ctx.sandbox.clone(), ctx.cwd.clone());
    let look = move || {
        let writable = sandbox.writable_outside().unwrap_or_default();
        (writable, sandbox.prefix(&cwd, &[]))
    };
    // It may have to find out first whether it holds anything.
    let (writable, found) = match tokio::task::spawn_blocking(look).await {
        Ok(found) => found,
        Err(error) => (Vec::new(), Err(error.to_string())),
    };
    let (prefix, problem) = match found {
        Ok(words) => (words.iter().map(|it| text(it)).collect(), None),
        Err(why) => (Vec::new(), Some(why)),
    };
    Some(Held {
        writable: writable.iter().map(|path| text(path.as_os_str())).collect(),
        prefix,
        problem,
    })
}
