//! Options written as TOML: their values, and the line of each.

use std::collections::BTreeMap;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::join;

/// The options of a TOML text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TomlOptions {
    /// Their values, in the form that `setup()` takes.
    pub values: Value,
    /// The line of each option and table, counted from 1, by its path.
    pub(crate) lines: BTreeMap<String, usize>,
}

/// An error in a file of options, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlError {
    /// The line, counted from 1.
    pub line: usize,
    /// The error, without a full stop.
    pub why: String,
}

impl TomlOptions {
    /// Reads a text.
    ///
    /// # Errors
    ///
    /// It is not valid TOML, or contains a number that is not finite.
    pub fn read(text: &str) -> Result<Self, TomlError> {
        let table: toml::Table = toml::from_str(text).map_err(|error| error_in(text, &error))?;
        // Parsed again, because a `toml::Table` has no positions.
        let parsed = DeTable::parse(text).map_err(|error| error_in(text, &error))?;
        let mut lines = BTreeMap::new();
        collect(parsed.get_ref(), "", text, &mut lines);
        let line = |path: &str| lines.get(path).copied().unwrap_or(1);
        // JSON has no such numbers, so the option would silently become null.
        if let Some((path, number)) = table.iter().find_map(|(name, it)| not_finite(name, it)) {
            return Err(TomlError {
                line: line(&path),
                why: format!("{path} is {number}; it must be a finite number"),
            });
        }
        let values = serde_json::to_value(table).map_err(|error| TomlError {
            line: 1,
            why: error.to_string(),
        })?;
        Ok(Self { values, lines })
    }

    /// Returns the line of an option, or else of the nearest table above it.
    pub fn line(&self, path: &str) -> usize {
        let mut path = path;
        loop {
            if let Some(line) = self.lines.get(path) {
                return *line;
            }
            match path.rsplit_once('.') {
                Some((above, _)) => path = above,
                // A file-wide problem is shown at the first line.
                None => return 1,
            }
        }
    }
}

fn error_in(text: &str, error: &toml::de::Error) -> TomlError {
    TomlError {
        line: error.span().map_or(1, |span| line_at(text, span.start)),
        why: error.message().trim().to_owned(),
    }
}

/// Returns the line of a byte, counted from 1.
fn line_at(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().iter().take(byte);
    before.filter(|byte| **byte == b'\n').count() + 1
}

fn collect(table: &DeTable<'_>, path: &str, text: &str, lines: &mut BTreeMap<String, usize>) {
    for (name, value) in table {
        let path = join(path, name.get_ref());
        let line = line_at(text, name.span().start);
        if let DeValue::Table(inner) = value.get_ref() {
            collect(inner, &path, text, lines);
        }
        // The table of a dotted key may be written in several places; the first one counts.
        lines.entry(path).or_insert(line);
    }
}

/// Returns the first number below `name` that is infinite or NaN, with its path.
fn not_finite(name: &str, value: &toml::Value) -> Option<(String, f64)> {
    match value {
        toml::Value::Float(number) if !number.is_finite() => Some((name.to_owned(), *number)),
        toml::Value::Array(items) => items.iter().find_map(|it| not_finite(name, it)),
        toml::Value::Table(table) => table
            .iter()
            .find_map(|(inner, it)| not_finite(&format!("{name}.{inner}"), it)),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_option_has_its_line_and_an_absent_one_that_of_its_table() {
        let text = "model = \"m\"\n\n[tools]\n# none\nauto_approve = []\nbash.unlisted = \"deny\"\n\n[sandbox.policy]\nnetwork = false\n[parameters]\ntemperature = 0.5\n";
        let options = TomlOptions::read(text).unwrap();
        assert_eq!(options.values["parameters"]["temperature"], json!(0.5));
        assert_eq!(options.values["tools"]["auto_approve"], json!([]));
        for (path, line) in [
            ("model", 1),
            ("tools", 3),
            ("tools.auto_approve", 5),
            ("tools.bash.unlisted", 6),
            ("tools.offer", 3),
            ("sandbox.policy.network", 9),
            ("nothing", 1),
        ] {
            assert_eq!(options.line(path), line, "{path}");
        }
    }

    #[test]
    fn a_broken_text_names_its_line() {
        for (text, line, why) in [
            ("model = \"m\"\ntools = [\n", 2, "array"),
            ("a = 1\na = 2\n", 2, "duplicate key"),
            (
                "x = 1\n[parameters]\ntemperature = inf\n",
                3,
                "parameters.temperature is inf; it must be a finite number",
            ),
            (
                "[parameters]\nx = [1.0, nan]\n",
                2,
                "parameters.x is NaN; it must be a finite number",
            ),
            ("\u{feff}= 1\n", 1, ""),
        ] {
            let error = TomlOptions::read(text).unwrap_err();
            assert!(error.why.contains(why), "{error:?}");
            assert_eq!(error.line, line, "{text:?} {error:?}");
        }
    }
}
