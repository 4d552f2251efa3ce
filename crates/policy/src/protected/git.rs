//! Files that a repository's Git configuration names: hooks, programs, and more
//! configuration. They run, or say what runs, at the user's next Git command.
//!
//! Reads configuration and runs nothing. Source: git-config(1).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum bytes of a configuration file.
const MOST: u64 = 1024 * 1024;
/// Maximum depth of includes, as in Git.
const DEEPEST: usize = 10;

/// Sections whose values are addresses, names, and switches, not files that run, except for
/// [`PROGRAMS`].
const HARMLESS: [&str; 8] = [
    "branch",
    "remote",
    "user",
    "author",
    "committer",
    "submodule",
    "url",
    "init",
];

/// Keys of harmless sections that name programs or a folder with hooks: of `init`, `remote`,
/// and `submodule`.
const PROGRAMS: [&str; 4] = ["templatedir", "uploadpack", "receivepack", "update"];

/// Returns the files and folders that Git's configuration names for work in `folder`, as far as
/// they are in its working tree, and included configuration anywhere. `home` is the user's.
pub fn named(folder: &Path, home: Option<&Path>) -> BTreeSet<PathBuf> {
    let Some((tree, git)) = repository(folder) else {
        return BTreeSet::new();
    };
    let mut reader = Reader {
        tree,
        home,
        found: BTreeSet::new(),
    };
    // A linked working tree shares its configuration with the main one.
    let common = common(&git);
    for file in [common.join("config"), git.join("config.worktree")] {
        reader.file(&file, 0);
    }
    // The user's configuration applies in this repository too, and may name its files.
    for file in users_files(home) {
        reader.file(&file, 0);
    }
    reader.file(Path::new("/etc/gitconfig"), 0);
    reader.found
}

/// Returns the user's configuration files, whether or not they exist.
fn users_files(home: Option<&Path>) -> Vec<PathBuf> {
    let named = tools::variable("GIT_CONFIG_GLOBAL").map(PathBuf::from);
    let folder = tools::variable("XDG_CONFIG_HOME").filter(|it| !it.is_empty());
    let xdg = folder.map(|it| Path::new(&it).join("git/config"));
    // All of them, although Git reads some only in the absence of others.
    let usual = home.map(|it| [it.join(".gitconfig"), it.join(".config/git/config")]);
    let usual = usual.into_iter().flatten();
    named.into_iter().chain(xdg).chain(usual).collect()
}

/// Returns the working tree that contains a folder, and the working tree's Git folder.
fn repository(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    folder.ancestors().find_map(|tree| {
        let git = tree.join(".git");
        // In submodules and linked working trees, `.git` is a file that names the folder.
        if git.is_dir() {
            return Some((tree.to_owned(), git));
        }
        let text = text(&git)?;
        let place = text.trim_end().strip_prefix("gitdir: ")?;
        Some((tree.to_owned(), tree.join(place)))
    })
}

/// Returns the folder with the configuration that a linked working tree shares.
fn common(git: &Path) -> PathBuf {
    match text(&git.join("commondir")) {
        Some(place) => git.join(place.trim_end()),
        None => git.to_owned(),
    }
}

fn text(path: &Path) -> Option<String> {
    let is_short = path
        .metadata()
        // Opening a pipe would block, and a device has no end.
        .is_ok_and(|it| it.is_file() && it.len() <= MOST);
    let bytes = is_short.then(|| fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

struct Reader<'a> {
    tree: PathBuf,
    home: Option<&'a Path>,
    found: BTreeSet<PathBuf>,
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, depth: usize) {
        // Files may include themselves in a circle.
        if depth > DEEPEST {
            return;
        }
        let Some(text) = text(path) else { return };
        for Setting {
            section,
            key,
            value,
        } in settings(&text)
        {
            // Conditions of `includeIf` are not evaluated: a file that might be included counts.
            let is_include = ["include", "includeif"].contains(&section.as_str());
            if is_include && key == "path" {
                // Relative to the including file. It counts even if it does not exist, because a
                // tool could create it.
                let folder = path.parent().unwrap_or(Path::new("/"));
                let included = self.path(&value, folder);
                self.found.insert(included.clone());
                self.file(&included, depth + 1);
            } else if !HARMLESS.contains(&section.as_str()) || PROGRAMS.contains(&key.as_str()) {
                self.value(&key, &value);
            }
        }
    }

    /// Adds the files of the working tree that a value names: a command, or a path.
    fn value(&mut self, key: &str, value: &str) {
        // A value may be a shell command, so each of its words may be a file.
        let words = value.split(|c: char| c.is_whitespace() || "\"'!;&|()<>=".contains(c));
        let is_folder = key == "hookspath" || key == "templatedir";
        // A command without a slash is found on PATH and not in the working tree.
        for word in words.filter(|it| is_folder && !it.is_empty() || it.contains('/')) {
            let path = self.path(word, &self.tree);
            // Folders of hooks count anywhere, because a tool could also fill one outside the
            // tree.
            if is_folder || path.starts_with(&self.tree) && path != self.tree {
                self.found.insert(path);
            }
        }
    }

    fn path(&self, text: &str, folder: &Path) -> PathBuf {
        let path = match (text.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => folder.join(text),
        };
        tools::without_dots(&path)
    }
}

