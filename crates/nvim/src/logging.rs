//! Where the host's log goes: a file that only its owner can read.
//!
//! Standard output is the wire and standard error the user's terminal, so
//! neither is ever written to.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

/// The crates that `flemma` includes in `$FLEMMA_LOG`, beside the program's own.
const CRATES: [&str; 6] = ["agent", "mcp", "nvim", "policy", "session", "tools"];

/// Logs to `path` from now on; a second call changes nothing. What is logged is
/// set by `$FLEMMA_LOG`, in the syntax of `tracing_subscriber`'s `EnvFilter`, where
/// `flemma` means all crates of this program; warnings and errors by default.
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
        .mode(0o600)
        .open(path)?;
    let given = tools::variable("FLEMMA_LOG");
    let filter = given.and_then(|it| EnvFilter::try_new(with_all_crates(&it)).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new("warn"));
    // An error means that a log was started before, which then goes on.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(Mutex::new(file))
        .try_init();
    Ok(())
}

/// Repeats each directive for `flemma` for every crate of the program: users need not know
/// how it is divided.
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
