//! A frontmatter in JSON: its keys are variables, and `flemma` contains options with their names
//! in Lua.
//!
//! Lists replace; an object of `$set`, `$append`, `$prepend`, and `$remove` changes a list as
//! the methods in Lua do.

use serde_json::{Map, Value};

use super::given::{Given, name_list};
use super::list::{Operation, Which};
use super::options::FrontmatterOptions;
use super::places::{self, Keys};
use super::vm::Vm;
use super::{Evaluated, FrontmatterError, Known, Source};
use crate::options::{self, InvalidOption, join};

const OPERATORS: [(&str, Operation); 4] = [
    ("$set", Operation::Set),
    ("$append", Operation::Append),
    ("$prepend", Operation::Prepend),
    ("$remove", Operation::Remove),
];

/// Evaluates a frontmatter in JSON.
///
/// # Errors
///
/// See [`super::evaluate`].
pub fn evaluate(source: &Source, known: &Known) -> Result<Evaluated, FrontmatterError> {
    let fields = parse(source)?;
    let mut reader = Reader {
        keys: Keys::read(&source.text),
        options: FrontmatterOptions::new(known.clone()),
        source,
    };
    // A parsed object has lost the first of two equal keys, so the text is checked.
    reader.check_keys()?;
    reader.check_integers()?;
    match fields.get("flemma") {
        None => {}
        Some(Value::Object(options)) => reader.table("", options)?,
        Some(_) => {
            let what = "\"flemma\" is an object of options, and this is none.";
            return Err(reader.failure("", "flemma", InvalidOption::new("", what)));
        }
    }
    // Expressions run in Lua, also in a chat whose frontmatter is JSON.
    let vm = Vm::new(source)?;
    for (name, value) in fields.iter().filter(|(name, _)| *name != "flemma") {
        vm.set_variable(name, value).map_err(|error| {
            let what = format!("\"{name}\" cannot be a variable ({error}).");
            reader.failure("", name, InvalidOption::new(name, what))
        })?;
    }
    Ok(Evaluated::new(reader.options.close(), vm))
}

fn parse(source: &Source) -> Result<Map<String, Value>, FrontmatterError> {
    let first = source.first_line;
    let whole = |what: &str| Err(FrontmatterError::new(first, None, what));
    match serde_json::from_str(&source.text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => whole("it is not an object. Write { and } around it."),
        // An empty block is a frontmatter that is about to be written.
        Err(_) if source.text.trim().is_empty() => Ok(Map::new()),
        Err(error) => {
            let line = first + error.line().saturating_sub(1);
            let said = error.to_string();
            // The parser counts lines from the start of the block, and the user sees the file's.
            let said = said.split(" at line ").next().unwrap_or_default();
            let what = format!("this is not JSON ({said}).");
            Err(FrontmatterError::new(
                line,
                Some(error.column().max(1)),
                what,
            ))
        }
    }
}

struct Reader<'a> {
    source: &'a Source,
    keys: Keys,
    options: FrontmatterOptions,
}

impl Reader<'_> {
    fn check_keys(&self) -> Result<(), FrontmatterError> {
        let Some((key, at)) = &self.keys.twice else {
            return Ok(());
        };
        let line = places::line_of(&self.source.text, *at, self.source.first_line);
        let what = format!("\"{key}\" occurs twice in one object. Keep one of them.");
        Err(FrontmatterError::new(line, None, what))
    }

    /// Rejects integers that Lua's floats cannot represent.
    fn check_integers(&self) -> Result<(), FrontmatterError> {
        // An integer that `i128` cannot hold counts as changed.
        let changes = |number: &str| match (number.parse::<i128>(), number.parse::<f64>()) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a cast of a float saturates"
            )]
            (Ok(whole), Ok(float)) => float as i128 != whole,
            _ => true,
        };
        let mut integers = chat::json::integers(&self.source.text);
        let Some((at, number)) = integers.find(|(_, it)| changes(it)) else {
            return Ok(());
        };
        let line = places::line_of(&self.source.text, at, self.source.first_line);
        let what =
            format!("the number {number} can't be held exactly. Write it as text, in quotes.");
        Err(FrontmatterError::new(line, None, what))
    }

    /// Sets the options in the object at `parent`.
    fn table(&mut self, parent: &str, fields: &Map<String, Value>) -> Result<(), FrontmatterError> {
        for (name, value) in fields {
            // Only these two have operators; elsewhere `$set` would be an option's name.
            let which = match (parent, name.as_str()) {
                ("", "tools") => Some(Which::Tools),
                ("tools", "auto_approve") => Some(Which::AutoApprove),
                _ => None,
            };
            match (which, value) {
                (Some(which), Value::Object(inner)) => self.list(which, inner)?,
                _ => self.assign(parent, name, value)?,
            }
        }
        Ok(())
    }

    fn assign(&mut self, parent: &str, name: &str, value: &Value) -> Result<(), FrontmatterError> {
        let given = match value {
            Value::Null => Given::Nothing,
            value => Given::Value(value.clone()),
        };
        let line = self.line(parent, name);
        let outcome = self.options.assign(parent, name, given, line);
        outcome.map_err(|invalid| self.failure(parent, name, invalid))
    }

    /// Applies the operators of a list, in their order, and sets the options below it.
    fn list(&mut self, which: Which, fields: &Map<String, Value>) -> Result<(), FrontmatterError> {
        for (name, value) in fields {
            let operator = OPERATORS.iter().find(|(operator, _)| operator == name);
            match operator {
                Some((_, operation)) => {
                    let line = self.line(which.path(), name);
                    name_list(&join(which.path(), name), value)
                        .and_then(|names| self.options.change(which, *operation, &names, line))
                        .map_err(|invalid| self.failure(which.path(), name, invalid))?;
                }
                // No option begins with a dollar, so this is a misspelled operator.
                None if name.starts_with('$') => {
                    let known = OPERATORS.map(|(operator, _)| operator);
                    let path = join(which.path(), name);
                    let invalid = options::unknown(&path, name, &known);
                    return Err(self.failure(which.path(), name, invalid));
                }
                None => {
                    // `flemma.tools` holds the operators of the list and the options below it in
                    // one object.
                    let one = Map::from_iter([(name.clone(), value.clone())]);
                    self.table(which.path(), &one)?;
                }
            }
        }
        Ok(())
    }

    fn line(&self, parent: &str, name: &str) -> usize {
        let at = self.offset(parent, name).unwrap_or_default();
        places::line_of(&self.source.text, at, self.source.first_line)
    }

    fn offset(&self, parent: &str, name: &str) -> Option<usize> {
        // The key itself is at the top, and the options are below it.
        if parent.is_empty() && name == "flemma" {
            return self.keys.find(&["flemma"]);
        }
        let mut path = vec!["flemma"];
        path.extend(parent.split('.').filter(|it| !it.is_empty()));
        path.push(name);
        self.keys.find(&path)
    }

    fn failure(&self, parent: &str, name: &str, invalid: InvalidOption) -> FrontmatterError {
        let line = self.line(parent, name);
        // A wrong value is marked itself; a wrong name is marked where it is written.
        let word = invalid.word.as_deref().unwrap_or(name);
        let first = self.source.first_line;
        let place = places::of_word(&self.source.text, word, line, first);
        let (line, column) = place.map_or((line, None), |(line, column)| (line, Some(column)));
        FrontmatterError::new(line, column, invalid)
    }
}
