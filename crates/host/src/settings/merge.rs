//! Lays given options over defaults, and says what does not fit.
//!
//! The defaults are the schema: an option that has none does not exist, and one
//! of another type is wrong.

use serde_json::{Map, Value};
use tools::Registry;

/// Tables that users fill with names of their own.
pub struct Free {
    tools: Vec<String>,
}

impl Free {
    /// Tools may have a table of their own each, below `tools`.
    pub fn of(registry: &Registry) -> Self {
        Self {
            tools: registry.iter().map(|tool| tool.name().to_owned()).collect(),
        }
    }

    fn table(path: &str) -> bool {
        matches!(
            path,
            "parameters" | "presets" | "tools.presets" | "tools.bash.env"
        )
    }

    fn unknown(&self, path: &str, name: &str) -> bool {
        path == "tools" && self.tools.iter().any(|tool| tool == name)
    }
}

/// `options` without some names at the top.
pub fn without(options: &Value, names: &[&str]) -> Value {
    let Value::Object(map) = options else {
        return options.clone();
    };
    let kept = map
        .iter()
        .filter(|(name, _)| !names.contains(&name.as_str()));
    Value::Object(
        kept.map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Map<_, _>>(),
    )
}

/// Lays `given` over `target`.
pub fn merge(
    target: &mut Value,
    given: &Value,
    path: &str,
    free: &Free,
    problems: &mut Vec<String>,
) {
    let Value::Object(known) = target else { return };
    // An empty Lua table arrives as an empty list.
    let given = match given {
        Value::Object(given) => given,
        Value::Array(list) if list.is_empty() => return,
        Value::Null => return,
        other => {
            problems.push(format!("{path} is {other}; it must be a table."));
            return;
        }
    };
    for (name, value) in given {
        let inner = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let Some(default) = known.get_mut(name) else {
            if Free::table(path) {
                known.insert(name.clone(), value.clone());
            } else if !free.unknown(path, name) {
                let meant = nearest(name, known.keys().map(String::as_str));
                problems.push(format!("There is no option \"{inner}\".{meant}"));
            }
            continue;
        };
        if inner == "tools.auto_approve" || default.is_null() || same_kind(default, value) {
            if default.is_object() && !value.is_null() && inner != "tools.auto_approve" {
                merge(default, value, &inner, free, problems);
            } else {
                *default = value.clone();
            }
        } else {
            problems.push(format!("{inner} is {value}; it must be {}.", kind(default)));
        }
    }
}

fn same_kind(default: &Value, value: &Value) -> bool {
    match (default, value) {
        (Value::Object(_), Value::Object(_)) => true,
        (Value::Object(_), Value::Array(list)) => list.is_empty(),
        (Value::Number(default), Value::Number(value)) => default.is_f64() || value.is_u64(),
        (default, value) => std::mem::discriminant(default) == std::mem::discriminant(value),
    }
}

fn kind(default: &Value) -> &'static str {
    match default {
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "a whole number from 0",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) | Value::Null => "a table",
    }
}

/// A sentence that names what was probably meant, or nothing.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let best = known.map(|it| (strsim::osa_distance(it, name), it)).min();
    match best.filter(|(distance, _)| *distance <= 3) {
        Some((_, it)) => format!(" Did you mean \"{it}\"?"),
        None => String::new(),
    }
}
