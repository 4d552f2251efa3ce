//! Parses a `tool.toml`: the name, description, parameters, and script of a tool.
//!
//! Pure. `timeout` extends the specification of script tools. Unknown fields are ignored, because
//! they may belong to other programs, unless they look like a misspelled field of ours.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::wire::{Table, Wrong};

/// Maximum length of a description in bytes. It is part of every request.
const LONGEST: usize = 8 * 1024;
/// Maximum number of keywords.
const MOST_KEYWORDS: usize = 100;
/// Maximum length of a name: the limit of OpenAI.
const LONGEST_NAME: usize = 64;
/// Minimum and maximum time limit, in seconds.
const TIMEOUT_RANGE: (f64, f64) = (0.1, 86_400.0);
/// The known fields.
const FIELDS: [&str; 7] = [
    "name",
    "description",
    "keywords",
    "script",
    "parameters",
    "timeout",
    "visibility",
];

/// A valid `tool.toml`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manifest {
    /// The name that the model uses.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// Further words by which the tool can be found.
    pub keywords: Vec<String>,
    /// The script's path below the tool's folder.
    pub script: String,
    /// The parameters, in the order of the file.
    pub parameters: Vec<Parameter>,
    /// The time limit of a call, if the file has one.
    pub timeout: Option<Duration>,
    /// True if it is part of requests. If not, `tool_search` finds it.
    pub offered: bool,
}

/// Parses the `tool.toml` of the folder with this name.
///
/// # Errors
///
/// The first problem: its line, what is wrong, and what to do.
pub(crate) fn parse(text: &str, folder: &str) -> Result<Manifest, Wrong> {
    let file = Table::parse(text)?;
    file.no_slips(&FIELDS)?;
    let name = match file.text("name")? {
        Some(name) => name,
        None => folder.to_owned(),
    };
    check_name(&name, &file)?;
    let description = file.required("description", "say what the tool does, for the model")?;
    check_text(&description, LONGEST)
        .map_err(|why| file.wrong("description", format!("The description {why}")))?;
    Ok(Manifest {
        keywords: keywords(&file)?,
        script: script(&file)?,
        parameters: read(&file)?,
        timeout: timeout(&file)?,
        offered: offered(&file)?,
        name,
        description,
    })
}

fn check_name(name: &str, file: &Table<'_>) -> Result<(), Wrong> {
    // Providers accept no other characters.
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && name.chars().all(of_name) && name.len() <= LONGEST_NAME {
        return Ok(());
    }
    let shown: String = name.escape_debug().take(80).collect();
    // The name may be long and contain control characters.
    Err(file.wrong(
        "name",
        format!(
            "\"{shown}\" cannot be a tool's name. Use a letter, then letters, digits, _ and -, {LONGEST_NAME} at the most"
        ),
    ))
}

fn keywords(file: &Table<'_>) -> Result<Vec<String>, Wrong> {
    let keywords = file.texts("keywords")?;
    if keywords.len() > MOST_KEYWORDS {
        let why = format!("There are more than {MOST_KEYWORDS} keywords. Leave some out");
        return Err(file.wrong("keywords", why));
    }
    for keyword in &keywords {
        check_text(keyword, 200)
            .map_err(|why| file.wrong("keywords", format!("A keyword {why}")))?;
    }
    Ok(keywords)
}

/// The script's path. It must stay in the tool's folder, because trust applies to that folder.
fn script(file: &Table<'_>) -> Result<String, Wrong> {
    use std::path::{Component, Path};
    let script = file.required("script", "name the file that is run, such as \"script.py\"")?;
    // Neither `..` nor an absolute path.
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !script.is_empty() && Path::new(&script).components().all(inside) {
        return Ok(script);
    }
    let why = "The script must be a file in the tool's own folder. Name it relative to tool.toml";
    Err(file.wrong("script", why.to_owned()))
}

fn timeout(file: &Table<'_>) -> Result<Option<Duration>, Wrong> {
    let Some(seconds) = file.number("timeout")? else {
        return Ok(None);
    };
    let (least, most) = TIMEOUT_RANGE;
    if (least..=most).contains(&seconds) {
        return Ok(Some(Duration::from_secs_f64(seconds)));
    }
    let why = format!("The timeout is {seconds}. It must be seconds, from {least} to {most}");
    Err(file.wrong("timeout", why))
}

