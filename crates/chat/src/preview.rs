//! One-line previews of pending calls, for review by the user.
//!
//! Pure: sees a tool's name and arguments, never files or the editor. Tools describe their
//! own calls ([`Describe`]); all others get a list of their arguments. The model's text is
//! untrusted, so nothing in it may hide: invisible characters are spelled out, and a cut is
//! visible.

use serde_json::{Map, Value};

use crate::approval::inside;
use crate::diff::{Counts, StatedChange};
use crate::visible;

/// Number of an object argument's keys shown before `+N more`.
const KEYS_SHOWN: usize = 3;

/// Describes calls of tools.
pub trait Describe {
    /// Describes a call of `tool`, in any length. `None` if the tool has no description of
    /// calls or the arguments don't fit.
    fn describe(&self, tool: &str, input: &Value) -> Option<String>;

    /// Returns what a call of `tool` changes in files, if its arguments say it.
    fn stated_change(&self, _tool: &str, _input: &Value) -> Option<StatedChange> {
        None
    }

    /// Returns the path of the file whose content is the result of a call of `tool`.
    fn shown_file(&self, _tool: &str, _input: &Value) -> Option<String> {
        None
    }
}

/// No tools: every call gets the general form.
impl Describe for () {
    fn describe(&self, _tool: &str, _input: &Value) -> Option<String> {
        None
    }
}

/// Returns `name: body` on one line of at most `width` display columns.
///
/// Line breaks are shown as `⤶`. Excess text is cut with `…`, never inside a character. If
/// whole lines are cut, the end gives the number of lines.
pub fn preview(tools: &dyn Describe, name: &str, input: &Value, width: usize) -> String {
    let body = body(tools, name, input);
    let text = if body.is_empty() {
        name.to_owned()
    } else {
        format!("{name}: {body}")
    };
    visible::fit(&text, width)
}

/// Returns the preview without the tool's name, on one line of at most `width` display
/// columns.
pub fn arguments(tools: &dyn Describe, name: &str, input: &Value, width: usize) -> String {
    visible::fit(&body(tools, name, input), width)
}

/// Returns how many lines a call adds and removes, as far as its arguments show. Sees through
/// a call inside another.
pub fn counts(tools: &dyn Describe, name: &str, input: &Value) -> Option<Counts> {
    let change = match inside(name, input) {
        Some((inner, arguments)) => tools.stated_change(inner, &arguments),
        None => tools.stated_change(name, input),
    };
    change?.counts()
}

/// Returns the part of a preview after the tool's name, uncut.
fn body(tools: &dyn Describe, name: &str, input: &Value) -> String {
    // The user judges the call that runs, not the one that contains it.
    if let Some((inner, arguments)) = inside(name, input) {
        return format!("{inner}: {}", body(tools, inner, &arguments));
    }
    let described = tools.describe(name, input);
    described.unwrap_or_else(|| generic(input))
}

/// Fits any text on one line of at most `width` display columns. Invisible characters are
/// spelled out, and a cut is visible.
pub fn one_line(text: &str, width: usize) -> String {
    visible::fit(text, width)
}

/// Formats `key="value"` pairs: scalars first, then arrays and objects, each sorted by key.
fn generic(input: &Value) -> String {
    let Value::Object(input) = input else {
        return argument(input);
    };
    // In a fixed order, so that equal calls look alike.
    let mut pairs: Vec<(&String, &Value)> = input.iter().collect();
    pairs.sort_by_key(|(key, value)| (value.is_array() || value.is_object(), *key));
    let shown: Vec<String> = pairs
        .into_iter()
        .map(|(key, value)| format!("{key}={}", argument(value)))
        .collect();
    shown.join(", ")
}

fn argument(value: &Value) -> String {
    match value {
        // A quote in the text could end the value and fake another argument.
        Value::String(text) => format!("\"{}\"", text.replace('"', "\\\"")),
        Value::Array(items) if items.len() == 1 => "[1 item]".to_owned(),
        Value::Array(items) => format!("[{} items]", items.len()),
        Value::Object(entries) => keys(entries),
        scalar => scalar.to_string(),
    }
}

fn keys(entries: &Map<String, Value>) -> String {
    let mut names: Vec<&str> = entries.keys().map(String::as_str).collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(KEYS_SHOWN);
    let mut shown = names[..names.len() - more].join(", ");
    if more > 0 {
        shown.push_str(&format!(", +{more} more"));
    }
    format!("{{{shown}}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A tool that describes its calls.
    struct Shell;

    impl Describe for Shell {
        fn describe(&self, tool: &str, input: &Value) -> Option<String> {
            let command = input["command"].as_str().filter(|_| tool == "bash")?;
            Some(format!("$ {command}"))
        }
    }

    #[track_caller]
    fn check(name: &str, input: &Value, expected: &str) {
        assert_eq!(preview(&Shell, name, input, 80), expected);
    }

    #[test]
    fn the_inner_call_is_shown() {
        check(
            "execute_tool",
            &json!({"name": "bash", "arguments": {"command": "rm x"}}),
            "execute_tool: bash: $ rm x",
        );
        check(
            "execute_tool",
            &json!({"name": "multiply", "arguments": {"b": 8, "a": 7}}),
            "execute_tool: multiply: a=7, b=8",
        );
        check("execute_tool", &json!({"name": 7}), "execute_tool: name=7");
    }

    #[test]
    fn an_unknown_tool_shows_scalars_then_tables() {
        check(
            "my_search",
            &json!({"tags": ["a", "b"], "query": "say \"hi\"\nnow", "limit": 5, "deep": true,
                    "filter": {"d": 1, "c": 1, "b": 1, "a": 1}, "one": [1], "none": {}}),
            "my_search: deep=true, limit=5, query=\"say \\\"hi\\\"⤶now\", \
             filter={a, b, c, +1 more…",
        );
        check("ping", &json!({}), "ping");
        check(
            "f",
            &json!({"a": {}, "b": [], "c": null, "d": [1]}),
            "f: c=null, a={}, b=[0 items], d=[1 item]",
        );
    }

    #[test]
    fn a_cut_that_removes_lines_gives_their_number() {
        let input = json!({"command": "ls\necho a\nrm -rf ~"});

        assert_eq!(
            preview(&Shell, "bash", &input, 24),
            "bash: $ ls⤶ec… (3 lines)"
        );
        assert_eq!(
            preview(&Shell, "bash", &input, 40),
            "bash: $ ls⤶echo a⤶rm -rf ~"
        );
    }

    #[test]
    fn many_blank_lines_cannot_push_a_command_out_of_sight() {
        let input = json!({"command": format!("ls{}rm -rf ~", "\n".repeat(300))});

        assert_eq!(
            preview(&Shell, "bash", &input, 40),
            "bash: $ ls⤶×300rm -rf ~"
        );
    }

    #[test]
    fn many_blanks_cannot_push_a_command_out_of_sight() {
        let input = json!({"command": format!("ls{}; rm -rf ~", " ".repeat(200))});

        assert_eq!(
            preview(&Shell, "bash", &input, 40),
            "bash: $ ls␣×200; rm -rf ~"
        );
    }
}
