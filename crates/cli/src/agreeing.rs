//! `flemma trust` of a folder: the user reads what a project brings along and agrees
//! to it.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::arguments::Trust;
use crate::exit_code::Code;
use crate::scripts;
use crate::terminal;

/// `flemma trust`
pub fn trust(trust: &Trust) -> ExitCode {
    let folder = trust.path.clone().unwrap_or_else(|| PathBuf::from("."));
    let Some(root) = std::path::absolute(&folder)
        .ok()
        .and_then(|folder| scripts::project_of(&folder))
    else {
        terminal::tell(
            "There is no folder .flemma/tools in this project, so there is nothing to trust.",
        );
        return Code::Error.into();
    };
    if !trust.revoke && !trust.yes {
        let mut lines = vec![format!("The tools in {}:", root.display())];
        lines.extend(scripts::lines(&root).iter().map(|line| format!("  {line}")));
        eprintln!("{}", terminal::visible(&lines.join("\n")));
        if !is_agreed("Have you read their files, and may they run?") {
            terminal::tell("Nothing was changed.");
            return Code::Denied.into();
        }
    }
    let said = if trust.revoke {
        scripts::disagree(&root)
    } else {
        scripts::agree(&root)
    };
    match said {
        Ok(text) => {
            terminal::tell(&text);
            Code::Ok.into()
        }
        Err(problem) => {
            terminal::tell(&problem);
            Code::Error.into()
        }
    }
}

/// Asks, and takes nobody's silence for a yes.
pub fn is_agreed(question: &str) -> bool {
    eprint!("{question} [y/N]: ");
    let _ = io::stderr().flush();
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
