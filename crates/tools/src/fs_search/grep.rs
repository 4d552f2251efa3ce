//! The `grep` tool: prints lines that match a regular expression.
//!
//! The engine runs in linear time and no program is started, so a pattern can't do anything but
//! match.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chat::tool::ToolUseId;
use ignore::overrides::Override;
use platform::files::FileKind;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::matches::{Matches, compile};
use super::walk::Walk;
use super::{
    Deadline, SLACK, SearchRoot, counted, described_place, glob, left_out, look, named, unread,
    with_remarks,
};
use crate::alias::{Alias, text};
use crate::builtin::{BuiltIn, FileAccess, STANDARD, TypedTool};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{MAX_SIZE, check_size, open_regular};
use crate::schema::count;
use crate::tool::CallResult;
use crate::{describe, schema};

/// Default and maximum number of lines.
const LINES: (usize, usize) = (100, 2000);

/// Searches the text of files.
pub(crate) struct Grep;

/// Also the arguments of the alias `search`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What is looked for, in a few words.
    #[serde(default)]
    label: String,
    /// A regular expression, as in ripgrep. (?i) at its start ignores case.
    pattern: String,
    /// A folder or a file. Null for the working directory.
    path: Option<String>,
    /// Only files whose name or path fits this glob, such as *.rs or src/**/*.lua. Null for all.
    glob: Option<String>,
    /// Most lines. Null for 100.
    limit: Option<f64>,
}

/// The row of `grep`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    preset: Some(STANDARD),
    files: FileAccess::Reads,
    alias: Some(("search", |_| Box::new(search_alias()))),
    ..BuiltIn::new("grep", |_| Box::new(Grep))
};

impl TypedTool for Grep {
    type Arguments = Arguments;

    const NAME: &'static str = "grep";
    const LABEL: &'static str = "Grep";
    const DESCRIPTION: &'static str = "Search files for lines that match a regular expression, each printed as path:line:text. \
        Folders are searched with all that is in them, except for binary files and what \
        .gitignore names.";
    const SLACK: Duration = SLACK;

    fn reads(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        vec![named(input, cwd)]
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let glob = asked.glob.as_ref().map(|glob| format!("  ({glob})"));
        let (place, glob) = (
            described_place(asked.path.as_deref()),
            glob.unwrap_or_default(),
        );
        let label = describe::label(&asked.label);
        Some(format!("/{}/{place}{glob}{label}", asked.pattern))
    }

    async fn call(&self, asked: Arguments, _id: &ToolUseId, ctx: ToolContext) -> CallResult {
        if asked.pattern.is_empty() {
            let why = "The pattern is empty, which every line matches. Nothing was searched.";
            return Err(ToolError::InvalidInput(why.to_owned()));
        }
        let matcher = compile(&asked.pattern, false).map_err(|why| {
            ToolError::InvalidInput(format!(
                "The pattern is no regular expression: {why}. Nothing was searched. \
                 A character that means itself takes a backslash, such as \\( or \\.."
            ))
        })?;
        let place = SearchRoot::find(&ctx, asked.path.as_deref()).await?;
        let glob = glob::compile(&place, asked.glob.as_deref())?;
        let until = Deadline::new(&ctx);
        let matches = Matches::new(matcher, count(asked.limit, LINES.0, LINES.1), until);
        look(&ctx, move || search(&place, glob.as_ref(), matches)).await
    }
}

/// The alias `search`.
fn search_alias() -> Alias {
    let properties = json!({
        "pattern": {"type": "string", "description": "The regular expression."},
        "path": {"type": ["string", "null"], "description": "A folder or a file."},
        "include": {"type": ["string", "null"], "description": "Only files that fit this glob."},
        "case_sensitive": {"type": ["boolean", "null"], "description": "Whether case matters; it does unless false."},
    });
    Alias {
        name: "search",
        label: "Search",
        description: "Search files for lines that match a regular expression.",
        schema: schema::object(properties, &["pattern"]),
        tool: |_| Arc::new(Grep),
        translate: |input, _| {
            let pattern = text("pattern", input)?;
            let pattern = match input["case_sensitive"].as_bool() {
                // An empty pattern stays empty, so that it is refused.
                Some(false) if !pattern.is_empty() => format!("(?i){pattern}"),
                _ => pattern,
            };
            Ok(json!({
                "label": "", "pattern": pattern, "path": input["path"], "glob": input["include"],
                "limit": null,
            }))
        },
    }
}

