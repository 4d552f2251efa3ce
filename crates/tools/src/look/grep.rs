//! The `grep` tool: lines of files that match a regular expression.
//!
//! The engine is linear in time and no program is started, so a pattern is only ever
//! a pattern.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use ignore::overrides::{Override, OverrideBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::matches::{Matches, compile};
use super::{Place, SLACK, Until, counted, limit, look, walk};
use crate::files::{RealPath, check_size, open_regular};
use crate::schema;
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

/// Lines that are shown unless a call says how many, and the most it can say.
///
/// Source of the first: `grep` in the reference.
const LINES: (usize, usize) = (100, 2000);

/// Searches the text of files.
pub(crate) struct Grep;

/// Also what `search` asks for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What is looked for, in a few words.
    #[serde(default, rename = "label")]
    _label: String,
    /// A regular expression, as in ripgrep. (?i) at its start ignores case.
    pattern: String,
    /// A folder or a file. Null for the working directory.
    path: Option<String>,
    /// Only files whose name or path fits this glob, such as *.rs or src/**/*.lua. Null for all.
    glob: Option<String>,
    /// Most lines. Null for 100.
    limit: Option<f64>,
}

#[async_trait]
impl Tool for Grep {
    fn name(&self) -> &str {
        "grep"
    }

    fn label(&self) -> &str {
        "Grep"
    }

    fn description(&self) -> &str {
        "Search files for lines that match a regular expression, each printed as path:line:text. \
         Folders are searched with all that is in them, except for binary files and what \
         .gitignore names."
    }

    fn input_schema(&self) -> Value {
        schema::strict::<Arguments>()
    }

    fn strict(&self) -> bool {
        true
    }

    fn enabled(&self) -> bool {
        false
    }

    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        default + SLACK
    }

    async fn execute(
        &self,
        _id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let asked: Arguments = schema::arguments(self.name(), input)?;
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
        let place = Place::find(&ctx, asked.path.as_deref()).await?;
        let glob = only(place.path(), asked.glob.as_deref())?;
        let until = Until::new(&ctx);
        let matches = Matches::new(matcher, limit(asked.limit, LINES.0, LINES.1), until);
        look(&ctx, move || search(&place, glob.as_ref(), matches)).await
    }
}

/// The files that a glob names, by the rules of .gitignore.
///
/// # Errors
///
/// It is no glob.
pub(super) fn only(root: &Path, glob: Option<&str>) -> Result<Option<Override>, ToolError> {
    let Some(glob) = glob.filter(|glob| !glob.is_empty()) else {
        return Ok(None);
    };
    // A mark that would turn the meaning round is a character here.
    let literal = glob.strip_prefix('!').map(|rest| format!("\\!{rest}"));
    let mut builder = OverrideBuilder::new(root);
    let built = builder.add(literal.as_deref().unwrap_or(glob));
    let built = built.and_then(|builder| builder.build());
    built.map(Some).map_err(|error| {
        ToolError::InvalidInput(format!(
            "\"{glob}\" is no glob: {error}. Nothing was searched."
        ))
    })
}

fn search(
    place: &Place,
    glob: Option<&Override>,
    mut matches: Matches,
) -> Result<String, ToolError> {
    if !place.is_folder {
        let opened = open_regular(&place.path)?;
        check_size(place.path(), opened.metadata.len())?;
        matches.search(opened.file, &place.shown(place.path()));
        return Ok(report(&matches, true));
    }
    let mut searched = 0;
    for entry in walk(place.path()) {
        if matches.is_full || matches.until.is_over() {
            break;
        }
        let is_file = entry.file_type().is_some_and(|it| it.is_file());
        let is_named = |glob: &Override| glob.matched(entry.path(), false).is_whitelist();
        if !is_file || !glob.is_none_or(is_named) {
            continue;
        }
        searched += 1;
        match RealPath::of(entry.path()).and_then(|path| open_regular(&path)) {
            Ok(opened) => matches.search(opened.file, &place.shown(entry.path())),
            Err(_) => matches.unread += 1,
        }
    }
    Ok(report(&matches, searched > 0))
}

fn report(matches: &Matches, searched: bool) -> String {
    let mut text = matches.lines.join("\n");
    let mut remarks = Vec::new();
    if matches.lines.is_empty() && !matches.is_full {
        text = if searched {
            "No matches found.".to_owned()
        } else {
            "No matches found: there is no such file to search.".to_owned()
        };
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
    if matches.unread > 0 {
        let files = counted(matches.unread, "file", "files");
        remarks.push(format!("[{files} could not be read to the end.]"));
    }
    if remarks.is_empty() {
        return text;
    }
    format!("{text}\n\n{}", remarks.join("\n"))
}
