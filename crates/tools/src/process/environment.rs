//! The environment of commands that a model wrote.

use std::ffi::OsString;

use super::ProcessMark;
use crate::variables::passed;

/// Variables of every command, which prevent prompts and colors.
const QUIET: [(&str, &str); 2] = [("GIT_TERMINAL_PROMPT", "0"), ("NO_COLOR", "1")];
/// Variables that name a pager, the general one first. The others precede what a program's own
/// configuration names.
const PAGERS: [&str; 7] = [
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "SYSTEMD_PAGER",
    "GH_PAGER",
    "BAT_PAGER",
    "AWS_PAGER",
];
/// Variables that name an editor, like [`PAGERS`].
const EDITORS: [&str; 10] = [
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "HGEDITOR",
    "SVN_EDITOR",
    "JJ_EDITOR",
    "GH_EDITOR",
    "KUBE_EDITOR",
    "SYSTEMD_EDITOR",
];
/// An editor that fails at once, as one word list for programs that start it without a shell. A real
/// one would wait for keys that nobody can press.
const NO_EDITOR: &str = "sh -c 'echo \"There is no editor here. Give the text as an argument (git: -m, -F, -C, \
                         --no-edit), or set GIT_EDITOR=true to keep a text as it is.\" >&2; exit 1'";

/// The environment of a command: the `inherited` variables that are passed on, then those that
/// keep it from waiting and the call's mark, then the user's `extra`, which override the others.
pub(crate) fn child_environment(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    extra: &[(String, String)],
    mark: &ProcessMark,
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = passed(inherited).collect();
    let own = QUIET
        .into_iter()
        .chain(PAGERS.map(|name| (name, "cat")))
        .chain(EDITORS.map(|name| (name, NO_EDITOR)))
        .chain([(ProcessMark::NAME, mark.value())]);
    environment.extend(own.map(|(name, value)| (name.into(), value.into())));
    // Last, because of variables with the same name, the last one counts.
    environment.extend(
        extra
            .iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_variables_come_last() {
        let extra = [("PAGER".to_owned(), "less".to_owned())];

        let environment = child_environment(std::iter::empty(), &extra, &ProcessMark::new("t"));

        assert_eq!(environment.last(), Some(&("PAGER".into(), "less".into())));
    }
}
