//! A review of one call: the user gets its change as a diff, edits that, and approves what is
//! left.
//!
//! Asks again until the diff can be applied and the change is still as it was shown. Changes no
//! file: the call does that, with the texts that were approved.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use chat::diff::review::{self, ChangedFile, Malformed, ReviewedFile};
use serde_json::Value;
use tools::{FileState, OpenBuffers, Proposal, ProposedFile, Tool, ToolContext};

use crate::editor::Editor;
use crate::form::Prompts;
use crate::protocol::{BufferId, ReviewLine, ReviewQuestion, ReviewSubject};

const CHANGED: &str = "The change is not as it was when you opened the review. Your rewriting was kept: look at it again, \
                       then :w.";
const CONFLICT: &str = "The change is not as it was when you opened the review, where you rewrote it. This is your text: \
                        make it fit, or undo it.";

/// A call that is reviewed.
pub(crate) struct Reviewing {
    pub(crate) editor: Editor,
    pub(crate) buffer: BufferId,
    /// The call's id.
    pub(crate) id: String,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) input: Value,
    pub(crate) context: ToolContext,
    pub(crate) buffers: Arc<dyn OpenBuffers>,
    /// The files that the call changes.
    pub(crate) files: Vec<PathBuf>,
    /// A review of the call when it had other arguments.
    pub(crate) earlier: Option<ApprovedChange>,
}

/// The outcome of a review.
#[derive(Debug)]
pub enum ReviewEnd {
    /// The user approved the call.
    Approved(ApprovedChange),
    /// The user rejected it for a reason, which may be empty.
    Rejected(String),
    /// There is nothing to review, which the text explains.
    Failed(String),
}

/// A change that the user approved in a review.
#[derive(Debug)]
pub struct ApprovedChange {
    /// The change that the call would make.
    pub(crate) proposed: Proposal,
    /// The change as the user left it.
    pub(crate) reviewed: Arc<Proposal>,
    /// An account of the user's edits, for the model.
    pub(crate) account: Option<String>,
    /// The files when the change was shown.
    pub(crate) states: Vec<FileState>,
}

/// The files after the user's diff, or the lines that cannot be applied.
pub(crate) type ReadDiff = Result<Vec<ReviewedFile>, Vec<Malformed>>;

/// Returns the text of a diff, and what `read` makes of it.
pub(crate) fn read_bytes(
    bytes: Vec<u8>,
    read: impl FnOnce(&str) -> ReadDiff,
) -> (String, ReadDiff) {
    match String::from_utf8(bytes) {
        Ok(text) => {
            let read = read(&text);
            (text, read)
        }
        Err(error) => {
            // Everything before the first invalid byte is valid, so its line can be counted.
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|it| **it == b'\n').count();
            let message = "This line is not UTF-8, so it cannot be applied.";
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            (text, Err(vec![Malformed { line, message }]))
        }
    }
}

/// The lines that cannot be applied, for the front end.
pub(crate) fn lines(malformed: &[Malformed]) -> Vec<ReviewLine> {
    let line = |it: &Malformed| ReviewLine {
        line: it.line,
        message: it.message.to_owned(),
    };
    malformed.iter().map(line).collect()
}

/// A change as the user sees it.
struct Shown {
    proposed: Proposal,
    states: Vec<FileState>,
    text: String,
    note: Option<&'static str>,
    malformed: Vec<Malformed>,
}

impl Reviewing {
    /// Returns how the review ended; `None` if the user left it undecided.
    pub(crate) async fn run(mut self) -> Option<ReviewEnd> {
        let mut shown = match self.propose().await {
            Ok(shown) => shown,
            Err(problem) => return Some(ReviewEnd::Failed(problem)),
        };
        if let Some(earlier) = self.earlier.take() {
            shown = shown.with_rewriting(&earlier.proposed, &earlier.reviewed, None);
        }
        loop {
            match self.round(shown).await? {
                ControlFlow::Break(end) => return Some(end),
                ControlFlow::Continue(next) => shown = next,
            }
        }
    }

    /// Shows a change once. Returns how the review ended, or what to show next.
    async fn round(&self, shown: Shown) -> Option<ControlFlow<ReviewEnd, Shown>> {
        let (text, read) = read_bytes(self.ask(&shown).await?, |text| shown.read(text));
        let files = match read {
            Ok(files) => files,
            Err(malformed) => return Some(ControlFlow::Continue(shown.again(text, malformed))),
        };
        // Nothing is left to run, so the user rejects the call.
        if files.iter().all(|it| it.is_dropped) {
            return Some(match self.reason().await {
                // Without a reason the user has not decided, so the review goes on.
                Some(reason) => ControlFlow::Break(ReviewEnd::Rejected(reason)),
                None => ControlFlow::Continue(shown.again(text, Vec::new())),
            });
        }
        let reviewed = reviewed(&shown.proposed, &files);
        // The files may have changed while the user edited the diff.
        Some(match self.propose().await {
            Err(problem) => ControlFlow::Break(ReviewEnd::Failed(problem)),
            Ok(now) if now.proposed == shown.proposed => {
                ControlFlow::Break(ReviewEnd::Approved(shown.approved(reviewed, &files)))
            }
            Ok(now) => {
                ControlFlow::Continue(now.with_rewriting(&shown.proposed, &reviewed, Some(text)))
            }
        })
    }

