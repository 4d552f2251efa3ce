//! Completes and validates arguments against a tool's schema. The only module that refers
//! to `jsonschema`, whose API changes often.
//!
//! [`Subschemas`] are the subschemas of one place of a value. References and alternatives are
//! followed without checking which of them fit: a property that any alternative declares is
//! known. So a place says what a value may be, not what it must be.

mod complete;
mod modern;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

use crate::tool::ToolDefinition;

pub use self::modern::{for_each, modern};

/// Cache of compiled schemas: compiling one takes longer than checking a call. Clones share
/// the cache.
#[derive(Debug, Clone, Default)]
pub struct Checks(Arc<Mutex<HashMap<String, Arc<Validator>>>>);

impl Checks {
    /// Completes the arguments of a call and checks them; no type is coerced.
    ///
    /// - A whole number such as `10.0` becomes an integer where the schema declares one.
    /// - A missing required argument that may be null becomes null.
    /// - Null for an optional argument that does not allow it is removed.
    /// - The `label` of a strict tool is optional.
    ///
    /// # Errors
    ///
    /// At most five findings with their locations, for the model; or the reason why the
    /// schema is invalid.
    pub fn fit(&self, tool: &ToolDefinition, input: Value) -> Result<Value, String> {
        let validator = self.ready(&tool.name, &tool.input_schema)?;
        let input = completed(&validator, &tool.input_schema, input, tool.strict);
        findings(&validator, &input).map(|()| input)
    }

    /// Compiles the schema of the tool with this name, unless it is cached. That takes
    /// milliseconds, most for the first schema of a process.
    pub fn prepare(&self, tool: &str, schema: &Value) {
        // An invalid schema is reported when it is used.
        drop(self.ready(tool, schema));
    }

    fn ready(&self, tool: &str, schema: &Value) -> Result<Arc<Validator>, String> {
        // Held while compiling, so that no schema is compiled twice. Entries are complete when
        // they are inserted, so a panic leaves a valid cache.
        let mut ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(validator) = ready.get(tool) {
            return Ok(validator.clone());
        }
        let validator = Arc::new(lenient_validator(schema)?);
        ready.insert(tool.to_owned(), validator.clone());
        Ok(validator)
    }
}

/// Like [`Checks::fit`] for a tool that is not strict, without the cache.
///
/// # Errors
///
/// Those of [`Checks::fit`].
pub fn fit(schema: &Value, input: Value) -> Result<Value, String> {
    let validator = validator(schema)?;
    let input = completed(&validator, schema, input, false);
    findings(&validator, &input).map(|()| input)
}

fn completed(validator: &Validator, schema: &Value, mut input: Value, has_label: bool) -> Value {
    complete::restore(schema, &mut input);
    complete::complete(validator, input, has_label)
}

fn validator(schema: &Value) -> Result<Validator, String> {
    jsonschema::validator_for(schema)
        .map_err(|error| format!("the tool's schema is broken: {error}"))
}

/// Like [`validator`], also for the schemas of tools that others wrote. Many of them mix
/// drafts, such as `exclusiveMinimum: true` without `$schema`.
fn lenient_validator(schema: &Value) -> Result<Validator, String> {
    validator(schema).or_else(|broken| {
        let converted = modern(schema).map_err(|_| broken.clone())?;
        validator(&converted).map_err(|_| broken)
    })
}

fn findings(validator: &Validator, input: &Value) -> Result<(), String> {
    let findings: Vec<String> = validator
        .iter_errors(input)
        .take(5)
        .map(|error| match error.instance_path().to_string() {
            path if path.is_empty() => finding(&error),
            path => format!("{}: {}", path.trim_start_matches('/'), finding(&error)),
        })
        .collect();
    if findings.is_empty() {
        Ok(())
    } else {
        Err(findings.join("; "))
    }
}

/// Describes a finding, starting with what to change.
fn finding(error: &ValidationError<'_>) -> String {
    let words = shorten(&error.to_string());
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            format!("missing {name} ({words})")
        }
        _ => words,
    }
}

/// Shortens a finding: it quotes the value, which may be megabytes long.
fn shorten(finding: &str) -> String {
    if finding.chars().count() <= 300 {
        return finding.to_owned();
    }
    let start: String = finding.chars().take(120).collect();
    let end: String = finding
        .chars()
        .rev()
        .take(160)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect();
    format!("{start} … {end}")
}

/// Keywords whose value is a schema for the same place.
const SAME_PLACE: [&str; 3] = ["if", "then", "else"];

/// Keywords whose value is a list of schemas for the same place.
const ALTERNATIVES: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords whose value has schemas for the same place by property name.
const DEPENDENT: [&str; 2] = ["dependentSchemas", "dependencies"];

