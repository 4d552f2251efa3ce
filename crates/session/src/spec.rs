//! A command written as YAML: a prompt with arguments, which becomes a chat.
//!
//! Names, keys, and templates are those of the specification "Creating Tool-Enabled Commands".
//! Such a file determines what is asked, never what may run: it cannot loosen any rule.

mod find;
mod render;

use std::collections::BTreeMap;
use std::path::Path;

use chat::document::Role;
use chat::scan::escape_line;
use serde::Deserialize;
use serde_json::Value;

pub use find::{all, find, folders};

/// A command.
// Unknown fields are errors, because a misspelled one would change what is asked without notice.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    /// Its name.
    pub name: String,
    #[serde(default, rename = "version")]
    _version: Value,
    /// Its purpose, in one sentence.
    #[serde(default)]
    pub description: String,
    #[serde(default, rename = "category")]
    _category: Value,
    /// Its arguments, in order.
    #[serde(default)]
    args: Vec<Argument>,
    prompt: Prompt,
    #[serde(default)]
    model: Model,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Argument {
    name: String,
    #[serde(default, rename = "description")]
    _description: String,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    default: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prompt {
    #[serde(default)]
    system: String,
    template: String,
}

/// The tool that a command offers in addition to those of a chat.
const OFFERED: &str = "http_get";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    #[serde(default)]
    temperature: Option<f64>,
    #[serde(default)]
    max_tokens: Option<u32>,
}

/// The arguments of one invocation: some by name, the others in order.
#[derive(Debug, Default)]
pub struct CommandArguments {
    /// Arguments without a name, in order.
    pub values: Vec<String>,
    /// `name=value`
    pub named: BTreeMap<String, String>,
}

impl CommandArguments {
    /// Sorts the words of a command line. A word `name=value` with a name that the command
    /// knows gives that argument.
    pub fn read(words: &[String], spec: &CommandSpec) -> Self {
        let mut given = Self::default();
        for word in words {
            // Any other word with `=`, such as a URL, is a value.
            let named = word
                .split_once('=')
                .filter(|(name, _)| spec.args.iter().any(|it| it.name == *name));
            match named {
                Some((name, value)) => {
                    drop(given.named.insert(name.to_owned(), value.to_owned()));
                }
                None => given.values.push(word.clone()),
            }
        }
        given
    }
}

/// Returns the chat that `:Flemma run` opens: a name for the buffer, and its text.
/// `arguments` contains the `words` after the command and Neovim's `cwd`.
///
/// # Errors
///
/// There is no such command, or it or its arguments are invalid.
pub fn run(arguments: &Value) -> Result<(String, Vec<String>), String> {
    let words = arguments["words"].as_array().into_iter().flatten();
    let words: Vec<String> = words.filter_map(Value::as_str).map(str::to_owned).collect();
    let project = Path::new(arguments["cwd"].as_str().unwrap_or("/"));
    // The names help more than a usage text.
    let Some((name, rest)) = words.split_first() else {
        let found = all(project).into_iter().filter_map(|found| found.spec.ok());
        let names: Vec<String> = found.map(|spec| spec.name).collect();
        let names = if names.is_empty() {
            "none was found".to_owned()
        } else {
            names.join(", ")
        };
        return Err(format!(":Flemma run needs the name of a command: {names}."));
    };
    let spec = find(name, project)?;
    let lines = spec.chat(&CommandArguments::read(rest, &spec));
    let lines = lines.map_err(|error| format!("{error}. Nothing was run."))?;
    Ok((chat_path(&spec.name, project), lines))
}

/// Returns a path for the chat at which no file exists.
fn chat_path(name: &str, project: &Path) -> String {
    let name: String = name
        .chars()
        // The name comes from the file and becomes part of a path.
        .map(|char| if char.is_alphanumeric() { char } else { '-' })
        .collect();
    crate::status::free_name(project, &name)
}

impl CommandSpec {
    /// Reads a command.
    ///
    /// # Errors
    ///
    /// The error and its line, as a sentence without the full stop.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str(text).map_err(|error| {
            let whole = error.to_string();
            // An excerpt of the file follows the first line.
            whole.lines().next().unwrap_or_default().to_owned()
        })
    }

    /// Returns the chat that the command becomes with these arguments.
    ///
    /// # Errors
    ///
    /// An argument is missing, there is one too many, or the template cannot be rendered.
    pub fn chat(&self, given: &CommandArguments) -> Result<Vec<String>, String> {
        let values = self.values(given)?;
        let mut filled = render::Filled::new(values);
        let system = filled.render("prompt.system", &self.prompt.system)?;
        let user = filled.render("prompt.template", &self.prompt.template)?;
        let mut lines = self.frontmatter(&filled);
        for (role, text) in [(Role::System, &system), (Role::You, &user)] {
            if text.trim().is_empty() {
                continue;
            }
            lines.push(String::new());
            lines.push(role.marker().to_owned());
            // A line of an argument must not become a marker or a call.
            lines.extend(
                text.trim_end()
                    .lines()
                    .map(|it| escape_line(it).into_owned()),
            );
        }
        Ok(lines)
    }

    // Arguments by name may stand anywhere, so the others fill the remaining places in order.
    fn values(&self, given: &CommandArguments) -> Result<BTreeMap<String, String>, String> {
        let mut positions = given.values.iter();
        let mut values = BTreeMap::new();
        for argument in &self.args {
            let name = &argument.name;
            let said = given.named.get(name).or_else(|| positions.next());
            let usual = argument.default.as_ref().map(|value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            match said.cloned().or(usual) {
                Some(value) => drop(values.insert(name.clone(), value)),
                None if argument.required => {
                    return Err(format!("missing required argument: {name}"));
                }
                // The template may name any argument, and an undefined name would be an error.
                None => drop(values.insert(name.clone(), String::new())),
            }
        }
        match positions.next() {
            Some(word) => Err(format!(
                "{} takes {}, so \"{word}\" is one argument too many",
                self.name,
                self.usage()
            )),
            None => Ok(values),
        }
    }

    /// Returns its arguments in words.
    pub fn usage(&self) -> String {
        if self.args.is_empty() {
            return "no arguments".to_owned();
        }
        let names = self.args.iter().map(|argument| {
            if argument.required {
                format!("<{}>", argument.name)
            } else {
                format!("[{}]", argument.name)
            }
        });
        names.collect::<Vec<_>>().join(" ")
    }

    /// Returns the options of this chat.
    fn frontmatter(&self, filled: &render::Filled) -> Vec<String> {
        let mut lines = filled.variables();
        // Lua can't read `inf`.
        if let Some(temperature) = self.model.temperature.filter(|it| it.is_finite()) {
            lines.push(format!("flemma.opt.temperature = {temperature}"));
        }
        if let Some(max_tokens) = self.model.max_tokens {
            lines.push(format!("flemma.opt.max_tokens = {max_tokens}"));
        }
        lines.push(format!("flemma.opt.tools:append(\"{OFFERED}\")"));
        lines.insert(0, "```lua".to_owned());
        lines.push("```".to_owned());
        lines
    }
}

#[cfg(test)]
mod tests;
