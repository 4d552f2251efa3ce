//! Secrets are hidden from commands.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use tools::{Confinement, Sandbox, Secrets};

use super::{TestFolder, bash, held};

/// A project with secrets at several depths, some of them `revealed`. `None` without a working
/// bubblewrap.
fn project(revealed: &[&str]) -> Option<TestFolder> {
    let place = held(|root, limits| {
        let root = root.canonicalize().unwrap();
        let paths = revealed.iter().map(|it| root.join("inside").join(it));
        let secrets = Secrets::of_this_user(&paths.collect::<Vec<_>>());
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
    let Some(place) = project(&[]) else {
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
async fn a_result_names_the_option_for_a_hidden_secret() {
    let Some(place) = project(&[]) else {
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
async fn commands_see_revealed_secrets_and_no_others() {
    let revealed = [".env", "a/.aws/config", "a/b/.ssh"];
    let Some(place) = project(&revealed) else {
        return;
    };
    let said = bash(&place, "cat .env a/.aws/config a/b/.ssh/id_work").await;
    assert!(said.contains("s3cretplains3cret"), "{said}");
    let said = bash(&place, "cat a/.aws/credentials a/b/c/.env.local").await;
    assert!(!said.contains("s3cret"), "{said}");
}

#[tokio::test]
async fn git_works_in_a_repository_with_hidden_secrets() {
    let Some(place) = project(&[]) else {
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
async fn a_read_only_command_sees_no_secret() {
    let Some(mut place) = project(&[]) else {
        return;
    };
    place.ctx.exec.confinement = Confinement::ReadOnly;
    // Makes the check of the command's text accept everything, to test the sandbox alone.
    let all = place.path("inside").canonicalize().unwrap();
    place.ctx.files.secrets = Arc::new(Secrets::of_this_user(&[all]));
    let said = bash(&place, "cat .env a/b/c/.env.local .env.example").await;
    assert!(said.contains("plain") && !said.contains("s3cret"), "{said}");
    // Read-only commands are sandboxed even if the sandbox is off.
    let off = Sandbox::clone(&place.ctx.files.sandbox).turned_off();
    place.ctx.files.sandbox = Arc::new(off);
    let said = bash(&place, "cat .env .env.example").await;
    assert!(said.contains("plain") && !said.contains("s3cret"), "{said}");
}
