//! Removes commands from Git's todo lists that a sandboxed command added.
//!
//! `exec` lines of a todo list run when the user continues the rebase, outside the sandbox. The
//! rest of the list is kept, so that the command's own rebase can continue. Source:
//! git-rebase(1) and Git's `sequencer.c`.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};

use super::watch::{open, set_aside};

/// Folders in a Git directory that exist during a rebase, cherry-pick, or revert, and the names
/// of their lists.
const LISTS: [(&str, &str); 2] = [("rebase-merge", "git-rebase-todo"), ("sequencer", "todo")];
/// Maximum size of a list that is read, in bytes.
const MOST: u64 = 16 * 1024 * 1024;

/// Lines that run commands, trimmed.
pub(super) type Commands = HashSet<Vec<u8>>;

/// The commands in the lists of a Git directory.
pub(super) fn commands(git: &Path) -> Commands {
    let lists = LISTS
        .iter()
        .map(|(folder, name)| git.join(folder).join(name));
    let texts = lists.filter_map(|path| read(&path));
    let lines = texts.flat_map(|text| {
        let lines = text
            .split(|byte| *byte == b'\n')
            .filter(|it| is_command(it));
        lines.map(|it| it.trim_ascii().to_vec()).collect::<Vec<_>>()
    });
    lines.collect()
}

/// Removes commands from the lists of `git`, a Git directory below `root`, unless they are in
/// `before`. Returns a sentence about each changed list.
pub(super) fn take(root: &Path, git: &Path, before: &Commands) -> Vec<String> {
    let lists = LISTS.iter().filter_map(|(folder, name)| {
        let folder = git.join(folder);
        let path = folder.join(name);
        // Git itself creates no links here.
        for link in [&folder, &path] {
            if link.is_symlink() {
                return Some(super::watch::taken(root, link));
            }
        }
        let size = fs::metadata(&path).ok()?.len();
        // A file tool wrote this list, in a call that was approved.
        if super::bwrap::is_as_written(&path) {
            return None;
        }
        // A list that is too long to be read is put aside as a whole.
        if size > MOST {
            return Some(super::watch::taken(root, &path));
        }
        let rest = without_new_commands(&read(&path)?, before)?;
        Some(match replace(root, &path, &rest) {
            Ok(new) => format!(
                "{} had lines that run commands and has them no longer; as it was, it is {}.",
                shown(&path),
                shown(&new)
            ),
            Err(error) => format!(
                "{} has lines that run commands and could not be changed ({error}).",
                shown(&path)
            ),
        })
    });
    lists.collect()
}

fn shown(path: &Path) -> String {
    platform::paths::visible(path)
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let found = fs::metadata(path).ok()?;
    let is_readable = found.is_file() && found.len() <= MOST;
    is_readable.then(|| fs::read(path).ok()).flatten()
}

/// The list without commands that are not in `before`, or `None` if it has no such commands.
fn without_new_commands(text: &[u8], before: &Commands) -> Option<Vec<u8>> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let is_new = |line: &&[u8]| is_command(line) && !before.contains(line.trim_ascii());
    let rest: Vec<&[u8]> = lines.filter(|line| !is_new(line)).collect();
    let rest = rest.concat();
    (rest.len() < text.len()).then_some(rest)
}

/// Returns true if a line runs a command.
fn is_command(line: &[u8]) -> bool {
    // More separators than Git's own, because a command that is missed would run.
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0);
    let mut words = line.split(is_blank).filter(|word| !word.is_empty());
    matches!(words.next(), Some(b"exec" | b"x"))
}

/// Renames a list, writes `rest` as the new list, and returns the name of the old one.
fn replace(root: &Path, path: &Path, rest: &[u8]) -> io::Result<PathBuf> {
    let new = set_aside(root, path)?;
    let (folder, name) = path
        .parent()
        .zip(path.file_name())
        .ok_or(io::ErrorKind::NotFound)?;
    // With EXCL, a link that has taken the name meanwhile is not followed.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o644);
    let list = openat(open(root, folder)?, name, flags, mode)?;
    fs::File::from(list).write_all(rest)?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn commands_are_recognized_as_git_does() {
        for line in ["exec make", "x make", " \tx\tmake\r", "exec", "x"] {
            assert!(is_command(line.as_bytes()), "{line}");
        }
        for line in [
            "pick 1234 exec make",
            "# exec make",
            "X make",
            "exec2 y",
            "xy",
            "",
            "label x",
        ] {
            assert!(!is_command(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn a_command_from_before_is_kept() {
        let before = Commands::from([b"exec make test".to_vec()]);
        let text = b"pick 1\nexec make test\nexec evil\npick 2\n\tx evil";
        let rest = without_new_commands(text, &before).unwrap();
        assert_eq!(rest, b"pick 1\nexec make test\npick 2\n");
        assert_eq!(
            without_new_commands(b"pick 1\n exec make test", &before),
            None
        );
    }

    #[test]
    fn the_original_list_is_kept_beside_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let git = root.join(".git");
        for (folder, name) in LISTS {
            fs::create_dir_all(git.join(folder)).unwrap();
            fs::write(git.join(folder).join(name), "pick 1\nexec a\n").unwrap();
        }
        assert_eq!(commands(&git), Commands::from([b"exec a".to_vec()]));
        assert_eq!(take(&root, &git, &commands(&git)), Vec::<String>::new());
        assert_eq!(take(&root, &git, &Commands::new()).len(), 2);
        let list = git.join("rebase-merge/git-rebase-todo");
        assert_eq!(fs::read_to_string(&list).unwrap(), "pick 1\n");
        let held = list.with_file_name("git-rebase-todo.flemma-held");
        assert_eq!(fs::read_to_string(held).unwrap(), "pick 1\nexec a\n");
    }

    #[test]
    fn a_link_is_renamed_whatever_its_target() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let git = root.join(".git");
        fs::create_dir_all(&git).unwrap();
        fs::create_dir_all(root.join("elsewhere")).unwrap();
        fs::write(root.join("elsewhere/git-rebase-todo"), "pick 1\n").unwrap();
        std::os::unix::fs::symlink("../elsewhere", git.join("rebase-merge")).unwrap();
        assert_eq!(take(&root, &git, &Commands::new()).len(), 1);
        assert!(!git.join("rebase-merge").exists());
        assert!(root.join("elsewhere/git-rebase-todo").exists());
    }
}
