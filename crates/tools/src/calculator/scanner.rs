//! Cuts an expression into numbers, names and signs.
//!
//! Knows how they are spelled, not how they go together.

/// A piece of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A number.
    Number(f64),
    /// A function or constant, in lower case and without `math.`.
    Name(String),
    /// An operator, parenthesis or comma; `**` is `^`.
    Sign(&'static str),
}

/// Longer signs come before their beginnings.
const SIGNS: [(&str, &str); 11] = [
    ("**", "^"),
    ("//", "//"),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("%", "%"),
    ("^", "^"),
    ("(", "("),
    (")", ")"),
    (",", ","),
];

/// The pieces, each with the number of its first character, from 1.
///
/// # Errors
///
/// A sentence that names the first character that is none of them.
pub(super) fn tokens(expression: &str) -> Result<Vec<(Token, usize)>, String> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = expression[at..].chars().next() {
        let rest = &expression[at..];
        let place = expression[..at].chars().count() + 1;
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if first.is_ascii_digit() || first == '.' {
            let length = number_length(rest);
            found.push((Token::Number(number(&rest[..length], place)?), place));
            at += length;
        } else if first.is_ascii_alphabetic() || first == 'π' {
            let length = name_length(rest);
            found.push((Token::Name(name(&rest[..length])), place));
            at += length;
        } else if let Some((spelled, sign)) = SIGNS.iter().find(|(s, _)| rest.starts_with(s)) {
            found.push((Token::Sign(sign), place));
            at += spelled.len();
        } else {
            return Err(format!(
                "The expression has a \"{}\" at character {place}, which is not arithmetic.",
                first.escape_debug()
            ));
        }
    }
    Ok(found)
}

fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if matches!(bytes, [b'0', b'x' | b'X', ..]) {
        let digits = bytes[2..]
            .iter()
            .take_while(|byte| byte.is_ascii_hexdigit());
        return 2 + digits.count();
    }
    let mut length = count_digits(bytes);
    if bytes.get(length) == Some(&b'.') {
        length += 1 + count_digits(&bytes[length + 1..]);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let digits = count_digits(bytes.get(length + 1 + sign..).unwrap_or_default());
        if digits > 0 {
            length += 1 + sign + digits;
        }
    }
    length
}

fn count_digits(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count()
}

fn number(text: &str, place: usize) -> Result<f64, String> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let value = match hexadecimal {
        #[expect(clippy::cast_precision_loss, reason = "all numbers here are floats")]
        Some(digits) => u64::from_str_radix(digits, 16)
            .ok()
            .map(|value| value as f64),
        None => text.parse().ok(),
    };
    value.ok_or_else(|| format!("\"{text}\" at character {place} is not a number."))
}

fn name_length(text: &str) -> usize {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | 'π')));
    end.unwrap_or(text.len())
}

fn name(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    lower.strip_prefix("math.").unwrap_or(&lower).to_owned()
}
