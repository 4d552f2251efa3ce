//! All arguments of a call as lines, for the window in which the user decides about it. Nothing
//! is left out, and nothing in them can hide.

use serde_json::Value;

use crate::visible;

/// A line of a call's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WholeLine {
    /// The name of an argument.
    Name(String),
    /// A line of its value.
    Value(String),
}

/// Returns the arguments of a call, each with its name above its value. `input` is JSON, or any
/// text if the model wrote none.
pub fn arguments(input: &str) -> Vec<WholeLine> {
    match serde_json::from_str(input) {
        Ok(Value::Object(arguments)) => {
            let lines = arguments.iter().flat_map(|(name, value)| {
                let name = WholeLine::Name(visible::line(name));
                std::iter::once(name).chain(value_lines(value))
            });
            lines.collect()
        }
        Ok(value) => value_lines(&value),
        Err(_) => text_lines(input),
    }
}

fn value_lines(value: &Value) -> Vec<WholeLine> {
    match value {
        Value::String(text) => text_lines(text),
        // It is a value already, so writing it cannot fail.
        other => text_lines(&serde_json::to_string_pretty(other).unwrap_or_default()),
    }
}

fn text_lines(text: &str) -> Vec<WholeLine> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let lines = text.split('\n').map(visible::line);
    lines.map(WholeLine::Value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(input: &str) -> Vec<String> {
        let lines = arguments(input).into_iter().map(|line| match line {
            WholeLine::Name(name) => format!("{name}:"),
            WholeLine::Value(text) => format!("  {text}"),
        });
        lines.collect()
    }

    #[test]
    fn every_argument_is_there_in_full_and_in_the_models_order() {
        let long = "x".repeat(5000);
        let input = serde_json::json!({"n": 3, "command": format!("a\n{long}\n"), "list": [1]});
        let long = format!("  {long}");
        let expected = [
            "n:", "  3", "command:", "  a", &long, "list:", "  [", "    1", "  ]",
        ];
        assert_eq!(shown(&input.to_string()), expected);
        assert_eq!(shown("no JSON\nat all"), ["  no JSON", "  at all"]);
    }

    #[test]
    fn nothing_hides() {
        let input = serde_json::json!({
            "a\u{1b}b": "\u{a0}\t.",
            "command": format!("ls\u{1b}[8m\r\u{202e}x\u{200b}{}rm -rf ~", " ".repeat(300)),
        });
        let expected = [
            "a<1b>b:",
            "  <a0>\t.",
            "command:",
            "  ls<1b>[8m<0d><202e>x<200b>␣×300rm -rf ~",
        ];
        assert_eq!(shown(&input.to_string()), expected);
    }
}
