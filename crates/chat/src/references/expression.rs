//! Finds the end of a `{{ … }}`, ignoring braces in strings, comments, and tables.
//!
//! Knows only Lua's lexical rules.

/// Returns the code and total length of the expression at the start of a text. `None` if
/// there is none, or if it is empty or unclosed.
pub fn at_start(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix("{{")?;
    let end = end(inner)?;
    let code = inner[..end].trim();
    // Two braces on each side.
    (!code.is_empty()).then_some((code, end + 4))
}

/// Returns the offset of the closing braces.
fn end(code: &str) -> Option<usize> {
    let bytes = code.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest {
            [b'"' | b'\'', ..] => string(rest)?,
            [b'-', b'-', ..] => 2 + comment(&rest[2..]),
            // A bracket alone is the index of a table.
            [b'[', ..] => long_bracket(rest).unwrap_or(1),
            [b'{', ..] => {
                depth += 1;
                1
            }
            // Inside a table, the braces close two tables.
            [b'}', b'}', ..] if depth == 0 => return Some(at),
            [b'}', ..] => {
                // A closing brace without an opening one is not Lua.
                depth = depth.checked_sub(1)?;
                1
            }
            _ => 1,
        };
    }
    None
}

/// Returns the length of a quoted string; `None` if it is unclosed.
fn string(text: &[u8]) -> Option<usize> {
    let quote = *text.first()?;
    let mut at = 1;
    loop {
        match *text.get(at)? {
            b'\\' => at += 2,
            // In Lua, such a string cannot contain a line break that is not escaped.
            b'\n' => return None,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Returns the length of a comment after its dashes.
fn comment(text: &[u8]) -> usize {
    let line = || text.iter().position(|&byte| byte == b'\n');
    long_bracket(text).unwrap_or_else(|| line().unwrap_or(text.len()))
}

/// Returns the length of `[[ … ]]` or `[=[ … ]=]`; `None` if there is none or it is
/// unclosed.
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

#[cfg(test)]
mod tests {
    use super::at_start;

    #[test]
    fn braces_in_lua_strings_comments_and_tables_do_not_end_an_expression() {
        for (text, expected) in [
            ("{{ a }} b", Some("a")),
            ("{{ t[1] }} ]] }}", Some("t[1]")),
            ("{{ [[ }} ]] }}", Some("[[ }} ]]")),
            ("{{ [=[ ]] }} ]=] }}", Some("[=[ ]] }} ]=]")),
            ("{{ '}}' }}", Some("'}}'")),
            ("{{ a --[[ }} ]] }}", Some("a --[[ }} ]]")),
            ("{{ a -- }}\n}}", Some("a -- }}")),
            ("{{ {a = {}} }}", Some("{a = {}}")),
            ("{{ }}", None),
            ("{{ a", None),
        ] {
            assert_eq!(at_start(text).map(|(code, _)| code), expected, "{text:?}");
        }
    }
}
