//! Arguments of a call as JSON text.
//!
//! The text is never rewritten: it is sent byte for byte as received. Does not check it
//! against the tool's schema.

use serde_json::value::RawValue;

/// Replacement for missing or invalid arguments.
pub(crate) const NONE: &str = "{}";

/// Maximum bytes of calls and signatures buffered per answer (16 MiB), the limit of a line:
/// a peer must not be able to exhaust memory in small pieces either.
pub(crate) const MAX_HELD_BYTES: usize = 16 * 1024 * 1024;

/// Returns `text`, trimmed, if it is a complete JSON object.
///
/// No proper prefix of an object is one, so this also shows whether a call's arguments are
/// complete.
pub(crate) fn whole_object(text: &str) -> Option<&RawValue> {
    serde_json::from_str::<&RawValue>(text)
        .ok()
        .filter(|raw| raw.get().starts_with('{'))
}

/// Replaces an object that was encoded as a JSON string by the object itself.
pub(crate) fn unwrap(text: &mut String) {
    // Only such a string begins with a quotation mark, so the check costs nothing.
    if !text.trim_start().starts_with('"') {
        return;
    }
    let inner = serde_json::from_str::<String>(text).unwrap_or_default();
    if whole_object(&inner).is_some() {
        *text = inner;
    }
}
