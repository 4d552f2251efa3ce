//! Replaces lone surrogates in JSON escapes, such as `"\\ud83d"`. Programs that cut strings
//! in JavaScript send them, and JSON parsers reject them. Pure.

/// Replaces each escaped lone surrogate with an escaped U+FFFD.
pub(crate) fn without(json: &str) -> String {
    let mut mended = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (surrogate(rest), rest.get(6..).and_then(surrogate)) {
            // A complete pair is one valid character.
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(_), _) => {
                mended.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // The escaped character itself does not start an escape.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    mended + rest
}

/// Returns the surrogate whose escape the text starts with.
fn surrogate(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let code = u32::from_str_radix(digits, 16).ok()?;
    (0xd800..0xe000).contains(&code).then_some(code)
}