fn offered(file: &Table<'_>) -> Result<bool, Wrong> {
    match file.text("visibility")?.as_deref() {
        None | Some("native") => Ok(true),
        Some("ondemand") => Ok(false),
        Some(other) => {
            let shown: String = other.escape_debug().take(80).collect();
            let why = format!(
                "The visibility is \"{shown}\". Write \"native\" (requests carry the tool) or \"ondemand\" (tool_search finds it)"
            );
            Err(file.wrong("visibility", why))
        }
    }
}

// Parameters of a script: their JSON Schema, and the conversion of arguments.
//
// Pure. `integer`, `object`, `default`, `enum`, and `items` extend the specification of script
// tools.

/// Maximum number of parameters.
const MOST: usize = 100;
/// Maximum length of a description, in bytes.
const LONGEST_OF_PARAMETER: usize = 4 * 1024;
/// The known properties of a parameter.
const PROPERTIES: [&str; 6] = [
    "type",
    "description",
    "required",
    "default",
    "enum",
    "items",
];

/// A parameter of a script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parameter {
    /// The name.
    pub name: String,
    kind: Kind,
    description: String,
    required: bool,
    default: Option<Value>,
    choices: Vec<Value>,
    items: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    String,
    Number,
    Integer,
    Boolean,
    Array,
    Object,
}

impl Kind {
    const ALL: [(&str, Self); 6] = [
        ("string", Self::String),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("array", Self::Array),
        ("integer", Self::Integer),
        ("object", Self::Object),
    ];

    fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, kind)| *kind == self);
        named.map_or("string", |(name, _)| name)
    }

    fn read(table: &Table<'_>, field: &str, name: &str) -> Result<Self, Wrong> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, kind)| *kind).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|(known, _)| *known).collect();
            let meant = match chat::suggest(name, known.iter().copied()) {
                Some(it) => format!(" Did you mean \"{it}\"?"),
                None => format!(" Types: {}", known.join(", ")),
            };
            let name: String = name.escape_debug().take(80).collect();
            table.wrong(field, format!("There is no type \"{name}\".{meant}"))
        })
    }
}

/// Parses the table `parameters` of a manifest.
///
/// # Errors
///
/// The first invalid entry.
pub(crate) fn read(file: &Table<'_>) -> Result<Vec<Parameter>, Wrong> {
    let tables = file.tables("parameters")?;
    if tables.len() > MOST {
        return Err(file.wrong(
            "parameters",
            format!("There are more than {MOST} parameters"),
        ));
    }
    let mut parameters: Vec<Parameter> = Vec::new();
    for (name, table) in tables {
        let new = parameter(name, &table)?;
        // Variables have fewer characters than names, so two names may become one variable.
        let variable = variable(&new.name);
        let same = |it: &&Parameter| self::variable(&it.name) == variable;
        if let Some(other) = parameters.iter().find(same) {
            let why = format!(
                "The parameters \"{}\" and \"{}\" would both be ${variable}. Rename one",
                other.name, new.name
            );
            // No field has an empty name, so the error is at the line of the table.
            return Err(table.wrong("", why));
        }
        parameters.push(new);
    }
    Ok(parameters)
}

/// The environment variable that passes an argument to a script.
pub(crate) fn variable(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    format!("ARG_{}", name.chars().map(plain).collect::<String>())
}

fn parameter(name: String, table: &Table<'_>) -> Result<Parameter, Wrong> {
    table.no_slips(&PROPERTIES)?;
    check_text(&name, 100).map_err(|why| table.wrong("", format!("The parameter's name {why}")))?;
    let advice = "write type = \"string\", \"number\", \"boolean\" or \"array\"";
    let kind = table.required("type", advice)?;
    let description = table.required("description", "say what it is, for the model")?;
    check_text(&description, LONGEST_OF_PARAMETER)
        .map_err(|why| table.wrong("description", format!("The description {why}")))?;
    let items = table.text("items")?;
    let items = items
        .map(|it| Kind::read(table, "items", &it))
        .transpose()?;
    let choices = match table.value("enum")? {
        None => Vec::new(),
        Some(Value::Array(choices)) if !choices.is_empty() => choices,
        Some(_) => return Err(table.wrong("enum", "\"enum\" must be a list of values".to_owned())),
    };
    let parameter = Parameter {
        kind: Kind::read(table, "type", &kind)?,
        required: table.flag("required")?,
        default: table.value("default")?,
        name,
        description,
        choices,
        items,
    };
    parameter.check(table)?;
    Ok(parameter)
}

