//! Completes and validates arguments against a tool's schema. The only module that refers
//! to `jsonschema`, whose API changes often.

mod complete;
mod integers;
mod modern;
mod subschemas;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

pub use self::modern::{for_each, modern};
pub use self::subschemas::Subschemas;
use crate::tool::ToolDefinition;

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
    integers::restore(schema, &mut input);
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
}
