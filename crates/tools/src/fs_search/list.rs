//! The `ls` tool: lists the entries of a folder and of its subfolders.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chat::tool::ToolUseId;
use platform::files::FileKind;
use platform::paths::slashed;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::find::Find;
use super::walk::{Rules, Tree};
use super::{
    Deadline, Needs, SLACK, SearchRoot, counted, is_skipped, left_out, look, named, on_one_line,
    unread, with_remarks,
};
use crate::alias::Alias;
use crate::builtin::{BuiltIn, FileUse, STANDARD, TypedTool};
use crate::schema::{self, count};
use crate::tool::CallResult;

/// Default and maximum number of entries.
const ENTRIES: (usize, usize) = (500, 2000);
/// Maximum depth.
const DEPTH: usize = 10;

/// Lists a folder.
pub(crate) struct Ls;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What is looked for, in a few words.
    #[serde(default)]
    label: String,
    /// The folder. Null for the working directory.
    path: Option<String>,
    /// How many levels of folders, 1 to 10. Null for 1.
    max_depth: Option<f64>,
    /// Most entries. Null for 500.
    limit: Option<f64>,
}

/// The row of `ls`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    preset: Some(STANDARD),
    files: FileUse::Reads,
    alias: Some(("list_files", |_| Box::new(list_files()))),
    ..BuiltIn::new("ls", |_| Box::new(Ls))
};

/// The alias `list_files`. With a pattern it runs `find`.
fn list_files() -> Alias {
    let properties = json!({
        "path": {"type": ["string", "null"], "description": "The folder."},
        "pattern": {"type": ["string", "null"], "description": "Only what fits this glob."},
        "max_depth": {"type": ["number", "null"], "description": "How many levels, without a pattern."},
    });
    Alias {
        name: "list_files",
        label: "List files",
        description: "List a folder, or the files below it that fit a glob.",
        schema: schema::object(&properties, &[]),
        tool: |input| {
            if input["pattern"].is_string() {
                Arc::new(Find)
            } else {
                Arc::new(Ls)
            }
        },
        translate: |input, _| {
            let path = &input["path"];
            Ok(match input["pattern"].as_str() {
                Some(pattern) => {
                    json!({"label": "", "pattern": pattern, "path": path, "limit": null})
                }
                None => {
                    json!({"label": "", "path": path, "max_depth": input["max_depth"], "limit": null})
                }
            })
        },
    }
}

impl TypedTool for Ls {
    type Arguments = Arguments;
    type Needs = Needs;

    const NAME: &'static str = "ls";
    const LABEL: &'static str = "List";
    const DESCRIPTION: &'static str = "List a folder: folders first, each with a slash, then files. With max_depth the folders \
        inside it as well, without what .gitignore names.";
    const SLACK: Duration = SLACK;

    fn reads(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        vec![named(input, cwd)]
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let folder = crate::builtin::visible_ends(asked.path.as_deref().unwrap_or("."));
        let depth = asked.max_depth.map(|depth| format!("  {depth} levels"));
        let (depth, label) = (
            depth.unwrap_or_default(),
            crate::builtin::label(&asked.label),
        );
        Some(format!("{folder}{depth}{label}"))
    }

    async fn call(&self, asked: Arguments, _id: &ToolUseId, needs: Needs) -> CallResult {
        let (files, until) = needs;
        let place = SearchRoot::folder(&files, asked.path.as_deref()).await?;
        let most = count(asked.limit, ENTRIES.0, ENTRIES.1);
        let depth = count(asked.max_depth, 1, DEPTH);
        look(until.cancel.clone(), move || {
            let mut listing = Listing {
                tree: place.tree(&until)?,
                most,
                until,
                lines: Vec::new(),
                is_full: false,
            };
            // A single level is listed completely, including ignored entries.
            let rules = (depth > 1).then(|| listing.tree.rules());
            listing.add(Path::new(""), depth, rules.as_ref());
            let secrets = place.skipped(&listing.tree.skipped, None);
            Ok(listing.report(secrets))
        })
        .await
    }
}

/// A listing in progress.
struct Listing {
    tree: Tree,
    most: usize,
    until: Deadline,
    lines: Vec<String>,
    is_full: bool,
}

impl Listing {
    /// Adds the entries of a folder, and those of its subfolders down to `depth`.
    fn add(&mut self, folder: &Path, depth: usize, rules: Option<&Rules>) {
        let (mut entries, rules) = self.tree.entries(folder, rules);
        // Folders come first; each kind is sorted by name, ignoring case.
        entries.sort_by_cached_key(|entry| {
            let name = entry.name().to_string_lossy().into_owned();
            (!entry.is_folder(), name.to_lowercase(), name)
        });
        for entry in entries {
            // Only reached if there is another entry, so that the remark is true.
            if self.lines.len() == self.most {
                self.is_full = true;
            }
            if self.is_full || self.until.is_over() {
                return;
            }
            let name = on_one_line(&slashed(&entry.path));
            let target = || self.tree.target(&entry.path);
            self.lines.push(match entry.kind {
                FileKind::Folder => format!("{name}/"),
                FileKind::Link => match target() {
                    Some(target) => format!("{name} -> {}", on_one_line(&target)),
                    None => name,
                },
                _ => name,
            });
            // A skipped folder such as `.git` is listed, but not its content.
            if entry.is_folder() && depth > 1 && !is_skipped(entry.name()) {
                self.add(&entry.path, depth - 1, rules.as_ref());
            }
        }
    }

    fn report(self, secrets: Option<String>) -> String {
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
            remarks.extend(unread(self.tree.unread));
            remarks.extend(left_out(&self.tree));
            remarks.extend(secrets);
            return match remarks.as_slice() {
                [] => "(empty folder)".to_owned(),
                remarks => format!("Nothing to list.\n\n{}", remarks.join("\n")),
            };
        }
        if remarks.is_empty() {
            remarks.push(format!(
                "[{}]",
                counted(self.lines.len(), "entry", "entries")
            ));
        }
        remarks.extend(unread(self.tree.unread));
        remarks.extend(secrets);
        with_remarks(self.lines.join("\n"), &remarks)
    }
}