/// One place of a value, with all subschemas that may apply to it.
#[derive(Debug, Clone)]
pub struct Subschemas<'s> {
    root: &'s Value,
    schemas: Vec<&'s Map<String, Value>>,
}

impl<'s> Subschemas<'s> {
    /// Returns the place of the whole value.
    pub fn of(root: &'s Value) -> Self {
        Self::with(root, vec![root])
    }

    /// Returns the place of the property with this name.
    pub fn property(&self, name: &str) -> Self {
        let inner = self.schemas.iter().flat_map(|schema| {
            let declared = schema.get("properties").and_then(|it| it.get(name));
            // Patterns are not evaluated: each of them may match the name.
            let patterns = schema.get("patternProperties").and_then(Value::as_object);
            let patterns = patterns.into_iter().flat_map(Map::values);
            let others = schema.get("additionalProperties");
            let undeclared = patterns.chain(others).filter(move |_| declared.is_none());
            declared.into_iter().chain(undeclared)
        });
        Self::with(self.root, inner.collect())
    }

    /// Returns the place of the item at this index.
    pub fn item(&self, index: usize) -> Self {
        let inner = self.schemas.iter().filter_map(|schema| {
            let items = schema.get("items");
            // Before draft 2020-12, a list of schemas for the first items.
            let first = schema
                .get("prefixItems")
                .or(items.filter(|it| it.is_array()));
            let rest = items.filter(|it| it.is_object());
            let rest = rest.or_else(|| schema.get("additionalItems"));
            first.and_then(|it| it.get(index)).or(rest)
        });
        Self::with(self.root, inner.collect())
    }

    /// Returns true if a property with this name is declared.
    pub fn declares(&self, name: &str) -> bool {
        self.schemas.iter().any(|schema| {
            let properties = schema.get("properties");
            properties.is_some_and(|it| it.get(name).is_some())
        })
    }

    /// Returns true if the value may be an integer and is declared as one.
    pub fn has_integer(&self) -> bool {
        let is_integer = |kind: &Value| kind == "integer";
        self.schemas.iter().any(|schema| match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().any(is_integer),
            Some(kind) => is_integer(kind),
            None => false,
        })
    }

    /// Returns the place with these subschemas and all that they refer to.
    fn with(root: &'s Value, mut open: Vec<&'s Value>) -> Self {
        let mut schemas: Vec<&'s Map<String, Value>> = Vec::new();
        while let Some(next) = open.pop() {
            let Value::Object(schema) = next else {
                continue;
            };
            // By address: a schema that refers to itself must not be followed forever.
            if schemas.iter().any(|seen| std::ptr::eq(*seen, schema)) {
                continue;
            }
            schemas.push(schema);
            open.extend(beside(root, schema));
        }
        Self { root, schemas }
    }
}

/// Returns the schemas that apply to the same place as `schema`.
fn beside<'s>(root: &'s Value, schema: &'s Map<String, Value>) -> impl Iterator<Item = &'s Value> {
    let referred = schema.get("$ref").and_then(Value::as_str);
    let referred = referred.and_then(|reference| target(root, reference));
    let lists = ALTERNATIVES
        .iter()
        .filter_map(|key| schema.get(*key)?.as_array());
    let dependent = DEPENDENT
        .iter()
        .filter_map(|key| schema.get(*key)?.as_object());
    referred
        .into_iter()
        .chain(SAME_PLACE.iter().filter_map(|key| schema.get(*key)))
        .chain(lists.flatten())
        .chain(dependent.flat_map(Map::values))
}

/// Returns the subschema of `root` that a reference names: `#`, `#/a/b`, or `#anchor`, also
/// after the root's own address. `None` for another document and for a missing one.
fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let own = ["$id", "id"]
        .iter()
        .find_map(|key| root.get(*key)?.as_str());
    let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let is_own = address.is_empty() || own.is_some_and(|own| own.trim_end_matches('#') == address);
    match fragment {
        _ if !is_own => None,
        "" => Some(root),
        pointer if pointer.starts_with('/') => root.pointer(&percent_decoded(pointer)),
        anchor => anchored(root, anchor),
    }
}

/// Finds the subschema with this anchor.
fn anchored<'s>(node: &'s Value, anchor: &str) -> Option<&'s Value> {
    let is_named = |key: &str| node.get(key).and_then(Value::as_str) == Some(anchor);
    if is_named("$anchor") || is_named("$dynamicAnchor") {
        return Some(node);
    }
    match node {
        Value::Object(map) => map.values().find_map(|it| anchored(it, anchor)),
        Value::Array(list) => list.iter().find_map(|it| anchored(it, anchor)),
        _ => None,
    }
}