/// Searches a file or a folder.
fn search(
    place: &SearchRoot,
    glob: Option<&Override>,
    mut matches: Matches,
) -> Result<String, ToolError> {
    if place.is_folder {
        return search_folder(place, glob, matches);
    }
    let opened = open_regular(&place.path)?;
    // A named file that is too large is an error. In a folder, it only causes a remark.
    check_size(place.path(), opened.status.size)?;
    matches.search(opened.file, &place.shown(place.path()));
    let searched = Searched {
        any: true,
        alone: true,
        ..Searched::default()
    };
    Ok(report(&matches, &searched))
}

fn search_folder(
    place: &SearchRoot,
    glob: Option<&Override>,
    mut matches: Matches,
) -> Result<String, ToolError> {
    let mut tree = place.tree(&matches.until)?;
    let mut searched = Searched::default();
    let mut walk = Walk::new(&mut tree);
    while let Some(entry) = walk.next() {
        if matches.is_full || matches.until.is_over() {
            break;
        }
        let path = place.path().join(&entry.path);
        let is_named = |glob: &Override| glob.matched(&path, false).is_whitelist();
        // Links are not followed: their targets are searched where they are.
        if entry.kind != FileKind::File || !glob.is_none_or(is_named) {
            continue;
        }
        searched.any = true;
        match walk.tree.open_file(&entry.path) {
            // A hard link to a secret has an innocent name, so only the open file shows it.
            Ok(opened) if walk.tree.is_linked(&opened.status) => {
                walk.tree.skipped.push((entry.path.clone(), false));
            }
            Ok(opened) if opened.status.size > MAX_SIZE => searched.large += 1,
            Ok(opened) => matches.search(opened.file, &place.shown(&path)),
            // One file that is unreadable must not end the search of a folder.
            Err(_) => matches.unread += 1,
        }
    }
    let mut notes: Vec<String> = unread(tree.unread).into_iter().collect();
    notes.extend(place.skipped(&tree.skipped, glob));
    searched.notes = notes;
    searched.left_out = left_out(&tree);
    Ok(report(&matches, &searched))
}

/// What a search covered.
#[derive(Default)]
struct Searched {
    /// Whether there was any file to search.
    any: bool,
    /// Whether the call named the file.
    alone: bool,
    /// The number of files that are too large.
    large: usize,
    /// The remark about ignore files, if they excluded everything.
    left_out: Option<String>,
    /// Remarks about unreadable folders and secrets.
    notes: Vec<String>,
}

/// Formats the matches and remarks.
fn report(matches: &Matches, searched: &Searched) -> String {
    let mut text = matches.lines.join("\n");
    let mut remarks = Vec::new();
    if matches.lines.is_empty() && !matches.is_full {
        text = nothing(matches, searched).to_owned();
        remarks.extend(searched.left_out.clone());
    } else {
        let lines = counted(matches.lines.len(), "match", "matches");
        let files = counted(matches.files, "file", "files");
        remarks.push(if matches.is_full {
            format!(
                "[The first {lines}; there are more. Narrow the pattern, path or glob, or set limit.]"
            )
        } else {
            format!("[{lines} in {files}]")
        });
    }
    if matches.until.is_over() {
        remarks.push(matches.until.remark());
    }
    for (count, what) in [
        (matches.unread, "could not be read to the end"),
        (searched.large, "over 64 MB and not searched"),
    ] {
        if count > 0 {
            let files = counted(count, "file", "files");
            remarks.push(format!("[{files} {what}.]"));
        }
    }
    remarks.extend_from_slice(&searched.notes);
    with_remarks(text, &remarks)
}

fn nothing(matches: &Matches, searched: &Searched) -> &'static str {
    if searched.alone && matches.binary > 0 {
        "No matches found: this is a binary file, which is not searched."
    } else if searched.any {
        "No matches found."
    } else {
        "No matches found: there is no such file to search."
    }
}
