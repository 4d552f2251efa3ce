//! The arguments of a call as fields of a form, which read better than its JSON.
//!
//! The model's text is untrusted: invisible characters are spelled out, and long values are cut
//! with the number of what is left out.
//!
//! [`arguments`] has all of them as lines, for the window in which the user decides about the
//! call: nothing is left out, and nothing in them can hide.

use serde_json::Value;

use crate::approval::inside;
use crate::diff::{Extent, StatedFile, wrapped};
use crate::preview::Describe;
use crate::visible;

/// Maximum number of fields.
const MOST_FIELDS: usize = 12;

/// How much of a value an answered call shows.
pub const BRIEF: Extent = Extent { lines: 8, rows: 3 };

/// How much of a value a call shows that waits for a decision of the user.
pub const THOROUGH: Extent = Extent {
    lines: 30,
    rows: 20,
};

/// How much of a value the hover shows, which can be scrolled.
pub const ALMOST_ALL: Extent = Extent {
    lines: 1_000,
    rows: 100,
};

/// Maximum columns of a name.
const NAME: usize = 16;

/// Columns before names, and between names and values.
const GAPS: usize = 4;

/// The arguments of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// All rows from top to bottom, without the change.
    pub rows: Vec<FieldRow>,
    /// The changes of the call in files, as its arguments state them.
    pub files: Vec<StatedFile>,
    /// True if the rows leave something out.
    pub is_cut: bool,
}

/// A row of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRow {
    /// The name of the argument, padded to the width of all names; blank if the row continues
    /// the one above.
    pub name: String,
    /// A part of the value.
    pub text: String,
    /// True if the text is a remark, and no part of the value.
    pub is_remark: bool,
}

/// Returns the arguments of a call of the tool `name` as rows of at most `width` columns. Sees
/// through a call inside another.
pub fn fields(
    tools: &dyn Describe,
    name: &str,
    input: &Value,
    width: usize,
    extent: Extent,
) -> Fields {
    let inner = inside(name, input);
    let (name, input, outer) = match &inner {
        Some((inner, arguments)) => (*inner, arguments, Some(*inner)),
        None => (name, input, None),
    };
    let change = tools.stated_change(name, input).unwrap_or_default();
    let outer = outer.map(|tool| ("tool".to_owned(), tool.to_owned()));
    let mut all: Vec<(String, String)> = outer.into_iter().collect();
    match input {
        Value::Object(arguments) => all.extend(
            arguments
                .iter()
                // These are shown as a diff instead.
                .filter(|(name, _)| !change.arguments.contains(&name.as_str()))
                // Null means the same as an absent argument.
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (visible::fit(name, NAME), written(value))),
        ),
        other => all.push((String::new(), written(other))),
    }
    let mut fields = rows(&all, width, extent);
    fields.files = change.files;
    fields
}

/// Returns the arguments of a call without those that its preview `shown` has as they are:
/// strings with or without their names, other values with them.
///
/// Each part of the preview counts for one argument, so that no argument is left out because its
/// text is part of another one.
pub fn without_shown(mut input: Value, shown: &str) -> Value {
    let Value::Object(arguments) = &mut input else {
        return input;
    };
    arguments.retain(|_, value| !value.is_null());
    // The name of the tool is not an argument.
    let mut left = shown.split_once(": ").map_or(shown, |it| it.1).to_owned();
    let mut strings: Vec<(String, String)> = arguments
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.trim().to_owned())))
        .collect();
    // The longest first, because it may contain the others.
    strings.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
    let is_unique = |text: &str| strings.iter().filter(|it| it.1 == text).count() == 1;
    for (name, text) in &strings {
        // A single character could be any mark of the preview.
        if text.chars().count() > 1 && is_unique(text) && left.contains(text) {
            left = left.replacen(text, "\n", 1);
            arguments.remove(name);
        }
    }
    arguments.retain(|name, value| value.is_string() || !left.contains(&format!("{name}={value}")));
    input
}

