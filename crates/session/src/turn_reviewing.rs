//! A review of a turn: the user gets what calls changed since a message as a diff, and the files
//! become what the user leaves of it.

use std::mem;
use std::sync::Arc;

use chat::cycle::Level;
use chat::diff::review::{self, ChangedFile, Malformed, ReviewedFile};
use tools::checkpoints::{CallLabel, FileArgument, Request, TurnChanges};

use crate::protocol::{Display, ReviewClosed, ReviewQuestion, ReviewSubject};
use crate::restoring::{Restoring, changed, files, kept};
use crate::reviewing::{ReadDiff, lines, read_bytes};

/// A turn that is reviewed.
pub(crate) struct TurnReviewing {
    pub(crate) restoring: Restoring,
    /// The calls whose changes are shown.
    pub(crate) request: Request,
    /// The only file that is shown.
    pub(crate) file: Option<FileArgument>,
    /// Identifies the review.
    pub(crate) id: String,
    /// Builds the report for a chat without checkpoints.
    pub(crate) otherwise: Option<Box<dyn FnOnce() -> Vec<String> + Send + Sync>>,
    /// Takes the diff that the user wrote.
    pub(crate) written: Arc<dyn Fn(TurnReviewed) + Send + Sync>,
}

/// A review of a turn whose diff the user wrote.
pub struct TurnReviewed {
    reviewing: TurnReviewing,
    changes: TurnChanges,
    text: String,
    files: Vec<ReviewedFile>,
}

impl TurnReviewing {
    /// Shows what changed until the user leaves the diff or writes one that can be applied.
    pub(crate) async fn run(mut self) {
        let otherwise = self.otherwise.take();
        match (self.find().await, otherwise) {
            (Ok(changes), _) => {
                let text = with_files(&changes, review::text);
                self.ask(changes, text, None).await;
            }
            (Err(_), Some(otherwise)) => {
                let shown = tokio::task::spawn_blocking(otherwise).await;
                self.restoring
                    .editor
                    .report("changes", shown.unwrap_or_default());
            }
            (Err(why), None) => self.restoring.say(Level::Info, why),
        }
    }

    /// Finds what to show. The error is a sentence.
    async fn find(&self) -> Result<TurnChanges, String> {
        let Restoring {
            folder,
            scope,
            buffers,
            ..
        } = &self.restoring;
        let request = self.request.clone();
        let found = TurnChanges::find(folder.clone(), scope.clone(), request, &**buffers).await?;
        let mut changes = found.ok_or(NOTHING)?;
        if let Some(file) = &self.file
            && !changes.keep_only(file)
        {
            return Err(format!(
                "There is nothing to review in {}: no call since then changed it, or all its changes are undone.",
                file.name
            ));
        }
        if let Some(problem) = &changes.problem {
            self.restoring.say(Level::Warning, problem.clone());
        }
        Ok(changes)
    }

    async fn ask(self, changes: TurnChanges, mut text: String, mut note: Option<&str>) {
        let mut malformed: Vec<Malformed> = Vec::new();
        loop {
            let question = ReviewQuestion {
                buffer: self.restoring.buffer,
                call: self.id.clone(),
                subject: ReviewSubject::Turn,
                text: mem::take(&mut text),
                note: note.take().map(str::to_owned),
                problems: lines(&malformed),
            };
            let Some(bytes) = self.restoring.editor.review(question).await else {
                return;
            };
            let read;
            (text, read) = read_bytes(bytes, |text| parse(&changes, text));
            match read {
                Err(problems) => malformed = problems,
                Ok(files) => return self.end(changes, text, files),
            }
        }
    }

    fn end(self, changes: TurnChanges, text: String, files: Vec<ReviewedFile>) {
        let pairs = || changes.files.iter().zip(&files);
        if pairs().all(|(file, it)| !it.is_dropped && it.after == file.after) {
            let text = "Nothing was removed from the review, so no file was changed.";
            self.restoring.say(Level::Info, text.to_owned());
            return self.close();
        }
        let written = self.written.clone();
        written(TurnReviewed {
            reviewing: self,
            changes,
            text,
            files,
        });
    }

    /// Closes the window of the review.
    fn close(&self) {
        let closed = ReviewClosed {
            buffer: self.restoring.buffer,
            call: self.id.clone(),
        };
        self.restoring.editor.show(Display::ReviewClosed(closed));
    }
}

impl TurnReviewed {
    /// Shows the user's diff again, because it cannot be applied now.
    pub(crate) async fn again(self, why: &str) {
        self.reviewing.ask(self.changes, self.text, Some(why)).await;
    }

    /// Makes the files what the user left of the changes, as a call with this label.
    pub(crate) async fn apply(self, label: CallLabel) {
        let Restoring {
            editor, buffers, ..
        } = &self.reviewing.restoring;
        let reverted = self.changes.revert(&self.files, label, &**buffers).await;
        // Open buffers of these files show the new texts.
        editor.check_files();
        let (level, text) = match reverted {
            Err(why) => (Level::Error, why),
            Ok(restored) => {
                let root = self.changes.root();
                let mut text = match restored.changed.len() {
                    0 if restored.kept.is_empty() => {
                        "No file was changed: what you removed is gone already.".to_owned()
                    }
                    0 => "No file was changed.".to_owned(),
                    count => format!(
                        "Reverted what you removed in {}: {}. :Flemma undo reverts that.",
                        files(count),
                        changed(&restored, root)
                    ),
                };
                text.push_str(&kept(&restored, root));
                if restored.kept.is_empty() {
                    (Level::Info, text)
                } else {
                    (Level::Warning, text)
                }
            }
        };
        self.reviewing.close();
        self.reviewing.restoring.say(level, text);
    }
}

/// The message when no call changed a file.
const NOTHING: &str =
    "There is nothing to review: no call since then changed a file, or all changes are undone.";

fn parse(changes: &TurnChanges, text: &str) -> ReadDiff {
    with_files(changes, |files| review::parse(files, text))
}

/// Calls a function with the files in the form of the diff.
fn with_files<T>(changes: &TurnChanges, then: impl FnOnce(&[ChangedFile<'_>]) -> T) -> T {
    let files = changes.files.iter().map(|it| ChangedFile {
        name: &it.name,
        before: it.before.as_deref(),
        after: it.after.as_deref(),
        moved_to: it.moved_to.as_deref(),
        head: Some(&it.head),
    });
    then(&files.collect::<Vec<_>>())
}
