//! The `find` tool: lists files and folders whose name or path matches a glob.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use chat::tool::ToolUseId;
use ignore::overrides::{Override, OverrideBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::walk::{Tree, Walk};
use super::{
    Deadline, Needs, SLACK, SearchRoot, counted, described_place, left_out, look, named, unread,
    with_remarks,
};
use crate::builtin::{BuiltIn, FileUse, STANDARD, TypedTool};
use crate::error::ToolError;
use crate::file_access::FileAccess;
use crate::files::resolve;
use crate::schema::count;
use crate::tool::CallResult;

/// Default and maximum number of paths.
const PATHS: (usize, usize) = (500, 2000);

/// Finds files by name.
pub(crate) struct Find;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What is looked for, in a few words.
    #[serde(default)]
    label: String,
    /// A glob, such as *.rs, Makefile or src/**/*_test.lua. Without a slash it is about the name.
    pattern: String,
    /// The folder to look in. Null for the working directory.
    path: Option<String>,
    /// Most paths. Null for 500.
    limit: Option<f64>,
}

/// The row of `find`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    preset: Some(STANDARD),
    files: FileUse::Reads,
    ..BuiltIn::new("find", |_| Box::new(Find))
};

impl TypedTool for Find {
    type Arguments = Arguments;
    type Needs = Needs;

    const NAME: &'static str = "find";
    const LABEL: &'static str = "Find";
    const DESCRIPTION: &'static str = "Find files and folders by a glob and print their paths, sorted; folders end in a slash. \
        What .gitignore names is left out.";
    const SLACK: Duration = SLACK;

    fn reads(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        let mut places = vec![named(input, cwd)];
        let glob = input["pattern"].as_str().unwrap_or_default();
        let elsewhere = folder_elsewhere(glob);
        places.extend(elsewhere.and_then(|(folder, _)| resolve(cwd, folder).ok()));
        places
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let place = described_place(asked.path.as_deref());
        let label = crate::builtin::label(&asked.label);
        Some(format!("{}{place}{label}", asked.pattern))
    }

    async fn call(&self, asked: Arguments, _id: &ToolUseId, needs: Needs) -> CallResult {
        let (files, until) = needs;
        let mut place = SearchRoot::folder(&files, asked.path.as_deref()).await?;
        let mut pattern = asked.pattern;
        // Without a path, a glob such as `../lib/*.rs` names the folder itself.
        if asked.path.is_none()
            && let Some((other, rest)) = elsewhere(&files, &pattern).await?
        {
            (place, pattern) = (other, rest);
        }
        let Some(glob) = compile(&place, Some(&pattern))? else {
            let why = "The pattern is empty. * finds everything. Nothing was searched.";
            return Err(ToolError::InvalidInput(why.to_owned()));
        };
        let most = count(asked.limit, PATHS.0, PATHS.1);
        look(until.cancel.clone(), move || {
            search(&place, &glob, most, &until)
        })
        .await
    }
}

/// Lists at most `most` matching paths, with remarks about what is missing.
fn search(
    place: &SearchRoot,
    glob: &Override,
    most: usize,
    until: &Deadline,
) -> Result<String, ToolError> {
    let mut found = Vec::new();
    let mut remarks = Vec::new();
    let mut tree = place.tree(until)?;
    for entry in Walk::new(&mut tree) {
        if until.is_over() {
            break;
        }
        let path = place.path().join(&entry.path);
        // An `Override` whitelists what its globs match.
        if !glob.matched(&path, entry.is_folder()).is_whitelist() {
            continue;
        }
        // Only reached for a further match, so that the remark is true.
        if found.len() == most {
            remarks.push(format!(
                "[The first {most}; there are more. Narrow the pattern or the path, or set limit.]"
            ));
            break;
        }
        let slash = if entry.is_folder() { "/" } else { "" };
        found.push(format!("{}{slash}", place.shown(&path)));
    }
    remarks.extend(until.is_over().then(|| until.remark()));
    let skipped = place.skipped(&tree.skipped, Some(glob));
    Ok(report(found, remarks, &tree, skipped))
}

/// Formats the paths and remarks.
fn report(
    mut found: Vec<String>,
    mut remarks: Vec<String>,
    tree: &Tree,
    skipped: Option<String>,
) -> String {
    if found.is_empty() {
        found.push("Nothing found.".to_owned());
        remarks.extend(left_out(tree));
    } else if remarks.is_empty() {
        remarks.push(format!("[{}]", counted(found.len(), "path", "paths")));
    }
    remarks.extend(unread(tree.unread));
    remarks.extend(skipped);
    with_remarks(found.join("\n"), &remarks)
}

// Globs of `find` and `grep`: .gitignore rules, extended to patterns as people write them.

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
        .map_err(|error| invalid(&format!("is not a valid glob: {error}")))
}

/// Splits a glob that starts with another folder, such as `/etc/*.conf` or `../lib/*.rs`, into
/// that search root and the rest. Returns `None` if it refers to the given root.
///
/// # Errors
///
/// The folder can't be searched.
pub(super) async fn elsewhere(
    files: &FileAccess,
    glob: &str,
) -> Result<Option<(SearchRoot, String)>, ToolError> {
    let Some((folder, rest)) = folder_elsewhere(glob) else {
        return Ok(None);
    };
    match SearchRoot::folder(files, Some(folder)).await {
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