/// One line of a configuration file; section and key in lower case.
struct Setting {
    section: String,
    key: String,
    value: String,
}

fn settings(text: &str) -> impl Iterator<Item = Setting> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in joined_lines(text) {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            // Git allows a setting behind its section's header, on the same line.
            let (header, behind) = rest.split_once(']').unwrap_or((rest, ""));
            let name = header.split(|c: char| c.is_whitespace() || c == '.' || c == '"');
            section = name.take(1).collect::<String>().to_lowercase();
            line = behind.trim();
        }
        // A key without a value is a switch, not a file.
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        found.push(Setting {
            section: section.clone(),
            key: key.trim().to_lowercase(),
            value: unquoted(value),
        });
    }
    found.into_iter()
}

/// Returns the lines, where a value that a backslash continues is one line. Git joins its parts
/// without a blank, and continues no comments.
fn joined_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut open = String::new();
    for line in text.lines() {
        open.push_str(line);
        if continues(&open) {
            open.pop();
        } else {
            lines.push(std::mem::take(&mut open));
        }
    }
    lines.push(open);
    lines
}

/// Returns true if a line ends with a backslash that is neither escaped nor in a comment.
fn continues(line: &str) -> bool {
    let mut quoted = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' if chars.next().is_none() => return true,
            '#' | ';' if !quoted => return false,
            _ => {}
        }
    }
    false
}