    /// Asks the tool what it would do now.
    async fn propose(&self) -> Result<Shown, String> {
        // Before the tool reads the files, so that comparing reveals a later change.
        let mut states = Vec::new();
        for path in &self.files {
            states.push(FileState::of(path, self.buffers.clone()).await);
        }
        let proposed = self.tool.propose(&self.input, &self.context).await;
        let proposed = proposed.map_err(|error| format!("The call would fail: {error}"))?;
        let proposed =
            proposed.ok_or("This call changes no file, so there is nothing to review.")?;
        let text = with_files(&proposed, review::text);
        Ok(Shown {
            proposed,
            states,
            text,
            note: None,
            malformed: Vec::new(),
        })
    }

    /// Shows the change. Returns the diff as the user left it.
    async fn ask(&self, shown: &Shown) -> Option<Vec<u8>> {
        let question = ReviewQuestion {
            buffer: self.buffer,
            call: self.id.clone(),
            subject: ReviewSubject::Call,
            text: shown.text.clone(),
            note: shown.note.map(str::to_owned),
            problems: lines(&shown.malformed),
        };
        self.editor.review(question).await
    }

    /// Asks why a call is rejected of which nothing is left. `None` if the user leaves that.
    async fn reason(&self) -> Option<String> {
        let prompts = self.editor.prompts(self.buffer);
        prompts
            .enter(
                "Nothing is left. Reason for rejecting the call (optional):",
                "",
            )
            .await
    }
}

impl Shown {
    /// The same change with the user's text.
    fn again(self, text: String, malformed: Vec<Malformed>) -> Self {
        Self {
            text,
            malformed,
            note: None,
            ..self
        }
    }

    fn read(&self, text: &str) -> ReadDiff {
        with_files(&self.proposed, |files| review::parse(files, text))
    }

    fn approved(self, reviewed: Proposal, files: &[ReviewedFile]) -> ApprovedChange {
        ApprovedChange {
            account: with_files(&self.proposed, |it| review::account(it, files)),
            reviewed: Arc::new(reviewed),
            proposed: self.proposed,
            states: self.states,
        }
    }

    /// Merges what the user made of an earlier change into this one. If both changed the same
    /// lines, `text` is shown, which the user wrote.
    fn with_rewriting(self, earlier: &Proposal, reviewed: &Proposal, text: Option<String>) -> Self {
        let mut merged = self.proposed.clone();
        let kept = merged
            .files
            .iter_mut()
            .all(|file| rewrite(file, earlier, reviewed));
        if kept {
            // A file whose change the user dropped is not shown.
            merged
                .files
                .retain(|it| it.after != it.before || it.moved_to.is_some());
            let text = with_files(&merged, review::text);
            return Self {
                text,
                note: Some(CHANGED),
                ..self
            };
        }
        let text = text.unwrap_or_else(|| with_files(reviewed, review::text));
        let malformed = self.read(&text).err().unwrap_or_default();
        Self {
            text,
            malformed,
            note: Some(CONFLICT),
            ..self
        }
    }
}

/// Puts what the user made of an earlier change into a file. Returns false if that conflicts.
fn rewrite(file: &mut ProposedFile, earlier: &Proposal, reviewed: &Proposal) -> bool {
    let of = |proposal: &Proposal| {
        let mut files = proposal.files.iter();
        files.find(|it| it.path == file.path).cloned()
    };
    let (Some(base), Some(mine)) = (of(earlier), of(reviewed)) else {
        // The user has not seen this file, so there is no rewriting to keep.
        return true;
    };
    // The user dropped the move.
    if base.moved_to != mine.moved_to {
        file.moved_to = None;
    }
    if base.after == mine.after {
        return true;
    }
    // The user dropped the change.
    if mine.after == mine.before {
        file.after.clone_from(&file.before);
        return true;
    }
    let (Some(base), Some(mine), Some(now)) = (base.after, mine.after, &file.after) else {
        // One of them deletes the file, which cannot be merged with a text.
        return false;
    };
    match tools::merge(&base, &mine, now) {
        Ok(text) => {
            file.after = Some(text);
            true
        }
        Err(_) => false,
    }
}

/// Returns what is left of a proposal after a review.
fn reviewed(proposed: &Proposal, files: &[ReviewedFile]) -> Proposal {
    let pairs = proposed.files.iter().zip(files);
    let files = pairs.map(|(file, reviewed)| ProposedFile {
        after: reviewed.after.clone(),
        moved_to: file.moved_to.clone().filter(|_| !reviewed.is_dropped),
        ..file.clone()
    });
    Proposal {
        files: files.collect(),
    }
}

/// Calls a function with the files of a proposal in the form of the diff.
fn with_files<T>(proposal: &Proposal, then: impl FnOnce(&[ChangedFile<'_>]) -> T) -> T {
    let places = proposal.files.iter().map(|it| {
        let to = it.moved_to.as_ref();
        to.map(|to| to.to_string_lossy().into_owned())
    });
    let places: Vec<Option<String>> = places.collect();
    let pairs = proposal.files.iter().zip(&places);
    let files = pairs.map(|(file, place)| ChangedFile {
        name: &file.name,
        before: file.before.as_deref(),
        after: file.after.as_deref(),
        moved_to: place.as_deref(),
        head: None,
    });
    then(&files.collect::<Vec<_>>())
}
