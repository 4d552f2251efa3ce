//! Secrets that commands do not see.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use tools::{Confinement, Sandbox, Secrets};

use super::{TestFolder, bash, held};

/// A project with secrets at several depths, of which these are revealed; nothing where
/// there is no sandbox here.
fn project(test: &str, revealed: &[&str]) -> Option<TestFolder> {
    let place = held(test, |root, limits| {
        let root = root.canonicalize().unwrap();
        let paths = revealed.iter().map(|it| root.join("inside").join(it));
        let secrets = Secrets::of_this_user(paths.collect());
        limits.secrets = Some(Arc::new(secrets));
        limits.work = vec![root.join("inside")];
        for (file, text) in [
            (".env", "s3cret"),
            ("a/b/c/.env.local", "s3cret"),
            ("a/b/.ssh/id_work", "s3cret"),
            ("a/b/.ssh/known_hosts", "public"),
            ("a/.aws/credentials", "s3cret"),
            ("a/.aws/config", "plain"),
            (".env.example", "plain"),
            ("elsewhere", "s3cret"),
        ] {
            let file = root.join("inside").join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        symlink("../../elsewhere", root.join("inside/a/b/.netrc")).unwrap();
    })?;
    Some(place)
}

const ALL: &str = "cat .env a/b/c/.env.local a/b/.ssh/id_work a/.aws/credentials a/b/.netrc";

#[tokio::test]
async fn commands_see_no_secret_at_any_depth() {
    let Some(place) = project("commands_see_no_secret_at_any_depth", &[]) else {
        return;
    };
    for command in [
        ALL,
        "grep -r s3 . 2>&1",
        "cd a/b && cat .ssh/* c/.env* .netrc",
        "cat elsewhere",
        "ln .env hard && cat hard",
        "cp .env copy && cat copy",
        "mv a moved && cat moved/b/c/.env.local moved/.aws/*; mv moved a",
        "cat /proc/self/cwd/.env /proc/1/cwd/.env",
        "tar c . 2>&1 | cat",
        "echo new > .env",
        "rm -f .env && cat .env",
    ] {
        let said = bash(&place, command).await;
        assert!(!said.contains("s3cret"), "{command}: {said}");
    }
    assert_eq!(place.text("inside/.env"), "s3cret");
    let said = bash(&place, "cat a/b/.ssh/known_hosts .env.example").await;
    assert!(said.contains("publicplain"), "{said}");
    let said = bash(&place, "touch a/.aws/new").await;
    assert!(said.contains("Read-only file system"), "{said}");
}

#[tokio::test]
async fn a_command_that_lacks_a_secret_says_what_grants_it() {
    let Some(place) = project("a_command_that_lacks_a_secret_says_what_grants_it", &[]) else {
        return;
    };
    let root = place.path("inside").canonicalize().unwrap();
    for (command, path) in [
        ("cat .env", ".env"),
        ("cd a/b/c && cat .env.local", "a/b/c/.env.local"),
        ("ls a/.aws/", "a/.aws"),
        ("for file in .en?; do cat $file; done", ".env"),
    ] {
        let said = bash(&place, command).await;
        let grant = format!("sandbox.reveal = {{ \"{}\" }}", root.join(path).display());
        assert!(said.contains(&grant), "{command}: {said}");
    }
    let said = bash(&place, "ls; cat .env.example").await;
    assert!(!said.contains("sandbox.reveal"), "{said}");
}

#[tokio::test]
async fn commands_see_what_was_revealed_and_not_its_neighbors() {
    let revealed = [".env", "a/.aws/config", "a/b/.ssh"];
    let Some(place) = project(
        "commands_see_what_was_revealed_and_not_its_neighbors",
        &revealed,
    ) else {
        return;
    };
    let said = bash(&place, "cat .env a/.aws/config a/b/.ssh/id_work").await;
    assert!(said.contains("s3cretplains3cret"), "{said}");
    let said = bash(&place, "cat a/.aws/credentials a/b/c/.env.local").await;
    assert!(!said.contains("s3cret"), "{said}");
}

#[tokio::test]
async fn git_works_beside_files_whose_text_it_holds() {
    let Some(place) = project("git_works_beside_files_whose_text_it_holds", &[]) else {
        return;
    };
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(place.path("inside")).args(arguments);
        assert!(git.output().unwrap().status.success());
    };
    fs::write(place.path("inside/.env"), "another s3cret").unwrap();
    git(&["init", "-q"]);
    git(&["add", "a/b/c/.env.local", ".env.example"]);
    let said = bash(&place, "git diff && git add a/b/c && cat a/b/c/.env.local").await;
    assert_eq!(said.trim_end(), "s3cret");
    let said = bash(&place, "git add .env; cat .env").await;
    assert!(
        !said.contains("s3cret") && said.contains("sandbox.reveal"),
        "{said}"
    );
}

#[tokio::test]
async fn a_command_that_may_only_read_sees_no_secret_either() {
    let Some(mut place) = project("a_command_that_may_only_read_sees_no_secret_either", &[]) else {
        return;
    };
    place.ctx.confinement = Confinement::ReadOnly;
    // The check of the command's text lets everything through, so that only the sandbox is left.
    let all = place.path("inside").canonicalize().unwrap();
    place.ctx.secrets = Arc::new(Secrets::of_this_user(vec![all]));
    let said = bash(&place, "cat .env a/b/c/.env.local .env.example").await;
    assert!(said.contains("plain") && !said.contains("s3cret"), "{said}");
    // Turned off for the others, it holds those that only read all the same.
    let off = Sandbox::clone(&place.ctx.sandbox).turned_off();
    place.ctx.sandbox = Arc::new(off);
    let said = bash(&place, "cat .env .env.example").await;
    assert!(said.contains("plain") && !said.contains("s3cret"), "{said}");
}