/// Returns a value without its comment, quotes, and escapes.
fn unquoted(value: &str) -> String {
    let mut plain = String::new();
    let mut quoted = false;
    let mut chars = value.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => plain.extend(chars.next()),
            '#' | ';' if !quoted => break,
            c => plain.push(c),
        }
    }
    plain.trim_end().to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_the_configuration_names_is_found_also_through_includes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, tree) = (root.join("me"), root.join("me/p"));
        fs::create_dir_all(tree.join(".git")).unwrap();
        fs::create_dir_all(tree.join("sub/deep")).unwrap();
        let config = "[core]\n\tbare = false\n\thooksPath = \"tools/hooks\" ; mine\n[include]\n path = ../shared/config\n\
                  [includeIf \"gitdir:~/p/\"]\n\tpath = ~/work.inc\n[diff \"x\"] textconv = ./bin/x --y\n\
                  [alias]\n\tz = !sh scripts/z.sh\n[remote \"o\"]\n\turl = a/b\n[gpg]\n\tprogram = /usr/bin/gpg\n";
        fs::write(tree.join(".git/config"), config).unwrap();
        fs::create_dir_all(tree.join("shared")).unwrap();
        fs::write(
            tree.join("shared/config"),
            "[filter \"f\"]\nclean = filters/c\n",
        )
        .unwrap();
        fs::write(home.join(".gitconfig"), "[core]\n  fsmonitor = .watch/it\n").unwrap();
        let found = named(&tree.join("sub/deep"), Some(&home));
        let expected = [
            "me/p/.watch/it",
            "me/p/bin/x",
            "me/p/filters/c",
            "me/p/scripts/z.sh",
            "me/p/shared/config",
            "me/p/tools/hooks",
            "me/work.inc",
        ];
        let expected: BTreeSet<PathBuf> = expected.iter().map(|it| root.join(it)).collect();
        assert_eq!(found, expected);
        assert_eq!(named(&root, Some(&home)), BTreeSet::new());
    }

    #[test]
    fn a_further_working_tree_goes_by_the_configuration_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let git = root.join("main/.git");
        fs::create_dir_all(git.join("worktrees/w")).unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        fs::write(git.join("config"), "[core]\nhooksPath=.husky\n").unwrap();
        fs::write(git.join("worktrees/w/commondir"), "../..\n").unwrap();
        let place = format!("gitdir: {}\n", git.join("worktrees/w").display());
        fs::write(root.join("w/.git"), place).unwrap();
        assert_eq!(named(&root.join("w"), None), [root.join("w/.husky")].into());
    }

    #[test]
    fn files_that_include_one_another_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".git/config"), "[include]\npath = config\n").unwrap();
        assert_eq!(named(&root, None), [root.join(".git/config")].into());
    }

    /// Returns the paths that a repository with this configuration names. Those in the
    /// working tree start from there.
    fn named_by(config: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".git/config"), config).unwrap();
        let found = named(&root, Some(Path::new("/home/me")));
        let inner = found
            .iter()
            .map(|path| path.strip_prefix(&root).unwrap_or(path));
        inner.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_value_names_files_of_the_working_tree_and_folders_of_hooks_anywhere() {
        for (config, expected) in [
            ("[core]\nhooksPath = hooks", &["hooks"][..]),
            ("[core]\nhooksPath = ~/hooks", &["/home/me/hooks"]),
            (
                "[remote \"o\"]\nuploadpack = ./a\nreceivepack = ./b\nurl = ./c",
                &["a", "b"],
            ),
            ("[submodule \"s\"]\npath = x/y\nupdate = !bin/z", &["bin/z"]),
            ("[core]\neditor = a/\\\n  b/c", &["a", "b/c"]),
            ("[core]\neditor = a/\\\nb", &["a/b"]),
            ("[core]\r\neditor = a/\\\r\nb\r\n", &["a/b"]),
            ("[core]\n# comment \\\nhooksPath = hooks", &["hooks"]),
            ("[core]\nbare = no ; comment \\\nhooksPath = h", &["h"]),
            ("[core]\neditor = \"a#/\\\nb\"", &["a#/b"]),
            ("[core]\neditor = a/b\\", &["a/b"]),
            ("[init]\ntemplateDir = template", &["template"]),
            ("[x]\ntemplateDir = template", &["template"]),
            ("[core]\neditor = bin/edit", &["bin/edit"]),
            ("[core]\neditor = vim", &[]),
            ("[core]\neditor = /usr/bin/vim", &[]),
            ("[core]\neditor = ./", &[]),
            ("[merge \"x\"]\npath = /usr/bin/merge", &[]),
            ("[include]\nother = a/b", &["a/b"]),
            ("[remote.origin]\nurl = a/b", &[]),
            ("[branch]\nmerge = refs/heads/main", &[]),
            ("[alias]\nx = \"!sh bin/a#b\"", &["bin/a#b"]),
            ("[alias]\nx = !sh bin/a # bin/b", &["bin/a"]),
            ("[alias]\nx = !sh bin/a ; bin/b", &["bin/a"]),
            ("[alias]\nx = !sh \\\n bin/a", &["bin/a"]),
        ] {
            assert_eq!(named_by(config), expected, "{config}");
        }
    }

    #[test]
    fn a_configuration_of_one_megabyte_is_read_and_a_larger_one_is_not() {
        let config = "[core]\nhooksPath = hooks\n";
        for (size, expected) in [(1_048_576, &["hooks"][..]), (1_048_577, &[])] {
            let comment = "#".repeat(size - config.len());
            assert_eq!(named_by(&format!("{config}{comment}")), expected, "{size}");
        }
    }

    #[test]
    fn ten_files_may_include_one_another() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".git/config"), "[include]\npath = ../1\n").unwrap();
        for at in 1..=11 {
            let text = format!("[include]\npath = {}\n[core]\nhooksPath = h{at}\n", at + 1);
            fs::write(root.join(at.to_string()), text).unwrap();
        }
        let found = named(&root, None);
        assert!(found.contains(&root.join("h10")));
        assert!(
            !found.contains(&root.join("h11")),
            "Git does not read it either"
        );
    }
}
