//! Adapts tools to what their provider accepts: names, schemas, and names of properties.
//!
//! One tool that a provider refuses makes it refuse every request. So a tool is adapted where
//! that loses nothing, and otherwise left out of the request. The chat keeps the tools' own
//! names: those of earlier calls are adapted like the tools, and those of new calls are
//! restored by [`WireTools`]. Arguments are still checked against the original schema.

mod fold;
mod keys;
mod names;
mod plain;
mod rules;
mod usual;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use chat::prompt::{Part, Prompt, PromptMessage};
use chat::schema;
use chat::tool::ToolDefinition;
use serde_json::Value;

use self::keys::{Renames, Way, rename_in_arguments, rename_in_schema};
use self::names::WireNames;
use self::rules::{Rules, rules};
use self::usual::is_usual;
use crate::{Protocol, StreamEvent};

/// A tool that a provider would refuse, so that it is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The tool's name.
    pub name: String,
    /// The reason, a phrase such as "its arguments have the type "string" instead of "object"".
    pub reason: String,
}

/// The tools of a request that have other names on the wire. Clones share them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WireTools(Arc<Vec<Renamed>>);

/// A tool with another name, or with other names of properties.
#[derive(Debug, PartialEq)]
struct Renamed {
    name: String,
    wire: String,
    schema: Value,
    properties: Renames,
}

impl WireTools {
    /// Restores the tools' own names in an event of the answer.
    pub(crate) fn restore(&self, event: &mut StreamEvent) {
        let find = |wire: &str| self.0.iter().find(|tool| tool.wire == wire);
        match event {
            StreamEvent::ToolUseStart { name } => {
                if let Some(tool) = find(name) {
                    name.clone_from(&tool.name);
                }
            }
            StreamEvent::ToolUse(call) => {
                if let Some(tool) = find(&call.name) {
                    call.name.clone_from(&tool.name);
                    call.input = tool.arguments(&call.input, Way::FromWire);
                }
            }
            StreamEvent::Text(_)
            | StreamEvent::TextEnd
            | StreamEvent::TextWasThinking
            | StreamEvent::Thinking(_)
            | StreamEvent::ThinkingEnd { .. }
            | StreamEvent::ThinkingRefused
            | StreamEvent::RedactedThinking(_)
            | StreamEvent::Remark(_)
            | StreamEvent::Usage(_)
            | StreamEvent::Stop(_)
            | StreamEvent::Error(_) => {}
        }
    }

    /// Returns the tool's own name for a name on the wire.
    pub(crate) fn own_name<'s>(&'s self, wire: &'s str) -> &'s str {
        let found = self.0.iter().find(|tool| tool.wire == wire);
        found.map_or(wire, |tool| &tool.name)
    }
}

impl Renamed {
    fn arguments(&self, text: &str, way: Way) -> String {
        if self.properties.is_empty() {
            text.to_owned()
        } else {
            rename_in_arguments(text, &self.schema, &self.properties, way)
        }
    }
}

/// A prompt as its provider accepts it.
pub(crate) struct Adapted<'p> {
    pub prompt: Cow<'p, Prompt>,
    pub tools: WireTools,
}

/// Returns the tools in `prompt` that this protocol's providers would refuse, and why.
pub fn left_out(prompt: &Prompt, protocol: Protocol) -> Vec<LeftOut> {
    let rules = rules(protocol);
    let refused = prompt.all_tools().filter_map(|tool| {
        let reason = definition(tool, rules).err()?;
        let name = tool.name.clone();
        Some(LeftOut { name, reason })
    });
    refused.collect()
}

