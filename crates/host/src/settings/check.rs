//! Compares given options with their definitions, and says what does not fit.
//!
//! What is right is taken over, also beside something that is wrong. Whether a
//! name in a list means something is not known here.

use serde_json::{Map, Value};

use super::kind::Kind;

/// The part of `given` that fits; a sentence for each other part in `problems`.
/// `path` is the name of the table that `given` is, empty for all options.
pub fn fitting(
    kind: &Kind,
    given: &Value,
    path: &str,
    problems: &mut Vec<String>,
) -> Option<Value> {
    if given.is_null() {
        return None;
    }
    if let Some((word, known)) = unknown_word(kind, given) {
        let meant = nearest(word, known.iter().copied());
        problems.push(format!("{path}: nothing is named \"{word}\".{meant}"));
        return None;
    }
    if !kind.takes(given) {
        let whole = if path.is_empty() { "setup()" } else { path };
        problems.push(format!(
            "{whole} is {}; it must be {}.",
            shown(given),
            kind.words()
        ));
        return None;
    }
    match (kind, given) {
        (Kind::Map(each), Value::Object(map)) => {
            let fitting = map.iter().filter_map(|(name, value)| {
                let inner = fitting(each, value, &format!("{path}.{name}"), problems)?;
                Some((name.clone(), inner))
            });
            Some(Value::Object(fitting.collect()))
        }
        (Kind::Table(_) | Kind::Tools(_), Value::Object(map)) => {
            Some(table(kind, map, path, problems))
        }
        (Kind::Map(_) | Kind::Free | Kind::Table(_) | Kind::Tools(_), _) if given.is_array() => {
            Some(Value::Object(Map::new()))
        }
        _ => Some(given.clone()),
    }
}

/// What a list of words holds that is none of them, and which there are.
fn unknown_word<'a>(kind: &Kind, given: &'a Value) -> Option<(&'a str, &'static [&'static str])> {
    let (Kind::List(Kind::Choice(known)), Value::Array(list)) = (kind, given) else {
        return None;
    };
    let mut words = list.iter().filter_map(Value::as_str);
    let word = words.find(|word| !known.contains(word))?;
    Some((word, *known))
}

fn table(kind: &Kind, given: &Map<String, Value>, path: &str, problems: &mut Vec<String>) -> Value {
    let mut result = Map::new();
    for (name, value) in given {
        let inner = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let field = kind
            .fields()
            .and_then(|mut it| it.find(|it| it.name == name));
        if let Some(field) = field {
            let value = fitting(&field.kind, value, &inner, problems);
            result.extend(value.map(|value| (name.clone(), value)));
            continue;
        }
        let meant = nearest(name, kind.fields().into_iter().flatten().map(|it| it.name));
        let of_a_tool = matches!(kind, Kind::Tools(_)) && (value.is_object() || value.is_array());
        if !of_a_tool || !meant.is_empty() {
            problems.push(format!("There is no option \"{inner}\".{meant}"));
        }
    }
    Value::Object(result)
}

/// A value as a message shows it: cut where it is long.
fn shown(value: &Value) -> String {
    const LENGTH: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Lays `over` on `target`: tables are joined, all else is replaced.
pub fn lay_over(target: &mut Value, over: Value) {
    match (target, over) {
        (Value::Object(target), Value::Object(over)) => {
            for (name, value) in over {
                match target.get_mut(&name) {
                    Some(inner) => lay_over(inner, value),
                    None => drop(target.insert(name, value)),
                }
            }
        }
        (target, over) => *target = over,
    }
}

/// A sentence that names what was probably meant, or nothing.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let best = known.map(|it| (strsim::osa_distance(it, name), it)).min();
    match best.filter(|(distance, _)| *distance <= 3 && *distance < name.chars().count()) {
        Some((_, it)) => format!(" Did you mean \"{it}\"?"),
        None => String::new(),
    }
}
