//! The environment of commands that a model wrote.

use std::ffi::OsString;

use super::ProcessMark;
use crate::variables::passed;

/// Variables of every command, which prevent prompts, pagers, and colors.
const QUIET: [(&str, &str); 4] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("NO_COLOR", "1"),
];

/// The environment of a command: the `inherited` variables that are passed on, then [`QUIET`] and
/// the call's mark, then the user's `extra`, which override the others.
pub(crate) fn child_environment(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    extra: &[(String, String)],
    mark: &ProcessMark,
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = passed(inherited).collect();
    let own = QUIET
        .iter()
        .copied()
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
