//! Where a `{{ … }}` ends: not at braces in a string, a comment or a table.
//!
//! Knows Lua's words and none of its meaning.

/// The expression at the start of a text: its code, and the length of the whole.
/// Nothing when there is none, when it is empty, or when it does not end.
pub fn at_start(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix("{{")?;
    let end = end(inner)?;
    let code = inner[..end].trim();
    (!code.is_empty()).then_some((code, end + 4))
}

/// The offset of the closing braces.
fn end(code: &str) -> Option<usize> {
    let bytes = code.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest {
            [b'"' | b'\'', ..] => string(rest)?,
            [b'-', b'-', ..] => 2 + comment(&rest[2..]),
            [b'[', ..] => long_bracket(rest).unwrap_or(1),
            [b'{', ..] => {
                depth += 1;
                1
            }
            [b'}', b'}', ..] if depth == 0 => return Some(at),
            [b'}', ..] => {
                depth = depth.checked_sub(1)?;
                1
            }
            _ => 1,
        };
    }
    None
}

/// Length of a quoted string; nothing when its line ends first.
fn string(text: &[u8]) -> Option<usize> {
    let quote = *text.first()?;
    let mut at = 1;
    loop {
        match *text.get(at)? {
            b'\\' => at += 2,
            b'\n' => return None,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Length of what follows two dashes: to the end of the line, or a long bracket.
fn comment(text: &[u8]) -> usize {
    let line = || text.iter().position(|&byte| byte == b'\n');
    long_bracket(text).unwrap_or_else(|| line().unwrap_or(text.len()))
}

/// Length of `[[ … ]]` or `[=[ … ]=]`; nothing when there is none, or no end.
fn long_bracket(text: &[u8]) -> Option<usize> {
    let level = text.get(1..)?.iter().take_while(|&&b| b == b'=').count();
    if text.first() != Some(&b'[') || text.get(level + 1) != Some(&b'[') {
        return None;
    }
    let close = [b"]".as_slice(), &b"=".repeat(level), b"]"].concat();
    let start = level + 2;
    let inner = text[start..].windows(close.len());
    let end = inner.enumerate().find(|(_, it)| *it == close)?.0;
    Some(start + end + close.len())
}
