//! The environment of commands that are approved because they only read.
//!
//! Pure. Variables that name programs, options, or files to read are left out. Git gets settings
//! with which it runs no other program and does not refresh the index.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::options::is_in;
use super::path::{Folders, Order};

/// Variables that are passed on.
const PASSED: &str = "COLUMNS HOME LANG LANGUAGE LINES LOGNAME SHELL SSL_CERT_DIR SSL_CERT_FILE TERM \
    TMPDIR TZ USER XDG_CONFIG_HOME XDG_DATA_HOME all_proxy ftp_proxy http_proxy https_proxy no_proxy \
    ALL_PROXY FTP_PROXY HTTP_PROXY HTTPS_PROXY NO_PROXY";

/// Variables that are set.
const SET: [(&str, &str); 11] = [
    // In a partial clone, Git would start a transport.
    ("GIT_NO_LAZY_FETCH", "1"),
    // `git status` would write the index.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // Go's own configuration can set flags such as `-toolexec`, which run programs.
    ("GOENV", "off"),
    // A `go.mod` could make Go download and run another version of itself.
    ("GOTOOLCHAIN", "local"),
    // Node.js would write compiled code to a folder.
    ("NODE_DISABLE_COMPILE_CACHE", "1"),
    ("NO_COLOR", "1"),
    ("NO_UPDATE_NOTIFIER", "1"),
    ("PAGER", "cat"),
    // Python would write `__pycache__`.
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// Settings of Git that override all configuration files.
const GIT: [(&str, &str); 6] = [
    // The value may be a program.
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    // `git diff` would write the index.
    ("diff.autoRefreshIndex", "false"),
    // Signatures are checked by gpg, which is another program.
    ("log.showSignature", "false"),
    // Transports may be programs, too.
    ("protocol.allow", "never"),
    // A folder of the project may look like a bare repository, whose configuration runs
    // programs.
    ("safe.bareRepository", "explicit"),
];

/// The environment that such a command gets from the `inherited` variables.
///
/// `project` are folders that are removed from `PATH`.
pub(crate) fn environment(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    project: &[PathBuf],
    order: Order,
) -> Vec<(OsString, OsString)> {
    let mut path = None;
    let mut found = Vec::new();
    for (name, value) in inherited {
        if name == "PATH" {
            path = Some(value);
        } else if is_passed(&name, &value) {
            found.push((name, value));
        }
    }
    let folders = Folders::of(path.as_deref()).safe(project, order);
    found.push(("PATH".into(), folders.value()));
    found.extend(SET.iter().map(|(name, value)| (name.into(), value.into())));
    found.push(("GIT_CONFIG_COUNT".into(), GIT.len().to_string().into()));
    for (at, (name, value)) in GIT.iter().enumerate() {
        found.push((format!("GIT_CONFIG_KEY_{at}").into(), name.into()));
        found.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
    }
    found
}

fn is_passed(name: &OsStr, value: &OsStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    if name == "LANG" || name.starts_with("LC_") {
        // In some encodings, the last byte of a character is one that the shell interprets.
        let value = value.to_string_lossy().to_ascii_lowercase();
        return value.ends_with("utf-8")
            || value.ends_with("utf8")
            || matches!(value.as_str(), "c" | "posix");
    }
    is_in(PASSED, name)
}
