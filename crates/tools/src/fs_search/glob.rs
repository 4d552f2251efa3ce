//! Globs of `find` and `grep`: .gitignore rules, extended to patterns as people write them.

use std::path::{Component, Path};

use ignore::overrides::{Override, OverrideBuilder};

use super::SearchRoot;
use crate::context::ToolContext;
use crate::error::ToolError;

/// Compiles a glob for paths below the search root. An empty glob is none.
///
/// # Errors
///
/// The glob is invalid or refers to files outside of the root.
pub(super) fn compile(
    place: &SearchRoot,
    glob: Option<&str>,
) -> Result<Option<Override>, ToolError> {
    let Some(glob) = glob.filter(|glob| !glob.is_empty()) else {
        return Ok(None);
    };
    let invalid =
        |why: &str| ToolError::InvalidInput(format!("\"{glob}\" {why}. Nothing was searched."));
    let pattern = below(place.path(), glob).map_err(invalid)?;
    let mut builder = OverrideBuilder::new(place.path());
    let built = builder.add(&pattern);
    let built = built.and_then(|builder| builder.build());
    built
        .map(Some)
        .map_err(|error| invalid(&format!("is no glob: {error}")))
}

/// Splits a glob that starts with another folder, such as `/etc/*.conf` or `../lib/*.rs`, into
/// that search root and the rest. Returns `None` if it refers to the given root.
///
/// # Errors
///
/// The folder can't be searched.
pub(super) async fn elsewhere(
    ctx: &ToolContext,
    glob: &str,
) -> Result<Option<(SearchRoot, String)>, ToolError> {
    let Some((folder, rest)) = folder_elsewhere(glob) else {
        return Ok(None);
    };
    match SearchRoot::folder(ctx, Some(folder)).await {
        // Anchored, because the glob named the folder.
        Ok(place) => Ok(Some((place, format!("/{rest}")))),
        // In .gitignore, a leading slash means the search root.
        Err(_) if glob.starts_with('/') => Ok(None),
        Err(error) => Err(error),
    }
}

/// The folder of a glob that refers to files outside of the root, and the rest.
pub(super) fn folder_elsewhere(glob: &str) -> Option<(&str, &str)> {
    let leads_out = glob.starts_with(['/', '~']) || glob.split('/').any(|part| part == "..");
    let (folder, rest) = split(glob);
    (leads_out && !folder.is_empty() && folder != "/").then_some((folder, rest))
}

/// The path before the first component with a special character, and the rest.
fn split(glob: &str) -> (&str, &str) {
    let special = glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len());
    match glob[..special].rfind('/') {
        Some(0) => ("/", &glob[1..]),
        Some(at) => (&glob[..at], &glob[at + 1..]),
        None => ("", glob),
    }
}

/// The glob in .gitignore syntax, relative to `root`.
fn below(root: &Path, glob: &str) -> Result<String, &'static str> {
    let mut pattern = glob;
    let mut is_anchored = false;
    // In the syntax of .gitignore, a leading `./` matches nothing.
    while let Some(rest) = pattern.strip_prefix("./") {
        pattern = rest;
        is_anchored = true;
    }
    if pattern.split('/').any(|part| part == "..") {
        return Err("leads out of the folder; name the other one as path");
    }
    let (folder, rest) = split(pattern);
    if let Ok(inner) = Path::new(folder).strip_prefix(root) {
        return Ok(format!("/{}{}", literal(inner), rest));
    }
    // Escapes `!` and `#`, which are special at the start, and a space, which is ignored at the
    // end.
    let escape = if pattern.starts_with(['!', '#']) {
        "\\"
    } else {
        ""
    };
    let slash = if is_anchored { "/" } else { "" };
    let pattern = match pattern.strip_suffix(' ') {
        Some(start) if !start.ends_with('\\') => format!("{start}\\ "),
        _ => pattern.to_owned(),
    };
    Ok(format!("{slash}{escape}{pattern}"))
}

/// A glob that matches only this path, with a slash after each component.
fn literal(path: &Path) -> String {
    let mut pattern = String::new();
    for part in path.components() {
        let Component::Normal(part) = part else {
            continue;
        };
        for character in part.to_string_lossy().chars() {
            if "*?[]{}\\".contains(character) {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern.push('/');
    }
    pattern
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_glob_is_about_the_folder_however_it_is_written() {
        let root = PathBuf::from("/home/me/[p]");
        for (glob, expected) in [
            ("*.rs", "*.rs"),
            ("./src/*.rs", "/src/*.rs"),
            ("././*", "/*"),
            ("/src/*.rs", "/src/*.rs"),
            ("/home/me/[p]/a", "/home/me/[p]/a"),
            ("#*", "\\#*"),
            ("!x", "\\!x"),
            ("name ", "name\\ "),
        ] {
            assert_eq!(below(&root, glob).as_deref(), Ok(expected), "{glob}");
        }
        let plain = Path::new("/home/me/p");
        assert_eq!(
            below(plain, "/home/me/p/src/*.rs").as_deref(),
            Ok("/src/*.rs")
        );
        assert!(below(plain, "../x/*").is_err());
    }
}
