//! The arguments of a call as JSON text.
//!
//! The text is never rewritten: it goes out in the bytes in which it came in.
//! Whether it fits the tool's schema is not known here.

use serde_json::value::RawValue;

/// What stands for arguments that are absent or unusable.
pub(crate) const NONE: &str = "{}";

/// Most bytes of calls and signatures held for one answer (16 MiB), the cap of a
/// line: a peer must not be able to fill the memory in small pieces either.
pub(crate) const MAX_HELD_BYTES: usize = 16 * 1024 * 1024;

/// `text` if it is a whole JSON object, without the blanks around it.
///
/// No proper beginning of an object is one, so this also tells whether the
/// arguments of a call arrived whole.
pub(crate) fn whole_object(text: &str) -> Option<&RawValue> {
    serde_json::from_str::<&RawValue>(text)
        .ok()
        .filter(|raw| raw.get().starts_with('{'))
}
