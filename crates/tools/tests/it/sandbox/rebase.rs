//! A rebase in progress runs no commands that a sandboxed command added to its todo list.

use std::fs;

use super::{bash, held};

#[tokio::test]
async fn a_rebase_continues_without_commands_that_were_added() {
    let Some(place) = held(|root, limits| {
        limits.work = vec![root.join("inside")];
    }) else {
        return;
    };
    let git = "git -c user.name=a -c user.email=a@example.org";
    let commits =
        (1..=3).map(|it| format!("echo {it} > f{it} && git add . && {git} commit -qm {it} && "));
    let begin = format!(
        "git init -q . && {}GIT_SEQUENCE_EDITOR='sed -i \"1i break\\nexec touch evil\"' {git} rebase -i HEAD~2",
        commits.collect::<String>()
    );
    let said = bash(&place, &begin).await;
    assert!(
        said.contains("git-rebase-todo had lines that run commands"),
        "{said}"
    );
    let list = "inside/.git/rebase-merge/git-rebase-todo";
    let text = place.text(list);
    assert!(
        text.contains("pick") && !text.contains("touch evil"),
        "{text}"
    );
    assert!(
        place
            .text(&format!("{list}.flemma-held"))
            .contains("exec touch evil")
    );
    // The same for a rebase that is already in progress.
    let said = bash(
        &place,
        &format!("printf ' x touch evil' >> {}", &list["inside/".len()..]),
    )
    .await;
    assert!(
        said.contains("git-rebase-todo had lines that run commands"),
        "{said}"
    );
    assert_eq!(place.text(list), text);
    let mut user = std::process::Command::new("git");
    user.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
    let user = user
        .args(["rebase", "--continue"])
        .current_dir(place.path("inside"));
    assert!(user.output().unwrap().status.success());
    assert!(!place.path("inside/evil").exists() && place.path("inside/f3").exists());
}

#[tokio::test]
async fn commands_that_the_user_added_to_a_rebase_stay() {
    let Some(place) = held(|root, limits| {
        limits.work = vec![root.join("inside")];
    }) else {
        return;
    };
    bash(&place, "git init -q .").await;
    let list = "inside/.git/rebase-merge/git-rebase-todo";
    fs::create_dir_all(place.path("inside/.git/rebase-merge")).unwrap();
    fs::write(
        place.path(list),
        "pick 1\nexec make test\npick 2\nexec make test\n",
    )
    .unwrap();
    // Removes the first line, like `git rebase --continue`.
    let said = bash(
        &place,
        "sed -i 1d .git/rebase-merge/git-rebase-todo; echo done",
    )
    .await;
    assert_eq!(said, "done");
    assert_eq!(place.text(list), "exec make test\npick 2\nexec make test\n");
}
