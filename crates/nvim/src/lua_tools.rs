//! Tools that the user registered in Lua. They run in Neovim, and messages carry their calls
//! and results.
//!
//! A call ends with its result, when it is cancelled, or at its deadline, whatever Neovim
//! does meanwhile.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use serde_json::{Map, Value, json};
use session::editor::Editor;
use session::lua_calls;
use session::lua_calls::{LuaCall, LuaCallEvent};
use session::protocol::{
    CommandEnded, CommandSandbox, FunctionCall, LuaMessage, RegisteredTool, RegisteredTools,
    ToolCall, ToolCommand, ToolStop,
};
use tools::{TextEnd, Tool, ToolContext, ToolError, ToolResult, ToolTraits};

/// The name of this source of tools.
pub const SOURCE: &str = "lua";
/// The name of the source that is loading while Lua functions search for tools.
pub const FINDING: &str = "sources in Lua";

/// The result of a call without output.
const NO_OUTPUT: &str = "(no output)";

/// The registered tools, by name. A tool whose definition stays the same is kept.
#[derive(Default)]
pub struct LuaTools(HashMap<String, (RegisteredTool, Result<Arc<LuaTool>, String>)>);

impl LuaTools {
    /// Replaces the definitions. Returns the tools, and the problems of others.
    pub fn replace(
        &mut self,
        editor: &Editor,
        registered: RegisteredTools,
    ) -> (Vec<Arc<dyn Tool>>, Vec<String>) {
        let mut before = std::mem::take(&mut self.0);
        for item in registered.items {
            let name = item.name.clone();
            let entry = match before.remove(&name) {
                // An unchanged tool stays the same object, so that its running calls and checked
                // schema stay valid.
                Some(entry) if entry.0 == item => entry,
                _ => (item.clone(), LuaTool::new(editor.clone(), item)),
            };
            self.0.insert(name, entry);
        }
        let tools = self.0.values().filter_map(|(_, tool)| tool.as_ref().ok());
        let tools = tools.map(|tool| tool.clone() as Arc<dyn Tool>).collect();
        let problems = self.0.values().filter_map(|(_, tool)| tool.as_ref().err());
        (tools, problems.cloned().collect())
    }
}

/// A tool that is registered in Lua.
struct LuaTool {
    editor: Editor,
    item: RegisteredTool,
    description: String,
    input_schema: Value,
}

impl LuaTool {
    /// Creates a tool, or returns why its definition is invalid.
    fn new(editor: Editor, item: RegisteredTool) -> Result<Arc<Self>, String> {
        let input_schema = arguments(&item.input_schema).map_err(|why| {
            format!(
                "tools.register(): \"{}\" is left out, because {why}.",
                item.name
            )
        })?;
        Ok(Arc::new(Self {
            editor,
            description: description(&item.description, item.output_schema.as_ref()),
            input_schema,
            item,
        }))
    }
}

impl LuaTool {
    /// Starts a call in Lua.
    async fn start(&self, input: Value, ctx: &ToolContext) -> Result<LuaCall, ToolError> {
        let Some(function) = self.item.execute else {
            return Err(ToolError::Failed(format!(
                "The tool {} has no function `execute`, so it cannot run.",
                self.item.name
            )));
        };
        // Called when the call is dropped before its end, as after a cancel or at its deadline.
        let editor = self.editor.clone();
        let stop = move |call| editor.call_lua(LuaMessage::Stop(ToolStop { call }));
        let call = self.editor.calls().start(stop);
        let path = ctx.user.chat.as_ref();
        let folder = path.and_then(|it| tools::chat_folder(it));
        let folder = folder.unwrap_or_else(|| ctx.files.cwd.to_path_buf());
        let message = ToolCall {
            buffer: ctx.user.buffer,
            call: call.number(),
            function,
            is_async: self.item.is_async,
            tool: self.item.name.clone(),
            input,
            cwd: ctx.files.cwd.to_string_lossy().into_owned(),
            path: path.map_or_else(String::new, |it| it.to_string_lossy().into_owned()),
            folder: folder.to_string_lossy().into_owned(),
            timeout: ctx.timeout.as_secs_f64(),
            sandbox: sandbox(ctx).await,
        };
        self.editor.call_lua(LuaMessage::Call(Box::new(message)));
        Ok(call)
    }

    /// Returns which end of a long output is kept.
    fn kept_end(&self) -> TextEnd {
        if self.item.tail {
            TextEnd::Tail
        } else {
            TextEnd::Head
        }
    }

