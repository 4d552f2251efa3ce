//! `flemma trust` of a chat: the user's word on its frontmatter, given in a shell. Says
//! what it would allow, and asks.
//!
//! What loosens is decided by [`crate::rules`]; the word is kept by [`Trust`].

use std::path::Path;
use std::process::ExitCode;

use chat::document::Document;
use tools::Registry;

use crate::agreeing::is_agreed;
use crate::config::Config;
use crate::exit_code::Code;
use crate::frontmatter::{self, Source};
use crate::headless::ChatFile;
use crate::rules::{self, Reading, Rules};
use crate::state_dir;
use crate::terminal;
use crate::trust::{Escalation, Trust};

/// Agrees to the frontmatter of `file` as it stands. Without `yes` the user is asked;
/// where nobody answers, nothing is agreed to.
pub fn agree(file: &Path, yes: bool, config: &Config, tools: &Registry) -> ExitCode {
    let (path, source) = match read(file) {
        Ok(found) => found,
        Err(problem) => return told(Code::Error, &problem),
    };
    let text = source.text.clone();
    let allowed = match loosened(source, config, tools) {
        Ok(allowed) => allowed,
        Err(problem) => {
            return told(Code::Error, &format!("{problem} Nothing was trusted."));
        }
    };
    for it in &allowed {
        terminal::tell(&format!("Line {} {}.", it.line, it.what));
    }
    if allowed.is_empty() {
        terminal::tell("It allows nothing that the options of the command line do not.");
    }
    if !yes && !is_agreed("Is that what you want?") {
        return told(
            Code::Denied,
            "Nothing was trusted; --yes agrees without a question.",
        );
    }
    match Trust::open(&state_dir::path()).trust(&path, &text) {
        Ok(()) => told(
            Code::Ok,
            "The frontmatter is trusted as it stands. `flemma trust --revoke` takes that back.",
        ),
        Err(error) => told(
            Code::Error,
            &format!("The frontmatter cannot be trusted: {error}."),
        ),
    }
}

/// Takes back what was agreed to for `file`.
pub fn revoke(file: &Path) -> ExitCode {
    let path = std::fs::canonicalize(file).or_else(|_| std::path::absolute(file));
    let revoked = path.and_then(|path| Trust::open(&state_dir::path()).revoke(&path));
    match revoked {
        Ok(true) => told(
            Code::Ok,
            "Nothing that you agreed to for this file holds any more.",
        ),
        Ok(false) => told(Code::Ok, "Nothing was agreed to for this file."),
        Err(error) => told(
            Code::Error,
            &format!("The trust store cannot be changed: {error}."),
        ),
    }
}

/// Where the chat really is, and its frontmatter.
fn read(file: &Path) -> Result<(std::path::PathBuf, Source), String> {
    let shown = file.display();
    let (chat, text) =
        ChatFile::open(file).map_err(|error| format!("{shown} cannot be read: {error}."))?;
    let text = text.ok_or_else(|| format!("{shown} does not exist."))?;
    let document = Document::parse(&text);
    if let Some(problem) = document
        .frontmatter
        .as_ref()
        .and_then(|it| it.problem.clone())
    {
        return Err(format!("{shown}: {problem} Nothing was trusted."));
    }
    let source = Source::of(&document, Some(chat.path()));
    let source = source
        .ok_or_else(|| format!("{shown} has no frontmatter, so there is nothing to trust."))?;
    Ok((chat.path().to_owned(), source))
}

/// What it would allow beyond the options.
fn loosened(source: Source, config: &Config, tools: &Registry) -> Result<Vec<Escalation>, String> {
    let known = rules::known(&config.settings, tools);
    let result = frontmatter::evaluate(&source, &known);
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

fn told(code: Code, text: &str) -> ExitCode {
    terminal::tell(text);
    code.into()
}
