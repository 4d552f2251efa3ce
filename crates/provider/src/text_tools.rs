//! Tools for models without tool calling: described in the system prompt, with calls parsed
//! from the answer's text.
//!
//! A call has one of two forms: a line `<tool_call>`, a JSON object with `name` and
//! `arguments`, and `</tool_call>`; or a fence ```` ```xml ```` around `<tools><tool
//! name="…">`. Both start at column 0 and outside other fences, so a model can quote either
//! without making a call. Only the streamed answer is parsed: text in a document, a result,
//! or a user's message never becomes a call.
//!
//! The same prompt gives the same text, so that prefixes can be cached. All values in XML are
//! text; the tool's schema determines their types.

mod reader;

use std::borrow::Cow;

use chat::prompt::{Part, Prompt, PromptMessage};
use chat::tool::{MALFORMED_CALL, ToolDefinition};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::{ToolUse, content, surrogates};

pub use reader::TextCalls;

pub(crate) const OPEN: &str = "<tool_call>";

const CLOSE: &str = "</tool_call>";

/// Returns the length of the call with which `text` begins; `None` if it is not complete.
pub(crate) fn call_length(text: &str) -> Option<usize> {
    let ends = text.match_indices(CLOSE).map(|(at, _)| at);
    let mut ends = ends.filter(|at| *at >= OPEN.len());
    // An argument may contain the tag too.
    let is_end = |at: &usize| {
        let body = &text[OPEN.len()..*at];
        !matches!(extent(body), Extent::Open) || body.trim().is_empty()
    };
    Some(ends.find(is_end)? + CLOSE.len())
}

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
        exact: None,
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
            ..
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
    let arguments = content::whole_object(input).map_or(content::NONE, |raw| raw.get());
    let name = Value::from(name);
    format!("{OPEN}\n{{\"name\": {name}, \"arguments\": {arguments}}}\n{CLOSE}")
}

/// A call as written between the tags. Models were trained with different field names.
#[derive(Deserialize)]
struct Written<'a> {
    name: String,
    #[serde(borrow, alias = "parameters", alias = "input")]
    arguments: Option<&'a RawValue>,
}

/// How much of a JSON object a text has.
enum Extent {
    /// Complete.
    Whole,
    /// Possibly incomplete.
    Open,
    /// Invalid, whatever follows.
    Broken,
}

/// Returns whether a call's JSON is complete.
fn extent(body: &str) -> Extent {
    // A raw value is only checked, not built, because this runs for every closing tag.
    match serde_json::from_str::<&RawValue>(unfenced(body)) {
        Ok(_) => Extent::Whole,
        Err(error) if error.is_eof() => Extent::Open,
        Err(_) => Extent::Broken,
    }
}

/// Returns the calls in a JSON body: one or a list. `text` is the whole text of an
/// unreadable call.
fn in_json(body: &str, text: &str, tools: &[ToolDefinition]) -> Vec<ToolUse> {
    let body = &surrogates::without(unfenced(body));
    let written = if body.starts_with('[') {
        serde_json::from_str::<Vec<Written<'_>>>(body)
    } else {
        serde_json::from_str::<Written<'_>>(body).map(|it| vec![it])
    };
    let read = written.map_err(|error| error.to_string()).and_then(|all| {
        let calls = all.into_iter().map(|it| {
            Ok(ToolUse {
                input: arguments(it.arguments, &it.name, tools)?,
                name: it.name,
                id: String::new(),
            })
        });
        calls.collect::<Result<Vec<_>, String>>()
    });
    read.unwrap_or_else(|why| vec![malformed(&why, text)])
}

/// Returns the replacement for an unreadable call, which ends in an error with the reason.
fn malformed(why: &str, text: &str) -> ToolUse {
    ToolUse {
        id: String::new(),
        name: MALFORMED_CALL.to_owned(),
        input: json!({"why": why, "text": text}).to_string(),
    }
}

/// Returns the arguments as written, unless something must be added.
fn arguments(
    raw: Option<&RawValue>,
    name: &str,
    tools: &[ToolDefinition],
) -> Result<String, String> {
    let raw = raw.map_or("{}", RawValue::get);
    // Some models write the object as a string, as in other APIs.
    let text = match serde_json::from_str::<String>(raw) {
        Ok(inner) => inner,
        Err(_) => raw.to_owned(),
    };
    let Ok(mut object) = serde_json::from_str::<Map<String, Value>>(&text) else {
        return Err("its arguments are not a JSON object".to_owned());
    };
    Ok(if add_absent(&mut object, name, tools) {
        Value::Object(object).to_string()
    } else {
        text
    })
}