    /// Runs a command of a call and reports its end to Lua.
    async fn run_command(
        &self,
        command: &ToolCommand,
        id: &ToolUseId,
        ctx: &ToolContext,
    ) -> Result<(), ToolError> {
        let (ended, problem) = match tools::run_argv(&command.argv, id, ctx).await {
            Ok(ended) => (Some(ended), None),
            // Nothing is sent to Lua, because dropping the call stops its function there.
            Err(ToolError::Cancelled) => return Err(ToolError::Cancelled),
            Err(error) => (None, Some(error.to_string())),
        };
        let lines = |text: &'_ str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
        let ended = ended.as_ref();
        self.editor.call_lua(LuaMessage::CommandEnded(CommandEnded {
            buffer: ctx.user.buffer,
            call: command.call,
            command: command.command,
            code: ended.and_then(|it| it.code),
            stdout: ended.map(|it| lines(&it.stdout)).unwrap_or_default(),
            stderr: ended.map(|it| lines(&it.stderr)).unwrap_or_default(),
            problem,
        }));
        Ok(())
    }

    /// Calls a function of the tool. Returns its result if that is text.
    async fn call_function(
        &self,
        function: u64,
        what: &str,
        arguments: Vec<Value>,
    ) -> Option<String> {
        let call = FunctionCall {
            functions: vec![function],
            arguments,
        };
        let answers = self.editor.call_functions(vec![call]).await?;
        let answer = answers.into_iter().next()?.into_iter().next()?;
        match answer.value {
            Value::String(text) if answer.ok => Some(text),
            Value::Null if answer.ok => None,
            // A wrong value of a plugin is logged for its author and does not stop the call.
            _ => {
                let (tool, message) = (&self.item.name, answer.message.unwrap_or_default());
                tracing::warn!(tool, what, message, "a function of a tool returned no text");
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

    fn traits(&self) -> ToolTraits {
        ToolTraits {
            is_strict: self.item.strict,
            is_enabled: self.item.enabled,
            // Only tools that are made of commands keep the end of their output.
            runs_commands: self.item.tail,
            asks_always: self.item.requires_approval,
            has_preview: self.item.preview.is_some(),
            hears_refusals: self.item.rejected.is_some(),
            can_be_tried: false,
        }
    }

    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        // `Duration::from_secs_f64` panics for values that are negative or not finite.
        let own = self.item.timeout.map(|it| it.clamp(0.001, 86_400.0));
        own.map_or(default, Duration::from_secs_f64)
    }

    async fn refused(&self, input: &Value, buffer: i64) -> Option<String> {
        let arguments = vec![input.clone(), buffer.into()];
        self.call_function(self.item.rejected?, "output.rejected", arguments)
            .await
    }

    async fn preview(&self, input: &Value, width: usize) -> Option<String> {
        let arguments = vec![input.clone(), width.into()];
        self.call_function(self.item.preview?, "format_preview", arguments)
            .await
    }

    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let mut call = self.start(input, &ctx).await?;
        loop {
            let event = tokio::select! {
                // A cancelled call must not return a result that came in the same moment.
                biased;
                () = ctx.cancel.cancelled() => return Err(ToolError::Cancelled),
                event = call.next() => event,
            };
            let text = match event {
                LuaCallEvent::Command(command) => {
                    self.run_command(&command, id, &ctx).await?;
                    continue;
                }
                LuaCallEvent::Output(text) if text.is_empty() => NO_OUTPUT.to_owned(),
                LuaCallEvent::Output(text) => {
                    tools::within_limits(text, self.kept_end(), self.name(), id, &ctx).await
                }
                LuaCallEvent::Problem(text) => {
                    let name = self.name();
                    let text = tools::within_limits(text, TextEnd::Tail, name, id, &ctx).await;
                    return Err(ToolError::Failed(text));
                }
            };
            return Ok(ToolResult::text(text));
        }
    }
}

/// Describes the sandbox of a call to tools that write files or start programs themselves.
async fn sandbox(ctx: &ToolContext) -> Option<CommandSandbox> {
    let text = |path: &OsStr| path.to_string_lossy().into_owned();
    ctx.files.sandbox.limits()?;
    let (sandbox, cwd) = (ctx.files.sandbox.clone(), ctx.files.cwd.clone());
    let describe = move || {
        let writable = sandbox.writable_outside().unwrap_or_default();
        (writable, sandbox.prefix(&cwd, &[]))
    };
    // Blocking, because the first call probes whether the sandbox works.
    // A failure becomes a problem, for which Lua refuses to start commands. With an empty
    // prefix they would run without the sandbox.
    let (writable, prefix) = match tokio::task::spawn_blocking(describe).await {
        Ok(described) => described,
        Err(error) => (Vec::new(), Err(error.to_string())),
    };
    let (prefix, problem) = match prefix {
        Ok(words) => (words.iter().map(|it| text(it)).collect(), None),
        Err(why) => (Vec::new(), Some(why)),
    };
    Some(CommandSandbox {
        writable: writable.iter().map(|path| text(path.as_os_str())).collect(),
        prefix,
        problem,
    })
}

/// Keywords whose value is an object.
const OBJECTS: [&str; 6] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependentRequired",
    "$defs",
    "definitions",
];
/// Keywords whose value is a schema.
const SCHEMAS: [&str; 8] = [
    "items",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
];

