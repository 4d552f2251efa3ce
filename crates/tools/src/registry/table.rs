//! The table of built-in tools, and queries on it for the registry, presets, aliases, and file
//! protection.

use std::collections::BTreeSet;

use crate::builtin::{BuiltIn, FileAccess, PRESETS};
use crate::{bash, calculator, edit, fs_search, http, patch, read, todo, tool_search, write};

/// All built-in tools.
pub(crate) const BUILT_INS: [&BuiltIn; 14] = [
    &patch::BUILT_IN,
    &bash::BUILT_IN,
    &calculator::BUILT_IN,
    &calculator::BUILT_IN_ASYNC,
    &edit::BUILT_IN,
    &fs_search::FIND,
    &fs_search::GREP,
    &fs_search::LIST,
    &http::BUILT_IN,
    &read::BUILT_IN,
    &todo::BUILT_IN,
    &tool_search::EXECUTE,
    &tool_search::SEARCH,
    &write::BUILT_IN,
];

/// The tools that a built-in preset approves, or `None` for an unknown preset.
pub fn preset(name: &str) -> Option<impl Iterator<Item = &'static str>> {
    let rank = |preset: &str| PRESETS.iter().position(|it| *it == preset);
    let most = rank(name)?;
    let is_in = move |row: &&&BuiltIn| row.preset.and_then(rank).is_some_and(|it| it <= most);
    Some(BUILT_INS.iter().filter(is_in).map(|row| row.name))
}

/// Aliases, each with the name of its tool. A rule for the tool applies to both names.
pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = BUILT_INS.iter();
    rows.filter_map(|row| Some((row.alias?.0, row.name)))
}

/// The built-in tools that run without approval unless a rule denies them.
pub fn harmless() -> impl Iterator<Item = &'static str> {
    let rows = BUILT_INS.iter().filter(|row| row.harmless);
    rows.map(|row| row.name)
}

/// The names of built-in tools with this file access, including aliases.
pub fn with_access(access: FileAccess) -> BTreeSet<String> {
    let rows = BUILT_INS.iter().filter(|row| row.files == access);
    let names = rows.flat_map(|row| [Some(row.name), row.alias.map(|it| it.0)]);
    names.flatten().map(str::to_owned).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::files::FileLocks;

    #[test]
    fn a_row_has_the_name_of_its_tool_and_of_its_alias() {
        let locks = FileLocks::default();
        for row in BUILT_INS {
            assert_eq!(row.name, (row.make)(&locks).name());
            assert!(
                row.alias
                    .is_none_or(|(name, make)| name == make(&locks).name())
            );
        }
    }

    #[test]
    fn presets_approve_what_the_manual_says() {
        let of = |name: &str| preset(name).unwrap().collect::<BTreeSet<_>>();
        assert_eq!(of("$readonly"), ["read"].into());
        assert_eq!(
            of("$default"),
            ["apply_patch", "edit", "read", "write"].into()
        );
        let standard = [
            "apply_patch",
            "edit",
            "find",
            "grep",
            "ls",
            "read",
            "tool_search",
            "write",
        ];
        assert_eq!(of("$standard"), standard.into());
        assert!(preset("$other").is_none());
    }

    #[test]
    fn only_tools_that_change_files_name_files_to_change() {
        let (locks, cwd) = (FileLocks::default(), std::path::Path::new("/p"));
        for row in BUILT_INS {
            let tool = (row.make)(&locks);
            let named = tool.changes(
                &serde_json::json!({"path": "~/a", "input": "*** Delete File: b"}),
                cwd,
            );
            let expected = usize::from(row.files == FileAccess::Changes);
            assert_eq!(named.len(), expected, "{}", row.name);
            for input in ["{}", r#"{"path": 3}"#, r#"{"path": null}"#, "[]"] {
                let input = serde_json::from_str(input).unwrap();
                assert!(tool.changes(&input, cwd).is_empty(), "{}", row.name);
            }
        }
    }

    #[test]
    fn what_reads_or_changes_files_is_known_under_both_names() {
        let of = |access| with_access(access).into_iter().collect::<Vec<_>>();
        assert_eq!(
            of(FileAccess::Changes),
            ["apply_patch", "edit", "write", "write_file"]
        );
        let reading = [
            "find",
            "grep",
            "list_files",
            "ls",
            "read",
            "read_file",
            "search",
        ];
        assert_eq!(of(FileAccess::Reads), reading);
    }
}
