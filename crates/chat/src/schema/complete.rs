//! Completes arguments that models leave out, where the schema allows it.
//!
//! A completion is kept only if the validator then has fewer findings. So it works for any
//! schema, nested or composed, and adds no value but null.
//!
//! Whole numbers become integers where the schema declares an integer: JSON has one kind of
//! number, and some models and servers send `10.0` for 10. That is the same value, but programs
//! that read the arguments may reject it.

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

use super::Subschemas;

/// Maximum number of findings to repair; arguments with more are rejected unchanged.
const MOST: usize = 64;

/// The argument that describes the purpose of a call; it has no effect.
const LABEL: &str = "label";

/// A place in the arguments whose value may be completed.
struct Gap {
    /// The JSON pointer of the object.
    object: String,
    /// The name of the argument in it.
    name: String,
    /// True if it is present as null.
    is_null: bool,
}

/// Completes arguments as long as `validator` then has fewer findings.
///
/// `has_label` allows a missing top-level `label`, which becomes empty text.
pub(super) fn complete(validator: &Validator, mut input: Value, has_label: bool) -> Value {
    // One more than the maximum shows that there are too many, without counting all.
    let mut count = validator.iter_errors(&input).take(MOST + 1).count();
    if count == 0 || count > MOST {
        return input;
    }
    for gap in gaps(validator, &input) {
        for value in gap.values(has_label) {
            let Some(completed) = gap.with(&input, value) else {
                continue;
            };
            let left = validator.iter_errors(&completed).count();
            // Another finding may have taken the place of the repaired one.
            if left < count {
                (input, count) = (completed, left);
                break;
            }
        }
    }
    input
}

/// Returns the places where an argument is missing, or is null although the schema forbids
/// it.
fn gaps(validator: &Validator, input: &Value) -> Vec<Gap> {
    let gaps = validator.iter_errors(input).filter_map(|error| {
        let path = error.instance_path().to_string();
        if let ValidationErrorKind::Required { property } = error.kind() {
            return Some(Gap {
                object: path,
                name: property.as_str()?.to_owned(),
                is_null: false,
            });
        }
        let (object, name) = path.rsplit_once('/')?;
        error.instance().is_null().then(|| Gap {
            object: object.to_owned(),
            // JSON Pointer escapes; in this order, because `~01` means `~1`.
            name: name.replace("~1", "/").replace("~0", "~"),
            is_null: true,
        })
    });
    gaps.collect()
}

impl Gap {
    /// Returns the values to try, where `None` removes the argument.
    fn values(&self, has_label: bool) -> impl Iterator<Item = Option<Value>> {
        // A missing argument becomes null; a null that is not allowed is removed.
        let first = (!self.is_null).then_some(Value::Null);
        let is_label = has_label && self.object.is_empty() && self.name == LABEL;
        let label = is_label.then(|| Some(Value::from("")));
        std::iter::once(first).chain(label)
    }

    fn with(&self, input: &Value, value: Option<Value>) -> Option<Value> {
        let mut completed = input.clone();
        // An earlier completion may have removed the object.
        let object: &mut Map<String, Value> =
            completed.pointer_mut(&self.object)?.as_object_mut()?;
        match value {
            Some(value) => object.insert(self.name.clone(), value),
            None => object.remove(&self.name),
        };
        Some(completed)
    }
}

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
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, has_label: bool, input: Value, expected: &Value) {
        let validator = jsonschema::validator_for(schema).unwrap();
        assert_eq!(complete(&validator, input, has_label), *expected);
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "label": {"type": "string"},
                "path": {"type": "string"},
                "offset": {"type": ["integer", "null"]},
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "mode": {"enum": ["a", "b", null]},
                "tag": {"$ref": "#/$defs/tag"},
                "any": true,
            },
            "$defs": {"tag": {"type": ["string", "null"]}},
            "required": ["label", "path", "offset", "limit", "mode", "tag", "any"],
            "additionalProperties": false,
        })
    }

    #[test]
    fn arguments_that_may_be_null_can_be_omitted() {
        let all = json!({
            "label": "", "path": "a", "offset": null, "limit": null, "mode": null, "tag": null,
            "any": null,
        });
        check(&schema(), true, json!({"path": "a"}), &all);
        check(&schema(), true, json!({"path": "a", "label": null}), &all);
        check(&schema(), true, all.clone(), &all);
    }

    #[test]
    fn no_value_is_invented() {
        let input =
            json!({"label": "x", "offset": null, "limit": 1, "mode": "a", "tag": "t", "any": 1});
        check(&schema(), true, input.clone(), &input);
        let named = json!({
            "type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"],
        });
        // Without a strict tool, the label may be essential to the call.
        check(&named, false, json!({}), &json!({}));
        check(
            &named,
            false,
            json!({"label": null}),
            &json!({"label": null}),
        );
    }

    #[test]
    fn null_for_an_optional_argument_removes_it() {
        let schema = json!({
            "type": "object",
            "properties": {
                "count": {"type": "integer"},
                "a/b~c": {"type": "string"},
                "list": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"id": {"type": "string"}, "note": {"type": "string"}},
                    "required": ["id"],
                }},
            },
            "required": ["count"],
        });
        check(
            &schema,
            false,
            json!({"count": 1, "a/b~c": null, "list": [{"id": "x", "note": null}]}),
            &json!({"count": 1, "list": [{"id": "x"}]}),
        );
        check(
            &schema,
            false,
            json!({"count": null}),
            &json!({"count": null}),
        );
        check(
            &schema,
            false,
            json!({"count": 1, "list": [null]}),
            &json!({"count": 1, "list": [null]}),
        );
    }

    #[test]
    fn arguments_with_too_many_gaps_stay_unchanged() {
        let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let nulls = |count: usize| {
            let all = (0..count).map(|at| (format!("a{at}"), Value::Null));
            Value::Object(all.collect())
        };
        check(&schema, false, nulls(MOST), &json!({}));
        check(&schema, false, nulls(MOST + 1), &nulls(MOST + 1));
    }

    #[test]
    fn nested_arguments_are_completed_too() {
        let schema = json!({
            "type": "object",
            "properties": {"inner": {
                "type": "object",
                "properties": {"x": {"type": ["number", "null"]}, "label": {"type": "string"}},
                "required": ["x"],
            }},
            "required": ["inner"],
        });
        check(
            &schema,
            true,
            json!({"inner": {"label": null}}),
            &json!({"inner": {"x": null}}),
        );
    }

    #[track_caller]
    fn check_integers(schema: &Value, value: &Value, expected: &str) {
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
        check_integers(
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
            check_integers(&schema, &serde_json::from_str(&text).expect("JSON"), &text);
        }
    }
}
