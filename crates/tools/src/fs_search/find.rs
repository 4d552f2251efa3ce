//! The `find` tool: lists files and folders whose name or path matches a glob.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chat::tool::ToolUseId;
use ignore::overrides::Override;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::walk::{Tree, Walk};
use super::{
    Deadline, SLACK, SearchRoot, counted, described_place, glob, left_out, look, named, unread,
    with_remarks,
};
use crate::builtin::{BuiltIn, FileAccess, STANDARD, TypedTool};
use crate::context::ToolContext;
use crate::describe;
use crate::error::ToolError;
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
    files: FileAccess::Reads,
    ..BuiltIn::new("find", |_| Box::new(Find))
};

impl TypedTool for Find {
    type Arguments = Arguments;

    const NAME: &'static str = "find";
    const LABEL: &'static str = "Find";
    const DESCRIPTION: &'static str = "Find files and folders by a glob and print their paths, sorted; folders end in a slash. \
        What .gitignore names is left out.";
    const SLACK: Duration = SLACK;

    fn reads(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        let mut places = vec![named(input, cwd)];
        let glob = input["pattern"].as_str().unwrap_or_default();
        let elsewhere = glob::folder_elsewhere(glob);
        places.extend(elsewhere.and_then(|(folder, _)| resolve(cwd, folder).ok()));
        places
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let place = described_place(asked.path.as_deref());
        let label = describe::label(&asked.label);
        Some(format!("{}{place}{label}", asked.pattern))
    }

    async fn call(&self, asked: Arguments, _id: &ToolUseId, ctx: ToolContext) -> CallResult {
        let mut place = SearchRoot::folder(&ctx, asked.path.as_deref()).await?;
        let mut pattern = asked.pattern;
        // Without a path, a glob such as `../lib/*.rs` names the folder itself.
        if asked.path.is_none()
            && let Some((other, rest)) = glob::elsewhere(&ctx, &pattern).await?
        {
            (place, pattern) = (other, rest);
        }
        let Some(glob) = glob::compile(&place, Some(&pattern))? else {
            let why = "The pattern is empty. * finds everything. Nothing was searched.";
            return Err(ToolError::InvalidInput(why.to_owned()));
        };
        let (most, until) = (count(asked.limit, PATHS.0, PATHS.1), Deadline::new(&ctx));
        look(&ctx, move || search(&place, &glob, most, &until)).await
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
