//! The chat's own `/tmp`.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Like [`held`], with a separate `/tmp` and a project below the machine's `/tmp`.
pub fn with_tmp(change: impl FnOnce(&Path, &mut SandboxLimits)) -> Option<TestFolder> {
    held(|root, limits| {
        limits.writable.push("/tmp".into());
        limits.shown.push(root.join("outside"));
        limits.tmp = Some(tools::Tmp {
            folder: root.join("private/chat"),
            writable: false,
        });
        fs::create_dir(root.join("private")).unwrap();
        fs::set_permissions(root.join("private"), fs::Permissions::from_mode(0o700)).unwrap();
        change(root, limits);
    })
}

#[tokio::test]
async fn commands_and_file_tools_share_a_tmp_of_their_own() {
    let Some(place) = with_tmp(|_, _| {}) else {
        return;
    };
    let machines = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let seen = machines.path().display();
    let file = format!("/tmp/flemma-test-{}", std::process::id());
    let said = bash(
        &place,
        &format!("cat {seen}; echo one > {file}; echo $TMPDIR; mktemp"),
    )
    .await;
    assert!(
        said.contains("No such file") && said.contains("\n/tmp\n/tmp/"),
        "{said}"
    );
    let read = place.done("read", json!({"label": "", "path": file})).await;
    assert_eq!(read.trim_end(), "one");
    let new = json!({"label": "", "path": file, "content": "two"});
    place.done("write", new).await;
    let edit = json!({"label": "", "path": file, "oldText": "two", "newText": "three"});
    place.done("edit", edit).await;
    assert_eq!(bash(&place, &format!("cat {file}")).await, "three");
    let found = place
        .done("grep", json!({"pattern": "three", "path": "/tmp"}))
        .await;
    assert!(found.contains(&format!("{file}:1:three")), "{found}");
    let list = place.done("ls", json!({"path": "/tmp"})).await;
    assert!(list.contains("flemma-test-"), "{list}");
    let none = place
        .failed("read", json!({"label": "", "path": "/tmp/none"}))
        .await;
    assert!(none.starts_with("/tmp/none does not exist"), "{none}");
    assert!(!Path::new(&file).exists());
    // The project is visible although it is below the machine's /tmp.
    bash(&place, "echo kept > file").await;
    assert_eq!(place.text("inside/file"), "kept\n");
}

#[tokio::test]
async fn tmp_is_read_only_unless_it_is_listed_as_writable() {
    let close =
        |root: &Path, limits: &mut SandboxLimits| limits.writable = vec![root.join("inside")];
    let Some(place) = with_tmp(close) else {
        return;
    };
    let said = bash(&place, "echo x > /tmp/new; echo y > file && cat file").await;
    assert!(
        said.contains("Read-only file system") && said.contains("\ny"),
        "{said}"
    );
    let write = json!({"label": "", "path": "/tmp/new", "content": "x"});
    let why = place.failed("write", write).await;
    assert!(why.contains("only below"), "{why}");
}

#[tokio::test]
async fn file_tools_resolve_links_in_tmp_as_commands_do() {
    let Some(place) = with_tmp(|_, _| {}) else {
        return;
    };
    let outside = place.path("outside");
    let inside = place.path("inside");
    let script = format!(
        "ln -s {} /tmp/out; ln -s {} /tmp/in; ln -s /tmp/real /tmp/link",
        outside.display(),
        inside.display()
    );
    bash(&place, &script).await;
    let write = |path: &str| json!({"label": "", "path": path, "content": "x"});
    let why = place.failed("write", write("/tmp/out/new")).await;
    assert!(
        why.contains("the sandbox lets files be written only below"),
        "{why}"
    );
    place.done("write", write("/tmp/in/new")).await;
    assert_eq!(place.text("inside/new"), "x");
    place.done("write", write("/tmp/link")).await;
    assert_eq!(bash(&place, "cat /tmp/real").await, "x");
}
