//! Repairs the mistakes of a JSON object that was edited by hand or cut off.

use super::parse_object;

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
    /// Whether the last character of a string was a backslash that escapes the next one.
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