/// Returns the schema of a tool's arguments, with sorted keys, so that each request has the
/// same bytes.
///
/// # Errors
///
/// It is not a schema of an object. The message completes "because …".
fn arguments(given: &Value) -> Result<Value, String> {
    let mut schema = with_objects(&lua_calls::sorted(given));
    let Some(object) = schema.as_object_mut() else {
        return Err("its input_schema is not a table of keywords".to_owned());
    };
    match object.get("type") {
        // Providers reject arguments without a type.
        None => drop(object.insert("type".to_owned(), json!("object"))),
        Some(Value::String(kind)) if kind == "object" => {}
        Some(other) => {
            return Err(format!(
                "its input_schema has the type {other}; arguments are an \"object\""
            ));
        }
    }
    object
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    // Empty arguments need not fit the schema. Only an error about the schema itself matters.
    match chat::schema::fit(&schema, json!({})) {
        Err(why) if why.starts_with("the tool's schema is broken") => {
            Err(why.replacen("the tool's schema is broken", "its input_schema is none", 1))
        }
        _ => Ok(schema),
    }
}

/// Returns a description with the schema of the results.
fn description(text: &str, output: Option<&Value>) -> String {
    match output {
        Some(schema) => {
            let schema = with_objects(&lua_calls::sorted(schema));
            format!("{text}\n\nReturns (JSON Schema): {schema}")
        }
        None => text.to_owned(),
    }
}

/// Replaces empty lists by empty objects where a schema needs an object.
fn with_objects(schema: &Value) -> Value {
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    let map = match schema {
        Value::Object(map) => map,
        // An empty Lua table arrives as a list, but a schema is an object.
        other if is_empty(other) => return Value::Object(Map::new()),
        other => return other.clone(),
    };
    let pairs = map.iter().map(|(name, value)| {
        let value = match value {
            value if OBJECTS.contains(&name.as_str()) => named(value),
            // Before draft 2020-12, `items` may also be a list of schemas.
            value if SCHEMAS.contains(&name.as_str()) && !is_list(value) => with_objects(value),
            Value::Array(items)
                if ["anyOf", "allOf", "oneOf", "prefixItems"].contains(&name.as_str()) =>
            {
                Value::Array(items.iter().map(with_objects).collect())
            }
            other => other.clone(),
        };
        (name.clone(), value)
    });
    Value::Object(pairs.collect())
}

fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty())
}

/// The same for a table of schemas by name.
fn named(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(name, it)| (name.clone(), with_objects(it)));
            Value::Object(pairs.collect())
        }
        // An empty table again.
        Value::Array(items) if items.is_empty() => Value::Object(Map::new()),
        other => other.clone(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_is_an_object_where_the_schema_wants_one() {
        let given = json!({"type": "object", "properties": []});
        assert_eq!(
            arguments(&given).unwrap(),
            json!({"properties": {}, "type": "object"})
        );
        let nested =
            json!({"properties": {"a": [], "b": {"type": "array", "items": []}}, "required": []});
        assert_eq!(
            arguments(&nested).unwrap().to_string(),
            r#"{"properties":{"a":{},"b":{"items":{},"type":"array"}},"required":[],"type":"object"}"#
        );
        assert_eq!(
            arguments(&json!([])).unwrap(),
            json!({"type": "object", "properties": {}})
        );
    }

    #[test]
    fn a_schema_that_is_not_one_of_an_object_is_refused() {
        for (given, why) in [
            (
                json!({"type": "string"}),
                "its input_schema has the type \"string\"",
            ),
            (json!([1]), "its input_schema is not a table of keywords"),
            (
                json!({"properties": {"a": {"type": "strin"}}}),
                "its input_schema is none",
            ),
        ] {
            let said = arguments(&given).unwrap_err();
            assert!(said.starts_with(why), "{said}");
        }
    }

    #[test]
    fn the_same_schema_is_the_same_text_in_whatever_order_it_came() {
        let one = json!({"properties": {"b": {"type": "string", "enum": ["z", "a"]}, "a": {}}, "type": "object"});
        let other = json!({"type": "object", "properties": {"a": {}, "b": {"enum": ["z", "a"], "type": "string"}}});
        assert_eq!(
            arguments(&one).unwrap().to_string(),
            arguments(&other).unwrap().to_string()
        );
    }

    #[test]
    fn the_schema_of_the_results_is_below_the_description() {
        assert_eq!(
            description("Adds.", Some(&json!({"type": "number"}))),
            "Adds.\n\nReturns (JSON Schema): {\"type\":\"number\"}"
        );
    }
}
