//! Reads Rust source: its code, without what only looks like code.

/// Returns true for a file that contains only tests.
pub fn is_test(file: &str) -> bool {
    file.ends_with("tests.rs") || file.contains("/tests/") || file.contains("/property/")
}

/// Removes comments and test items, and keeps literals.
pub fn without_tests(text: &str) -> String {
    let code = code(text);
    // Where both are blank, there is a comment or a test; a literal's first character is kept.
    let lines = text.lines().zip(code.lines());
    let kept = lines.filter(|(_, code)| !code.trim().is_empty());
    let lines = kept.map(|(text, _)| text.split(" // ").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Replaces comments, literals, and test items with blanks; lines keep their numbers.
pub fn code(text: &str) -> String {
    let mut code = without_comments(text);
    while let Some(start) = code.find("#[cfg(test)]") {
        let end = start + item_length(&code[start..]);
        let blank = blank(&code[start..end]);
        code.replace_range(start..end, &blank);
    }
    code
}

/// Returns the length of the item at the beginning of `code`, with its attributes.
fn item_length(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(c, ';' | '}') {
            return at + 1;
        }
    }
    code.len()
}

fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_word = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => quoted(rest),
            'r' if !is_word => raw_string(rest),
            '\'' => character(rest),
            _ => 0,
        };
        let kept = if length == 0 { c.len_utf8() } else { 0 };
        code.push_str(&rest[..kept]);
        code.push_str(&blank(&rest[..length]));
        rest = &rest[kept + length..];
    }
    code
}

fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a raw string, or 0 if `text` begins with something else.
fn raw_string(text: &str) -> usize {
    let hashes = text[1..].len() - text[1..].trim_start_matches('#').len();
    let start = hashes + 1;
    if !text[start..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let found = text[start + 1..].find(&end);
    found.map_or(text.len(), |at| start + 1 + at + end.len())
}

/// Returns the length of a character literal, or 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((at, _))) => {
            let after = at + 1;
            text[after..].find('\'').map_or(0, |end| after + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

fn blank(text: &str) -> String {
    let blanks = text
        .bytes()
        .map(|byte| if byte == b'\n' { '\n' } else { ' ' });
    blanks.collect()
}
