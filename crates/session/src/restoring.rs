//! A restore of files, as the user sees it: the list first, then a question, then a report.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chat::cycle::{Level, Notice};
use platform::paths;
use tools::OpenBuffers;
use tools::checkpoints::{JournalScope, Request, Restore, Restored};

use crate::editor::Editor;
use crate::form::Prompts;
use crate::protocol::BufferId;

/// Maximum number of files that a message names.
const MOST_NAMED: usize = 5;

/// The chat whose files are restored.
pub(crate) struct Restoring {
    pub(crate) editor: Editor,
    pub(crate) buffer: BufferId,
    pub(crate) buffers: Arc<dyn OpenBuffers>,
    pub(crate) folder: PathBuf,
    pub(crate) scope: JournalScope,
}

/// The user's decision.
#[derive(Clone, Copy)]
enum Answer {
    /// Restore the files.
    Restore {
        /// Also those that have changed since.
        overwrite: bool,
    },
    /// Leave the files as they are, and go on to what was before.
    Skip,
}

/// An item that the user chooses.
enum Choice {
    Decide(Answer),
    /// Show the diff of the file at this index.
    Diff(usize),
}

impl Restoring {
    /// Lists what would change, asks, and restores it.
    pub(crate) async fn run(self, request: Request) {
        match self.restore(request).await {
            Ok(Some(text)) => self.say(Level::Info, text),
            Ok(None) => {}
            Err(text) => self.say(Level::Error, text),
        }
    }

    /// Shows a message.
    pub(crate) fn say(&self, level: Level, text: String) {
        self.editor.notify(&Notice { level, text });
    }

    async fn restore(&self, request: Request) -> Result<Option<String>, String> {
        while let Some(restore) = self.plan(&request).await? {
            // Nothing would change, so there is nothing to ask.
            if restore.changes().next().is_none() && restore.kept().next().is_none() {
                let mut text = "No file needs to be changed.".to_owned();
                for line in restore.lines() {
                    text.push_str(&format!("\n{line}"));
                }
                // Recorded nevertheless, so that the next undo is about the call before.
                restore.apply(false, &*self.buffers).await?;
                return Ok(Some(text));
            }
            match self.ask(&request, &restore).await {
                None => return Ok(None),
                Some(Answer::Restore { overwrite }) => {
                    return self.apply(&request, restore, overwrite).await.map(Some);
                }
                // Recorded as undone, so that the next plan is about the call before.
                Some(Answer::Skip) => drop(restore.apply(false, &*self.buffers).await?),
            }
        }
        Ok(Some(nothing(&request)))
    }

    /// Restores the files. Returns the report.
    pub(crate) async fn apply(
        &self,
        request: &Request,
        restore: Restore,
        overwrite: bool,
    ) -> Result<String, String> {
        let root = restore.root().to_owned();
        let restored = restore.apply(overwrite, &*self.buffers).await?;
        // Open buffers of these files show the restored texts.
        self.editor.check_files();
        Ok(report(request, &restored, &root))
    }

    /// Plans a restore, and reports damage of the journal.
    pub(crate) async fn plan(&self, request: &Request) -> Result<Option<Restore>, String> {
        let scope = self.scope.clone();
        let planned = Restore::plan(self.folder.clone(), scope, request.clone(), &*self.buffers);
        let planned = planned.await?;
        if let Some(text) = planned.as_ref().and_then(|it| it.problem.clone()) {
            self.say(Level::Warning, text);
        }
        Ok(planned)
    }

    /// Asks until the user decides. `None` if nothing is to be done.
    async fn ask(&self, request: &Request, restore: &Restore) -> Option<Answer> {
        let prompts = self.editor.prompts(self.buffer);
        let (items, choices) = items(request, restore);
        let title = title(request, restore);
        loop {
            let at = prompts.choose(&title, &items).await?;
            match choices.get(at)? {
                Some(Choice::Decide(answer)) => return Some(*answer),
                Some(Choice::Diff(at)) => self.show_diff(restore, *at),
                // The user chose to leave.
                None => return None,
            }
        }
    }

    /// Shows the diff of a file.
    pub(crate) fn show_diff(&self, restore: &Restore, at: usize) {
        if let Some(item) = restore.items.get(at) {
            let diff = restore.diff(item);
            let lines = diff.lines().map(str::to_owned).collect();
            self.editor.report("diff", lines);
        }
    }
}

