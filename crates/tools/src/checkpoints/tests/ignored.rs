//! Ignored files, which no checkpoint holds: what a command changed of them is named.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use super::Project;
use super::commands::end;
use crate::checkpoints::index::{Bound, Index, changed_at};
use crate::checkpoints::{Coverage, Summary, user_saved};

/// What is ignored in each of these projects.
const RULES: &str = "target/\n.env\n*.log\n";

/// A project with ignored files that no command has changed.
fn project() -> Project {
    let mut project = Project::new();
    project.put(".gitignore", RULES);
    project.put(".env", "secret\n");
    project.put("src/a", "one\n");
    project.put("src/old.log", "one\n");
    project.put("target/debug/deps/a", "one\n");
    project.put("target/debug/b", "one\n");
    project.sh("true");
    pass_a_tick(&project);
    project
}

/// Waits until the file system's clock has moved on, so that what was written before is older
/// than what a command writes.
fn pass_a_tick(project: &Project) {
    let before = clock(project);
    while clock(project) == before {
        std::thread::yield_now();
    }
}

/// The time by the clock of the file system.
fn clock(project: &Project) -> i64 {
    let path = project.store().folder().join("clock");
    fs::write(&path, "x").unwrap();
    changed_at(&fs::File::open(path).unwrap()).unwrap()
}

/// The places that a summary names.
fn places(summary: &Summary) -> Vec<String> {
    let text = summary.ignored.as_deref().unwrap_or_default();
    let places = text.strip_prefix(":Flemma undo cannot restore ignored files that changed: ");
    let places = places.map(|it| it.trim_end_matches('.').split("; "));
    places.into_iter().flatten().map(str::to_owned).collect()
}

#[test]
fn each_way_to_change_an_ignored_file_is_named() {
    let ways: [(&str, &[&str]); 16] = [
        ("true", &[]),
        ("cat .env target/debug/b > /dev/null; ls -R", &[]),
        ("echo x > src/b; touch src/a", &[]),
        ("echo x > .git/config; mkdir -p .git/x", &[]),
        ("echo x >> .env", &[".env"]),
        (
            "echo x > new.log; echo x > src/new.log",
            &["new.log", "src/new.log"],
        ),
        ("rm src/old.log", &["src/old.log (removed)"]),
        (
            "mv src/old.log src/new.log",
            &["src/old.log (removed)", "src/new.log"],
        ),
        (
            "cp -p src/old.log src/b; cp -p src/b src/old.log",
            &["src/old.log"],
        ),
        ("chmod 600 .env", &[".env"]),
        ("echo x > target/debug/deps/a", &["target/debug/deps/a"]),
        ("rm target/debug/b", &["target/ (some may be gone)"]),
        (
            "ln -s a target/debug/deps/c",
            &["target/debug/deps/c (others may be gone)"],
        ),
        (
            "cd target; for i in 1 2 3; do echo x > $i; done",
            &["3 files in target/ (others may be gone)"],
        ),
        ("rm -r target", &["target/ (removed)"]),
        ("rm -r src", &["src/old.log (removed)"]),
    ];
    for (command, expected) in ways {
        let mut project = project();
        let summary = project.sh(command);
        assert_eq!(places(&summary), expected, "{command}: {summary:?}");
        assert_eq!(summary.remarks, Vec::<String>::new(), "{command}");
        // The next command is not its author.
        pass_a_tick(&project);
        assert_eq!(project.sh("true").ignored, None, "{command}");
    }
}

#[test]
fn what_is_new_and_ignored_is_named_and_stays_when_the_rest_is_undone() {
    let mut project = project();
    let summary = project.sh("mkdir -p more/target; echo x > more/target/a; echo x > more/b");
    assert_eq!(places(&summary), ["more/target/a (others may be gone)"]);
    assert_eq!(summary.changes, 1);
    project.undo();
    assert_eq!(project.text("more/b"), None);
    assert_eq!(project.text("more/target/a").as_deref(), Some("x\n"));
}

#[test]
fn many_places_are_counted() {
    let mut project = project();
    let summary = project.sh("for i in 1 2 3 4 5 6 7 8; do mkdir d$i; echo x > d$i/a.log; done");
    let places = places(&summary);
    assert_eq!(places.len(), 6, "{summary:?}");
    assert_eq!(places[5], "3 more places");
}

