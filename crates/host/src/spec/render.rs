//! Fills in a template: minijinja's language, in which `{{.name}}` is accepted for
//! `{{ name }}`.
//!
//! An argument is data. One that would be an expression or a file reference in the
//! chat becomes a variable of it, so that it is sent as it was given.

use std::collections::BTreeMap;

use chat::references::{Piece, pieces};
use minijinja::{Environment, UndefinedBehavior};

/// Steps that a template may take; the examples take some hundred.
const FUEL: u64 = 1_000_000;

/// Arguments, ready to be filled in.
pub struct Filled {
    /// By name, as they stand in the chat.
    shown: BTreeMap<String, String>,
    /// Those that are variables of the chat: the variable's name and its value.
    variables: Vec<(String, String)>,
}

impl Filled {
    /// Takes the arguments by name.
    pub fn new(values: BTreeMap<String, String>) -> Self {
        let mut variables = Vec::new();
        let shown = values
            .into_iter()
            .map(|(name, value)| {
                if is_plain(&value) {
                    return (name, value);
                }
                let variable = format!("argument_{}", variables.len() + 1);
                let shown = format!("{{{{ {variable} }}}}");
                variables.push((variable, value));
                (name, shown)
            })
            .collect();
        Self { shown, variables }
    }

    /// The lines of a Lua frontmatter that define the variables.
    pub fn variables(&self) -> Vec<String> {
        let line = |(name, value): &(String, String)| format!("{name} = {}", lua_string(value));
        self.variables.iter().map(line).collect()
    }

    /// Fills in a template; `what` names it in errors.
    ///
    /// # Errors
    ///
    /// What is wrong with it and on which of its lines.
    pub fn render(&self, what: &str, template: &str) -> Result<String, String> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        let rendered = environment.render_str(&without_dots(template), &self.shown);
        rendered.map_err(|error| {
            let line = error
                .line()
                .map_or(String::new(), |line| format!(", line {line}"));
            let detail = error.detail().map_or(String::new(), |it| format!(": {it}"));
            format!("{what}{line}: {}{detail}", error.kind())
        })
    }
}

fn is_plain(value: &str) -> bool {
    // At the start of a line and behind a word, as the template may have it.
    let all = pieces(value, 0);
    let behind = pieces(&format!("x {value}"), 0);
    let text = |it: &Piece| matches!(it, Piece::Text(_));
    all.iter().all(text) && behind.iter().all(text) && !value.contains("{{")
}

/// `{{.name}}` and `{{ .name }}` as minijinja spells it.
fn without_dots(template: &str) -> String {
    let mut result = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find("{{") {
        let (before, opened) = rest.split_at(at + 2);
        result.push_str(before);
        let trimmed = opened.trim_start_matches(['-', ' ']);
        rest = opened;
        if let Some(name) = trimmed.strip_prefix('.') {
            result.push_str(&opened[..opened.len() - trimmed.len()]);
            rest = name;
        }
    }
    result + rest
}

fn lua_string(value: &str) -> String {
    let mut quoted = String::from("\"");
    for char in value.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\n' => quoted.push_str("\\n"),
            char if char.is_control() && char.is_ascii() => {
                quoted.push_str(&format!("\\{:03}", char as u32));
            }
            char => quoted.push(char),
        }
    }
    quoted + "\""
}
