//! One line that says what a waiting call would do, for the user to judge.
//!
//! Pure: it sees a tool's name and its arguments, never files or the editor. What
//! a model wrote is untrusted, so nothing in it may hide: characters that would
//! not show are spelled out, and a cut says that it is one. It never fails;
//! arguments that do not fit a tool's own form get the generic one.

mod visible;

use serde_json::{Map, Value};

use crate::approval::inside;
use crate::truncate::format_size;

/// Names of an object argument that are shown, before `+N more`.
const KEYS_SHOWN: usize = 3;

/// `name: body` on one line of at most `width` display columns.
///
/// Line breaks are shown as `⤶`. What does not fit is cut with `…`, never inside
/// a character; when whole lines are lost, the end says how many there are.
///
/// Source: "Built-in preview formatters" and "Generic fallback" in the tools
/// specification.
pub fn preview(name: &str, input: &Value, width: usize) -> String {
    let body = body(name, input);
    let text = if body.is_empty() {
        name.to_owned()
    } else {
        format!("{name}: {body}")
    };
    visible::fit(&text, width)
}

/// What a preview says behind the name of the tool, as long as it is.
fn body(name: &str, input: &Value) -> String {
    known(name, input).unwrap_or_else(|| generic(input))
}

/// The preview of a call without the name of the tool, on one line of at most `width`
/// display columns.
pub fn arguments(name: &str, input: &Value, width: usize) -> String {
    visible::fit(&body(name, input), width)
}

/// Any text on one line of at most `width` display columns: what would not show is
/// spelled out, and what does not fit is cut visibly.
pub fn one_line(text: &str, width: usize) -> String {
    visible::fit(text, width)
}

/// The form of a built-in tool, or `None` when the arguments do not fit it.
fn known(name: &str, input: &Value) -> Option<String> {
    if let Some((inner, arguments)) = inside(name, input) {
        let body = known(inner, &arguments).unwrap_or_else(|| generic(&arguments));
        return Some(format!("{inner}: {body}"));
    }
    let input = input.as_object()?;
    match name {
        "calculator" => text(input, "expression").map(str::to_owned),
        "calculator_async" => calculator_async(input),
        "bash" => bash(input),
        "read" => read(input),
        "edit" => edit(input),
        "write" => write(input),
        "grep" => grep(input),
        "find" => find(input),
        "ls" => list(input),
        "http_get" => http_get(input),
        _ => None,
    }
}

fn calculator_async(input: &Map<String, Value>) -> Option<String> {
    let expression = text(input, "expression")?;
    Some(match optional(input, "delay", Value::as_f64)? {
        Some(milliseconds) => format!("{expression}  # {milliseconds}ms"),
        None => expression.to_owned(),
    })
}

fn bash(input: &Map<String, Value>) -> Option<String> {
    let command = text(input, "command")?;
    Some(format!("$ {command}{}", label(input)?))
}

fn read(input: &Map<String, Value>) -> Option<String> {
    let path = path(input)?;
    let offset = optional(input, "offset", Value::as_f64)?;
    let limit = optional(input, "limit", Value::as_f64)?;
    let range = match (offset, limit) {
        (None, None) => String::new(),
        (Some(offset), None) => format!("  +{offset}"),
        (offset, Some(limit)) => format!("  +{},{limit}", offset.unwrap_or(0.0)),
    };
    Some(format!("{path}{range}{}", label(input)?))
}

fn edit(input: &Map<String, Value>) -> Option<String> {
    text(input, "oldText")?;
    text(input, "newText")?;
    Some(format!("{}{}", path(input)?, label(input)?))
}

fn write(input: &Map<String, Value>) -> Option<String> {
    let size = format_size(text(input, "content")?.len() as u64);
    Some(format!("{}  ({size}){}", path(input)?, label(input)?))
}

