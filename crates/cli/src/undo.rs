//! `flemma undo`: restores the files that a call changed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use session::restoring::{before, nothing, report};
use tools::NoBuffers;
use tools::checkpoints::{CallLabel, FileArgument, JournalScope, Request, Restore, StoredPath};

use crate::arguments::Undo;
use crate::block_on;
use crate::problems::{current_folder, in_a_shell, warn};
use crate::terminal::{self, Code};
use crate::trust::confirm;

/// `flemma undo`
pub fn command(arguments: &Undo) -> ExitCode {
    match block_on(undo(arguments)) {
        Ok(Ok((code, message))) => code.report(&in_a_shell(&message)),
        Ok(Err(problem)) | Err(problem) => Code::Error.report(&in_a_shell(&problem)),
    }
}

/// Lists what would change, asks, and restores it.
async fn undo(arguments: &Undo) -> Result<(Code, String), String> {
    let (chat, file) = names(arguments);
    let (folder, scope) = place(chat)?;
    let request = match (arguments.redo, arguments.turns, file) {
        (false, None, Some(file)) => Request::File(FileArgument {
            name: file.to_string_lossy().into_owned(),
            folders: vec![current_folder()?, folder.clone()],
        }),
        (_, _, Some(file)) => {
            let file = file.display();
            return Err(format!(
                "{file} is not a chat, and --redo and --turns do not apply to a single file."
            ));
        }
        (true, ..) => Request::Redo,
        (false, Some(count), _) => Request::LastTurns(count),
        (false, None, None) => Request::Undo,
    };
    loop {
        let planned = Restore::plan(folder.clone(), scope.clone(), request.clone(), &NoBuffers);
        let Some(restore) = planned.await? else {
            return Ok((Code::Denied, nothing(&request)));
        };
        list(&restore);
        match decide(arguments, &request, &restore) {
            Decision::Stop(code, message) => return Ok((code, message)),
            Decision::Nothing => {
                // Recorded nevertheless, so that the next undo is about the call before.
                restore.apply(false, &NoBuffers).await?;
                return Ok((Code::Ok, "No file needs to be changed.".to_owned()));
            }
            Decision::Skip => drop(restore.apply(false, &NoBuffers).await?),
            Decision::Restore => {
                let root = restore.root().to_owned();
                let restored = restore.apply(arguments.overwrite, &NoBuffers).await?;
                return Ok((Code::Ok, report(&request, &restored, &root)));
            }
        }
    }
}

/// The chat and the file. A single name that does not end in `.chat` is the file.
fn names(arguments: &Undo) -> (Option<&Path>, Option<&Path>) {
    let (chat, file) = (arguments.chat.as_deref(), arguments.file.as_deref());
    let is_chat = chat.is_some_and(|it| it.extension().is_some_and(|it| it == "chat"));
    match file {
        None if !is_chat => (None, chat),
        file => (chat, file),
    }
}

/// Lists the calls, and what would change.
fn list(restore: &Restore) {
    warn(restore.problem.as_slice());
    let calls = restore.calls.iter().map(|(id, tool)| {
        if id.is_empty() {
            // A review of a turn.
            tool.clone()
        } else {
            format!("{tool} ({id})")
        }
    });
    let calls: Vec<String> = calls.collect();
    let lines = restore.lines();
    let list = format!("{}:\n  {}", calls.join(", "), lines.join("\n  "));
    // The names come from calls, and an escape sequence in one could hide other lines.
    eprintln!("{}", terminal::visible(&list));
}

/// The decision about a planned restore.
enum Decision {
    Restore,
    /// There is nothing to restore or to ask.
    Nothing,
    /// Leave the files, and go on to what was before.
    Skip,
    Stop(Code, String),
}

fn decide(arguments: &Undo, request: &Request, restore: &Restore) -> Decision {
    let denied = || Decision::Stop(Code::Denied, "Nothing was changed.".to_owned());
    // `changes` leaves out conflicts, which only `--overwrite` restores.
    let overwrites = arguments.overwrite && restore.conflicts().next().is_some();
    if restore.changes().next().is_some() || overwrites {
        return if arguments.yes || confirm("Restore these files?") {
            Decision::Restore
        } else {
            denied()
        };
    }
    if restore.kept().next().is_none() {
        return Decision::Nothing;
    }
    let before = before(request);
    let question = format!("Leave these files unchanged, and go on to {before}?");
    if arguments.skip || !arguments.yes && confirm(&question) {
        return Decision::Skip;
    }
    if arguments.yes {
        Decision::Stop(
            Code::Denied,
            format!(
                "Nothing was changed. `--overwrite` restores files that have changed since; `--skip` goes on to {before}."
            ),
        )
    } else {
        denied()
    }
}

/// The project's folder, and the chat or all chats of the project.
fn place(chat: Option<&Path>) -> Result<(PathBuf, JournalScope), String> {
    let here = current_folder()?;
    let Some(chat) = chat.map(|it| here.join(it)) else {
        return Ok((here, JournalScope::Project));
    };
    if !chat.is_file() {
        return Err(format!("There is no chat {}.", chat.display()));
    }
    let folder = tools::chat_folder(&chat).unwrap_or(here);
    let chat = Some(StoredPath(chat));
    let label = CallLabel {
        chat,
        ..CallLabel::default()
    };
    Ok((folder, JournalScope::Chat(label)))
}