/// Adds `null` for absent required arguments that may be `null`: models omit them unless
/// the API forces them. Returns true if it added any.
fn add_absent(object: &mut Map<String, Value>, name: &str, tools: &[ToolDefinition]) -> bool {
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        // The call gets an error result, which names the tools.
        return false;
    };
    let schema = &tool.input_schema;
    let wanted = schema["required"].as_array().into_iter().flatten();
    let absent = wanted.filter_map(Value::as_str).filter(|name| {
        let types = &schema["properties"][name]["type"];
        let nullable = types
            .as_array()
            .is_some_and(|it| it.contains(&json!("null")));
        nullable && !object.contains_key(*name)
    });
    let absent: Vec<String> = absent.map(str::to_owned).collect();
    let any = !absent.is_empty();
    object.extend(absent.into_iter().map(|name| (name, Value::Null)));
    any
}

/// Removes the code fence that some models write around a body.
fn unfenced(body: &str) -> &str {
    let body = body.trim();
    let inner = body
        .strip_prefix("```json")
        .or_else(|| body.strip_prefix("```"));
    match inner {
        Some(inner) => inner.strip_suffix("```").unwrap_or(inner).trim(),
        None => body,
    }
}

/// Maximum nesting of elements, more than any arguments need.
const MAX_DEPTH: usize = 64;

/// An element: its attribute `name`, its text, and its children.
#[derive(Debug, Default)]
struct Element {
    tag: String,
    name: Option<String>,
    text: String,
    children: Vec<Element>,
}

/// Returns the calls of a block. `text` is the whole text of an unreadable call.
fn calls(body: &str, text: &str, tools: &[ToolDefinition]) -> Vec<ToolUse> {
    let read = read(body).and_then(|root| {
        let found = match root.tag.as_str() {
            "tool" => vec![root],
            "tools" => root.children,
            other => return Err(format!("it begins with <{other}> instead of <tools>")),
        };
        if found.is_empty() {
            return Err("it contains no <tool>".to_owned());
        }
        let calls = found.into_iter().map(|tool| xml_call(tool, tools));
        calls.collect::<Result<Vec<_>, String>>()
    });
    read.unwrap_or_else(|why| vec![malformed(&why, text)])
}

fn xml_call(tool: Element, tools: &[ToolDefinition]) -> Result<ToolUse, String> {
    let name = match tool.name {
        Some(name) if tool.tag == "tool" && !name.is_empty() => name,
        _ => return Err(format!("a <{}> has no attribute \"name\"", tool.tag)),
    };
    let definition = tools.iter().find(|tool| tool.name == name);
    let schema = definition.map_or(&Value::Null, |tool| &tool.input_schema);
    let mut children = tool.children;
    // The documented form of this protocol wraps the arguments in `<action>`.
    if children.len() == 1
        && children[0].tag == "action"
        && schema["properties"]["action"].is_null()
    {
        children = std::mem::take(&mut children[0].children);
    }
    let mut arguments = object(children, schema);
    add_absent(&mut arguments, &name, tools);
    Ok(ToolUse {
        id: String::new(),
        name,
        input: Value::Object(arguments).to_string(),
    })
}

fn object(children: Vec<Element>, schema: &Value) -> Map<String, Value> {
    let mut object = Map::new();
    for child in children {
        let schema = &schema["properties"][&child.tag];
        let is_list = is(schema, "array") && !child.children.is_empty();
        let key = child.tag.clone();
        // An element that occurs twice is a list, unless its content is one.
        match object.get_mut(&key) {
            Some(Value::Array(list)) if !is_list => list.push(value(child, item_of(schema))),
            Some(first) => {
                let first = first.take();
                let second = value(child, item_of(schema));
                object.insert(key, Value::Array(vec![first, second]));
            }
            // A list of one element looks like a single value.
            None if is(schema, "array") && !is_list => {
                let only = value(child, item_of(schema));
                object.insert(key, Value::Array(vec![only]));
            }
            None => drop(object.insert(key, value(child, schema))),
        }
    }
    object
}

