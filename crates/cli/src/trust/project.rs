//! `flemma trust` for a folder: trusts the script tools of its project.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::confirm;
use crate::arguments::TrustArgs;
use crate::exit_code::Code;
use crate::scripts;
use crate::terminal;

/// Trusts the tools of the project that contains the folder, or revokes that.
pub fn trust(arguments: &TrustArgs) -> ExitCode {
    let folder = arguments.path.as_deref().unwrap_or(Path::new("."));
    let Some(root) = tools_of(folder) else {
        return Code::Error.report(
            "There is no folder .flemma/tools in this project, so there is nothing to trust.",
        );
    };
    if arguments.revoke {
        return report(scripts::revoke(&root));
    }
    if !arguments.yes && !is_confirmed(&root) {
        return Code::Denied.report("Nothing was changed.");
    }
    report(scripts::trust(&root))
}

/// Returns the folder of tools of the project that contains `folder`.
fn tools_of(folder: &Path) -> Option<PathBuf> {
    scripts::project_of(&std::path::absolute(folder).ok()?)
}

/// Lists the tools and asks whether they may run.
fn is_confirmed(root: &Path) -> bool {
    let mut lines = vec![format!("The tools in {}:", root.display())];
    lines.extend(scripts::lines(root).iter().map(|line| format!("  {line}")));
    eprintln!("{}", terminal::visible(&lines.join("\n")));
    confirm("Have you read their files, and may they run?")
}

fn report(result: Result<String, String>) -> ExitCode {
    match result {
        Ok(message) => Code::Ok.report(&message),
        Err(problem) => Code::Error.report(&problem),
    }
}
