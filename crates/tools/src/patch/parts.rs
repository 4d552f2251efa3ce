//! Plans what a patch does to its files.

use std::path::Path;

use platform::paths;

use super::PatchedFile;
use super::parse::{Action, Hunk, Section, apply_hunks, parse};
use crate::error::ToolError;
use crate::file_access::FileAccess;
use crate::files::{Before, FileTarget, blocking};
use crate::planned::PlannedFile;
use crate::replace::Names;

/// All that a patch does to one file.
pub(super) struct Part {
    /// As the patch names it.
    name: String,
    pub target: FileTarget,
    pub moved_to: Option<FileTarget>,
    action: PartAction,
}

enum PartAction {
    Add(String),
    Delete,
    /// Lists of hunks, each in the order of the text.
    Update(Vec<Vec<Hunk>>),
}

/// Parses a patch and resolves its paths, each once.
pub(super) async fn parts(patch: &str, files: &FileAccess) -> Result<Vec<Part>, ToolError> {
    let sections = parse(patch);
    let invalid = |why: String| ToolError::InvalidInput(format!("{why} Nothing was changed."));
    let mut parts: Vec<Part> = Vec::new();
    for Section { path, action } in sections.map_err(invalid)? {
        let target = files.target(&path).await?;
        // Compared by real path, so that two spellings of a file are one.
        let known = parts.iter_mut().find(|it| it.names(target.path()));
        match (known, action) {
            (None, action) => {
                let part = Part::new(path, target, action, files).await?;
                part.check_move(&parts).map_err(invalid)?;
                parts.push(part);
            }
            // Some models repeat the name of the file for each hunk.
            (
                Some(known),
                Action::Update {
                    moved_to: None,
                    hunks,
                },
            ) if known.takes_hunks() => {
                known.add(hunks);
            }
            (Some(_), _) => {
                return Err(invalid(format!("The patch does several things to {path}.")));
            }
        }
    }
    Ok(parts)
}

impl Part {
    /// Fails if one of `others` has the file that this part moves its own to.
    fn check_move(&self, others: &[Self]) -> Result<(), String> {
        match self.moved_to.as_ref().map(FileTarget::path) {
            Some(to) if others.iter().any(|it| it.names(to)) => Err(format!(
                "The patch does several things to the file that {} becomes.",
                self.name
            )),
            _ => Ok(()),
        }
    }

    async fn new(
        name: String,
        target: FileTarget,
        action: Action,
        files: &FileAccess,
    ) -> Result<Self, ToolError> {
        let mut part = Self {
            name,
            target,
            moved_to: None,
            action: PartAction::Delete,
        };
        match action {
            Action::Add(text) => part.action = PartAction::Add(text),
            Action::Delete => files.check_no_link(&part.name).await?,
            Action::Update { moved_to, hunks } => {
                if let Some(to) = moved_to {
                    files.check_no_link(&part.name).await?;
                    part.moved_to = Some(files.target(&to).await?);
                }
                part.action = PartAction::Update(vec![hunks]);
            }
        }
        Ok(part)
    }

    fn names(&self, path: &Path) -> bool {
        let moved_to = self.moved_to.as_ref().map(FileTarget::path);
        self.target.path() == path || moved_to == Some(path)
    }

    fn takes_hunks(&self) -> bool {
        matches!(self.action, PartAction::Update(_))
    }

    fn add(&mut self, hunks: Vec<Hunk>) {
        if let PartAction::Update(lists) = &mut self.action {
            lists.push(hunks);
        }
    }
}

/// Plans all files of a patch.
pub(super) async fn plan_patch(
    parts: Vec<Part>,
    files: &FileAccess,
) -> Result<Vec<PatchedFile>, ToolError> {
    let mut planned = Vec::new();
    for part in parts {
        let moved_to = part.moved_to.as_ref();
        if let Some(to) = moved_to {
            check_absent(to, &part.name).await?;
        }
        let mut patched = match part.action {
            PartAction::Add(_) => {
                check_absent(&part.target, &part.name).await?;
                part.plan(Before::Absent)?
            }
            PartAction::Delete | PartAction::Update(_) => {
                let text = part.target.text().await?;
                // The search for similar text may take long.
                blocking(move || part.plan(Before::Text(text))).await?
            }
        };
        patched.file.note_change(files);
        planned.push(patched);
    }
    Ok(planned)
}

impl Part {
    /// Plans the file. Takes time: the search for similar text is slow.
    fn plan(self, before: Before) -> Result<PatchedFile, ToolError> {
        let (after, lines, remarks) = match (&self.action, before.text()) {
            (PartAction::Add(text), _) => (Some(text.clone()), Vec::new(), Vec::new()),
            (PartAction::Update(lists), Some(before)) => self.update(lists, &before.text)?,
            // Only a deletion gets here: a file to update has a text, or reading it has failed.
            (PartAction::Delete | PartAction::Update(_), _) => (None, Vec::new(), Vec::new()),
        };
        let file = PlannedFile {
            target: self.target,
            name: self.name,
            before,
            after,
            moved_to: self.moved_to,
            keeps: true,
            remarks,
        };
        Ok(PatchedFile { file, lines })
    }

    fn update(&self, lists: &[Vec<Hunk>], text: &str) -> Result<Updated, ToolError> {
        let names = |number: usize| Names {
            old: format!("The old text of hunk {}", number + 1),
            new: "the new one",
        };
        let edited = apply_hunks(text, lists)
            .map_err(|refused| ToolError::Failed(refused.message(&self.name, names)))?;
        let remarks = edited.remarks(|number| names(number).old);
        Ok((Some(edited.text), edited.lines, remarks))
    }
}

/// The new text, the lines where pieces were replaced, and remarks.
type Updated = (Option<String>, Vec<usize>, Vec<String>);

/// Checks that no file is where one would be created.
async fn check_absent(target: &FileTarget, name: &str) -> Result<(), ToolError> {
    match target.before().await? {
        Before::Absent => Ok(()),
        Before::Text(_) | Before::Other(_) => Err(ToolError::Failed(format!(
            "{} is there already, and the patch for {name} would replace it. Nothing was changed. Use *** Update \
             File, or write.",
            paths::visible(target.path())
        ))),
    }
}