/// Adapts the tools of `prompt`, and the calls and results of earlier turns.
pub(crate) fn adapt(prompt: &Prompt, protocol: Protocol) -> Adapted<'_> {
    let rules = rules(protocol);
    let parts = prompt.messages.iter().flat_map(|message| &message.parts);
    let called = parts.filter_map(called);
    let offered = prompt.all_tools().map(|tool| tool.name.as_str());
    let names = WireNames::new(offered.chain(called), rules);
    let mut tools = HashMap::new();
    let mut renamed = Vec::new();
    let mut is_same = names.is_empty();
    for tool in prompt.all_tools() {
        // What is left out here is reported by `left_out`.
        let Ok((mut adapted, properties)) = definition(tool, rules) else {
            is_same = false;
            continue;
        };
        let wire = names.get(&tool.name);
        if adapted.name != wire {
            wire.clone_into(&mut adapted.to_mut().name);
        }
        is_same &= matches!(adapted, Cow::Borrowed(_)) || *adapted == *tool;
        if adapted.name != tool.name || !properties.is_empty() {
            renamed.push(Renamed {
                name: tool.name.clone(),
                wire: adapted.name.clone(),
                schema: tool.input_schema.clone(),
                properties,
            });
        }
        tools.entry(tool.name.as_str()).or_insert(adapted);
    }
    Adapted {
        prompt: if is_same {
            Cow::Borrowed(prompt)
        } else {
            Cow::Owned(adapted_prompt(prompt, &tools, &names, &renamed))
        },
        tools: WireTools(Arc::new(renamed)),
    }
}

/// Returns the name of a tool that a part names.
fn called(part: &Part) -> Option<&str> {
    match part {
        Part::ToolUse { name, .. } | Part::ToolResult { name, .. } => Some(name),
        Part::Text(_) | Part::File(_) | Part::ToolsAdded(_) | Part::Thinking { .. } => None,
    }
}

/// `tools` are the adapted tools by their own names; the others are left out.
fn adapted_prompt(
    prompt: &Prompt,
    tools: &HashMap<&str, Cow<'_, ToolDefinition>>,
    names: &WireNames<'_>,
    renamed: &[Renamed],
) -> Prompt {
    let adapted = |definitions: &[ToolDefinition]| -> Vec<ToolDefinition> {
        let found = definitions.iter().map(|own| tools.get(own.name.as_str()));
        found
            .flatten()
            .map(|tool| tool.clone().into_owned())
            .collect()
    };
    let part = |part: &Part| {
        let mut part = part.clone();
        match &mut part {
            Part::ToolsAdded(definitions) => {
                *definitions = adapted(definitions);
                if definitions.is_empty() {
                    return None;
                }
            }
            Part::ToolUse { name, input, .. } => {
                if let Some(tool) = renamed.iter().find(|tool| tool.name == *name) {
                    *input = tool.arguments(input, Way::ToWire);
                }
                *name = names.get(name).to_owned();
            }
            Part::ToolResult { name, .. } => *name = names.get(name).to_owned(),
            Part::Text(_) | Part::File(_) | Part::Thinking { .. } => {}
        }
        Some(part)
    };
    let message = |message: &PromptMessage| PromptMessage {
        role: message.role,
        parts: message.parts.iter().filter_map(part).collect(),
    };
    let messages = prompt.messages.iter().map(message);
    Prompt {
        system: prompt.system.clone(),
        messages: messages.filter(|it| !it.parts.is_empty()).collect(),
        tools: adapted(&prompt.tools),
    }
}

/// Adapts the schema of a tool, and returns the properties that have other names in it.
///
/// # Errors
///
/// The reason why the tool can't be offered; a phrase.
fn definition(
    tool: &ToolDefinition,
    rules: Rules,
) -> Result<(Cow<'_, ToolDefinition>, Renames), String> {
    if is_usual(&tool.input_schema, rules.keys) {
        return Ok((Cow::Borrowed(tool), Renames::new()));
    }
    let mut schema = schema::modern(&tool.input_schema)?;
    let properties = rename_in_schema(&mut schema, rules.keys);
    if rules.plain {
        schema = plain::replace_references(schema);
    }
    let (object, alternatives) = fold::fold(schema)?;
    let mut schema = Value::Object(object);
    if rules.plain {
        plain::simplify(&mut schema);
    }
    schema::for_each(&mut schema, &mut plain::add_items);
    let mut adapted = tool.clone();
    if let Some(alternatives) = alternatives {
        let description = tool.description.trim_end();
        adapted.description = format!("{description}\n\n{alternatives}")
            .trim_start()
            .to_owned();
    }
    // OpenAI checks strict schemas, and this is not the one that was made for it.
    adapted.strict &= schema == tool.input_schema;
    adapted.input_schema = schema;
    Ok((Cow::Owned(adapted), properties))
}
