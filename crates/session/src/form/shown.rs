//! Formats a question for display: cleaned, folded, and at a limited length.
//!
//! Knows nothing about how it is asked.

use chat::preview::one_line;
use serde_json::{Map, Value};
use tools::{Field, Form, FormContent};

use super::COLUMNS;

/// Maximum lines of a question beside a call.
const LINES: usize = 20;

/// Returns the lines that show a question, each at most `width` columns wide.
pub fn lines(form: &Form, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in format!("{} asks: {}", form.by, form.message).lines() {
        lines.extend(folded(line, width));
    }
    match &form.wanted {
        FormContent::Visit(address) => lines.extend(folded(&format!("  {address}"), width)),
        FormContent::Fields(fields) => {
            for field in fields {
                lines.extend(folded(&format!("  {}", described(field)), width));
            }
        }
    }
    if lines.len() > LINES {
        let more = lines.len() - LINES;
        // A long question must not push the chat out of the window.
        lines.truncate(LINES);
        lines.push(format!("… {more} more lines"));
    }
    lines
}

/// Returns a field's description for users.
pub(super) fn described(field: &Field) -> String {
    let about = match field.about.as_str() {
        "" => String::new(),
        about => format!(": {about}"),
    };
    format!("{} ({}){about}", field.label(), field.form())
}

/// Returns the values of these fields for users.
pub(super) fn shown(fields: &[Field], values: &Map<String, Value>) -> String {
    let given = fields.iter().filter_map(|field| {
        let value = values.get(&field.name)?;
        Some(format!("{} = {}", field.label(), plain(value)))
    });
    match given.collect::<Vec<_>>() {
        given if given.is_empty() => "nothing".to_owned(),
        given => given.join(", "),
    }
}

/// Returns a value without JSON syntax where possible.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join(" and "),
        other => other.to_string(),
    }
}

/// Folds a cleaned line; the lines that continue it are indented.
fn folded(line: &str, width: usize) -> Vec<String> {
    // A narrower window would get one word per line.
    let width = width.max(20);
    let indent = if line.starts_with(' ') { "    " } else { "  " };
    let start: String = line.chars().take_while(|c| *c == ' ').collect();
    let mut lines = vec![start.clone()];
    for word in one_line(line.trim(), COLUMNS * 5).split(' ') {
        let last = lines.last().map(String::as_str).unwrap_or_default();
        let is_bare = last.trim().is_empty();
        if !is_bare && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(indent.to_owned() + word);
        } else if let Some(last) = lines.last_mut() {
            last.push_str(if is_bare { "" } else { " " });
            last.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use tools::FieldKind;

    #[test]
    fn a_question_is_folded_to_the_window_and_nothing_is_hidden() {
        let field = Field {
            name: "a".to_owned(),
            title: String::new(),
            about: String::new(),
            kind: FieldKind::YesNo,
            required: true,
            default: None,
        };
        let form = Form {
            by: "The MCP server \"docs\"".to_owned(),
            message: "One two three four five\u{202e} six\u{1b}[31m seven".to_owned(),
            wanted: FormContent::Fields(vec![field]),
        };
        assert_eq!(
            lines(&form, 30),
            [
                "The MCP server \"docs\" asks:",
                "  One two three four",
                "  five<202e> six<1b>[31m seven",
                "  a (yes or no)",
            ]
        );
    }
}
