//! Adapts tools to what their provider accepts: names, schemas, and names of properties.
//!
//! One tool that a provider refuses makes it refuse every request. So a tool is adapted where
//! that loses nothing, and otherwise left out of the request. The chat keeps the tools' own
//! names: the names in earlier calls are adapted like the tools, and those in new calls are
//! restored by [`WireTools`]. Arguments are still checked against the original schema.
//!
//! Rules that hold for all providers need no row, because following them loses nothing: names of
//! at most 64 letters, digits, `_`, and `-`; a schema of draft 2020-12 for an object, with
//! `properties` and without alternatives at the top; arrays with `items`. Sources, as of
//! 2026-11-26, are the errors that the services return:
//!
//! - Anthropic: `tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`
//!   (64 until 2025, and still on other platforms), `input_schema does not support oneOf, allOf,
//!   or anyOf at the top level`, `JSON schema is invalid. It must match JSON Schema draft
//!   2020-12`, and `Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`
//!   (github.com/anthropics/claude-code/issues/27337, 63673, 79418, 96152)
//! - OpenAI: `schema must have type 'object' and not have
//!   'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level`, `object schema missing
//!   properties`, `array schema missing items`; names: `^[a-zA-Z0-9_-]{1,64}$`
//!   (platform.openai.com/docs/api-reference; github.com/langchain-ai/langchainjs/issues/9804,
//!   spring-projects/spring-ai/issues/4776, langgenius/dify/issues/32894)
//! - Gemini: names "must start with a letter or an underscore", property names "must start with
//!   a letter or an underscore and must only contain chars a-z, A-Z, 0-9, or underscores with a
//!   maximum length of 64" (reference of `FunctionDeclaration`); the keywords of
//!   `parametersJsonSchema` have no `const` and no `allOf`, next to `$ref` only names that
//!   start with `$` are allowed, and "cyclic references … may only be used within non-required
//!   properties" (reference of `responseJsonSchema`)
//! - Moonshot: `function name is invalid, must start with a letter`, `when using anyOf, type
//!   should be defined in anyOf items instead of the parent schema`, `references must start
//!   with #/$defs/`, and none next to other keywords
//!   (github.com/MoonshotAI/kimi-cli/issues/1773, 2531)

mod names;
mod plain;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use chat::prompt::{Part, Prompt, PromptMessage};
use chat::schema;
use chat::tool::ToolDefinition;
use serde_json::{Map, Value};

use self::names::WireNames;
use crate::{Protocol, StreamEvent};
use names::is_accepted_key;
use names::{Renames, Way, rename_in_arguments, rename_in_schema};

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
            | StreamEvent::ServerToolStart { .. }
            | StreamEvent::ServerTool(_)
            | StreamEvent::Exact(_)
            | StreamEvent::Paused
            | StreamEvent::Summary(_)
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
        exact: message.exact.clone(),
    };
    let messages = prompt.messages.iter().map(message);
    Prompt {
        system: prompt.system.clone(),
        messages: messages.filter(|it| !it.is_empty()).collect(),
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
    let (object, alternatives) = plain::fold(schema)?;
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

/// Property names that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Letters, digits, `_`, `.`, and `-`.
    Dotted,
    /// Letters, digits, and `_`, not a digit first.
    Identifiers,
}

/// Rules of one protocol.
#[derive(Debug, Clone, Copy)]
struct Rules {
    /// True if a name must begin with a letter.
    pub letter_first: bool,
    /// The property names that are accepted.
    pub keys: Keys,
    /// True if the schema must be as plain as possible: references only in cycles, no `const`,
    /// types inside alternatives.
    pub plain: bool,
    /// Names of the provider's own tools.
    pub reserved: &'static [&'static str],
}

/// Returns the rules of a protocol. Behind Chat Completions may be a server of any kind, so
/// the rules of Moonshot apply, which are the strictest.
fn rules(protocol: Protocol) -> Rules {
    let (letter_first, keys, plain) = match protocol {
        Protocol::AnthropicMessages | Protocol::Responses => (false, Keys::Dotted, false),
        Protocol::ChatCompletions => (true, Keys::Dotted, true),
        Protocol::Gemini => (true, Keys::Identifiers, true),
    };
    Rules {
        letter_first,
        keys,
        plain,
        reserved: match protocol {
            Protocol::AnthropicMessages => &["web_search", "web_fetch"],
            Protocol::Responses | Protocol::ChatCompletions | Protocol::Gemini => &[],
        },
    }
}

/// Types without parts.
const SIMPLE: [&str; 5] = ["string", "number", "integer", "boolean", "null"];

/// Returns true if nothing in a schema needs to be adapted. Schemas with rare keywords are never
/// usual.
fn is_usual(schema: &Value, keys: Keys) -> bool {
    schema.as_object().is_some_and(|map| {
        map.get("type").is_some_and(|kind| kind == "object")
            && map.contains_key("properties")
            && !map.contains_key("enum")
            && is_usual_inside(map, keys)
    })
}

fn is_usual_inside(map: &Map<String, Value>, keys: Keys) -> bool {
    map.iter().all(|(keyword, value)| match keyword.as_str() {
        "type" => match value.as_str() {
            Some("array") => map.contains_key("items"),
            Some("object") => true,
            Some(kind) => SIMPLE.contains(&kind),
            None => false,
        },
        "description" | "title" | "format" => value.is_string(),
        "enum" => value.is_array(),
        "default" => true,
        "minimum" | "maximum" => value.is_number(),
        "items" => is_usual_part(value, keys),
        "additionalProperties" => value == &Value::Bool(false) || is_usual_part(value, keys),
        "properties" => value.as_object().is_some_and(|named| {
            named
                .iter()
                .all(|(name, it)| is_accepted_key(name, keys) && is_usual_part(it, keys))
        }),
        "required" => value.as_array().is_some_and(|names| {
            let is_name = |name: &Value| name.as_str().is_some_and(|it| is_accepted_key(it, keys));
            // Each name once.
            names.iter().all(is_name)
                && (1..names.len()).all(|at| !names[..at].contains(&names[at]))
        }),
        _ => false,
    })
}

fn is_usual_part(value: &Value, keys: Keys) -> bool {
    value
        .as_object()
        .is_some_and(|map| is_usual_inside(map, keys))
}
