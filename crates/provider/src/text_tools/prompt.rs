//! Converts a prompt to one whose tools, calls, and results are text.
//!
//! The same prompt gives the same text, so that prefixes can be cached.

use chat::{
    prompt::{Part, Prompt, PromptMessage},
    tool::{MALFORMED_CALL, ToolDefinition},
};
use serde_json::{Value, json};

use super::{CLOSE, OPEN};
use crate::arguments;

const RULES: &str = "\
# Tools

You can call tools. To call one, write these three lines, outside of any code block:

<tool_call>
{\"name\": \"NAME\", \"arguments\": {…}}
</tool_call>

`arguments` is a JSON object that fits the tool's parameters. Several calls are written one after another. Then end
your answer: the results come with the next message, in <tool_response>. Write no results yourself.

The tools, a line each:
";

/// Converts `prompt` for a model without tool calling.
pub(crate) fn in_words(prompt: &Prompt) -> Prompt {
    let described = (!prompt.tools.is_empty()).then(|| describe(&prompt.tools));
    let system: Vec<String> = prompt.system.iter().cloned().chain(described).collect();
    let message = |message: &PromptMessage| PromptMessage {
        role: message.role,
        parts: message.parts.iter().map(part).collect(),
    };
    Prompt {
        system: (!system.is_empty()).then(|| system.join("\n\n")),
        messages: prompt.messages.iter().map(message).collect(),
        tools: Vec::new(),
    }
}

fn describe(tools: &[ToolDefinition]) -> String {
    let lines = tools.iter().map(|tool| {
        let line = json!({
            "name": tool.name, "description": tool.description, "parameters": tool.input_schema,
        });
        format!("\n{line}")
    });
    RULES.to_owned() + &lines.collect::<String>()
}

fn part(part: &Part) -> Part {
    match part {
        Part::ToolUse { name, input, .. } => Part::Text(call(name, input)),
        Part::ToolResult {
            tool_use_id,
            name,
            content,
            is_error,
        } => {
            let key = if *is_error { "error" } else { "output" };
            let result = json!({"name": name, "id": tool_use_id.as_str(), key: content});
            // A tool's output must not close its block or open another.
            let result = result.to_string().replace('<', "\\u003c");
            Part::Text(format!("<tool_response>\n{result}\n</tool_response>"))
        }
        other => other.clone(),
    }
}

/// Returns a call as the model wrote it, or in the expected form.
fn call(name: &str, input: &str) -> String {
    if name == MALFORMED_CALL {
        let read: Value = serde_json::from_str(input).unwrap_or_default();
        if let Some(text) = read["text"].as_str() {
            return text.to_owned();
        }
    }
    let arguments = arguments::whole_object(input).map_or(arguments::NONE, |raw| raw.get());
    let name = Value::from(name);
    format!("{OPEN}\n{{\"name\": {name}, \"arguments\": {arguments}}}\n{CLOSE}")
}
