//! The environment of a command that was approved because it only reads.
//!
//! Pure. Variables that name programs, options, or files to read are left out; Git is
//! told to run nothing on the side and to leave the index alone.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::path::{Folders, Order};

/// What is passed on: where the user is, and how to print.
const PASSED: [&str; 25] = [
    "COLUMNS",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LOGNAME",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CONFIG_HOME",
    "all_proxy",
    "ftp_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "ALL_PROXY",
    "FTP_PROXY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "XDG_DATA_HOME",
];

/// What is set.
const SET: [(&str, &str); 11] = [
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GOENV", "off"),
    ("GOTOOLCHAIN", "local"),
    ("NODE_DISABLE_COMPILE_CACHE", "1"),
    ("NO_COLOR", "1"),
    ("NO_UPDATE_NOTIFIER", "1"),
    ("PAGER", "cat"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// Settings of Git that win over every file.
const GIT: [(&str, &str); 6] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("diff.autoRefreshIndex", "false"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
];

/// The variables of `inherited` that such a command gets, and what is set for it.
/// `project` are folders whose programs are not trusted; `order` is that of `PATH`.
pub(crate) fn environment(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    project: &[PathBuf],
    order: Order,
) -> Vec<(OsString, OsString)> {
    let is_passed = |name: &OsStr| {
        let name = name.to_str().unwrap_or_default();
        PASSED.contains(&name) || name.starts_with("LC_")
    };
    // In some encodings a character ends in a byte that means something to the shell.
    let is_plain = |name: &OsStr, value: &OsStr| {
        let is_locale = name == "LANG" || name.as_encoded_bytes().starts_with(b"LC_");
        let value = value.to_string_lossy().to_ascii_lowercase();
        !is_locale
            || ["utf-8", "utf8"].iter().any(|it| value.ends_with(it))
            || value == "c"
            || value == "posix"
    };
    let mut path = None;
    let mut found = Vec::new();
    for (name, value) in inherited {
        if name == "PATH" {
            path = Some(value);
        } else if is_passed(&name) && is_plain(&name, &value) {
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
