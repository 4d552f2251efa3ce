//! The files in which a project tells models its rules, as references.

use std::path::{Path, PathBuf};

use chat::references::encoded;
use platform::paths::slashed;

/// A folder's rules are in this file, else in all of the others.
const FIRST: &str = "AGENTS.md";
const OTHERS: [&str; 2] = ["CLAUDE.md", ".github/copilot-instructions.md"];
/// Maximum folders that are searched between a chat and the working directory.
const MOST_FOLDERS: usize = 32;

/// Returns references to the rules that apply to a chat, the nearest first. Files above the working
/// directory are outside the project, and could not be sent without a question.
pub fn references(folder: &Path, project: &Path) -> Vec<String> {
    let is_inside = folder.starts_with(project);
    let between = folder
        .ancestors()
        .take_while(|it| is_inside && *it != project);
    let mut folders: Vec<&Path> = between.take(MOST_FOLDERS).collect();
    if !is_inside {
        folders.push(folder);
    }
    folders.push(project);
    folders.dedup();
    let files = folders.into_iter().flat_map(rules_in);
    files.map(|it| reference(&it, folder)).collect()
}

fn rules_in(folder: &Path) -> Vec<PathBuf> {
    let first = folder.join(FIRST);
    if first.is_file() {
        return vec![first];
    }
    let others = OTHERS.map(|it| folder.join(it)).into_iter();
    others.filter(|it| it.is_file()).collect()
}

/// Returns a path that starts from a folder as a reference.
pub fn reference(path: &Path, folder: &Path) -> String {
    let mut up = String::new();
    for base in folder.ancestors() {
        if let Ok(rest) = path.strip_prefix(base) {
            let start = if up.is_empty() { "./" } else { &up };
            return format!("@{start}{}", encoded(&slashed(rest)));
        }
        up.push_str("../");
    }
    // On another drive.
    format!("@//{}", encoded(&slashed(path)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_rules_of_the_nearest_folder_come_first_and_agents_md_replaces_the_others() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for name in [
            "CLAUDE.md",
            ".github/copilot-instructions.md",
            "sub/AGENTS.md",
            "sub/CLAUDE.md",
        ] {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let expected = [
            "@./AGENTS.md",
            "@../CLAUDE.md",
            "@../.github/copilot-instructions.md",
        ];
        assert_eq!(references(&root.join("sub"), root), expected);
        let elsewhere = references(&root.join("sub"), &root.join("other"));
        assert_eq!(elsewhere, expected[..1]);
        let above = references(Path::new("/"), root);
        assert_eq!(above[0], format!("@.{}/CLAUDE.md", root.display()));
    }

    #[test]
    fn a_reference_to_a_path_with_blanks_is_encoded() {
        let of = |path: &str, folder: &str| reference(Path::new(path), Path::new(folder));
        assert_eq!(of("/a/b c;d/AGENTS.md", "/a"), "@./b%20c%3Bd/AGENTS.md");
        assert_eq!(of("/a/AGENTS.md", "/a/x/y"), "@../../AGENTS.md");
    }
}