fn grep(input: &Map<String, Value>) -> Option<String> {
    let pattern = text(input, "pattern")?;
    let glob = match optional(input, "glob", Value::as_str)? {
        Some(glob) => format!("  ({glob})"),
        None => String::new(),
    };
    Some(format!(
        "/{pattern}/{}{glob}{}",
        place(input)?,
        label(input)?
    ))
}

fn find(input: &Map<String, Value>) -> Option<String> {
    let pattern = text(input, "pattern")?;
    Some(format!("{pattern}{}{}", place(input)?, label(input)?))
}

fn list(input: &Map<String, Value>) -> Option<String> {
    let folder = optional(input, "path", Value::as_str)?.map_or(".".to_owned(), visible_ends);
    let depth = match optional(input, "max_depth", Value::as_f64)? {
        Some(depth) => format!("  {depth} levels"),
        None => String::new(),
    };
    Some(format!("{folder}{depth}{}", label(input)?))
}

fn http_get(input: &Map<String, Value>) -> Option<String> {
    Some(format!("{}{}", text(input, "url")?, label(input)?))
}

/// Where a call looks, if it says so.
fn place(input: &Map<String, Value>) -> Option<String> {
    let path = optional(input, "path", Value::as_str)?;
    Some(path.map_or(String::new(), |path| format!("  in {}", visible_ends(path))))
}

fn text<'a>(input: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    input.get(key)?.as_str()
}

/// An argument that may be absent or null; `None` when it has the wrong type.
fn optional<'a, T>(
    input: &'a Map<String, Value>,
    key: &str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Option<Option<T>> {
    match input.get(key) {
        None | Some(Value::Null) => Some(None),
        Some(value) => read(value).map(Some),
    }
}

fn label(input: &Map<String, Value>) -> Option<String> {
    let label = optional(input, "label", Value::as_str)?.unwrap_or("");
    Some(if label.is_empty() {
        String::new()
    } else {
        format!("  # {label}")
    })
}

fn path(input: &Map<String, Value>) -> Option<String> {
    text(input, "path").map(visible_ends)
}

/// A path with blanks at its ends made visible: `a` and `a ` are two files.
fn visible_ends(path: &str) -> String {
    let inner = path.trim_matches(' ');
    let before = path.len() - path.trim_start_matches(' ').len();
    let after = path.len() - before - inner.len();
    format!("{}{inner}{}", "␣".repeat(before), "␣".repeat(after))
}

