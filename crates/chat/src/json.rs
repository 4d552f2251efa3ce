//! Strict parsing of a call's arguments: one JSON object.
//!
//! A duplicate key is an error, because preview and execution could then differ. So is
//! nesting beyond serde_json's limit of 128.
//!
//! [`repaired`] repairs the mistakes of an object that was edited by hand or cut off.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses `text` as one JSON object.
///
/// # Errors
///
/// A phrase for the model and the user: not JSON, not an object, a duplicate key, or nested
/// deeper than 128.
pub fn parse_object(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Err("it is empty; a JSON object is needed".to_owned());
    }
    // serde_json would turn such a number into a float, so the call would run with another one.
    if let Some((_, number)) = integers(text).find(|(_, it)| is_too_large(it)) {
        return Err(format!(
            "the number {number} has more than 64 bits and would change; write it as a string"
        ));
    }
    match serde_json::from_str::<Strict>(text) {
        Ok(Strict(value @ Value::Object(_))) => Ok(value),
        Ok(Strict(other)) => Err(format!("it is {}; a JSON object is needed", kind(&other))),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns true for an integer of more than 64 bits. Other text, such as `-`, is an error
/// that serde_json explains.
fn is_too_large(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_integer = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    is_integer && number.parse::<i64>().is_err() && number.parse::<u64>().is_err()
}

/// Returns the integers of a JSON text as written, with their byte offsets. Numbers with a
/// fraction or an exponent are skipped.
pub fn integers(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut in_string = false;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let start = at;
            match bytes[at] {
                b'"' => in_string = !in_string,
                // An escaped quote does not end the string.
                b'\\' => at += 1,
                b'0'..=b'9' | b'-' if !in_string => {
                    let length = bytes[at..].iter().take_while(|it| is_of_number(it)).count();
                    at += length;
                    let number = &text[start..at];
                    if !number.contains(['.', 'e', 'E']) {
                        return Some((start, number));
                    }
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        None
    })
}

/// Returns the canonical form of a value: sorted keys, no blanks. Two inputs are the same
/// call exactly if these texts are equal.
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries: Vec<String> = entries
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(canonical).collect::<Vec<_>>().join(",")
            )
        }
        scalar => scalar.to_string(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A [`Value`] without duplicate keys.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // A large exponent leads to infinity, which JSON does not have.
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let Strict(value) = entries.next_value()?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} appears twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// Returns the text as valid JSON: with line breaks in strings escaped, without commas before
/// a closing bracket, and with the quotes and brackets that are missing at the end. `None` if
/// the text is valid, or has other mistakes.
pub fn repaired(text: &str) -> Option<String> {
    if parse_object(text).is_ok() {
        return None;
    }
    let mut repair = Repair::default();
    for character in text.trim().chars() {
        repair.take(character)?;
    }
    let repaired = repair.finish();
    parse_object(&repaired).is_ok().then_some(repaired)
}

#[derive(Default)]
struct Repair {
    out: String,
    /// The brackets that are open, as they close.
    open: Vec<char>,
    is_string: bool,
    /// True if the last character of a string was a backslash that escapes the next one.
    is_escaped: bool,
}

impl Repair {
    /// Takes the next character. `None` if a bracket closes nothing.
    fn take(&mut self, character: char) -> Option<()> {
        if self.is_string {
            self.take_of_string(character);
            return Some(());
        }
        match character {
            '"' => self.is_string = true,
            '{' => self.open.push('}'),
            '[' => self.open.push(']'),
            '}' | ']' => {
                self.drop_comma();
                if self.open.pop()? != character {
                    return None;
                }
            }
            _ => {}
        }
        self.out.push(character);
        Some(())
    }

    fn take_of_string(&mut self, character: char) {
        let is_escaped = std::mem::take(&mut self.is_escaped);
        match character {
            // As in `C:\Users`, which JSON writes with two.
            other if is_escaped && !"\"\\/bfnrtu".contains(other) => {
                self.out.push('\\');
                self.take_of_string(other);
            }
            '\n' => self.out.push_str("\\n"),
            '\r' => self.out.push_str("\\r"),
            '\t' => self.out.push_str("\\t"),
            other => {
                self.is_string = other != '"' || is_escaped;
                self.is_escaped = other == '\\' && !is_escaped;
                self.out.push(other);
            }
        }
    }

    /// Removes a comma at the end, with the blanks behind it.
    fn drop_comma(&mut self) {
        if let Some(kept) = self.out.trim_end().strip_suffix(',') {
            self.out.truncate(kept.len());
        }
    }