#[test]
fn what_others_changed_meanwhile_is_not_the_commands() {
    let mut project = project();
    let command = project.begin();
    project.put("target/debug/b", "by the command\n");
    project.put(".env", "by the user\n");
    user_saved(&project.path(".env"));
    project.write("src/old.log", "by an edit\n");
    let summary = end(command);
    assert_eq!(places(&summary), ["target/debug/b"]);
    assert_eq!(summary.remarks, Vec::<String>::new());
    // The edit has a checkpoint, although the file is ignored.
    project.undo();
    assert_eq!(project.text("src/old.log").as_deref(), Some("one\n"));
    assert_eq!(project.text(".env").as_deref(), Some("by the user\n"));
}

#[test]
fn rules_that_a_command_changes_decide_what_is_named() {
    let mut project = project();
    let summary = project.sh("echo src/ > .gitignore; echo two > src/a");
    // The checkpoint has it from before it was ignored.
    assert_eq!(
        (places(&summary).len(), summary.changes),
        (0, 2),
        "{summary:?}"
    );
    pass_a_tick(&project);
    let summary = project.sh("echo x > target/debug/b; echo three > src/a");
    assert_eq!(places(&summary), ["src/a"]);
    let files = &project.journal().checkpoints[1].files;
    assert_eq!(files.len(), 1, "{files:?}");
}

#[test]
fn the_next_program_knows_what_is_ignored() {
    let mut project = project();
    let store = project.store();
    // As a program does when it ends a command after a while.
    let mut index = Index::new(project.path(""), super::LIMIT);
    index.refresh(&store.objects, None).unwrap();
    store.save_index(&index).unwrap();
    project.forget();
    assert_eq!(places(&project.sh("rm .env")), [".env (removed)"]);
}

#[test]
fn a_call_says_before_it_runs_that_ignored_files_are_not_covered() {
    let mut project = project();
    let coverage = |project: &mut Project| project.begin().1.coverage();
    let (files, ignored) = (0, true);
    assert_eq!(coverage(&mut project), Coverage::Lacks { files, ignored });
    project.sh("rm -r target .env src/old.log");
    assert_eq!(coverage(&mut project), Coverage::Full);
}

#[test]
fn a_bound_ends_the_search_and_is_said() {
    let project = project();
    for number in 0..200 {
        project.put(&format!("target/debug/deps/{number}"), "one\n");
    }
    let store = project.store();
    let mut index = Index::new(project.path(""), super::LIMIT);
    index.refresh(&store.objects, None).unwrap();
    pass_a_tick(&project);
    let began = clock(&project);
    project.put(".env", "two\n");
    let search = |entries, time| {
        let bound = Bound { entries, time };
        let found = index.ignored_changes(began, Vec::new(), bound);
        let names = found.files.into_iter().map(|it| it.path);
        (names.collect::<Vec<_>>(), found.unseen)
    };
    let minute = Duration::from_secs(60);
    let target = [project.path("target")].into();
    // The small places come first, so a huge folder does not hide them.
    let env = vec![project.path(".env")];
    assert_eq!(search(1000, minute), (env.clone(), [].into()));
    assert_eq!(search(100, minute), (env, target));
    let (names, unseen) = search(1000, Duration::ZERO);
    assert_eq!(names, Vec::<std::path::PathBuf>::new());
    assert!(unseen.contains(&project.path("target")), "{unseen:?}");
}

#[test]
fn links_in_ignored_folders_are_not_followed() {
    let mut project = project();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), project.path("target/link")).unwrap();
    fs::create_dir(project.path("src/target")).unwrap();
    symlink("..", project.path("src/target/up")).unwrap();
    project.sh("true");
    pass_a_tick(&project);
    let other = elsewhere.path().display().to_string();
    let summary = project.sh(&format!("echo x > {other}/a; echo x > src/b"));
    assert_eq!(summary.ignored, None);
}

#[test]
#[ignore = "a measurement"]
fn prove_how_long_the_search_of_ignored_files_takes() {
    let project = project();
    for number in 0..50_000 {
        project.put(&format!("target/{}/{number}", number / 500), "one\n");
    }
    let store = project.store();
    let mut index = Index::new(project.path(""), super::LIMIT);
    index.refresh(&store.objects, None).unwrap();
    for time in [Duration::from_secs(60), Duration::from_millis(20)] {
        let bound = Bound {
            entries: 50_000,
            time,
        };
        let begun = Instant::now();
        let found = index.ignored_changes(clock(&project), Vec::new(), bound);
        eprintln!(
            "prove: a search of 50,000 ignored files within {time:?}: {:?}, not all of {} folders",
            begun.elapsed(),
            found.unseen.len()
        );
    }
}
