//! Decides which files of a Git directory are protected because they control what runs, and which
//! of them are harmless, so that commands can clone repositories.
//!
//! Only files that are known to be harmless count as such. Sources: gitrepository-layout(5),
//! git-config(1).

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::tree::Tree;

/// The name of a Git directory, or of a file that contains its path.
pub(super) const FOLDER: &str = ".git";
/// Protected entries of a Git directory: hooks, settings, and paths of settings.
pub(super) const KEPT: [&str; 4] = ["commondir", "config", "config.worktree", "hooks"];
/// Entries that contain the Git directories of submodules and worktrees.
pub(super) const HOLDERS: [&str; 2] = ["modules", "worktrees"];
/// Maximum size of a file that can be harmless, in bytes.
const MOST: u64 = 64 * 1024;
/// Settings that run nothing and name no file that does, as sections and keys in lower case. They
/// include everything that `git init`, `clone`, `submodule`, and `worktree` write.
const HARMLESS: [(&str, &[&str]); 11] = [
    (
        "core",
        &[
            "autocrlf",
            "bare",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "repositoryformatversion",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
        ],
    ),
    (
        "remote",
        &[
            "fetch",
            "gh-resolved",
            "mirror",
            "partialclonefilter",
            "promisor",
            "prune",
            "pushurl",
            "tagopt",
            "url",
        ],
    ),
    ("branch", &["remote", "merge", "rebase"]),
    ("user", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("index", &["sparse", "version"]),
    ("gc", &["auto"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote"]),
    ("submodule", &["url", "active"]),
    (
        "extensions",
        &[
            "objectformat",
            "partialclone",
            "refstorage",
            "worktreeconfig",
        ],
    ),
];

/// Whether Git recognizes a folder with these entries as a Git folder, whatever its name.
pub(super) fn is_gits(has: impl Fn(&str) -> bool) -> bool {
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// Whether a new file at `path` is harmless.
pub(super) fn is_harmless(path: &Path, tree: &Tree) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let Some((name, folder)) = name.zip(path.parent()) else {
        return false;
    };
    // A link is never harmless, because its target may change.
    if path.is_symlink() {
        return false;
    }
    match name {
        FOLDER => points(path, "gitdir: ", folder, tree),
        "commondir" if tree.is_gits(folder) => points(path, "", folder, tree),
        "config" | "config.worktree" if tree.is_gits(folder) => {
            let is_inside = |place: &str| is_inside(folder, place);
            text(path).is_some_and(|text| settings_are_harmless(&text, is_inside))
        }
        "hooks" if tree.is_gits(folder) => only_samples(path),
        _ => false,
    }
}

/// Whether a file contains, after `before`, the path of a Git directory that is scanned as well.
fn points(path: &Path, before: &str, folder: &Path, tree: &Tree) -> bool {
    let text = text(path).unwrap_or_default();
    let place = text.trim_end_matches('\n').strip_prefix(before);
    // A folder that does not exist yet is not harmless: a command may create it later.
    let place = place.and_then(|place| folder.join(place).canonicalize().ok());
    place.is_some_and(|place| tree.is_gits(&place))
}

/// Whether the worktree `place` of a submodule is in its repository. Git writes files there.
fn is_inside(folder: &Path, place: &str) -> bool {
    let above = folder.ancestors().find(|it| it.ends_with(FOLDER));
    let top = above.and_then(Path::parent);
    let place = folder.join(place).canonicalize().ok();
    top.zip(place)
        .is_some_and(|(top, place)| place.starts_with(top))
}

fn only_samples(hooks: &Path) -> bool {
    // A folder that is unreadable may contain any hook.
    let Ok(mut entries) = fs::read_dir(hooks) else {
        return false;
    };
    entries.all(|entry| {
        entry.is_ok_and(|entry| {
            // `git init` copies these from its template; Git runs none of them.
            let is_sample = Path::new(&entry.file_name()).extension() == Some("sample".as_ref());
            is_sample && entry.file_type().is_ok_and(|it| it.is_file())
        })
    })
}

fn text(path: &Path) -> Option<String> {
    let found = fs::symlink_metadata(path).ok()?;
    let is_readable = found.is_file() && found.len() <= MOST;
    is_readable.then(|| fs::read_to_string(path).ok()).flatten()
}

/// Whether each line is blank, a comment, a section header, or a harmless setting. Lines with
/// other syntax, such as a continuation, are not harmless. `is_inside` checks the path of a
/// worktree.
fn settings_are_harmless(text: &str, is_inside: impl Fn(&str) -> bool) -> bool {
    let (mut keys, mut is_core): (&[&str], bool) = (&[], false);
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            // With a continuation, Git could read the next line as a part of this one.
            return !line.ends_with('\\');
        }
        if let Some(header) = line.strip_prefix('[') {
            let Some(header) = header.strip_suffix(']') else {
                return false;
            };
            keys = section(header).unwrap_or_default();
            is_core = header.eq_ignore_ascii_case("core");
            // What follows a header on its line, as in `[a] key = value`, is not analyzed.
            return !header.contains([']', '\\', '#', ';']);
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.trim().to_ascii_lowercase();
        if is_core && key == "worktree" {
            return is_inside(value.trim());
        }
        // An address `helper::address` runs a program.
        keys.contains(&key.as_str()) && !value.contains("::") && !value.contains('\\')
    })
}

/// The harmless keys of the section with this header, such as `remote "origin"`.
fn section(header: &str) -> Option<&'static [&'static str]> {
    let (name, _) = header.split_once([' ', '\t']).unwrap_or((header, ""));
    let name = name.to_ascii_lowercase();
    let found = HARMLESS.iter().find(|(it, _)| *it == name);
    found.map(|(_, keys)| *keys)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn settings_that_run_something_are_never_harmless() {
        for text in [
            "",
            "[core]\n\tbare = false\n",
            "[core]\n\trepositoryformatversion = 0\n\tfileMode = true\n[remote \"origin\"]\n\turl = git@example.org:a/b.git\n\
             \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[core]\n\tsparseCheckout = true\n[remote \"origin\"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n",
            "# a comment\n[user]\nname = A\n",
        ] {
            assert!(settings_are_harmless(text, |_| false), "{text}");
        }
        for text in [
            "[core]\n\tworktree = ../../home\n",
            "[core]\n\tfsmonitor = ./x\n",
            "[core]\n\tbare = false\n\tFsMonitor=./x\n",
            "[core] fsmonitor = ./x\n",
            "[core]\nbare = false \\\nfsmonitor = x\n",
            "# a \\\n[core]\nhooksPath = x\n",
            "[core]\n\thooksPath = ..\n",
            "[include]\n\tpath = ../evil\n",
            "[includeIf \"gitdir:.\"]\n\tpath = ../evil\n",
            "[alias]\n\tstatus = !sh\n",
            "[filter \"x\"]\n\tsmudge = sh\n",
            "[remote \"origin\"]\n\turl = ext::sh -c id\n",
            "[remote \"origin\"]\n\tuploadpack = sh\n",
            "[submodule \"x\"]\n\tupdate = !sh\n",
            "[core]\nsshCommand = sh\n",
            "key = x\n",
            "[diff]\nexternal = x\n",
        ] {
            assert!(!settings_are_harmless(text, |_| false), "{text}");
        }
    }

    #[test]
    fn files_are_written_only_beside_their_repository() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let git = top.join("project/.git/modules/sub");
        fs::create_dir_all(&git).unwrap();
        fs::create_dir_all(top.join("project/sub")).unwrap();
        for (place, expected) in [
            ("../../../sub", true),
            ("../../..", true),
            ("../../../..", false),
            ("/", false),
            ("../../../none", false),
        ] {
            assert_eq!(is_inside(&git, place), expected, "{place}");
        }
    }
}