/// Returns the schema of a list's items; any other schema itself.
fn item_of(schema: &Value) -> &Value {
    match schema.get("items") {
        Some(items) if is(schema, "array") => items,
        _ => schema,
    }
}

fn value(element: Element, schema: &Value) -> Value {
    if is(schema, "array") && !element.children.is_empty() {
        let items = &schema["items"];
        let list = element.children.into_iter().map(|item| value(item, items));
        return Value::Array(list.collect());
    }
    if !element.children.is_empty() {
        return Value::Object(object(element.children, schema));
    }
    let text = element.text;
    let word = text.trim();
    // Models write it in several ways, or leave the element empty.
    if is(schema, "null") && matches!(word, "" | "null" | "nil") {
        return Value::Null;
    }
    if is(schema, "integer") || is(schema, "number") || is(schema, "boolean") {
        // Any other text stays text, and the check of the schema says what is wrong.
        let read = serde_json::from_str::<Value>(word);
        if let Ok(read @ (Value::Number(_) | Value::Bool(_))) = read {
            return read;
        }
    }
    // XML has no other way to write an empty object.
    if is(schema, "object") && word.is_empty() {
        return Value::Object(Map::new());
    }
    // Line breaks between tags and text are not part of the text.
    let inner = match text.strip_prefix('\n') {
        Some(inner) => {
            let ended = inner.trim_end_matches([' ', '\t']);
            ended.strip_suffix('\n').unwrap_or(inner)
        }
        None => &text,
    };
    Value::String(inner.to_owned())
}

/// Returns true if a schema allows this type.
fn is(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::String(only) => only == kind,
        Value::Array(types) => types.iter().any(|it| it == kind),
        _ => false,
    }
}

/// Parses one element and its content.
fn read(body: &str) -> Result<Element, String> {
    let mut reader = Reader::from_str(body.trim());
    let mut open: Vec<Element> = Vec::new();
    loop {
        let event = reader.read_event().map_err(|error| error.to_string())?;
        let closed = match event {
            Event::Start(_) if open.len() >= MAX_DEPTH => {
                // `value` recurses, and deeper nesting could overflow its stack.
                return Err("it is nested too deep".to_owned());
            }
            Event::Start(start) => {
                open.push(begun(&start)?);
                None
            }
            Event::Empty(start) => Some(begun(&start)?),
            Event::End(_) => open.pop(),
            Event::Eof => return Err("its first element is not closed".to_owned()),
            other => {
                let text = text(&other)?;
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&text);
                }
                None
            }
        };
        if let Some(element) = closed {
            match open.last_mut() {
                Some(parent) => parent.children.push(element),
                None => return Ok(element),
            }
        }
    }
}

/// Decodes an entity such as `&lt;` or `&#60;`.
fn entity(name: &BytesRef<'_>) -> Result<String, String> {
    let character = name.resolve_char_ref().map_err(|error| error.to_string())?;
    if let Some(character) = character {
        return Ok(character.to_string());
    }
    let name = name.decode().map_err(|error| error.to_string())?;
    // Only XML's five own entities: one that a model defines could expand exponentially.
    match resolve_predefined_entity(&name) {
        Some(text) => Ok(text.to_owned()),
        None => Err(format!("there is no entity \"&{name};\"")),
    }
}

/// Returns the text of an event, which is empty for comments and declarations.
fn text(event: &Event<'_>) -> Result<String, String> {
    let text = match event {
        Event::Text(text) => text.decode(),
        Event::CData(text) => text.decode(),
        Event::GeneralRef(name) => return entity(name),
        _ => return Ok(String::new()),
    };
    text.map(Cow::into_owned).map_err(|error| error.to_string())
}

fn begun(start: &BytesStart<'_>) -> Result<Element, String> {
    let tag = String::from_utf8_lossy(start.name().as_ref()).into_owned();
    let name = start.try_get_attribute("name");
    let name = name.map_err(|error| error.to_string())?;
    let name = match name {
        Some(name) => Some(
            name.unescape_value()
                .map_err(|error| error.to_string())?
                .into_owned(),
        ),
        None => None,
    };
    Ok(Element {
        tag,
        name,
        ..Element::default()
    })
}
