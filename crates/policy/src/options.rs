//! The option table: one row per option, with the values it takes, its default, the layers that
//! may set it, whether a change of it loosens, and its help.
//!
//! Every layer is validated against this table (`check`), and the manual's section, the
//! annotations for LuaLS, and the defaults that Neovim needs are generated from it (`docgen`).
//! Does not know what an option does, nor where its value comes from.

mod check;
#[cfg(test)]
mod docgen;
mod kind;
mod rows;
mod toml_file;

use std::sync::LazyLock;

use serde_json::{Map, Value};

use kind::OptionKind;
use rows::ROOT;

pub use check::{InvalidOption, check, lay_over, unknown};
pub(crate) use check::{check_value, join, out_of_scope};
pub use kind::share;
pub(crate) use rows::PROVIDER_NAMES;
pub use rows::{
    AutopilotSettings, BackendChoice, Backends, BashSettings, Bwrap, CheckpointSettings,
    ContextSettings, FoldSettings, FrontmatterTrust, HttpSettings, McpSettings, NetworkHosts,
    NetworkPolicy, Preset, ReviewRule, SandboxPolicy, SandboxSettings, ToolSettings, TrustSettings,
    UiSettings, Unlisted, UnrecognizedCalls, Values, parameter_words,
};
pub use toml_file::{TomlError, TomlOptions};

/// A row of the table: an option, or a table of options.
#[derive(Debug)]
pub struct OptionDef {
    /// The last part of its path.
    pub name: &'static str,
    /// The values it takes.
    pub kind: OptionKind,
    /// Its default as JSON. A table's default consists of the defaults of its options.
    default: &'static str,
    /// The layers that may set it. A table has the layers of its options.
    scopes: &'static [Scope],
    /// The values that allow more than the user's own options do.
    pub loosens: Loosens,
    /// True if its value is never shown.
    pub secret: bool,
    /// The lines of its entry in the manual.
    help: &'static [&'static str],
}

/// The layers of options that only the user sets.
const USER: &[Scope] = &[Scope::Setup, Scope::ConfigFile];

/// The layers of options that a command can change as well.
const COMMAND: &[Scope] = &[Scope::Setup, Scope::ConfigFile, Scope::Runtime];

/// The layers of options that a project can set as well.
const PROJECT: &[Scope] = &[Scope::Setup, Scope::ConfigFile, Scope::Project];

/// The layers of options that a project and a chat can set as well.
const CHAT: &[Scope] = &[
    Scope::Setup,
    Scope::ConfigFile,
    Scope::Project,
    Scope::Frontmatter,
];

/// The layers of options that a project, a chat, and a command can set as well.
const ANYWHERE: &[Scope] = &[
    Scope::Setup,
    Scope::ConfigFile,
    Scope::Project,
    Scope::Runtime,
    Scope::Frontmatter,
];

/// The layers of rules that a project can set as well, and to which remembered rules add.
const RULES: &[Scope] = &[
    Scope::Setup,
    Scope::ConfigFile,
    Scope::Project,
    Scope::Rules,
];

