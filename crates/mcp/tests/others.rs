//! Tests with third-party servers, through the code that the host uses. `make test-mcp`
//! installs the servers and runs these tests.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp::{Called, Caller, Http, PinnedTools, Reach, Server, ServerSpec};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tools::{NoElicitation, Progress};

const LONG: Duration = Duration::from_secs(60);

fn installed(path: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.tools/mcp");
    folder.join(path).to_string_lossy().into_owned()
}

fn server(argv: &[&str]) -> Arc<Server> {
    let mut argv: Vec<String> = argv.iter().map(|it| (*it).to_owned()).collect();
    argv[0] = installed(&argv[0]);
    // npm programs use the `node` that was installed beside them.
    let path = format!("{}:/usr/bin:/bin", installed("bin"));
    let spec = ServerSpec::new(
        "test",
        "other",
        Reach::Program {
            argv,
            env: [("PATH".to_owned(), path)].into(),
            cwd: None,
        },
    );
    let no_http = Http::new(|_| Err("HTTP is disabled in this test".to_owned()));
    Server::new(spec, PinnedTools::Never, no_http, |_| {})
}

async fn call(server: &Server, tool: &str, arguments: Value) -> String {
    match called(server, tool, arguments, Progress::default()).await {
        Called::Answered {
            text,
            is_error: false,
            ..
        } => text,
        other => panic!("{tool}: {other:?}"),
    }
}

async fn called(server: &Server, tool: &str, arguments: Value, progress: Progress) -> Called {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let caller = Caller {
        progress,
        elicitation: Arc::new(NoElicitation),
        cancel: CancellationToken::new(),
        limit: LONG,
    };
    server.call(tool, arguments, &caller).await
}

#[tokio::test]
#[ignore = "make test-mcp installs the server"]
async fn everything() {
    let server = server(&["node_modules/.bin/mcp-server-everything"]);
    assert_eq!(
        call(&server, "echo", json!({"message": "hi"})).await,
        "Echo: hi"
    );
    let sum = call(&server, "get-sum", json!({"a": 2, "b": 3})).await;
    assert!(sum.contains('5'), "{sum}");
    let image = call(&server, "get-tiny-image", json!({})).await;
    assert!(image.contains("[image image-1.png, "), "{image}");
    let links = call(&server, "get-resource-links", json!({"count": 2})).await;
    assert!(links.contains("it was not fetched"), "{links}");
    let heard = Arc::new(Mutex::new(String::new()));
    let hearing = heard.clone();
    let progress = Progress::new(move |it| hearing.lock().unwrap().push_str(it));
    let arguments = json!({"duration": 1, "steps": 3});
    let ran = called(
        &server,
        "trigger-long-running-operation",
        arguments,
        progress,
    )
    .await;
    assert!(
        matches!(
            ran,
            Called::Answered {
                is_error: false,
                ..
            }
        ),
        "{ran:?}"
    );
    assert!(heard.lock().unwrap().contains("/3"), "{heard:?}");
    server.stop().await;
}

#[tokio::test]
#[ignore = "make test-mcp installs the server"]
async fn filesystem() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    std::fs::write(folder.join("a.txt"), "one\n").unwrap();
    let server = server(&[
        "node_modules/.bin/mcp-server-filesystem",
        folder.to_str().unwrap(),
    ]);
    let path = |name: &str| folder.join(name);
    let read = call(&server, "read_text_file", json!({"path": path("a.txt")})).await;
    assert_eq!(read.trim(), "one");
    let write = json!({"path": path("b.txt"), "content": "two\n"});
    call(&server, "write_file", write).await;
    assert_eq!(std::fs::read_to_string(path("b.txt")).unwrap(), "two\n");
    let outside = json!({"path": Path::new("/etc/hostname")});
    let refused = called(&server, "read_text_file", outside, Progress::default()).await;
    assert!(
        matches!(refused, Called::Answered { is_error: true, .. }),
        "{refused:?}"
    );
    server.stop().await;
}

#[tokio::test]
#[ignore = "make test-mcp installs the server"]
async fn time() {
    let server = server(&["py/bin/mcp-server-time", "--local-timezone", "UTC"]);
    let answer = call(
        &server,
        "get_current_time",
        json!({"timezone": "Europe/Berlin"}),
    )
    .await;
    assert!(answer.contains("Europe/Berlin"), "{answer}");
    let refused = called(
        &server,
        "get_current_time",
        json!({"timezone": "Nowhere"}),
        Progress::default(),
    );
    let refused = refused.await;
    assert!(
        !matches!(
            refused,
            Called::Answered {
                is_error: false,
                ..
            }
        ),
        "{refused:?}"
    );
    server.stop().await;
}

#[tokio::test]
#[ignore = "make test-mcp installs the server"]
async fn git() {
    let folder = tempfile::tempdir().unwrap();
    let status = std::process::Command::new("git")
        .args(["init", "-q"])
        .arg(folder.path())
        .status();
    assert!(status.unwrap().success());
    std::fs::write(folder.path().join("new.txt"), "").unwrap();
    let server = server(&["py/bin/mcp-server-git"]);
    let answer = call(&server, "git_status", json!({"repo_path": folder.path()})).await;
    assert!(answer.contains("new.txt"), "{answer}");
    server.stop().await;
}
