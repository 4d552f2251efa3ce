//! The `edit` tool: replaces pieces of a file's text.
//!
//! `replace` locates the pieces.

use std::path::{Path, PathBuf};

use chat::diff::{StatedChange, StatedFile};
use chat::tool::ToolUseId;
use platform::paths;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::builtin::{BuiltIn, DEFAULT, FileUse, TypedTool};
use crate::context::Files;
use crate::error::ToolError;
use crate::file_access::FileAccess;
use crate::files::{Before, FileLocks, FileTarget, blocking, named_path};
use crate::planned::PlannedFile;
use crate::replace::{Names, Replacement, listed, plan};
use crate::tool::{CallResult, ProposalResult, ToolResult};

/// Replaces unique pieces of text.
pub(crate) struct Edit {
    locks: FileLocks,
}

impl Edit {
    pub(crate) fn new(locks: FileLocks) -> Self {
        Self { locks }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Arguments {
    /// What the change is for, in a few words. The user reads it before allowing the call.
    #[serde(default)]
    label: String,
    /// The file, relative to the working directory, absolute, or starting with ~/.
    path: String,
    /// The text to replace, exactly as it is in the file. It must occur once; include
    /// lines around it if needed. Null if edits are given.
    old_text: Option<String>,
    /// The text to put in its place, taken literally. Empty to delete. Null if edits are given.
    new_text: Option<String>,
    /// Several replacements in the same file, instead of oldText and newText. Each is
    /// located in the file as it is now, and all of them are made or none.
    edits: Option<Vec<OneEdit>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
struct OneEdit {
    /// As oldText.
    old_text: String,
    /// As newText.
    new_text: String,
}

impl Arguments {
    /// The replacements, and whether they are a list.
    fn replacements(&self) -> Result<(Vec<Replacement<'_>>, bool), ToolError> {
        let edits = self.edits.as_deref().unwrap_or_default();
        let is_empty = |it: &Option<String>| it.as_ref().is_none_or(String::is_empty);
        let problem = match (&self.old_text, &self.new_text) {
            // Some models fill arguments that they don't use with empty strings.
            (old, new) if !edits.is_empty() && is_empty(old) && is_empty(new) => {
                let edits = edits
                    .iter()
                    .map(|OneEdit { old_text, new_text }| Replacement {
                        old: old_text,
                        new: new_text,
                    });
                return Ok((edits.collect(), true));
            }
            (Some(old), Some(new)) if edits.is_empty() => {
                return Ok((vec![Replacement { old, new }], false));
            }
            (None, None) => "Neither oldText and newText nor edits are given.",
            _ if edits.is_empty() => "One of oldText and newText is missing.",
            _ => "Both edits and oldText or newText are given.",
        };
        let problem = format!("{problem} {} was not changed.", self.path);
        Err(ToolError::InvalidInput(problem))
    }
}

/// The row of `edit`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    preset: Some(DEFAULT),
    files: FileUse::Changes,
    ..BuiltIn::new("edit", |locks| Box::new(Edit::new(locks.clone())))
};

impl TypedTool for Edit {
    type Arguments = Arguments;
    type Needs = Files;

    const NAME: &'static str = "edit";
    const LABEL: &'static str = "Edit";
    const DESCRIPTION: &'static str = "Replace pieces of text in a file: one with oldText and newText, or several with \
        edits. Each oldText must match the file exactly, including indentation, and must occur only once. Line endings \
        of the file are kept. Read the file first.";
    const ENABLED: bool = true;

    fn changes(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        named_path(input, cwd)
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let path = crate::builtin::visible_ends(&asked.path);
        // Arguments that contradict each other are shown in the default form.
        let count = match asked.replacements().ok()? {
            (_, false) => String::new(),
            (edits, true) if edits.len() == 1 => "  (1 edit)".to_owned(),
            (edits, true) => format!("  ({} edits)", edits.len()),
        };
        Some(format!(
            "{path}{count}{}",
            crate::builtin::label(&asked.label)
        ))
    }

    fn stated_change(&self, asked: &Arguments) -> Option<StatedChange> {
        let (replacements, _) = asked.replacements().ok()?;
        let texts = replacements
            .iter()
            .map(|it| (it.old.to_owned(), it.new.to_owned()));
        Some(StatedChange {
            arguments: &["path", "oldText", "newText", "edits"],
            files: vec![StatedFile {
                name: paths::visible(Path::new(&asked.path)),
                remark: None,
                texts: texts.collect(),
            }],
        })
    }

    async fn plan(&self, arguments: Arguments, (files, _): Files) -> ProposalResult {
        let target = files.target(&arguments.path).await?;
        let (planned, _) = plan_edit(target, arguments, &files).await?;
        Ok(Some(planned.proposed().into()))
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, needs: Files) -> CallResult {
        let files = &needs.0;
        let target = files.target(&arguments.path).await?;
        // Resolved before the lock, because there is one lock per real path.
        let path = target.path().to_owned();
        // Another call must not change the file between planning and storing.
        let _lock = self.locks.lock(&path).await;
        let (planned, lines) = plan_edit(target, arguments, files).await?;
        let (name, remarks) = (planned.name.clone(), planned.remarks());
        let stored = planned.store(&needs).await?;
        let what = match lines.len() {
            1 => "the edit".to_owned(),
            count => format!("{count} edits"),
        };
        let remark = stored.remark();
        let text = match &files.review_account {
            None => format!(
                "Applied {what} to {name} at {}.{remarks}{remark}",
                listed(&lines)
            ),
            Some(account) => {
                format!(
                    "Applied {what} to {name} as the user changed it.{remarks}{remark}\n{account}"
                )
            }
        };
        let mut result = ToolResult::text(text);
        result.details = Some(json!({ "path": path, "line": lines.first() }));
        Ok(result)
    }
}

/// Plans the edit. Also returns the lines at which pieces are replaced. Runs on a blocking thread,
/// because the search for similar text takes time.
async fn plan_edit(
    target: FileTarget,
    arguments: Arguments,
    files: &FileAccess,
) -> Result<(PlannedFile, Vec<usize>), ToolError> {
    let text = target.text().await?;
    let located = blocking(move || {
        let (replacements, is_list) = arguments.replacements()?;
        let names = |number: usize| Names {
            old: if is_list {
                format!("edits[{number}].oldText")
            } else {
                "oldText".to_owned()
            },
            new: "newText",
        };
        let edited = plan(&text.text, &replacements)
            .map_err(|refused| ToolError::Failed(refused.message(&arguments.path, names)))?;
        let planned = PlannedFile {
            target,
            name: paths::visible(Path::new(&arguments.path)),
            before: Before::Text(text),
            remarks: edited.remarks(|number| names(number).old),
            after: Some(edited.text),
            moved_to: None,
            keeps: true,
        };
        Ok((planned, edited.lines))
    });
    let (mut planned, lines) = located.await?;
    planned.note_change(files);
    Ok((planned, lines))
}
