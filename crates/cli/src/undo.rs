//! `flemma undo`: restores the files that a call changed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use session::restoring::{nothing, report};
use tools::NoBuffers;
use tools::checkpoints::{CallLabel, JournalScope, Name, Request, Restore};

use crate::arguments::Undo;
use crate::exit_code::Code;
use crate::problems::{current_folder, in_a_shell, warn};
use crate::runtime::block_on;
use crate::terminal;
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
    let (folder, scope) = place(arguments.chat.as_deref())?;
    let request = match (arguments.redo, arguments.turns) {
        (true, _) => Request::Redo,
        (false, Some(count)) => Request::LastTurns(count),
        (false, None) => Request::Undo,
    };
    let Some(restore) = Restore::plan(folder, scope, request.clone(), &NoBuffers).await? else {
        return Ok((Code::Ok, nothing(&request).to_owned()));
    };
    warn(restore.problem.as_slice());
    let calls = restore
        .calls
        .iter()
        .map(|(id, tool)| format!("{tool} ({id})"));
    let calls: Vec<String> = calls.collect();
    let lines = restore.lines();
    let list = format!("{}:\n  {}", calls.join(", "), lines.join("\n  "));
    // The names come from calls, and an escape sequence in one could hide other lines.
    eprintln!("{}", terminal::visible(&list));
    // `changes` leaves out conflicts, which only `--overwrite` restores.
    let overwrites = arguments.overwrite && restore.conflicts().next().is_some();
    if restore.changes().next().is_none() && !overwrites {
        if restore.conflicts().next().is_none() {
            // Recorded nevertheless, so that the next undo is about the call before.
            restore.apply(false, &NoBuffers).await?;
        }
        return Ok((Code::Ok, "No file needs to be changed.".to_owned()));
    }
    if !arguments.yes && !confirm("Change these files?") {
        return Ok((Code::Denied, "Nothing was changed.".to_owned()));
    }
    let root = restore.root().to_owned();
    let restored = restore.apply(arguments.overwrite, &NoBuffers).await?;
    Ok((Code::Ok, report(&request, &restored, &root)))
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
    let folder = chat.parent().unwrap_or(&here).to_owned();
    let chat = Some(Name(chat));
    let label = CallLabel {
        chat,
        ..CallLabel::default()
    };
    Ok((folder, JournalScope::Chat(label)))
}
