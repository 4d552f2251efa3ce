//! `flemma trust` for a folder: trusts the options, skills, templates, and script tools of
//! its project.

use std::path::Path;
use std::process::ExitCode;

use session::projects::ProjectContent;
use session::scripts::{self, ListedTools};

use super::confirm;
use crate::arguments::TrustArgs;
use crate::config::{self, Flags};
use crate::exit_code::Code;
use crate::problems::in_a_shell;
use crate::terminal;

/// Trusts what the project that contains the folder brings along, or revokes that.
pub fn trust(arguments: &TrustArgs) -> ExitCode {
    let folder = arguments.path.as_deref().unwrap_or(Path::new("."));
    let folder = platform::paths::canonicalize(folder).or_else(|_| std::path::absolute(folder));
    let folder = folder.unwrap_or_default();
    let offered = match ProjectContent::around(&folder) {
        Ok(offered) => offered,
        Err(problem) => return Code::Error.report(&problem),
    };
    let tools = scripts::project_of(&folder);
    if offered.is_empty() && tools.is_none() {
        return Code::Error.report(
            "This project has no options, skills, templates, or tools in a folder .flemma, so there is nothing to \
             trust.",
        );
    }
    let mut code = Code::Ok;
    let mut said = Vec::new();
    let mut take = |result: Result<String, (Code, String)>| match result {
        Ok(text) => said.push(text),
        Err((failed, text)) => {
            code = failed;
            said.push(text);
        }
    };
    if !offered.is_empty() {
        take(if arguments.revoke {
            offered.revoke().map_err(failed)
        } else {
            trust_offered(&offered, arguments)
        });
    }
    if let Some(root) = tools {
        take(if arguments.revoke {
            scripts::revoke(&root).map_err(failed)
        } else {
            trust_tools(&root, arguments)
        });
    }
    code.report(&in_a_shell(&said.join("\n")))
}

fn failed(problem: String) -> (Code, String) {
    (Code::Error, problem)
}

fn refused() -> (Code, String) {
    (Code::Denied, "Nothing was changed.".to_owned())
}

/// Lists what the project's options, skills, and templates do, asks, and trusts them.
fn trust_offered(
    offered: &ProjectContent,
    arguments: &TrustArgs,
) -> Result<String, (Code, String)> {
    let flags = Flags {
        file: arguments.config.clone(),
        ..Flags::default()
    };
    let user = config::load(&flags).map_err(|_| {
        // `load` has reported why.
        (Code::Error, "Nothing was trusted.".to_owned())
    })?;
    if offered.is_trusted() {
        return Ok("The project's options, skills, and templates are trusted already.".to_owned());
    }
    let (registry, _) = config::registry(&flags);
    let lines = offered.would(&user.settings, &registry);
    // The project wrote what is listed, and an escape sequence in it could hide other lines.
    let heading = format!("In {}:", offered.root().display());
    let lines: Vec<String> = std::iter::once(heading)
        .chain(lines.iter().map(|it| format!("  {it}")))
        .collect();
    eprintln!("{}", terminal::visible(&lines.join("\n")));
    if !arguments.yes && !confirm("Is that what you want?") {
        return Err(refused());
    }
    offered.trust().map_err(failed)
}

/// Lists the project's tools, asks, and trusts them.
fn trust_tools(root: &Path, arguments: &TrustArgs) -> Result<String, (Code, String)> {
    let offered = ListedTools::read(root).map_err(failed)?;
    if !arguments.yes && !is_confirmed(root, &offered) {
        return Err(refused());
    }
    offered.trust().map_err(failed)
}

/// Lists the tools and asks whether they may run.
fn is_confirmed(root: &Path, offered: &ListedTools) -> bool {
    let mut lines = vec![format!("The tools in {}:", root.display())];
    lines.extend(offered.lines.iter().map(|line| format!("  {line}")));
    eprintln!("{}", terminal::visible(&lines.join("\n")));
    confirm("Have you read their files, and may they run?")
}