    fn finish(mut self) -> String {
        if self.is_string {
            // A lone backslash would escape the quote.
            if self.is_escaped {
                self.out.pop();
            }
            self.out.push('"');
        }
        self.drop_comma();
        self.out.extend(self.open.iter().rev());
        self.out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn problem(text: &str) -> String {
        parse_object(text).expect_err(text)
    }

    #[test]
    fn integers_are_found_with_their_offsets() {
        let text = r#"{"a 1": -12, "b\"2": [3, 4.5, 6e7, "8"], "c\\": 90}"#;
        let found: Vec<&str> = integers(text).map(|(_, number)| number).collect();
        assert_eq!(found, ["-12", "3", "90"]);
        assert!(integers(text).all(|(at, number)| text[at..].starts_with(number)));
    }

    #[test]
    fn an_integer_beyond_64_bits_is_rejected() {
        for number in [
            "18446744073709551616",
            "-9223372036854775809",
            "123456789012345678901",
        ] {
            let why = parse_object(&format!("{{\"n\":{number}}}"))
                .err()
                .unwrap_or_default();
            assert!(why.contains(number), "{why}");
        }
        for number in [
            "18446744073709551615",
            "-9223372036854775808",
            "1e30",
            "0.1",
        ] {
            assert!(
                parse_object(&format!("{{\"n\":{number}}}")).is_ok(),
                "{number}"
            );
        }
        assert!(parse_object(r#"{"n":"18446744073709551616"}"#).is_ok());
        for text in ["-", "ls -l", r#"{"n":1-2}"#, "--help"] {
            let why = parse_object(text).err().unwrap_or_default();
            assert!(!why.is_empty() && !why.contains("64 bits"), "{text}: {why}");
        }
    }

    #[test]
    fn all_kinds_of_values_are_parsed() {
        let text = r#"{"a":[null,true,false,-1,1,0.5,1e30,"x","\n"],"b":{"c":[]}}"#;
        let expected = serde_json::json!({
            "a": [null, true, false, -1, 1, 0.5, 1e30, "x", "\n"], "b": {"c": []},
        });
        assert_eq!(parse_object(text), Ok(expected));
        for (text, kind) in [
            ("null", "null"),
            ("true", "a boolean"),
            ("1.5", "a number"),
            ("\"x\"", "a string"),
            ("[]", "an array"),
        ] {
            assert!(problem(text).contains(kind), "{text}");
        }
    }

    #[test]
    fn only_an_object_without_duplicate_keys_is_valid() {
        assert!(parse_object(r#"{"b":1,"a":[{"x":null}]}"#).is_ok());
        assert!(problem(r#"{"command":"ls","command":"rm"}"#).contains("appears twice"));
        assert!(problem(r#"{"a":{"b":1,"b":1}}"#).contains("appears twice"));
        assert!(problem("[1]").contains("an array"));
        assert!(problem("null").contains("null"));
        assert!(problem("  ").contains("empty"));
        assert!(problem(r#"{"a":1e400}"#).contains("out of range"));
        assert!(problem(r#"{"a":1} {"a":1}"#).contains("trailing"));
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_an_overflow() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(problem(&deep).contains("recursion limit"));
    }

    #[test]
    fn key_order_and_blanks_do_not_change_the_canonical_form() {
        let same = [
            r#"{"a":1,"b":{"d":2,"c":3}}"#,
            r#"{ "b": {"c":3,"d":2}, "a": 1 }"#,
        ];
        let [one, two] = same.map(|text| canonical(&parse_object(text).expect("an object")));
        assert_eq!(one, two);
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(repaired(text).as_deref(), Some(expected));
    }

    #[test]
    fn usual_mistakes_are_repaired() {
        check(r#"{"a": 1,}"#, r#"{"a": 1}"#);
        check("{\"a\": [1, 2,\n],\n}", "{\"a\": [1, 2]}");
        check(r#"{"a": "x"#, r#"{"a": "x"}"#);
        check(r#"{"a": ["x", "#, r#"{"a": ["x"]}"#);
        check("{\"a\": \"x\n\ty\"}", r#"{"a": "x\n\ty"}"#);
        check(r#"{"a": "C:\Users\x"}"#, r#"{"a": "C:\\Users\\x"}"#);
        check(r#"{"a": "x\"#, r#"{"a": "x"}"#);
        // Brackets and commas in strings are text.
        check(r#"{"a": ",}\"]",}"#, r#"{"a": ",}\"]"}"#);
    }

    #[test]
    fn other_mistakes_and_valid_texts_stay() {
        for text in [
            r#"{"a": 1}"#,
            r#"{"a" 1}"#,
            r#"{"a": 1}}"#,
            r#"{"a": [1}"#,
            r#"{"a": 1, "a": 2,}"#,
            "[1,]",
            "ls",
            "",
        ] {
            assert_eq!(repaired(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_repaired_text_is_valid(text in r#"[\{\}\[\]",:a1 \\\n]{0,24}"#) {
            if let Some(found) = repaired(&text) {
                prop_assert!(parse_object(&found).is_ok());
                prop_assert_eq!(repaired(&found), None);
            }
        }
    }
}
