//! A strict parser of Git's configuration: unusual syntax, such as a continued line, is an error.
//!
//! Pure. Source: git-config(1).

/// A setting of Git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// The section and the key in lower case, such as `core.hookspath`; of
    /// `[branch "main"]` the section alone.
    pub name: String,
    /// The quoted part of the section's header.
    pub part: Option<String>,
    /// The value as written, quotes included.
    pub value: String,
}

/// Parses the settings of a file, or returns `None` if it contains unusual syntax.
pub(super) fn read(text: &str) -> Option<Vec<Setting>> {
    let blank = [' ', '\t', '\r'];
    let (mut section, mut part): (String, Option<String>) = (String::new(), None);
    let mut found = Vec::new();
    for line in text.split('\n') {
        let line = line.trim_matches(blank);
        // Git would continue the value on the next line.
        if line.ends_with('\\') {
            return None;
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            (section, part) = self::header(header)?;
            continue;
        }
        // In Git, a key without a value is true.
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let key = key.trim_matches(blank).to_ascii_lowercase();
        let is_key = key
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || it == b'-');
        if section.is_empty() || key.is_empty() || !is_key {
            return None;
        }
        found.push(Setting {
            name: format!("{section}.{key}"),
            part: part.clone(),
            value: value.trim_matches(blank).to_owned(),
        });
    }
    Some(found)
}

/// Parses `name]` and `name "part"]`.
fn header(header: &str) -> Option<(String, Option<String>)> {
    let header = header.strip_suffix(']')?;
    let (name, part) = match header.split_once([' ', '\t']) {
        Some((name, part)) => {
            let part = part.trim_matches([' ', '\t']);
            let part = part.strip_prefix('"')?.strip_suffix('"')?;
            (name, Some(part.to_owned()))
        }
        None => (header, None),
    };
    let is_name = name
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || it == b'-' || it == b'.');
    // Escapes in the name would have to be decoded as Git does it.
    let is_plain = part.as_ref().is_none_or(|it| !it.contains(['"', '\\']));
    // `[section.part]` is deprecated syntax for `[section "part"]`.
    let is_new = !name.contains('.') || part.is_none();
    if !is_name || !is_plain || !is_new || name.is_empty() {
        return None;
    }
    match name.split_once('.') {
        Some((name, part)) => Some((name.to_ascii_lowercase(), Some(part.to_owned()))),
        None => Some((name.to_ascii_lowercase(), part)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_read_is_what_git_reads_and_the_rest_is_refused() {
        let text =
            "# x\n[core]\n\tBare = false\r\n[Branch \"Main\"]\n merge=refs/x\n[diff.x]\ntextconv\n";
        let found = read(text).unwrap();
        let names: Vec<_> = found
            .iter()
            .map(|it| (it.name.as_str(), it.part.as_deref(), it.value.as_str()))
            .collect();
        assert_eq!(
            names,
            [
                ("core.bare", None, "false"),
                ("branch.merge", Some("Main"), "refs/x"),
                ("diff.textconv", Some("x"), "true"),
            ]
        );
        for text in [
            "[core] fsmonitor = ./x\n",
            "[core]\nbare = false \\\nfsmonitor = x\n",
            "# a \\\n[core]\n",
            "key = x\n",
            "[core\nx=y\n",
            "[a \"b\" c]\nx=y\n",
            "[core]\nf\u{b}s = x\n",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
