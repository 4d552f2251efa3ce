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
mod scope;
#[cfg(test)]
mod tests;
mod toml_file;

use std::sync::LazyLock;

use serde_json::{Map, Value};

use kind::OptionKind;
use rows::ROOT;

use crate::lua_value::as_lua;
pub use check::{InvalidOption, check, lay_over, unknown};
pub(crate) use check::{check_value, join, out_of_scope};
pub use kind::share;
pub(crate) use rows::PROVIDER_NAMES;
pub use rows::parameter_words;
pub use scope::{Loosens, Scope};
pub use toml_file::{TomlError, TomlOptions};

/// A row of the table: an option, or a table of options.
#[derive(Debug)]
pub struct OptionDef {
    /// The last part of its path.
    pub name: &'static str,
    /// The values it takes.
    pub kind: OptionKind,
    /// Its default as JSON. A table's default consists of those of its options.
    default: &'static str,
    /// The layers that may set it. A table has those of its options.
    scopes: &'static [Scope],
    /// The values that allow more than the user's own options do.
    pub loosens: Loosens,
    /// True if its value is never shown.
    pub secret: bool,
    /// Its entry in the manual, wrapped at 74 columns.
    help: &'static str,
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

/// Makes the row of an option with a default, as JSON.
const fn option(
    name: &'static str,
    kind: OptionKind,
    default: &'static str,
    help: &'static str,
) -> OptionDef {
    OptionDef {
        name,
        kind,
        default,
        scopes: USER,
        loosens: Loosens::Never,
        secret: false,
        help,
    }
}

/// Makes the row of an option whose default is nil.
const fn unset(name: &'static str, kind: OptionKind, help: &'static str) -> OptionDef {
    option(name, kind, "null", help)
}

/// Makes the row of a table of options.
const fn table(name: &'static str, kind: OptionKind, help: &'static str) -> OptionDef {
    option(name, kind, "{}", help)
}

impl OptionDef {
    const fn scopes(mut self, scopes: &'static [Scope]) -> Self {
        self.scopes = scopes;
        self
    }

    const fn loosens(mut self, loosens: Loosens) -> Self {
        self.loosens = loosens;
        self
    }

    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Returns true if a layer may set the option, or one in the table.
    pub fn is_in(&self, scope: Scope) -> bool {
        match self.kind.fields() {
            // A table has no layers of its own: it may be set if anything in it may be.
            Some(mut fields) => fields.any(|field| field.is_in(scope)),
            None => self.scopes.contains(&scope),
        }
    }

    /// Returns the default; of a table, those of its options.
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
        lines.push(format!("\n{}", option.help));
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
