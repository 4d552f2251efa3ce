//! `flemma undo`: restores the files that a call changed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use session::restoring::{before, nothing, report};
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
    loop {
        let planned = Restore::plan(folder.clone(), scope.clone(), request.clone(), &NoBuffers);
        let Some(restore) = planned.await? else {
            return Ok((Code::Ok, nothing(&request).to_owned()));
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

/// Lists the calls, and what would change.
fn list(restore: &Restore) {
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
}

/// What becomes of a planned restore.
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
        return match arguments.yes || confirm("Change these files?") {
            true => Decision::Restore,
            false => denied(),
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
    match arguments.yes {
        true => Decision::Stop(
            Code::Ok,
            format!(
                "Nothing was changed. `--overwrite` restores files that have changed since; `--skip` goes on to {before}."
            ),
        ),
        false => denied(),
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
    let folder = chat.parent().unwrap_or(&here).to_owned();
    let chat = Some(Name(chat));
    let label = CallLabel {
        chat,
        ..CallLabel::default()
    };
    Ok((folder, JournalScope::Chat(label)))
}