impl OptionDef {
    /// Creates the row of an option that only the user sets. `default` is JSON.
    const fn new(
        name: &'static str,
        kind: OptionKind,
        default: &'static str,
        help: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            kind,
            default,
            scopes: USER,
            loosens: Loosens::Never,
            secret: false,
            help,
        }
    }

    /// Returns its entry in the manual, wrapped at 74 columns.
    fn help(&self) -> String {
        let lines = self
            .help
            .iter()
            .map(|line| line.strip_prefix(' ').unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns true if a layer may set the option, or one in the table.
    pub fn is_in(&self, scope: Scope) -> bool {
        match self.kind.fields() {
            // A table has no layers of its own: it may be set if anything in it may be.
            Some(mut fields) => fields.any(|field| field.is_in(scope)),
            None => self.scopes.contains(&scope),
        }
    }

    /// Returns the default. The default of a table consists of the defaults of its options.
    pub fn default(&self) -> Value {
        match self.kind.fields() {
            Some(fields) => {
                let pairs = fields.map(|field| (field.name.to_owned(), field.default()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            None => json(self.default),
        }
    }

    /// Returns the option `enabled` of a table that has one. A chat sets it by setting the
    /// table to true or false.
    pub fn switch(&self) -> Option<&'static OptionDef> {
        self.kind.fields()?.find(|field| field.name == "enabled")
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Returns the row of the option or table with this path.
pub fn find(path: &str) -> Option<&'static OptionDef> {
    let mut parts = path.split('.');
    let first = parts.next()?;
    let mut found = ROOT.fields()?.find(|field| field.name == first)?;
    for part in parts {
        found = found.kind.fields()?.find(|field| field.name == part)?;
    }
    Some(found)
}

/// Returns the full path and the row of an option that a chat names below `flemma.opt`,
/// where `parameters.` is left out.
pub(crate) fn find_in_chat(path: &str) -> Option<(String, &'static OptionDef)> {
    let parameter = format!("parameters.{path}");
    let known = |path: String| find(&path).map(|option| (path, option));
    // The whole path first, because most options are not parameters.
    known(path.to_owned()).or_else(|| known(parameter))
}

/// Returns what an option is that a chat names below `flemma.opt`: its path, values, default,
/// and help.
pub fn about(path: &str) -> Option<String> {
    let (path, option) = find_in_chat(path)?;
    let mut lines = vec![path];
    if option.kind.fields().is_none() {
        let (words, default) = (option.kind.words(), as_lua(&option.default()));
        lines.push(format!("{words}; default: {default}"));
    }
    if !option.help.is_empty() {
        lines.push(format!("\n{}", option.help()));
    }
    Some(lines.join("\n"))
}

/// Returns the names that a chat can set below the table `path` of `flemma.opt`.
pub fn names_in_chat(path: &str) -> Vec<&'static str> {
    let table = match path {
        "" => ROOT.fields(),
        path => find_in_chat(path).and_then(|(_, option)| option.kind.fields()),
    };
    let parameters = find("parameters").filter(|_| path.is_empty());
    let parameters = parameters.and_then(|it| it.kind.fields());
    let fields = table.into_iter().flatten();
    let fields = fields
        // They are listed without their table, as a chat names them.
        .filter(|field| field.name != "parameters")
        .chain(parameters.into_iter().flatten());
    let fields = fields.filter(|field| field.is_in(Scope::Frontmatter));
    fields.map(|field| field.name).collect()
}

/// Returns the path below `flemma.opt` of the option with this full path.
#[cfg(test)]
pub(crate) fn path_in_chat(path: &str) -> &str {
    path.strip_prefix("parameters.").unwrap_or(path)
}

/// Every option that is not a table, with its whole path.
static LEAVES: LazyLock<Vec<(String, &'static OptionDef)>> = LazyLock::new(|| {
    fn collect(kind: &OptionKind, prefix: &str, found: &mut Vec<(String, &'static OptionDef)>) {
        for field in kind.fields().into_iter().flatten() {
            let path = format!("{prefix}{}", field.name);
            if field.kind.fields().is_some() {
                collect(&field.kind, &format!("{path}."), found);
            } else {
                found.push((path, field));
            }
        }
    }
    let mut found = Vec::new();
    collect(&ROOT, "", &mut found);
    found
});

/// Returns every option that is not a table, with its whole path.
pub fn leaves() -> impl Iterator<Item = (&'static str, &'static OptionDef)> {
    LEAVES.iter().map(|(path, option)| (path.as_str(), *option))
}

/// Returns the options that `values` set, with their whole paths.
pub(crate) fn set_in(values: &Value) -> Vec<(&'static str, &'static OptionDef, &Value)> {
    let set = leaves().filter_map(|(path, option)| Some((path, option, at(values, path)?)));
    set.collect()
}

/// Returns the value at `path`, unless it is absent or null.
pub fn at<'a>(values: &'a Value, path: &str) -> Option<&'a Value> {
    let value = path
        .split('.')
        .try_fold(values, |table, name| table.get(name));
    // With null, a layer leaves an option to the layers below it.
    value.filter(|value| !value.is_null())
}

/// Returns `value` in tables that lead to `path`.
pub fn nested(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |inner, name| {
        Value::Object(Map::from_iter([(name.to_owned(), inner)]))
    })
}

/// Returns the defaults of all options.
pub fn defaults() -> Value {
    let fields = ROOT.fields().into_iter().flatten();
    let pairs = fields.map(|field| (field.name.to_owned(), field.default()));
    Value::Object(pairs.collect::<Map<_, _>>())
}

/// A layer of options. A later one wins over the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The table given to `setup()`.
    Setup,
    /// The command line's `config.toml`.
    ConfigFile,
    /// A project's `.flemma/config.toml`.
    Project,
    /// Rules that the user chose at earlier calls.
    Rules,
    /// A `:Flemma` command, until Neovim ends.
    Runtime,
    /// A chat's frontmatter.
    Frontmatter,
}

impl Scope {
    /// Returns the layer's name in `:Flemma status verbose`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::ConfigFile => "config.toml",
            Self::Project => "project",
            Self::Rules => "rules",
            Self::Runtime => "runtime",
            Self::Frontmatter => "frontmatter",
        }
    }
}

