//! Diffs of real repositories, also of hostile ones.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::secrets::Secrets;

const LIMIT: u64 = 1024 * 1024;

/// A repository with one commit: `a.txt`, `sub/b.txt`, and `.env`.
struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.git(&["init", "--quiet"]);
        for (name, text) in [
            ("a.txt", "one\n"),
            ("sub/b.txt", "two\n"),
            (".env", "KEY=old\n"),
        ] {
            repository.write(name, text);
        }
        repository.git(&["add", "."]);
        repository.git(&["commit", "--quiet", "-m", "first"]);
        repository
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        let author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let mut git = Command::new("git");
        git.args(author).args(arguments).current_dir(self.path());
        let output = git.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    async fn diff(&self, scope: DiffScope) -> String {
        let diff = git_diff(self.path(), &scope, LIMIT).await.unwrap();
        without_secrets(&diff, &Secrets::of_this_user(&[])).text
    }
}

#[track_caller]
fn check(diff: &str, contains: &[&str], lacks: &[&str]) {
    for part in contains {
        assert!(diff.contains(part), "no {part:?} in {diff}");
    }
    for part in lacks {
        assert!(!diff.contains(part), "{part:?} in {diff}");
    }
}

#[tokio::test]
async fn staged_and_other_changes_are_told_apart() {
    let repository = Repository::new();
    repository.write("a.txt", "staged\n");
    repository.git(&["add", "a.txt"]);
    repository.write("sub/b.txt", "changed\n");
    repository.write("new.txt", "new\n");
    let (staged, changed) = ("+staged\n", "+changed\n");
    let new = "New files, not in this diff: new.txt\n";
    check(
        &repository.diff(DiffScope::All).await,
        &[staged, changed, new],
        &[],
    );
    check(
        &repository.diff(DiffScope::Staged).await,
        &[staged],
        &[changed, new],
    );
    check(
        &repository.diff(DiffScope::Unstaged).await,
        &[changed, new],
        &[staged],
    );
}

#[tokio::test]
async fn without_changes_it_says_so() {
    let diff = Repository::new().diff(DiffScope::All).await;
    assert_eq!(diff, "There are no changes.\n");
}

#[tokio::test]
async fn a_repository_without_a_commit_has_a_diff() {
    let repository = Repository(tempfile::tempdir().unwrap());
    repository.git(&["init", "--quiet"]);
    repository.write("a.txt", "first\n");
    repository.git(&["add", "a.txt"]);
    check(&repository.diff(DiffScope::All).await, &["+first\n"], &[]);
    check(
        &repository.diff(DiffScope::Staged).await,
        &["+first\n"],
        &[],
    );
}

#[tokio::test]
async fn a_secret_file_is_left_out_and_named() {
    let repository = Repository::new();
    repository.write(".env", "KEY=new\n");
    repository.write("a.txt", "changed\n");
    // Of a file that became secret, only the old content is shown.
    repository.git(&["mv", "sub/b.txt", "sub/.env"]);
    let diff = repository.diff(DiffScope::All).await;
    let left_out = "Left out, because it may be secret: .env, sub/.env\n";
    check(&diff, &["+changed\n", left_out, "-two\n"], &["KEY", "+two"]);
}

#[tokio::test]
async fn only_changes_below_the_folder_are_shown() {
    let repository = Repository::new();
    repository.write("a.txt", "outside\n");
    repository.write("sub/b.txt", "inside\n");
    let folder = repository.path().join("sub");
    let diff = git_diff(&folder, &DiffScope::All, LIMIT).await.unwrap();
    let text = String::from_utf8(diff.bytes).unwrap();
    check(
        &text,
        &["diff --git a/b.txt b/b.txt", "+inside"],
        &["outside"],
    );
}

#[tokio::test]
async fn a_repository_whose_files_are_elsewhere_is_refused() {
    let (home, repository) = (tempfile::tempdir().unwrap(), Repository::new());
    fs::write(home.path().join("a.txt"), "private\n").unwrap();
    let elsewhere = home.path().canonicalize().unwrap();
    repository.git(&["config", "core.worktree", elsewhere.to_str().unwrap()]);
    let refused = git_diff(repository.path(), &DiffScope::All, LIMIT).await;
    assert!(
        matches!(
            refused,
            Err(GitProblem::Elsewhere(_) | GitProblem::NoRepository(..))
        ),
        "{refused:?}"
    );
}

