//! Paths given by a model: taken literally, relative to the call's directory. Only a leading
//! `~/` is expanded.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::error::ToolError;

/// Resolves `text` against `cwd` without accessing the disk.
///
/// # Errors
///
/// [`ToolError::InvalidInput`] if it is empty, contains a NUL, or starts with `~/` and there is
/// no home directory.
pub fn resolve(cwd: &Path, text: &str) -> Result<PathBuf, ToolError> {
    resolve_from(cwd, std::env::home_dir(), text)
}

/// Returns an absolute path as it is spelled, without `.` and `..`. Follows no links: `x/..` is
/// the folder that `x` is in, wherever `x` leads.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // The parent of the root is the root.
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// The path in the argument `path` of a call; empty if it has none that is valid.
pub(crate) fn named_path(input: &Value, cwd: &Path) -> Vec<PathBuf> {
    let text = input.get("path").and_then(Value::as_str);
    // The call itself reports an invalid path.
    text.and_then(|it| resolve(cwd, it).ok())
        .into_iter()
        .collect()
}

fn resolve_from(cwd: &Path, home: Option<PathBuf>, text: &str) -> Result<PathBuf, ToolError> {
    let invalid = |problem: &str| Err(ToolError::InvalidInput(problem.to_owned()));
    if text.is_empty() {
        return invalid("The path is empty. Nothing was done.");
    }
    if text.contains('\0') {
        return invalid("The path contains a NUL character. Nothing was done.");
    }
    match (text.strip_prefix("~/"), home) {
        // `join` would take a further `/` for the root.
        (Some(rest), Some(home)) => Ok(home.join(rest.trim_start_matches('/'))),
        (Some(_), None) => invalid("The path starts with ~/ but there is no home directory."),
        (None, _) => Ok(cwd.join(text)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn resolved(text: &str) -> PathBuf {
        resolve_from(Path::new("/p"), Some("/home/me".into()), text).unwrap()
    }

    #[test]
    fn relative_paths_start_at_the_calls_directory() {
        assert_eq!(resolved("a/b"), Path::new("/p/a/b"));
        assert_eq!(resolved("/etc/hosts"), Path::new("/etc/hosts"));
        assert_eq!(resolved("~/x"), Path::new("/home/me/x"));
    }

    #[test]
    fn nothing_else_is_expanded() {
        for text in [
            "~user/x", "$HOME/x", "`id`", "$(id)", "*", "%:p", "{a,b}", "~", "a ",
        ] {
            assert_eq!(resolved(text), Path::new("/p").join(text));
        }
    }

    #[test]
    fn an_empty_path_and_a_nul_are_refused() {
        for text in ["", "a\0b"] {
            let refused = resolve(Path::new("/p"), text);
            assert!(matches!(refused, Err(ToolError::InvalidInput(_))));
        }
    }
}
