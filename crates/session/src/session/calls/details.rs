//! Limits the details of a result, which are for autocommands and the log, never for a model.

use serde_json::{Map, Value, json};

/// Maximum bytes of details, as JSON (16 KB).
const MOST: usize = 16 * 1024;
/// Maximum characters of each text if the details are too long.
const LONGEST: usize = 1000;

/// Returns the details without empty entries. If they are too long, long texts are cut; if
/// that is not enough, only their size is returned. `None` if nothing is left.
pub(crate) fn within_bounds(details: Value) -> Option<Value> {
    let details = without_nulls(details)?;
    let length = details.to_string().len();
    if length <= MOST {
        return Some(details);
    }
    let cut = cut(details);
    if cut.to_string().len() <= MOST {
        return Some(cut);
    }
    Some(json!({"left_out": format!("{length} bytes")}))
}

/// Removes nulls, which reach Lua as `vim.NIL` and count as values there.
fn without_nulls(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(entries) => {
            let entries: Map<_, _> = entries
                .into_iter()
                .filter_map(|(name, value)| Some((name, without_nulls(value)?)))
                .collect();
            (!entries.is_empty()).then_some(Value::Object(entries))
        }
        other => Some(other),
    }
}

fn cut(value: Value) -> Value {
    match value {
        Value::String(text) => {
            let mut kept: String = text.chars().take(LONGEST).collect();
            if kept.len() < text.len() {
                kept.push('…');
            }
            Value::String(kept)
        }
        Value::Array(items) => items.into_iter().map(cut).collect(),
        Value::Object(entries) => entries
            .into_iter()
            .map(|(name, value)| (name, cut(value)))
            .collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_details_are_passed_on_without_empty_entries() {
        let details =
            json!({"exit_code": 0, "signal": null, "more": {"a": null}, "list": [null, 1]});
        assert_eq!(
            within_bounds(details),
            Some(json!({"exit_code": 0, "list": [null, 1]}))
        );
        assert_eq!(within_bounds(json!({"signal": null})), None);
        assert_eq!(within_bounds(Value::Null), None);
        assert_eq!(within_bounds(json!(false)), Some(json!(false)));
    }

    #[test]
    fn large_details_are_cut_and_larger_ones_replaced_by_their_size() {
        let text = "ä".repeat(20_000);
        let details = within_bounds(json!({"code": 3, "stderr": [text]}));
        let kept = format!("{}…", "ä".repeat(LONGEST));
        assert_eq!(details, Some(json!({"code": 3, "stderr": [kept]})));
        let details = within_bounds(json!(vec![1234; 10_000]));
        assert_eq!(details, Some(json!({"left_out": "50001 bytes"})));
    }
}