/// Returns a value as its author would write it in a form: strings without quotes.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn rows(all: &[(String, String)], width: usize, extent: Extent) -> Fields {
    let shown = all.iter().take(MOST_FIELDS);
    let column = shown.clone().map(|(name, _)| visible::columns(name)).max();
    let column = column.unwrap_or_default();
    let mut fields = Fields::default();
    for (name, value) in shown {
        fields.add(name, value, column, width, extent);
    }
    let more = all.len().saturating_sub(MOST_FIELDS);
    if more > 0 {
        fields.rows.push(remark(column, &count(more, "argument")));
        fields.is_cut = true;
    }
    fields
}

impl Fields {
    fn add(&mut self, name: &str, value: &str, column: usize, width: usize, extent: Extent) {
        let mut wrapped = wrapped(value, width.saturating_sub(column + GAPS), extent);
        // An empty value still needs a row for its name.
        if wrapped.rows.is_empty() {
            wrapped.rows.push(String::new());
        }
        let padding = column - visible::columns(name);
        let first = format!("{name}{}", " ".repeat(padding));
        let names = [first].into_iter();
        let names = names.chain(std::iter::repeat_with(|| " ".repeat(column)));
        let rows = names.zip(wrapped.rows).map(|(name, text)| FieldRow {
            name,
            text,
            is_remark: false,
        });
        self.rows.extend(rows);
        if wrapped.hidden > 0 {
            self.rows
                .push(remark(column, &count(wrapped.hidden, "line")));
        }
        self.is_cut |= wrapped.is_cut || wrapped.hidden > 0;
    }
}

fn remark(column: usize, text: &str) -> FieldRow {
    FieldRow {
        name: " ".repeat(column),
        text: text.to_owned(),
        is_remark: true,
    }
}

