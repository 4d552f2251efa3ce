//! The sections of a diff, one for each file, without those of secret files.

use std::path::{Path, PathBuf};

use super::GitDiff;
use crate::secrets::Secrets;

/// Beginnings of the first line of a section. A line of a file begins with ` `, `+`, or `-`.
const HEADERS: [&[u8]; 3] = [b"diff --git ", b"diff --cc ", b"diff --combined "];

/// A diff as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffText {
    /// The diff, and remarks about what is not in it.
    pub text: String,
    /// The secret files that are left out.
    pub left_out: Vec<String>,
}

/// Returns a diff without the sections of secret files. Follows links.
pub fn without_secrets(diff: &GitDiff, secrets: &Secrets) -> DiffText {
    let mut kept = Vec::new();
    let mut left_out = Vec::new();
    for section in sections(&diff.bytes) {
        let Some(header) = section.split(|byte| *byte == b'\n').next() else {
            continue;
        };
        match secret(header, &diff.folder, secrets) {
            None => kept.extend_from_slice(section),
            Some(name) => left_out.push(name),
        }
    }
    let mut text = String::from_utf8_lossy(&kept).into_owned();
    if text.is_empty() && left_out.is_empty() {
        text.push_str("There are no changes.\n");
    }
    if !left_out.is_empty() {
        text += &format!(
            "Left out, because it may be secret: {}\n",
            left_out.join(", ")
        );
    }
    if !diff.untracked.is_empty() {
        text += &format!(
            "New files, not in this diff: {}\n",
            diff.untracked.join(", ")
        );
    }
    DiffText { text, left_out }
}

/// Splits a diff before each header.
fn sections(diff: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in diff.split_inclusive(|byte| *byte == b'\n') {
        if at > start && HEADERS.iter().any(|header| line.starts_with(header)) {
            found.push(&diff[start..at]);
            start = at;
        }
        at += line.len();
    }
    if start < diff.len() {
        found.push(&diff[start..]);
    }
    found
}

/// Returns the name of a section's file if it is secret, or if no name can be read.
fn secret(header: &[u8], folder: &Path, secrets: &Secrets) -> Option<String> {
    // Only the names of files with conflicts precede the first header.
    let is_header = HEADERS.iter().any(|it| header.starts_with(it));
    let name = is_header.then(|| name(header))?;
    let shown = String::from_utf8_lossy(header).into_owned();
    // A name that cannot be read may be that of a secret.
    let Some(name) = name else {
        return Some(shown);
    };
    let path = folder.join(&name);
    secrets.find(&path).map(|_| name.display().to_string())
}

/// Returns the path in a header. Both names of `diff --git a/x b/x` are the same, as there are
/// no renames.
fn name(header: &[u8]) -> Option<PathBuf> {
    let rest = HEADERS.iter().find_map(|it| header.strip_prefix(*it))?;
    let name = if header.starts_with(HEADERS[0]) {
        // Both names have the same length, with a space between them.
        let first = &rest[..rest.len().checked_sub(1)? / 2];
        let second = &rest[rest.len() - first.len()..];
        let first = plain(first)?.strip_prefix(b"a/")?.to_vec();
        let second = plain(second)?.strip_prefix(b"b/")?.to_vec();
        (first == second).then_some(first)?
    } else {
        plain(rest)?
    };
    // A name that is not UTF-8 cannot be checked, so the section is left out.
    Some(PathBuf::from(String::from_utf8(name).ok()?))
}

/// Decodes a name, which Git quotes if it contains quotes or control characters.
fn plain(written: &[u8]) -> Option<Vec<u8>> {
    let Some(inner) = written.strip_prefix(b"\"") else {
        return Some(written.to_vec());
    };
    let mut inner = inner.strip_suffix(b"\"")?.iter().copied();
    let mut name = Vec::new();
    while let Some(byte) = inner.next() {
        if byte != b'\\' {
            name.push(byte);
            continue;
        }
        name.push(match inner.next()? {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            // Three octal digits are one byte.
            first @ b'0'..=b'3' => {
                let (second, third) = (inner.next()?, inner.next()?);
                let digit = |byte: u8| byte.checked_sub(b'0').filter(|it| *it < 8);
                digit(first)? * 64 + digit(second)? * 8 + digit(third)?
            }
            other => other,
        });
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn named(header: &str, expected: Option<&str>) {
        let found = name(header.as_bytes());
        assert_eq!(found, expected.map(PathBuf::from), "{header}");
    }

    #[test]
    fn the_name_of_a_file_is_read_from_the_header() {
        named("diff --git a/x.rs b/x.rs", Some("x.rs"));
        named("diff --git a/a b/c b/a b/c", Some("a b/c"));
        named(
            r#"diff --git "a/q\"\303\251\t" "b/q\"\303\251\t""#,
            Some("q\"é\t"),
        );
        named("diff --cc src/x.rs", Some("src/x.rs"));
        named("diff --git a/x b/y", None);
        named("diff --git ", None);
        named(r#"diff --git "a/x" "b/x"#, None);
    }

    #[test]
    fn a_line_of_a_file_begins_no_section() {
        let diff =
            b"diff --git a/x b/x\n@@ -1 +1 @@\n-diff --git a/y b/y\n+z\ndiff --git a/z b/z\n";
        assert_eq!(sections(diff).len(), 2);
    }
}
