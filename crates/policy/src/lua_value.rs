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
        // Strings and booleans: Lua reads the escapes of JSON.
        other => other.to_string(),
    }
}

fn key(name: &str) -> String {
    let plain = name
        .chars()
        .all(|it| it.is_ascii_alphanumeric() || it == '_');
    if plain && !name.starts_with(|it: char| it.is_ascii_digit()) && !name.is_empty() {
        name.to_owned()
    } else {
        format!("[{}]", Value::from(name))
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
            (json!(2.0), "2"),
            (json!(0.5), "0.5"),
            (json!(u64::MAX), "18446744073709551615"),
            (json!([]), "{}"),
            (json!(["a", 1]), "{ \"a\", 1 }"),
            (json!({}), "{}"),
            (json!({"function": 1}), "function"),
            (
                json!({"a_1": 1, "1a": 2, "b c": 3}),
                "{ a_1 = 1, [\"1a\"] = 2, [\"b c\"] = 3 }",
            ),
        ] {
            assert_eq!(as_lua(&value), expected, "{value}");
        }
    }
}
