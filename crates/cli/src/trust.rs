//! `flemma trust`: records the user's trust in a project's tools or in a chat's frontmatter.

mod chat;
mod project;

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use crate::arguments::TrustArgs;

/// `flemma trust`. A path that is no folder is a chat.
pub fn command(arguments: &TrustArgs) -> ExitCode {
    match arguments.path.as_deref().filter(|path| !path.is_dir()) {
        Some(chat) if arguments.revoke => chat::revoke(chat),
        Some(chat) => chat::trust(chat, arguments),
        None => project::trust(arguments),
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
