//! Fields of streamed JSON, read leniently.

use serde_json_borrow::Value;

/// The text of a field; `None` when it is empty, absent or of another type.
pub(crate) fn text(field: &Value<'_>) -> Option<String> {
    field
        .as_str()
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// The word that a field holds, such as a reason to stop; `None` when it is absent.
///
/// A value of another type is shown as JSON, so that it is never taken for none.
pub(crate) fn word(field: &Value<'_>) -> Option<String> {
    let word = match field {
        Value::Null => return None,
        Value::Str(word) => word.trim().to_owned(),
        other => other.to_string(),
    };
    (!word.is_empty()).then_some(word)
}
