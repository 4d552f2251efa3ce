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
