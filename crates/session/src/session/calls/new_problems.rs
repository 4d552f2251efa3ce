//! Adds the new syntax errors and diagnostics of changed files, as the editor finds them, to the
//! result of the call, so that the model sees them.

use std::sync::Arc;
use std::time::Duration;

use chat::new_problems::{ComparedFile, FoundProblem, ProblemKind, new_problems};
use chat::tool::ToolOutcome;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tools::{ProposedFile, Secrets};

use crate::editor::Editor;
use crate::protocol::{FindProblems, ProblemItem};

/// Maximum bytes of a text that is checked.
const MAX_BYTES: usize = 1024 * 1024;
/// Maximum number of files of a call that are checked.
const MAX_FILES: usize = 20;
/// Maximum time that the editor gets. It waits at most a second for language servers, but may be
/// busy with a prompt.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Asks the editor about files that a call changed.
pub(super) struct ProblemCheck {
    pub(super) editor: Editor,
    pub(super) secrets: Arc<Secrets>,
    /// Ends the wait when the user cancels the call.
    pub(super) cancel: CancellationToken,
}

impl ProblemCheck {
    /// Adds new problems of the files to the result of the call that changed them.
    pub(super) async fn add(self, outcome: &mut ToolOutcome, files: &[ProposedFile]) {
        let ToolOutcome::Done { content, .. } = outcome else {
            return;
        };
        let changed = changed(files, &self.secrets);
        let found = tokio::select! {
            compared = timeout(PATIENCE, compared(&self.editor, changed)) => compared.unwrap_or_default(),
            () = self.cancel.cancelled() => Vec::new(),
        };
        // At the end, because the first words say that the change was made.
        if let Some(report) = new_problems(&found) {
            content.push_str("\n\n");
            content.push_str(&report);
        }
    }
}

/// Asks about all files at once, because each may take a second.
async fn compared(editor: &Editor, changed: Vec<(String, FindProblems)>) -> Vec<ComparedFile> {
    let ask = |(name, question)| {
        let editor = editor.clone();
        let found = tokio::spawn(async move { editor.find_problems(question).await });
        (name, found)
    };
    // All questions are sent before the first answer is awaited.
    let asked: Vec<(String, JoinHandle<_>)> = changed.into_iter().map(ask).collect();
    let mut compared = Vec::new();
    for (name, found) in asked {
        let all = |items: &[ProblemItem]| items.iter().filter_map(problem).collect();
        if let Ok(Some(found)) = found.await {
            let (before, after) = (all(&found.before), all(&found.after));
            compared.push(ComparedFile {
                name,
                before,
                after,
            });
        }
    }
    compared
}

/// Returns the texts of each file before the first change and after the last one, with its name.
fn changed(files: &[ProposedFile], secrets: &Secrets) -> Vec<(String, FindProblems)> {
    let mut changed: Vec<(String, FindProblems)> = Vec::new();
    for file in files {
        let (path, Some(after)) = (&file.path, &file.after) else {
            continue;
        };
        let path = file.moved_to.as_ref().unwrap_or(path).to_string_lossy();
        // Several changes of one file count as one.
        if let Some((_, earlier)) = changed.iter_mut().find(|(_, it)| it.path == path) {
            earlier.after.clone_from(after);
            continue;
        }
        let question = FindProblems {
            path: path.into_owned(),
            before: file.before.clone(),
            after: after.clone(),
        };
        changed.push((file.name.clone(), question));
    }
    // A report quotes lines, which must not be those of a secret file.
    changed.retain(|(_, it)| is_small(it) && secrets.find(it.path.as_ref()).is_none());
    changed.truncate(MAX_FILES);
    changed
}

fn is_small(question: &FindProblems) -> bool {
    let before = question.before.as_ref().map_or(0, String::len);
    before.max(question.after.len()) <= MAX_BYTES
}

fn problem(item: &ProblemItem) -> Option<FoundProblem> {
    let kind = match item.kind.as_str() {
        "syntax" => ProblemKind::Syntax,
        "error" => ProblemKind::Error,
        "warning" => ProblemKind::Warning,
        _ => return None,
    };
    Some(FoundProblem {
        kind,
        line: item.line,
        text: String::from_utf8_lossy(&item.text).into_owned(),
        message: String::from_utf8_lossy(&item.message).into_owned(),
    })
}