fn count(more: usize, noun: &str) -> String {
    let plural = if more == 1 { "" } else { "s" };
    format!("… {more} more {noun}{plural}")
}

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
    use proptest::prelude::*;
    use serde_json::json;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    /// The rows for 40 columns, as they are drawn.
    fn shown(name: &str, input: &Value) -> Vec<String> {
        let rows = fields(&(), name, input, 40, BRIEF).rows.into_iter();
        rows.map(|row| format!("{}|{}", row.name, row.text))
            .collect()
    }

    #[test]
    fn each_argument_is_a_field_in_the_order_of_the_call() {
        let input =
            json!({"command": "make\nmake test", "timeout": 30, "tags": ["a", "b"], "label": null});
        assert_eq!(
            shown("bash", &input),
            [
                "command|make",
                "       |make test",
                "timeout|30",
                "tags   |[\"a\",\"b\"]",
            ]
        );
        assert_eq!(shown("ping", &json!({})), Vec::<String>::new());
        assert_eq!(shown("odd", &json!(7)), ["|7"]);
    }

    #[test]
    fn a_long_value_is_cut_with_the_number_of_what_is_left_out() {
        let lines = "x\n".repeat(9);
        let found = shown("write", &json!({"content": lines, "p": "y".repeat(200)}));
        assert_eq!(found.len(), BRIEF.lines + 1 + 3);
        assert_eq!(found[BRIEF.lines], "       |… 1 more line");
        assert_eq!(found[0], "content|x");
        let last = found.last().map_or("", String::as_str);
        assert!(last.ends_with("… (+132 characters)"), "{last}");
    }

    #[test]
    fn a_call_that_waits_shows_a_long_command_whole() {
        let command = format!("echo {} && rm -rf build", "x".repeat(200));
        let input = json!({"command": command, "label": "clean"});
        let made = fields(&(), "bash", &input, 40, THOROUGH);
        let of_command = made.rows.iter().filter(|row| row.name != "label  ");
        let shown: String = of_command.map(|row| row.text.as_str()).collect();
        assert_eq!(shown, command);
        assert!(!made.is_cut);
        for value in ["x\n".repeat(31), "x".repeat(700)] {
            let input = json!({ "command": value });
            assert!(fields(&(), "bash", &input, 40, THOROUGH).is_cut, "{value}");
            assert!(
                !fields(&(), "bash", &input, 40, ALMOST_ALL).is_cut,
                "{value}"
            );
        }
    }

    #[test]
    fn arguments_that_a_line_has_as_they_are_can_be_left_out() {
        let input = json!({"command": "ls -l", "label": "a look", "timeout": null});
        let left = |input: &Value, shown: &str| without_shown(input.clone(), shown);
        assert_eq!(left(&input, "bash: $ ls -l  # a look"), json!({}));
        let cut = left(&input, "bash: $ ls -l  # a lo…");
        assert_eq!(cut, json!({"label": "a look"}));
        let lines = json!({"command": "ls\nrm x"});
        assert_eq!(
            left(&lines, "bash: $ ls⤶rm x"),
            lines,
            "lines are read as lines"
        );
        let more = json!({"command": "ls -l", "timeout": 60, "tags": ["a"]});
        let rest = json!({"timeout": 60, "tags": ["a"]});
        assert_eq!(left(&more, "bash: $ ls -l  # 60"), rest);
        // Not shown: parts of another argument or of the preview's own marks.
        for (folder, line) in [
            ("/", "shell: $ ls /tmp"),
            ("/tmp", "shell: $ ls /tmp"),
            ("shell", "shell: $ ls /tmp"),
            ("$", "shell: $ ls /tmp"),
            ("ls /tmp", "shell: $ ls /tmp"),
        ] {
            let input = json!({"command": "ls /tmp", "working_dir": folder});
            let kept = left(&input, line);
            assert_eq!(kept["working_dir"], json!(folder), "{line}");
        }
        let echo = json!({"command": "echo timeout=9", "timeout": 9});
        assert_eq!(left(&echo, "bash: $ echo timeout=9"), json!({"timeout": 9}));
        let general = "f: command=\"ls -l\", timeout=60, tags=[1 item]";
        assert_eq!(left(&more, general), json!({"tags": ["a"]}));
    }

    #[test]
    fn many_arguments_end_with_the_number_of_others() {
        let many = (0..MOST_FIELDS + 2).map(|at| (format!("a{at:02}"), json!(at)));
        let found = shown("many", &Value::Object(many.collect()));
        assert_eq!(found.len(), MOST_FIELDS + 1);
        assert_eq!(found[MOST_FIELDS], "   |… 2 more arguments");
    }

    #[test]
    fn a_call_inside_another_shows_its_own_arguments() {
        let input = json!({"name": "bash", "arguments": {"command": "ls"}});
        assert_eq!(
            shown("execute_tool", &input),
            ["tool   |bash", "command|ls"]
        );
    }

    proptest! {
        #[test]
        fn nothing_hides_and_every_row_fits(
            name in "(\\PC|\n|\u{202e}){0,20}",
            value in "(\\PC|[a-z ]{1,12}|\n|\r|\t|\u{7}|\u{301}|\u{202e}|\u{2028}|漢){0,60}",
            width in 45usize..100,
        ) {
            let input = Value::Object([(name, json!(value))].into_iter().collect());
            for row in fields(&(), "tool", &input, width, BRIEF).rows {
                let text = format!("{}{}", row.name, row.text);
                prop_assert!(text.width() + GAPS <= width, "{row:?}");
                let hides = |c: char| c.is_control() || ('\u{2028}'..='\u{202e}').contains(&c);
                prop_assert!(!text.chars().any(hides), "{row:?}");
            }
        }
    }

    fn shown_lines(input: &str) -> Vec<String> {
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
        assert_eq!(shown_lines(&input.to_string()), expected);
        assert_eq!(shown_lines("no JSON\nat all"), ["  no JSON", "  at all"]);
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
        assert_eq!(shown_lines(&input.to_string()), expected);
    }
}
