//! File tools and secrets: a call that the user didn't approve reads no secret, and no search shows
//! one.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use serde_json::{Value, json};
use tools::Secrets;

use crate::fixture::TestFolder;

/// A project with secrets. Its calls were approved by a rule.
fn project() -> TestFolder {
    let mut place = TestFolder::new();
    for folder in [".ssh", "conf", "src", ".aws"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    place.ctx.files.reads_secrets = false;
    let place = place
        .with(".env", "TOKEN=s3cret\n")
        .with("conf/prod.env", "TOKEN=s3cret\n")
        .with("conf/app.toml", "TOKEN=plain\n")
        .with(".env.example", "TOKEN=\n")
        .with(".ssh/id_work", "s3cret TOKEN\n")
        .with(".aws/credentials", "TOKEN=s3cret\n")
        .with("src/main.rs", "// TOKEN\n");
    symlink(".env", place.path("link")).unwrap();
    symlink("link", place.path("chain")).unwrap();
    symlink(".ssh", place.path("docs")).unwrap();
    place
}

fn read(path: &str) -> Value {
    json!({"label": "", "path": path, "offset": null, "limit": null})
}

fn reveal(place: &mut TestFolder, paths: &[&str]) {
    let paths: Vec<_> = paths.iter().map(|it| place.path(it)).collect();
    place.ctx.files.secrets = Arc::new(Secrets::of_this_user(&paths));
}

#[tokio::test]
async fn a_secret_is_not_read_however_its_path_is_spelled() {
    let place = project();
    let root = place.path("").canonicalize().unwrap();
    let root = root.to_str().unwrap().trim_end_matches('/').to_owned();
    for path in [
        ".env",
        "./.env",
        ".//.env",
        "src/../.env",
        "link",
        "chain",
        "docs/id_work",
        "docs/../.env",
        "conf/prod.env",
        ".aws/credentials",
        ".ENV",
        "\u{ff0e}env",
        ".env.",
        ".env.production",
        "~/.ssh/id_rsa",
        "~//.ssh/id_rsa",
        "/proc/self/environ",
        "/proc/thread-self/environ",
        "/proc/self/task/../environ",
        "/etc/shadow",
        &format!("{root}/.env"),
        &format!("/proc/self/root{root}/.env"),
        &format!("/proc/self/../../{root}/.env"),
    ] {
        let message = place.failed("read", read(path)).await;
        assert!(!message.contains("s3cret"), "{path}: {message}");
        let is_named =
            message.contains("is secret: ") && message.contains("sandbox.reveal = { \"/");
        assert!(
            is_named || message.contains("link of a process in /proc"),
            "{path}: {message}"
        );
    }
    for path in [".env.example", "conf/app.toml", "src/main.rs"] {
        place.done("read", read(path)).await;
    }
}

#[tokio::test]
async fn no_tool_accepts_the_path_of_a_secret() {
    let place = project();
    let grep =
        json!({"label": "", "pattern": "TOKEN", "path": ".env", "glob": null, "limit": null});
    let find = json!({"label": "", "pattern": "*", "path": "docs", "limit": null});
    let elsewhere = json!({"label": "", "pattern": "~/.ssh/*", "path": null, "limit": null});
    let list = json!({"label": "", "path": ".aws", "max_depth": null, "limit": null});
    let write = json!({"label": "", "path": ".env", "content": "x"});
    let edit = json!({"label": "", "path": "link", "oldText": "no such text", "newText": "x"});
    for (tool, input) in [
        ("grep", grep),
        ("find", find.clone()),
        ("find", elsewhere),
        ("ls", list),
        ("write", write),
        ("edit", edit),
        ("read_file", json!({"path": "chain"})),
        (
            "search",
            json!({"pattern": "TOKEN", "path": "conf/prod.env"}),
        ),
        ("list_files", json!({"path": ".ssh"})),
        ("list_files", json!({"path": ".ssh", "pattern": "*"})),
        (
            "write_file",
            json!({"path": ".env", "content": "x", "append": true}),
        ),
    ] {
        let message = place.failed(tool, input).await;
        assert!(message.contains("is secret: "), "{tool}: {message}");
        assert!(!message.contains("s3cret"), "{tool}: {message}");
    }
    assert_eq!(place.text(".env"), "TOKEN=s3cret\n");
}

#[tokio::test]
async fn searches_skip_secrets_and_name_them() {
    let place = project();
    let grep = |glob: Value| json!({"label": "", "pattern": "TOKEN", "path": null, "glob": glob, "limit": null});
    assert_eq!(
        place.done("grep", grep(Value::Null)).await,
        ".env.example:1:TOKEN=\nconf/app.toml:1:TOKEN=plain\nsrc/main.rs:1:// TOKEN\n\n\
         [3 matches in 3 files]\n\
         [Skipped 2 secret files and 2 secret folders: .env, conf/prod.env, .aws/, .ssh/. \
         sandbox.reveal grants what it names.]"
    );
    let rust = place.done("grep", grep(json!("conf/*.toml"))).await;
    assert!(!rust.contains(".env"), "{rust}");
    let find = json!({"label": "", "pattern": "*.env", "path": null, "limit": null});
    let found = place.done("find", find).await;
    assert!(
        found.starts_with("Nothing found.") && found.contains("conf/prod.env"),
        "{found}"
    );
    let list = json!({"label": "", "path": "conf", "max_depth": 3, "limit": null});
    assert_eq!(
        place.done("ls", list).await,
        "app.toml\n\n[1 entry]\n[Skipped 1 secret file: conf/prod.env. sandbox.reveal \
         grants what it names.]"
    );
}

#[tokio::test]
async fn revealed_secrets_are_read_and_found() {
    let mut place = project();
    reveal(&mut place, &[".env", "conf", ".ssh"]);
    for path in [".env", "link", "conf/prod.env", "docs/id_work"] {
        let text = place.done("read", read(path)).await;
        assert!(text.contains("s3cret"), "{path}: {text}");
    }
    let grep = json!({"label": "", "pattern": "s3cret", "path": null, "glob": null, "limit": null});
    let found = place.done("grep", grep).await;
    assert!(found.contains("[3 matches in 3 files]"), "{found}");
    assert!(
        found.contains("[Skipped 1 secret folder: .aws/."),
        "{found}"
    );
    place.failed("read", read(".aws/credentials")).await;
}

#[tokio::test]
async fn a_call_that_the_user_approved_reads_what_it_names() {
    let mut place = project();
    place.ctx.files.reads_secrets = true;
    assert_eq!(place.done("read", read("link")).await, "TOKEN=s3cret");
    let grep =
        json!({"label": "", "pattern": "s3cret", "path": "docs", "glob": null, "limit": null});
    let found = place.done("grep", grep).await;
    assert!(found.starts_with("docs/id_work:1:s3cret"), "{found}");
    // Secrets that the call does not name are still skipped.
    let grep = json!({"label": "", "pattern": "s3cret", "path": null, "glob": null, "limit": null});
    let found = place.done("grep", grep).await;
    assert!(found.starts_with("No matches found."), "{found}");
}
