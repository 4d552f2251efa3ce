//! Lenient access to fields of streamed JSON.

use serde_json_borrow::Value;

/// Returns the text of a field; `None` if it is empty, absent, or of another type.
pub(crate) fn text(field: &Value<'_>) -> Option<String> {
    field
        .as_str()
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// Returns the word in a field, such as a stop reason; `None` if it is absent.
///
/// A value of another type is returned as JSON, so that it isn't taken for an absent one.
pub(crate) fn word(field: &Value<'_>) -> Option<String> {
    let word = match field {
        Value::Null => return None,
        Value::Str(word) => word.trim().to_owned(),
        other => other.to_string(),
    };
    (!word.is_empty()).then_some(word)
}