/// `key="value"` pairs: scalars first, then arrays and objects, each by name.
fn generic(input: &Value) -> String {
    let Value::Object(input) = input else {
        return argument(input);
    };
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

    #[track_caller]
    fn check(name: &str, input: Value, expected: &str) {
        assert_eq!(preview(name, &input, 80), expected);
    }

    #[test]
    fn the_built_in_tools_read_like_the_specification() {
        check(
            "calculator",
            json!({"expression": "2 + 2"}),
            "calculator: 2 + 2",
        );
        check(
            "calculator_async",
            json!({"expression": "sqrt(16)", "delay": 500}),
            "calculator_async: sqrt(16)  # 500ms",
        );
        check(
            "bash",
            json!({"command": "git status", "label": "checking repo", "timeout": null}),
            "bash: $ git status  # checking repo",
        );
        check(
            "read",
            json!({"path": "config.lua", "offset": 100, "limit": 50, "label": "reading tail"}),
            "read: config.lua  +100,50  # reading tail",
        );
        check(
            "edit",
            json!({"path": "config.lua", "oldText": "a", "newText": "b", "label": "fixing typo"}),
            "edit: config.lua  # fixing typo",
        );
        check(
            "write",
            json!({"path": "output.txt", "content": "x".repeat(2355), "label": "saving log"}),
            "write: output.txt  (2.3 KB)  # saving log",
        );
    }

    #[test]
    fn a_read_with_only_a_limit_starts_at_zero() {
        check(
            "read",
            json!({"path": "src/config.lua", "offset": null, "limit": 50, "label": "reading config"}),
            "read: src/config.lua  +0,50  # reading config",
        );
        check("read", json!({"path": "a", "offset": 3}), "read: a  +3");
    }

    #[test]
    fn a_look_around_says_for_what_and_where() {
        check(
            "grep",
            json!({"pattern": "TODO", "path": "src", "glob": "*.rs", "limit": 5, "label": "open work"}),
            "grep: /TODO/  in src  (*.rs)  # open work",
        );
        check("grep", json!({"pattern": "a", "path": null}), "grep: /a/");
        check("find", json!({"pattern": "*.md"}), "find: *.md");
        check(
            "ls",
            json!({"path": null, "max_depth": 2}),
            "ls: .  2 levels",
        );
        check("ls", json!({"path": "src "}), "ls: src␣");
        check("grep", json!({"pattern": 7}), "grep: pattern=7");
        check(
            "http_get",
            json!({"url": "https://docs.rs/", "max_size": null, "label": "the manual"}),
            "http_get: https://docs.rs/  # the manual",
        );
    }

    #[test]
    fn a_call_inside_another_is_what_is_shown() {
        check(
            "execute_tool",
            json!({"name": "bash", "arguments": {"command": "rm x"}}),
            "execute_tool: bash: $ rm x",
        );
        check(
            "execute_tool",
            json!({"name": "multiply", "arguments": {"b": 8, "a": 7}}),
            "execute_tool: multiply: a=7, b=8",
        );
        check("execute_tool", json!({"name": 7}), "execute_tool: name=7");
    }

    #[test]
    fn an_unknown_tool_shows_scalars_then_tables() {
        check(
            "my_search",
            json!({"tags": ["a", "b"], "query": "say \"hi\"\nnow", "limit": 5, "deep": true,
                   "filter": {"d": 1, "c": 1, "b": 1, "a": 1}, "one": [1], "none": {}}),
            "my_search: deep=true, limit=5, query=\"say \\\"hi\\\"⤶now\", \
             filter={a, b, c, +1 more…",
        );
        check("ping", json!({}), "ping");
        check(
            "f",
            json!({"a": {}, "b": [], "c": null}),
            "f: c=null, a={}, b=[0 items]",
        );
    }

    #[test]
    fn arguments_that_do_not_fit_get_the_generic_form() {
        check("bash", json!({"cmd": "ls"}), "bash: cmd=\"ls\"");
        check("bash", json!({"command": 7}), "bash: command=7");
        check("bash", json!("ls"), "bash: \"ls\"");
        check("bash", json!(null), "bash: null");
        check(
            "read",
            json!({"path": "a", "offset": "3"}),
            "read: offset=\"3\", path=\"a\"",
        );
        check("write", json!({"path": "a"}), "write: path=\"a\"");
    }

    #[test]
    fn a_blank_at_the_end_of_a_path_is_seen() {
        check(
            "write",
            json!({"path": "a ", "content": "abc"}),
            "write: a␣  (3 B)",
        );
    }

    #[test]
    fn a_cut_that_loses_lines_says_how_many_there_are() {
        let input = json!({"command": "ls\necho a\nrm -rf ~"});

        assert_eq!(preview("bash", &input, 24), "bash: $ ls⤶ec… (3 lines)");
        assert_eq!(preview("bash", &input, 40), "bash: $ ls⤶echo a⤶rm -rf ~");
    }

    #[test]
    fn many_blank_lines_cannot_push_a_command_out_of_sight() {
        let input = json!({"command": format!("ls{}rm -rf ~", "\n".repeat(300))});

        assert_eq!(preview("bash", &input, 40), "bash: $ ls⤶×300rm -rf ~");
    }

    #[test]
    fn many_blanks_cannot_push_a_command_out_of_sight() {
        let input = json!({"command": format!("ls{}; rm -rf ~", " ".repeat(200))});

        assert_eq!(preview("bash", &input, 40), "bash: $ ls␣×200; rm -rf ~");
    }
}
