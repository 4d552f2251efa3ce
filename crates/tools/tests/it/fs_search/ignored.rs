//! Ignore rules and globs: which files are searched.

use super::*;

#[tokio::test]
async fn what_is_ignored_is_searched_when_a_call_names_it() {
    let place = project();
    let named = grep("todo", Some("target"), None, None);
    assert!(
        place
            .done("grep", named)
            .await
            .starts_with("target/out:1:todo never")
    );
    let named = grep("todo", Some("node_modules"), None, None);
    assert!(
        place
            .done("grep", named)
            .await
            .starts_with("node_modules/x/i.js:1:")
    );
}

#[tokio::test]
async fn ignore_rules_above_a_repository_do_not_apply() {
    let mut place = TestFolder::new().with(".gitignore", "*\n");
    fs::create_dir_all(place.path("repo/.git")).unwrap();
    fs::write(place.path("repo/f"), "x\n").unwrap();
    fs::write(place.path("repo/.gitignore"), "g\n").unwrap();
    fs::write(place.path("repo/g"), "x\n").unwrap();
    fs::create_dir_all(place.path("repo/in/deep")).unwrap();
    fs::write(place.path("repo/in/deep/f"), "x\n").unwrap();
    let none = place.done("find", find("f", None, None)).await;
    assert!(none.starts_with("Nothing found.\n\n["), "{none}");
    assert!(none.contains("left out by .gitignore"), "{none}");
    let none = place.done("grep", all("x")).await;
    assert!(none.contains("left out by .gitignore"), "{none}");
    let none = place.done("ls", list(None, Some(2), None)).await;
    assert!(none.contains("left out by .gitignore"), "{none}");
    for folder in ["repo", "repo/in"] {
        place.ctx.files.cwd = place.path(folder);
        let found = place.done("find", find("f", None, None)).await;
        assert!(found.contains("deep/f\n"), "{folder}: {found}");
        let found = place.done("grep", all("x")).await;
        assert!(found.contains("deep/f:1:x\n"), "{folder}: {found}");
        assert!(!found.contains("g:1:x"), "{folder}: {found}");
        let found = place.done("ls", list(None, Some(3), None)).await;
        assert!(found.contains("deep/f\n"), "{folder}: {found}");
    }
}

#[tokio::test]
async fn a_rule_in_a_subfolder_takes_precedence() {
    let place = TestFolder::new().with(".gitignore", "*.log\n");
    fs::create_dir_all(place.path("keep")).unwrap();
    fs::write(place.path("keep/.gitignore"), "!a.log\n").unwrap();
    fs::write(place.path("keep/.ignore"), "b\n").unwrap();
    for name in ["a.log", "b", "c.log"] {
        fs::write(place.path(&format!("keep/{name}")), "").unwrap();
    }
    let found = place.done("find", find("*", None, None)).await;
    assert_eq!(
        found,
        ".gitignore\nkeep/\nkeep/.gitignore\nkeep/.ignore\nkeep/a.log\n\n[5 paths]"
    );
}

#[tokio::test]
async fn a_glob_finds_the_same_however_it_is_written() {
    let place = project().with("#note", "").with("with space ", "");
    let root = place.path("").canonicalize().unwrap();
    let absolute = format!("{}/src/*.rs", root.display());
    let elsewhere = format!("{}/docs/**/*.md", root.display());
    for (pattern, expected) in [
        ("./src/*.rs", "src/main.rs".to_owned()),
        ("#*", "#note".to_owned()),
        ("*h space ", "with space ".to_owned()),
        (&absolute, format!("{}/src/main.rs", root.display())),
        (&elsewhere, format!("{}/docs/Zebra.md", root.display())),
        ("src/../docs/*.md", "src/../docs/Zebra.md".to_owned()),
        ("/docs/*", "docs/Zebra.md".to_owned()),
    ] {
        let found = place.done("find", find(pattern, None, None)).await;
        assert_eq!(found, format!("{expected}\n\n[1 path]"), "{pattern}");
    }
    let named = grep("todo", Some("src"), Some(&absolute), None);
    let found = place.done("grep", named).await;
    assert!(found.starts_with("src/main.rs:2:"), "{found}");
    let outside = grep("x", Some("src"), Some("../docs/*"), None);
    let problem = place.failed("grep", outside).await;
    assert!(problem.contains("leads out of the folder"), "{problem}");
}