#[tokio::test]
async fn without_a_repository_the_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let refused = git_diff(folder.path(), &DiffScope::All, LIMIT).await;
    let message = refused.unwrap_err().to_string();
    check(
        &message,
        &["needs a Git repository, but", "is in none"],
        &[],
    );
}

#[tokio::test]
async fn a_diff_above_the_limit_is_refused() {
    let repository = Repository::new();
    repository.write("a.txt", &"line\n".repeat(1000));
    let refused = git_diff(repository.path(), &DiffScope::All, 100).await;
    assert_eq!(refused, Err(GitProblem::TooLarge(100)));
}

#[tokio::test]
async fn nothing_that_the_repository_configures_runs() {
    let repository = Repository::new();
    let ran = repository.path().join("ran");
    let program = format!("sh -c 'touch {}; cat'", ran.display());
    repository.write("evil", &format!("#!/bin/sh\ntouch {}\n", ran.display()));
    let evil = repository.path().join("evil");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&evil, executable).unwrap();
    fs::create_dir_all(repository.path().join("hooks")).unwrap();
    fs::copy(&evil, repository.path().join("hooks/post-index-change")).unwrap();
    for (name, value) in [
        ("filter.x.clean", program.as_str()),
        ("filter.x.required", "true"),
        ("filter.y.process", &program),
        ("diff.x.textconv", &program),
        ("diff.x.command", &program),
        ("diff.external", &program),
        ("core.fsmonitor", evil.to_str().unwrap()),
        ("core.pager", &program),
        ("pager.diff", "true"),
        ("core.hooksPath", "hooks"),
    ] {
        repository.git(&["config", name, value]);
    }
    let attributes = "a.txt filter=x diff=x\nsub/b.txt filter=y diff=x\n";
    repository.write(".gitattributes", attributes);
    repository.write("a.txt", "changed\n");
    repository.write("sub/b.txt", "changed\n");
    // Writing these files and settings may have run some of it.
    drop(fs::remove_file(&ran));
    for scope in [DiffScope::All, DiffScope::Staged, DiffScope::Unstaged] {
        repository.diff(scope).await;
        assert!(!ran.exists());
    }
    let diff = repository.diff(DiffScope::Unstaged).await;
    check(&diff, &["a/a.txt", "a/sub/b.txt", "+changed"], &[]);
    // The same without our options runs it, so this test can fail.
    let mut git = Command::new("git");
    drop(git.arg("diff").current_dir(repository.path()).output());
    assert!(ran.exists());
}

#[tokio::test]
async fn a_filter_whose_name_cannot_be_overridden_is_refused() {
    let repository = Repository::new();
    repository.git(&["config", "filter.a=b.clean", "touch ran"]);
    let refused = git_diff(repository.path(), &DiffScope::All, LIMIT).await;
    let name = "filter.a=b.clean".to_owned();
    assert_eq!(refused, Err(GitProblem::Filter(name)));
}

#[track_caller]
fn named(header: &str, expected: Option<&str>) {
    let found = name(header.as_bytes());
    assert_eq!(found, expected.map(PathBuf::from), "{header}");
}

#[test]
fn the_name_of_a_file_is_read_from_the_header() {
    named("diff --git a/x.rs b/x.rs", Some("x.rs"));
    named("diff --git a/a b/c b/a b/c", Some("a b/c"));
    named(
        r#"diff --git "a/q\"\303\251\t" "b/q\"\303\251\t""#,
        Some("q\"é\t"),
    );
    named("diff --cc src/x.rs", Some("src/x.rs"));
    named("diff --git a/x b/y", None);
    named("diff --git ", None);
    named(r#"diff --git "a/x" "b/x"#, None);
}

#[test]
fn a_line_of_a_file_begins_no_section() {
    let diff = b"diff --git a/x b/x\n@@ -1 +1 @@\n-diff --git a/y b/y\n+z\ndiff --git a/z b/z\n";
    assert_eq!(sections(diff).len(), 2);
}
