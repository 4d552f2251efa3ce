//! Whether arguments fit a tool's schema. The one place that names `jsonschema`,
//! whose releases break often.

use serde_json::Value;

/// Checks arguments; nothing is coerced.
///
/// # Errors
///
/// What does not fit and where, at most five findings, for the model; or that
/// the schema itself is none.
pub fn check(schema: &Value, input: &Value) -> Result<(), String> {
    let validator = jsonschema::validator_for(schema)
        .map_err(|error| format!("the tool's schema is broken: {error}"))?;
    let findings: Vec<String> = validator
        .iter_errors(input)
        .take(5)
        .map(|error| match error.instance_path().to_string() {
            path if path.is_empty() => shorten(&error.to_string()),
            path => format!(
                "{}: {}",
                path.trim_start_matches('/'),
                shorten(&error.to_string())
            ),
        })
        .collect();
    if findings.is_empty() {
        Ok(())
    } else {
        Err(findings.join("; "))
    }
}

/// Findings quote the value, which may be megabytes long.
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

    #[test]
    fn what_does_not_fit_is_named_and_nothing_is_coerced() {
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
            (json!({"timeout": 1}), "\"command\" is a required property"),
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
    fn a_long_value_does_not_make_a_long_finding() {
        let schema = json!({"type": "object", "properties": {"x": {"type": "number"}}});
        let error =
            check(&schema, &json!({"x": "y".repeat(1_000_000)})).expect_err("it does not fit");
        assert!(error.len() < 1000);
    }
}
