//! Writes whole numbers as integers where the schema declares an integer.
//!
//! JSON has one kind of number, and some models and servers send `10.0` for 10. That is the
//! same value, but programs that read the arguments may reject it.

use serde_json::Value;

use super::subschemas::Subschemas;

/// Above this, a float no longer tells neighboring integers apart (2^53).
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Replaces floats such as `10.0` by integers in the places of integers.
pub(super) fn restore(schema: &Value, value: &mut Value) {
    // Most arguments contain no such number, and then the schema need not be read.
    if has_whole_float(value) {
        restore_at(&Subschemas::of(schema), value);
    }
}

fn restore_at(place: &Subschemas<'_>, value: &mut Value) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                if has_whole_float(item) {
                    restore_at(&place.item(index), item);
                }
            }
        }
        Value::Object(map) => {
            for (name, inner) in map.iter_mut() {
                if has_whole_float(inner) {
                    restore_at(&place.property(name), inner);
                }
            }
        }
        _ => {
            if let Some(integer) = whole(value).filter(|_| place.has_integer()) {
                *value = Value::from(integer);
            }
        }
    }
}

fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(map) => map.values().any(has_whole_float),
        other => whole(other).is_some(),
    }
}

/// Returns the integer that a float is equal to.
#[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
fn whole(value: &Value) -> Option<i64> {
    let number = value.as_number().filter(|it| it.is_f64())?.as_f64()?;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(schema: &Value, value: &Value, expected: &str) {
        let mut restored = value.clone();
        restore(schema, &mut restored);
        assert_eq!(restored.to_string(), expected);
    }

    #[test]
    fn whole_floats_become_integers_where_the_schema_says_so() {
        let schema = json!({"type": "object", "properties": {
            "page": {"type": "integer"},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "opts": {"type": "object", "properties": {"depth": {"type": ["integer", "null"]}}},
            "ratio": {"type": "number"},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "free": {},
        }});
        check(
            &schema,
            &json!({
                "page": 10.0, "ids": [3.0, -0.0, 4], "opts": {"depth": 2.0}, "ratio": 1.0,
                "either": 7.0, "free": {"x": 1.0},
            }),
            r#"{"page":10,"ids":[3,0,4],"opts":{"depth":2},"ratio":1.0,"either":7,"free":{"x":1.0}}"#,
        );
    }

    #[test]
    fn other_numbers_keep_their_value() {
        let schema = json!({"properties": {"n": {"type": "integer"}}});
        for number in [
            "10.5",
            "1e+300",
            "9007199254740993",
            "18446744073709551615",
            "-9223372036854775808",
        ] {
            let text = format!("{{\"n\":{number}}}");
            check(&schema, &serde_json::from_str(&text).expect("JSON"), &text);
        }
    }
}