/// Returns the items of the list: the actions, then each file, which shows its diff.
fn items(request: &Request, restore: &Restore) -> (Vec<String>, Vec<Option<Choice>>) {
    let (mut items, mut choices) = (Vec::new(), Vec::new());
    let decide = |answer| Some(Choice::Decide(answer));
    let count = restore.changes().count();
    if count > 0 {
        items.push(format!("Restore {}", files(count)));
        choices.push(decide(Answer::Restore { overwrite: false }));
    }
    let conflicts = restore.conflicts().count();
    if conflicts > 0 {
        items.push(format!(
            "Also overwrite {} that changed since; :Flemma redo brings that back",
            files(conflicts)
        ));
        choices.push(decide(Answer::Restore { overwrite: true }));
    }
    let kept = restore.kept().count();
    // If other files change, the next undo is about the call before in any case.
    if count == 0 && kept > 0 {
        items.push(format!(
            "Leave {} unchanged, and go on to {}",
            files(kept),
            before(request)
        ));
        choices.push(decide(Answer::Skip));
    }
    items.push("Leave everything as it is".to_owned());
    choices.push(None);
    for (at, line) in restore.lines().into_iter().enumerate() {
        items.push(line);
        choices.push(Some(Choice::Diff(at)));
    }
    (items, choices)
}

fn title(request: &Request, restore: &Restore) -> String {
    let mut tools: Vec<&str> = restore.calls.iter().map(|(_, tool)| &**tool).collect();
    let count = tools.len();
    tools.dedup();
    tools.truncate(MOST_NAMED);
    match request {
        Request::Undo if count > 1 => format!("Undo {count} calls ({})?", tools.join(", ")),
        Request::Undo => format!("Undo {}?", tools.join(", ")),
        Request::File(file) => format!("Undo {} in {}?", tools.join(", "), file.name),
        Request::Redo => "Revert the last undo?".to_owned(),
        Request::Turns { .. } | Request::LastTurns(_) => {
            format!("Restore the files of {} calls?", restore.calls.len())
        }
    }
}

/// The target of the same restore if it is requested again, as messages name it.
pub fn before(request: &Request) -> &'static str {
    match request {
        Request::Undo => "the call before",
        Request::File(_) => "the call that changed it before",
        Request::Redo => "the undo before",
        Request::Turns { .. } | Request::LastTurns(_) => "the turns before",
    }
}

/// The message when no call changed a file.
pub fn nothing(request: &Request) -> String {
    let text = match request {
        Request::Undo => {
            "There is nothing to undo: no call here changed a file, or all changes are undone."
        }
        Request::File(file) => {
            let name = &file.name;
            return format!(
                "There is nothing to undo in {name}: no call here changed it, or all its changes are undone."
            );
        }
        Request::Redo => "There is nothing to redo.",
        Request::Turns { .. } | Request::LastTurns(_) => {
            "There is nothing to restore: no call since then changed a file, or all changes are undone."
        }
    };
    text.to_owned()
}

/// Returns the message about a finished restore, with names below `root`, the project's folder.
pub fn report(request: &Request, restored: &Restored, root: &Path) -> String {
    let back = match request {
        Request::Redo => ":Flemma undo",
        _ => ":Flemma redo",
    };
    let mut text = match restored.changed.len() {
        0 => "No file was changed.".to_owned(),
        count => format!(
            "Restored {}: {}. {back} reverts that.",
            files(count),
            changed(restored, root)
        ),
    };
    text.push_str(&kept(restored, root));
    text
}

/// Names the files that a restore changed.
pub(crate) fn changed(restored: &Restored, root: &Path) -> String {
    let named = restored.changed.iter().take(MOST_NAMED);
    let mut names: Vec<String> = named.map(|it| paths::below(it, root)).collect();
    if let more @ 1.. = restored.changed.len().saturating_sub(names.len()) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// Returns a line for each file that a restore left as it is, with the reason.
pub(crate) fn kept(restored: &Restored, root: &Path) -> String {
    let kept = restored.kept.iter();
    let lines = kept.map(|(path, why)| {
        let name = paths::below(path, root);
        format!("\nLeft as it is: {name}: {why}.")
    });
    lines.collect()
}

pub(crate) fn files(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        _ => format!("{count} files"),
    }
}
