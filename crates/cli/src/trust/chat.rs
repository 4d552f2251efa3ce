//! `flemma trust` for a chat: trusts its frontmatter, as `:Flemma trust` does.
//!
//! [`policy::rules`] decides what loosens the options; [`TrustStore`] stores the trust.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chat::document::Document;
use policy::frontmatter::{self, Source};
use policy::rules::{self, Reading, Rules};
use policy::trust::{Escalation, Trust as TrustStore};
use tools::{Registry, state_dir};

use super::confirm;
use crate::arguments::TrustArgs;
use crate::config::{self, Config, Flags};
use crate::exit_code::Code;
use crate::headless::ChatFile;
use crate::terminal;

/// Lists what the frontmatter of `file` would allow, asks, and trusts its current text.
pub fn trust(file: &Path, arguments: &TrustArgs) -> ExitCode {
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
pub fn revoke(file: &Path) -> ExitCode {
    // The file may be gone; then its name alone has to do.
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
    // As if it were untrusted, so that everything that loosens the options is listed.
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
