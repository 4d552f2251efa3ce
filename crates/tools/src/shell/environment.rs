//! The environment of commands that are approved because they only read.
//!
//! Among the variables that every command gets, those that name programs, options, or files to read are
//! left out. Git gets settings with which it does not try to write.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use platform::paths::canonicalize;
use platform::{programs, user};

use super::programs::is_in;
use crate::variables::passed;

/// Variables that are passed on, unless no command gets them, for example because of a password.
const PASSED: &str = "COLUMNS HOME LANG LANGUAGE LINES LOGNAME SHELL SSL_CERT_DIR SSL_CERT_FILE TERM \
    TMPDIR TZ USER XDG_CONFIG_HOME XDG_DATA_HOME all_proxy ftp_proxy http_proxy https_proxy no_proxy \
    ALL_PROXY FTP_PROXY HTTP_PROXY HTTPS_PROXY NO_PROXY";

/// Variables that are set.
const SET: [(&str, &str); 6] = [
    // In a partial clone, Git would start a transport.
    ("GIT_NO_LAZY_FETCH", "1"),
    // `git status` would try to write the index.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
];

/// Settings of Git that override all configuration files.
const GIT: [(&str, &str); 2] = [
    // Git would wait for a service, which it can't reach in the view.
    ("core.fsmonitor", "false"),
    // `git diff` would try to write the index.
    ("diff.autoRefreshIndex", "false"),
];

/// The environment that such a command gets from the `inherited` variables.
///
/// `project` are folders that are removed from `PATH`. `is_viewed` if the read-only view holds the command.
pub(crate) fn environment(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    project: &[PathBuf],
    is_viewed: bool,
) -> Vec<(OsString, OsString)> {
    let mut path = None;
    let mut found = Vec::new();
    for (name, value) in passed(inherited) {
        if name == "PATH" {
            path = Some(value);
        } else if is_passed(&name, &value) {
            found.push((name, value));
        }
    }
    let folders = Folders::of(path.as_deref()).safe(project, is_viewed);
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

// Finds programs by name, and makes the `PATH` of approved commands.

/// System folders. Only their programs are approved.
pub(super) const SYSTEM: [&str; 9] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin",
];
/// Why no command is approved because it only reads. `None` where commands are looked at.
pub(super) const REFUSED: Option<&str> = if programs::SYSTEM_PROGRAMS_ARE_KNOWN {
    None
} else {
    Some("on Windows, no program is known to only read.")
};

/// Folders of programs, in search order.
#[derive(Debug, Clone, Default)]
pub(super) struct Folders(Vec<PathBuf>);

impl Folders {
    /// The folders of a `PATH`.
    pub(super) fn of(path: Option<&OsStr>) -> Self {
        let folders = path.into_iter().flat_map(std::env::split_paths);
        Self(folders.collect())
    }

    /// The folders that approved commands get: system folders and absolute folders outside
    /// `project`, without those that all users can write to. System folders come first if no view
    /// holds the command.
    pub(super) fn safe(&self, project: &[PathBuf], is_viewed: bool) -> Self {
        let more = SYSTEM.iter().map(PathBuf::from);
        let more = more.filter(|it| !self.0.contains(it) && it.is_dir());
        let is_outside = |it: &PathBuf| {
            // A link outside of the project may lead into it.
            let real = canonicalize(it).unwrap_or_default();
            let inside = |root: &PathBuf| it.starts_with(root) || real.starts_with(root);
            is_system(it) || it.is_absolute() && !project.iter().any(inside)
        };
        let given = self.0.iter().filter(|it| is_outside(it)).cloned();
        let mut all: Vec<PathBuf> = given.chain(more).collect();
        // Any user could put a program there.
        all.retain(|it| !is_writable_by_all(it));
        if !is_viewed {
            // The sort is stable, so each group keeps its order.
            all.sort_by_key(|it| !is_system(it));
        }
        Self(all)
    }

    /// The value of `PATH`.
    pub(super) fn value(&self) -> OsString {
        // A `PATH` can't contain a folder with a colon in its name.
        std::env::join_paths(&self.0).unwrap_or_else(|_| SYSTEM.join(":").into())
    }

    /// The first program with this name.
    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        let files = self.0.iter().map(|it| it.join(name));
        files
            .into_iter()
            .find(|it| it.is_file() && programs::check(it).is_ok())
    }
}

/// Returns true if a program is in a system folder.
pub(super) fn is_system_program(file: &Path) -> bool {
    file.parent().is_some_and(is_system)
}

fn is_system(folder: &Path) -> bool {
    SYSTEM.iter().any(|it| Path::new(it) == folder)
}

fn is_writable_by_all(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|it| user::all_can_write(&it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::PASSED as ALL;

    #[test]
    fn no_password_is_passed_on() {
        for name in PASSED.split_whitespace() {
            for value in ["http://me:secret@proxy:3128", "https://secret@host/x"] {
                let inherited = [(name.into(), value.into())].into_iter();
                let found = environment(inherited, &[], false);
                let mut values = found.iter().map(|(_, value)| value.to_string_lossy());
                assert!(!values.any(|it| it.contains("secret")), "{name}={value}");
            }
        }
    }

    #[test]
    fn every_command_gets_what_these_commands_get() {
        let all: Vec<&str> = ALL
            .iter()
            .flat_map(|(_, names)| names.split_whitespace())
            .collect();
        for name in PASSED.split_whitespace() {
            assert!(all.contains(&name), "{name}");
        }
    }
}
