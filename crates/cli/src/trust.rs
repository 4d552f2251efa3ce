//! `flemma trust`: records the user's trust in a project's tools or in a chat's frontmatter.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chat::document::Document;
use policy::frontmatter::{self, Source};
use policy::rules::{self, Reading, Rules};
use policy::trust::{Escalation, Trust as TrustStore};
use session::projects::ProjectContent;
use session::scripts::{self, ListedTools};
use tools::{Registry, state_dir};

use crate::arguments::TrustArgs;
use crate::config::{self, Config, Flags};
use crate::headless::ChatFile;
use crate::problems::in_a_shell;
use crate::terminal::{self, Code};

/// `flemma trust`. A path that is not a folder is a chat.
pub fn command(arguments: &TrustArgs) -> ExitCode {
    match arguments.path.as_deref().filter(|path| !path.is_dir()) {
        Some(chat) if arguments.revoke => revoke_chat(chat),
        Some(chat) => trust_chat(chat, arguments),
        None => trust_project(arguments),
    }
}

/// Asks a question on standard error. Returns true only for an explicit yes.
pub fn confirm(question: &str) -> bool {
    eprint!("{question} [y/N]: ");
    let _ = io::stderr().flush();
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Lists what the frontmatter of `file` would allow, asks, and trusts its current text.
fn trust_chat(file: &Path, arguments: &TrustArgs) -> ExitCode {
    let flags = Flags {
        file: arguments.config.clone(),
        ..Flags::default()
    };
    let config = match config::load(&flags) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let (path, source) = match read(file) {
        Ok(found) => found,
        Err(problem) => return Code::Error.report(&problem),
    };
    // The text that is shown is trusted, even if the file changes before the answer.
    let text = source.text.clone();
    match escalations(source, &config, &config::registry(&flags).0) {
        Ok(found) => print(&found),
        Err(problem) => return Code::Error.report(&format!("{problem} Nothing was trusted.")),
    }
    if !arguments.yes && !confirm("Is that what you want?") {
        return Code::Denied.report("Nothing was trusted. --yes trusts without asking.");
    }
    match TrustStore::open(&state_dir::path()).trust(&path, &text) {
        Ok(()) => Code::Ok.report(
            "The frontmatter is trusted as long as it does not change. `flemma trust --revoke` \
             revokes that.",
        ),
        Err(error) => Code::Error.report(&format!("The trust store cannot be changed: {error}.")),
    }
}

/// Revokes the trust in the frontmatter of `file`.
fn revoke_chat(file: &Path) -> ExitCode {
    // If the file is gone, its name alone must do.
    let path = platform::paths::canonicalize(file).or_else(|_| std::path::absolute(file));
    let revoked = path.and_then(|path| TrustStore::open(&state_dir::path()).revoke(&path));
    match revoked {
        Ok(true) => Code::Ok.report("The frontmatter of this file is no longer trusted."),
        Ok(false) => Code::Ok.report("The frontmatter of this file was not trusted."),
        Err(error) => Code::Error.report(&format!("The trust store cannot be changed: {error}.")),
    }
}

fn print(escalations: &[Escalation]) {
    for it in escalations {
        terminal::report(&format!("Line {} {}.", it.line, it.what));
    }
    if escalations.is_empty() {
        terminal::report("It allows nothing that your options do not allow.");
    }
}

/// Returns the real path of a chat and its frontmatter.
fn read(file: &Path) -> Result<(PathBuf, Source), String> {
    let shown = file.display();
    let (chat, text) =
        ChatFile::open(file).map_err(|error| format!("{shown} cannot be read: {error}."))?;
    let text = text.ok_or_else(|| format!("{shown} does not exist."))?;
    let document = Document::parse(&text);
    let frontmatter = document.frontmatter.as_ref();
    if let Some(problem) = frontmatter.and_then(|it| it.problem.clone()) {
        return Err(format!("{shown}: {problem} Nothing was trusted."));
    }
    let source = Source::of(&document, Some(chat.path()))
        .ok_or_else(|| format!("{shown} has no frontmatter, so there is nothing to trust."))?;
    Ok((chat.path().to_owned(), source))
}

/// Returns what the frontmatter would allow beyond the options.
fn escalations(
    source: Source,
    config: &Config,
    tools: &Registry,
) -> Result<Vec<Escalation>, String> {
    let known = rules::known(&config.settings, tools);
    let result = frontmatter::evaluate(&source, &known);
    // Read as untrusted, so that everything that loosens the options is listed.
    let reading = Reading {
        text: source.text,
        result,
        trusted: false,
    };
    let plain = Rules::plain(&config.settings, tools);
    let rules = Rules::with(&plain, tools, reading);
    match rules.options.frontmatter {
        Some(Err(problem)) => Err(problem),
        _ => Ok(rules.withheld),
    }
}

/// Trusts the options, skills, templates, and tools of the project that contains the folder, or
/// revokes that trust.
fn trust_project(arguments: &TrustArgs) -> ExitCode {
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