impl Parameter {
    fn check(&self, table: &Table<'_>) -> Result<(), Wrong> {
        if self.items.is_some() && self.kind != Kind::Array {
            return Err(table.wrong("items", "Only an \"array\" has \"items\"".to_owned()));
        }
        let Some(default) = &self.default else {
            return Ok(());
        };
        // Checked here, so that the author reads about the mistake and not the model.
        let fits = chat::schema::fit(&self.schema(), default.clone());
        fits.map(drop)
            .map_err(|why| table.wrong("default", format!("The default does not fit: {why}")))
    }

    fn schema(&self) -> Value {
        let mut schema = json!({"type": self.kind.name(), "description": self.description});
        if !self.choices.is_empty() {
            schema["enum"] = json!(self.choices);
        }
        if let Some(items) = self.items {
            schema["items"] = json!({"type": items.name()});
        }
        if let Some(default) = &self.default {
            schema["default"] = default.clone();
        }
        schema
    }

    /// Converts a value for the script. A `number` becomes a float and an `integer` an integer,
    /// whether or not the model wrote a decimal point.
    fn typed(&self, value: &Value) -> Value {
        match (self.kind, self.items, value) {
            (Kind::Array, Some(kind), Value::Array(items)) => {
                items.iter().map(|it| number(kind, it)).collect()
            }
            (kind, _, value) => number(kind, value),
        }
    }
}

fn number(kind: Kind, value: &Value) -> Value {
    match (kind, value.as_f64()) {
        // Python distinguishes 5 and 5.0, and a `number` should not depend on the model's spelling.
        (Kind::Number, Some(float)) if is_exact(value, float) => json!(float),
        // Larger floats don't represent every integer.
        #[expect(clippy::cast_possible_truncation, reason = "just below it is checked")]
        (Kind::Integer, Some(float)) if value.is_f64() && float.abs() < 9e15 => json!(float as i64),
        _ => value.clone(),
    }
}

/// Returns true if a number is exact as a float. If not, it stays an integer.
fn is_exact(value: &Value, float: f64) -> bool {
    let whole = value.as_i64().map(i128::from);
    let whole = whole.or_else(|| value.as_u64().map(i128::from));
    #[expect(clippy::cast_possible_truncation, reason = "no 64-bit integer is cut")]
    whole.is_none_or(|whole| float as i128 == whole)
}

/// The schema of a call's arguments.
pub(crate) fn schema(parameters: &[Parameter]) -> Value {
    let properties = parameters.iter().map(|it| (it.name.clone(), it.schema()));
    let required = parameters.iter().filter(|it| it.required);
    let required: Vec<&str> = required.map(|it| it.name.as_str()).collect();
    crate::schema::object(&Value::Object(properties.collect()), &required)
}

/// Validates the arguments of a call, converts them, and adds defaults.
///
/// # Errors
///
/// The first argument that is missing or invalid, for the model.
pub(crate) fn fit(parameters: &[Parameter], input: &Value) -> Result<Map<String, Value>, String> {
    let input = chat::schema::fit(&schema(parameters), input.clone())?;
    let given = |it: &Parameter| match input.get(&it.name) {
        Some(value) => Some(it.typed(value)),
        // TOML may have written the default of a `number` as an integer.
        None => it.default.as_ref().map(|default| it.typed(default)),
    };
    let fitted = parameters
        .iter()
        .filter_map(|it| Some((it.name.clone(), given(it)?)));
    Ok(fitted.collect())
}

/// Checks that a text for the model is short and has no invisible characters.
///
/// # Errors
///
/// The problem, as a predicate that follows "The description".
pub(crate) fn check_text(text: &str, longest: usize) -> Result<(), String> {
    if text.len() > longest {
        return Err(format!("is longer than {longest} bytes. Make it shorter"));
    }
    // Hidden characters could carry instructions for the model that the user can't see.
    match text.chars().find(|c| is_hidden(*c)) {
        None => Ok(()),
        Some(c) => Err(format!(
            "has an invisible character (U+{:04X}). Remove it",
            c as u32
        )),
    }
}

/// Returns true if a character is invisible or changes how the text around it is displayed.
fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests;