/// The values of an option that allow more than the user's own value. Stated only for options
/// that a chat or a project can set.
#[derive(Debug, Clone, Copy)]
pub enum Loosens {
    /// No value does.
    Never,
    /// Every value but `strict` does.
    Unless {
        /// The strictest value, as JSON.
        strict: &'static str,
        /// The effect of the change, to follow "this": "would …".
        what: &'static str,
    },
    /// `true` does if the user's own value is `false`.
    WhenTurnedOn(&'static str),
    /// Every value does.
    Always(&'static str),
    /// A higher number than the user's own does; without a number there is no limit.
    WhenRaised(&'static str),
    /// A network with more hosts than the user's own does; `true` always.
    ReachesMore(&'static str),
    /// No value does: a project's list is added to the user's own, and forbids something.
    Forbids,
    /// The value is compared with the user's own rules by code of its own.
    Compared,
}

impl Loosens {
    /// Returns what `value` would allow beyond the user's `own` value, to follow "this".
    pub fn what(&self, value: &Value, own: &Value) -> Option<&'static str> {
        match *self {
            Self::Never | Self::Compared | Self::Forbids => None,
            Self::WhenRaised(what) => (!is_at_most(value, own)).then_some(what),
            Self::Always(what) => Some(what),
            Self::ReachesMore(what) => (!is_within(value, own)).then_some(what),
            Self::WhenTurnedOn(what) => {
                // If the user has turned it on already, the chat gains nothing.
                let turned_on = *value == Value::Bool(true) && *own == Value::Bool(false);
                turned_on.then_some(what)
            }
            Self::Unless { strict, what } => (json(strict) != *value).then_some(what),
        }
    }

    /// Returns true if `value` cannot do more than take away what the user's `own` value
    /// allows.
    pub fn tightens(&self, value: &Value, own: &Value) -> bool {
        match *self {
            // Neither can be shown to tighten, so such an option waits for trust.
            Self::Never | Self::Compared => false,
            Self::Forbids => true,
            Self::Always(_) => is_part(value, own),
            Self::ReachesMore(_) => is_within(value, own),
            Self::WhenTurnedOn(_) => *value == Value::Bool(false),
            Self::WhenRaised(_) => is_at_most(value, own),
            Self::Unless { strict, .. } => json(strict) == *value,
        }
    }
}

/// Returns true if a list contains nothing that `own` does not contain.
fn is_part(list: &Value, own: &Value) -> bool {
    let (Some(list), Some(own)) = (list.as_array(), own.as_array()) else {
        return false;
    };
    list.iter().all(|item| own.contains(item))
}

/// Returns true if a value of `sandbox.policy.network` reaches nothing that `own` does not. Patterns
/// are compared as they are written.
fn is_within(network: &Value, own: &Value) -> bool {
    match (network, own) {
        (Value::Bool(everything), _) => !everything,
        (_, Value::Bool(everything)) => *everything,
        (hosts, own) => is_part(&hosts["allow"], &own["allow"]),
    }
}

fn is_at_most(value: &Value, own: &Value) -> bool {
    match (value.as_f64(), own.as_f64()) {
        (Some(value), Some(own)) => value <= own,
        // The user has set no limit.
        (Some(_), None) => own.is_null(),
        _ => false,
    }
}

/// Returns a value as Lua writes it, on one line.
pub(crate) fn as_lua(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => float.to_string(),
            _ => number.to_string(),
        },
        Value::Array(items) if items.is_empty() => "{}".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(as_lua).collect();
            format!("{{ {} }}", items.join(", "))
        }
        // The form in which Neovim sends a function, which has no text.
        Value::Object(map) if map.len() == 1 && map.contains_key("function") => {
            "function".to_owned()
        }
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(name, value)| (lua_key(name), as_lua(value)));
            let pairs: Vec<String> = pairs
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::String(text) => lua_string(text),
        Value::Bool(_) => value.to_string(),
    }
}

/// Returns a string in quotes. Lua reads the escapes of JSON, except for `\u`.
fn lua_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // Three digits, because another digit may follow.
            c if c.is_ascii_control() => quoted.push_str(&format!("\\{:03}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Words that are not names in Lua 5.1, from its reference manual.
const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

fn lua_key(name: &str) -> String {
    let plain = name
        .chars()
        .all(|it| it.is_ascii_alphanumeric() || it == '_');
    let is_name = plain && !name.starts_with(|it: char| it.is_ascii_digit()) && !name.is_empty();
    if is_name && !KEYWORDS.contains(&name) {
        name.to_owned()
    } else {
        format!("[{}]", lua_string(name))
    }
}

#[cfg(test)]
mod tests;
