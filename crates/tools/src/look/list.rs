//! The `ls` tool: what is in a folder, and in the folders inside it.

use std::fs::FileType;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use ignore::WalkBuilder;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Place, SLACK, Until, counted, is_skipped, limit, look, on_one_line};
use crate::files::file_error;
use crate::schema;
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

/// Entries that are shown unless a call says how many, and the most it can say.
///
/// Source of the first: `ls` in the reference.
const ENTRIES: (usize, usize) = (500, 2000);
/// The deepest look, from the reference.
const DEPTH: usize = 10;

/// Lists a folder.
pub(crate) struct List;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What is looked for, in a few words.
    #[serde(default, rename = "label")]
    _label: String,
    /// The folder. Null for the working directory.
    path: Option<String>,
    /// How many levels of folders, 1 to 10. Null for 1.
    max_depth: Option<f64>,
    /// Most entries. Null for 500.
    limit: Option<f64>,
}

#[async_trait]
impl Tool for List {
    fn name(&self) -> &str {
        "ls"
    }

    fn label(&self) -> &str {
        "List"
    }

    fn description(&self) -> &str {
        "List a folder: folders first, each with a slash, then files. With max_depth the folders \
         inside it as well, without what .gitignore names."
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
        let place = Place::folder(&ctx, asked.path.as_deref()).await?;
        let mut listing = Listing {
            most: limit(asked.limit, ENTRIES.0, ENTRIES.1),
            until: Until::new(&ctx),
            place,
            lines: Vec::new(),
            is_full: false,
        };
        let depth = limit(asked.max_depth, 1, DEPTH);
        look(&ctx, move || {
            let root = listing.place.path().to_owned();
            let readable = std::fs::read_dir(&root);
            readable.map_err(|error| file_error("listed", &root, &error))?;
            listing.add(&root, depth, depth > 1);
            Ok(listing.report())
        })
        .await
    }
}

struct Listing {
    place: Place,
    most: usize,
    until: Until,
    lines: Vec<String>,
    is_full: bool,
}

impl Listing {
    /// Adds what is in a folder, and in those inside it as deep as `depth`.
    fn add(&mut self, folder: &Path, depth: usize, ignores: bool) {
        for entry in self.entries(folder, ignores) {
            if self.lines.len() == self.most {
                self.is_full = true;
            }
            if self.is_full || self.until.is_over() {
                return;
            }
            let path = folder.join(&entry.name);
            let name = inner(self.place.path(), &path);
            self.lines.push(match &entry.target {
                _ if entry.is_folder => format!("{name}/"),
                Some(target) => format!("{name} -> {}", on_one_line(target)),
                None => name,
            });
            if entry.is_folder && depth > 1 && !is_skipped(&entry.name) {
                self.add(&path, depth - 1, ignores);
            }
        }
    }

    /// Folders first, each kind by name without regard to case.
    fn entries(&self, folder: &Path, ignores: bool) -> Vec<Entry> {
        let walk = WalkBuilder::new(folder)
            .standard_filters(ignores)
            .hidden(false)
            .require_git(false)
            .max_depth(Some(1))
            .build();
        let mut entries: Vec<Entry> = walk
            .filter_map(Result::ok)
            .filter(|entry| entry.depth() == 1)
            .take_while(|_| !self.until.is_over())
            .map(|entry| Entry::new(entry.path(), entry.file_type()))
            .collect();
        entries.sort_by_cached_key(|entry| {
            let name = entry.name.to_string_lossy().into_owned();
            (!entry.is_folder, name.to_lowercase(), name)
        });
        entries
    }

    fn report(self) -> String {
        let mut remarks = Vec::new();
        if self.is_full {
            remarks.push(format!(
                "[The first {}; there are more. Name a folder inside it, or set limit.]",
                self.most
            ));
        }
        if self.until.is_over() {
            remarks.push(self.until.remark());
        }
        if self.lines.is_empty() && remarks.is_empty() {
            return "(empty folder)".to_owned();
        }
        if remarks.is_empty() {
            remarks.push(format!(
                "[{}]",
                counted(self.lines.len(), "entry", "entries")
            ));
        }
        format!("{}\n\n{}", self.lines.join("\n"), remarks.join("\n"))
    }
}

fn inner(root: &Path, path: &Path) -> String {
    on_one_line(&path.strip_prefix(root).unwrap_or(path).to_string_lossy())
}

struct Entry {
    name: std::ffi::OsString,
    is_folder: bool,
    /// Where a link leads.
    target: Option<String>,
}

impl Entry {
    fn new(path: &Path, kind: Option<FileType>) -> Self {
        let link = kind.filter(FileType::is_symlink);
        let target = link.and_then(|_| std::fs::read_link(path).ok());
        Self {
            name: path.file_name().unwrap_or_default().to_owned(),
            is_folder: kind.is_some_and(|it| it.is_dir()),
            target: target.map(|it| it.to_string_lossy().into_owned()),
        }
    }
}
