//! Parses the calls of an XML block: `<tools><tool name="…">` with one element per
//! argument.
//!
//! All values in XML are text; the tool's schema determines their types.

use std::borrow::Cow;

use chat::tool::ToolDefinition;
use quick_xml::{
    Reader,
    escape::resolve_predefined_entity,
    events::{BytesRef, BytesStart, Event},
};
use serde_json::{Map, Value};

use super::call::{add_absent, malformed};
use crate::ToolUse;

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
pub(super) fn calls(body: &str, text: &str, tools: &[ToolDefinition]) -> Vec<ToolUse> {
    let read = read(body).and_then(|root| {
        let found = match root.tag.as_str() {
            "tool" => vec![root],
            "tools" => root.children,
            other => return Err(format!("it begins with <{other}> instead of <tools>")),
        };
        if found.is_empty() {
            return Err("it contains no <tool>".to_owned());
        }
        let calls = found.into_iter().map(|tool| call(tool, tools));
        calls.collect::<Result<Vec<_>, String>>()
    });
    read.unwrap_or_else(|why| vec![malformed(&why, text)])
}

fn call(tool: Element, tools: &[ToolDefinition]) -> Result<ToolUse, String> {
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