/// Decodes `%41` in a fragment of a URI.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(schema: &Value) -> ToolDefinition {
        ToolDefinition {
            name: "tool".to_owned(),
            description: String::new(),
            input_schema: schema.clone(),
            strict: true,
            keywords: Vec::new(),
        }
    }

    fn check(schema: &Value, input: &Value) -> Result<(), String> {
        let fits = Checks::default().fit(&tool(schema), input.clone());
        fits.map(|_| ())
    }

    #[test]
    fn findings_name_the_argument_and_nothing_is_coerced() {
        let schema = json!({
            "type": "object",
            "properties": { "command": { "type": "string" }, "timeout": { "type": ["number", "null"] } },
            "required": ["command", "timeout"],
            "additionalProperties": false,
        });
        assert_eq!(
            check(&schema, &json!({"command": "ls", "timeout": null})),
            Ok(())
        );
        for (input, finding) in [
            (
                json!({"timeout": 1}),
                "missing command (\"command\" is a required property)",
            ),
            (
                json!({"command": 1, "timeout": 1}),
                "command: 1 is not of type \"string\"",
            ),
            (json!({"command": "ls", "timeout": "3"}), "timeout:"),
            (json!({"command": "ls", "timeout": 3, "extra": 1}), "extra"),
        ] {
            let error = check(&schema, &input).expect_err("it does not fit");
            assert!(error.contains(finding), "{error}");
        }
    }

    #[test]
    fn arguments_are_completed_and_checked_without_a_tool() {
        let schema = json!({
            "type": "object",
            "properties": { "path": { "type": "string" }, "line": { "type": ["integer", "null"] } },
            "required": ["path", "line"],
        });
        assert_eq!(
            fit(&schema, json!({"path": "a"})),
            Ok(json!({"path": "a", "line": null}))
        );
        let error = fit(&schema, json!({"path": 1, "line": "2"})).expect_err("two do not fit");
        assert!(
            error.contains("path: 1 is not of type \"string\""),
            "{error}"
        );
        assert!(error.contains("; line: "), "{error}");
        let error = fit(&json!({"type": "none"}), json!({})).expect_err("no schema");
        assert!(
            error.starts_with("the tool's schema is broken: "),
            "{error}"
        );
    }

    #[test]
    fn a_long_value_does_not_make_a_long_finding() {
        let schema = json!({"type": "object", "properties": {"x": {"type": "number"}}});
        let error =
            check(&schema, &json!({"x": "y".repeat(1_000_000)})).expect_err("it does not fit");
        assert!(error.len() < 1000);
    }

    #[test]
    fn a_place_follows_references_and_alternatives() {
        let schema = json!({
            "$defs": {"node": {"type": "object", "properties": {
                "count": {"type": ["integer", "null"]},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            }}},
            "anyOf": [
                {"$ref": "#/$defs/node"},
                {"properties": {"pair": {"items": [{"type": "string"}, {"type": "integer"}]}}},
            ],
        });
        let root = Subschemas::of(&schema);
        assert!(root.declares("count") && root.declares("pair") && !root.declares("other"));
        assert!(root.property("count").has_integer());
        assert!(!root.property("children").has_integer());
        let deep = root.property("children").item(3).property("children");
        assert!(deep.item(0).property("count").has_integer());
        let pair = root.property("pair");
        assert!(!pair.item(0).has_integer() && pair.item(1).has_integer());
    }

    #[test]
    fn undeclared_properties_have_the_schemas_of_patterns_and_of_other_properties() {
        let schema = json!({
            "properties": {"text": {"type": "string"}},
            "patternProperties": {"^n_": {"type": "integer"}},
            "additionalProperties": {"properties": {"deep": {"type": "integer"}}},
        });
        let root = Subschemas::of(&schema);
        assert!(!root.property("text").has_integer());
        assert!(root.property("n_1").has_integer());
        assert!(root.property("other").declares("deep"));
    }

    #[test]
    fn a_schema_that_is_only_a_reference_to_itself_has_a_place() {
        let schema = json!({"$ref": "#", "allOf": [{"$ref": "#"}]});
        assert!(!Subschemas::of(&schema).property("a").declares("b"));
    }

    #[test]
    fn references_name_a_place_in_the_same_document() {
        let root = json!({
            "$id": "https://h/s.json",
            "definitions": {"a/b": {"$anchor": "here", "const": 1}},
        });
        let found = &root["definitions"]["a/b"];
        for reference in [
            "#/definitions/a~1b",
            "#/definitions/a%7E1b",
            "#here",
            "https://h/s.json#here",
        ] {
            assert_eq!(target(&root, reference), Some(found), "{reference}");
        }
        assert_eq!(target(&root, "#"), Some(&root));
        for reference in ["#/definitions/c", "#there", "https://h/t.json#here", "t"] {
            assert_eq!(target(&root, reference), None, "{reference}");
        }
    }
}
