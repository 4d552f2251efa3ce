//! The host's log: a file that only its owner can read.
//!
//! Standard output is the channel to Neovim, and standard error is the user's terminal.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Mutex;

use platform::files::PrivateOptions;
use tracing_subscriber::EnvFilter;

/// The crates that `flemma` in `$FLEMMA_LOG` includes, in addition to the program.
const CRATES: [&str; 6] = ["agent", "mcp", "nvim", "policy", "session", "tools"];

/// Starts logging to `path`. A second call changes nothing. `$FLEMMA_LOG` selects what is
/// logged, in the syntax of [`EnvFilter`], where `flemma` means all crates of this program.
/// The default is warnings and errors.
///
/// # Errors
///
/// The file cannot be opened.
pub fn start(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        // The log can contain parts of chats.
        .private()
        .open(path)?;
    let directives = tools::variable("FLEMMA_LOG");
    // An invalid filter is ignored, because a typo must not cost the log of warnings.
    let filter = directives.and_then(|it| EnvFilter::try_new(with_all_crates(&it)).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new("warn"));
    let filter = match mcp::LOG_LIMIT.parse() {
        Ok(directive) => filter.add_directive(directive),
        Err(_) => EnvFilter::new("warn"),
    };
    // Fails if a log was started before, which continues.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // The file is read with editors and pagers.
        .with_ansi(false)
        .with_writer(Mutex::new(file))
        .try_init();
    Ok(())
}

/// Repeats each directive for `flemma` for every crate, because users need not know them.
fn with_all_crates(directives: &str) -> String {
    let mut all: Vec<String> = Vec::new();
    for directive in directives.split(',') {
        let level = directive.trim().strip_prefix("flemma");
        if let Some(level) = level.filter(|it| it.is_empty() || it.starts_with('=')) {
            all.extend(CRATES.iter().map(|name| format!("{name}{level}")));
        }
        all.push(directive.to_owned());
    }
    all.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flemma_means_every_crate_of_the_program() {
        let all = "agent=debug,mcp=debug,nvim=debug,policy=debug,session=debug,tools=debug";
        assert_eq!(
            with_all_crates("warn,flemma=debug"),
            format!("warn,{all},flemma=debug")
        );
        assert_eq!(
            with_all_crates("session=trace,flemmas"),
            "session=trace,flemmas"
        );
    }
}
