//! Files that run by themselves are not left behind by commands that run at the same time.

use std::fs;

use super::held;
use crate::fixture::{TestFolder, bash, eventually};

/// Names of files and folders that are protected in the tests.
const NAMES: [&str; 4] = [".envrc", ".mcp.json", ".nvim.lua", ".vscode"];

fn place() -> Option<TestFolder> {
    held(|root, limits| {
        limits.work = vec![root.join("inside")];
        limits.names.kept = NAMES.map(str::to_owned).to_vec();
    })
}

/// Runs `first` until it has made `ready`, then `second` alongside it until both end.
async fn overlap(place: &TestFolder, first: &str, second: &str) -> String {
    let second = async {
        eventually(|| place.path("inside/ready").exists()).await;
        bash(place, second).await
    };
    let (one, other) = tokio::join!(bash(place, first), second);
    format!("{one}\n{other}")
}

#[tokio::test]
async fn one_command_makes_a_file_and_another_makes_it_again() {
    for (name, make) in [
        (".envrc", "echo evil > .envrc"),
        (".mcp.json", "ln -s evil .mcp.json"),
        (".nvim.lua", "echo evil > .nvim.lua"),
        (".vscode", "mkdir .vscode; echo evil > .vscode/tasks.json"),
    ] {
        let Some(place) = place() else {
            return;
        };
        let wait = "while [ ! -e started ]; do sleep 0.01; done";
        let first = format!("{make}; touch ready; {wait}; rm -r {name}; touch gone");
        let second = format!(
            "touch started; while [ ! -e gone ]; do sleep 0.01; done; {}",
            format!("{make}; ").repeat(2)
        );
        let said = overlap(&place, &first, &second).await;
        let path = place.path("inside").join(name);
        assert!(path.symlink_metadata().is_err(), "{name} is left: {said}");
        assert!(said.contains(&format!("{name}.flemma-held")), "{said}");
    }
}

#[tokio::test]
async fn a_third_command_inherits_nothing_from_the_first() {
    let Some(place) = place() else {
        return;
    };
    let wait = |name: &str| format!("while [ ! -e {name} ]; do sleep 0.01; done");
    let first = format!(
        "echo evil > .envrc; touch ready; {}; rm .envrc; touch gone",
        wait("second")
    );
    let second = format!("touch second; {}; {}", wait("gone"), wait("third"));
    let third = async {
        eventually(|| place.path("inside/gone").exists()).await;
        bash(
            &place,
            "echo evil > .envrc; touch third; echo evil >> .envrc",
        )
        .await
    };
    let (said, last) = tokio::join!(overlap(&place, &first, &second), third);
    assert!(!place.path("inside/.envrc").exists(), "{said}\n{last}");
}

#[tokio::test]
async fn a_folder_that_is_replaced_takes_no_new_file_with_it() {
    let Some(place) = place() else {
        return;
    };
    // More than are mounted, so that the last ones are protected by their identity alone.
    for number in 10..60 {
        let folder = place.path("inside").join(number.to_string());
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(".envrc"), "mine").unwrap();
    }
    let said = bash(
        &place,
        "mv 59 old; mkdir 59; echo evil > 59/.envrc; echo evil > 58/.envrc",
    )
    .await;
    assert!(!place.path("inside/59/.envrc").exists(), "{said}");
    assert!(!place.path("inside/58/.envrc").exists(), "{said}");
    assert_eq!(place.text("inside/57/.envrc"), "mine");
}

#[tokio::test]
async fn what_the_user_changes_meanwhile_stays() {
    let Some(place) = place() else {
        return;
    };
    let path = place.path("inside/.envrc");
    fs::write(&path, "mine").unwrap();
    let user = async {
        eventually(|| place.path("inside/ready").exists()).await;
        // In place, as Neovim writes a file that is open elsewhere.
        fs::write(&path, "mine, and more").unwrap();
        fs::write(place.path("inside/done"), "").unwrap();
    };
    let command = "touch ready; while [ ! -e done ]; do sleep 0.01; done";
    let (said, ()) = tokio::join!(bash(&place, command), user);
    assert_eq!(place.text("inside/.envrc"), "mine, and more", "{said}");
}
