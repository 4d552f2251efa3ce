//! JSON values as Lua writes them.

use serde_json::Value;

/// Returns a value as Lua writes it, on one line.
pub fn as_lua(value: &Value) -> String {
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
            let pairs = map.iter().map(|(name, value)| (key(name), as_lua(value)));
            let pairs: Vec<String> = pairs
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::String(text) => string(text),
        Value::Bool(_) => value.to_string(),
    }
}

/// Returns a string in quotes. Lua reads the escapes of JSON, except for `\u`.
fn string(text: &str) -> String {
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

/// Words that are no names in Lua 5.1, from its reference manual.
const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

fn key(name: &str) -> String {
    let plain = name
        .chars()
        .all(|it| it.is_ascii_alphanumeric() || it == '_');
    let is_name = plain && !name.starts_with(|it: char| it.is_ascii_digit()) && !name.is_empty();
    if is_name && !KEYWORDS.contains(&name) {
        name.to_owned()
    } else {
        format!("[{}]", string(name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::as_lua;

    #[test]
    fn values_are_written_as_lua_would_read_them() {
        for (value, expected) in [
            (json!(null), "nil"),
            (json!(true), "true"),
            (json!("a\"b"), "\"a\\\"b\""),
            (json!("\\ \n\u{1}2 é"), r#""\\ \n\0012 é""#),
            (json!(2.0), "2"),
            (json!(0.5), "0.5"),
            (json!(u64::MAX), "18446744073709551615"),
            (json!([]), "{}"),
            (json!(["a", 1]), "{ \"a\", 1 }"),
            (json!({}), "{}"),
            (json!({"function": 1}), "function"),
            (
                json!({"a_1": 1, "1a": 2, "b c": 3, "end": 4}),
                "{ a_1 = 1, [\"1a\"] = 2, [\"b c\"] = 3, [\"end\"] = 4 }",
            ),
        ] {
            assert_eq!(as_lua(&value), expected, "{value}");
        }
    }
}
