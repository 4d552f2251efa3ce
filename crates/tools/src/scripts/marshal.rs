//! Encodes JSON values in the format of Python's `marshal` module.
//!
//! The module is part of the interpreter, while `json` takes some milliseconds to import. Only
//! types of version 1 of the format are used, which later versions still read. Strings are
//! preceded by their length, so their content needs no escaping. Source:
//! <https://docs.python.org/3/library/marshal.html>.

use std::io;

use serde_json::{Number, Value};

/// Number of bits in a digit of a long integer.
const DIGIT: u32 = 15;

/// Encodes `value`.
///
/// # Errors
///
/// A string or list is longer than the format allows (2³¹ − 1).
pub(super) fn marshal(value: &Value) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    put(value, &mut bytes)?;
    Ok(bytes)
}

fn put(value: &Value, bytes: &mut Vec<u8>) -> io::Result<()> {
    match value {
        Value::Null => bytes.push(b'N'),
        Value::Bool(true) => bytes.push(b'T'),
        Value::Bool(false) => bytes.push(b'F'),
        Value::Number(number) => put_number(number, bytes),
        Value::String(text) => put_text(text, bytes)?,
        Value::Array(items) => {
            bytes.push(b'[');
            put_length(items.len(), bytes)?;
            for item in items {
                put(item, bytes)?;
            }
        }
        Value::Object(entries) => {
            bytes.push(b'{');
            for (name, value) in entries {
                put_text(name, bytes)?;
                put(value, bytes)?;
            }
            // `0` ends the entries, which have no count.
            bytes.push(b'0');
        }
    }
    Ok(())
}

fn put_text(text: &str, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.push(b'u');
    put_length(text.len(), bytes)?;
    bytes.extend(text.as_bytes());
    Ok(())
}

fn put_length(length: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    let length = i32::try_from(length).map_err(io::Error::other)?;
    bytes.extend(length.to_le_bytes());
    Ok(())
}

fn put_number(number: &Number, bytes: &mut Vec<u8>) {
    let whole = number.as_i64().map(i128::from);
    let Some(whole) = whole.or_else(|| number.as_u64().map(i128::from)) else {
        bytes.push(b'g');
        // Never NaN here: each JSON number is an `i64`, a `u64`, or a finite `f64`.
        bytes.extend(number.as_f64().unwrap_or(f64::NAN).to_le_bytes());
        return;
    };
    if let Ok(short) = i32::try_from(whole) {
        bytes.push(b'i');
        bytes.extend(short.to_le_bytes());
        return;
    }
    let mut digits = Vec::new();
    let mut rest = whole.unsigned_abs();
    while rest > 0 {
        digits.push((rest & ((1 << DIGIT) - 1)) as u16);
        rest >>= DIGIT;
    }
    // At most five digits. The sign of the count is the sign of the number.
    let count = digits.len() as i32 * whole.signum() as i32;
    bytes.push(b'l');
    bytes.extend(count.to_le_bytes());
    bytes.extend(digits.iter().flat_map(|digit| digit.to_le_bytes()));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use serde_json::json;

    use super::*;

    /// Decodes standard input and prints it as JSON.
    const READ: &str = "import marshal, json, sys\n\
        value = marshal.loads(sys.stdin.buffer.read())\n\
        print(json.dumps(value, ensure_ascii=True))";

    #[test]
    fn python_reads_the_same_value() {
        let value = json!({
            "": null,
            "yes and no": [true, false, [], {}],
            "whole": [0, -1, i32::MAX, i32::MIN, i64::from(i32::MAX) + 1, i64::from(i32::MIN) - 1],
            "long": [i64::MAX, i64::MIN, u64::MAX, 1_i64 << 45],
            "broken": [0.0, -0.5, 1e300, 5e-324],
            "text": ["", "0", "N\u{0}{", "ä\u{1f44b}\n\"\\", "u\u{2028}"],
            "deep": (0..100).fold(json!(1), |inner, _| json!([inner])),
        });
        let mut child = Command::new("python3")
            .args(["-c", READ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&marshal(&value).unwrap()).unwrap();
        drop(stdin);
        let said = child.wait_with_output().unwrap();
        let read: Value = serde_json::from_slice(&said.stdout).unwrap();
        assert_eq!(read, value);
    }
}
