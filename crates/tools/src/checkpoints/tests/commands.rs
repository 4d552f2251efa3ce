//! Commands that change files, and undos of their changes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, Instant};

use chat::tool::ToolUseId;
use serde_json::json;

use super::{LIMIT, Project, StateFolder, block_on};
use crate::checkpoints::index::Index;
use crate::checkpoints::{CommandRun, Coverage, Recorder, Request, Summary, user_saved};
use crate::context::ToolContext;
use crate::objects::Objects;
use crate::run;

impl Project {
    /// Runs a shell command.
    pub(super) fn sh(&mut self, command: &str) -> Summary {
        self.call("bash", json!({"label": "", "command": command}))
    }

    fn next_recorder(&mut self) -> Recorder {
        self.calls += 1;
        self.recorder(LIMIT)
    }

    /// Begins a command, whose changes the test makes itself.
    pub(super) fn begin(&mut self) -> (CommandRun, Recorder) {
        let recorder = self.next_recorder();
        (block_on(CommandRun::begin(&recorder)), recorder)
    }
}

pub(super) fn end((run, recorder): (CommandRun, Recorder)) -> Summary {
    block_on(run.end());
    recorder.summary()
}

#[test]
fn a_command_that_changes_ten_files_is_undone_and_redone() {
    let mut project = Project::new();
    for number in 0..8 {
        project.put(&format!("src/{number}"), "one\n");
    }
    project.put("gone/deep/a", "old\n");
    let summary = project.sh("for i in 0 1 2 3 4 5 6 7; do echo two >> src/$i; done; rm -r gone; mkdir -p new/er; echo x > new/er/b");
    assert_eq!(summary.changes, 10, "{summary:?}");
    assert_eq!(summary.remarks, Vec::<String>::new());
    let restored = project.undo();
    assert_eq!(restored.changed.len(), 10);
    assert_eq!(project.text("src/3").as_deref(), Some("one\n"));
    assert_eq!(project.text("gone/deep/a").as_deref(), Some("old\n"));
    assert!(!project.path("new").exists());
    project.redo();
    assert_eq!(project.text("src/3").as_deref(), Some("one\ntwo\n"));
    assert_eq!(project.text("new/er/b").as_deref(), Some("x\n"));
    assert!(!project.path("gone/deep/a").exists());
}

#[test]
fn what_a_command_moved_stays_if_it_cannot_be_put_back() {
    let moves = [
        "mv b deep/a",
        "cat b >> deep/a; rm b",
        "sed 's/one/two/' b > deep/a; rm b",
        // By way of another file.
        "mv deep/a c; mv b deep/a",
        "mv b new",
    ];
    for moved in moves {
        let mut project = Project::new();
        project.put("b", "one\nthe user's\n}\n");
        project.put("deep/a", "old\n}\n");
        project.put("other", "}\n");
        project.sh(&format!("{moved}; echo changed > other"));
        project.put("b", "new\n");
        let plan = project.plan(Request::Undo).unwrap().unwrap();
        let lines = plan.lines();
        let mut kept = lines.iter().filter(|it| it.starts_with("keep "));
        assert!(
            kept.any(|it| it.ends_with(": it has lines of b, which stays as it is")),
            "{moved}: {lines:?}"
        );
        project.undo();
        let texts = ["deep/a", "new"].map(|it| project.text(it).unwrap_or_default());
        assert!(
            texts.concat().contains("the user's\n"),
            "{moved}: {texts:?}"
        );
        assert_eq!(project.text("b").as_deref(), Some("new\n"), "{moved}");
        assert_eq!(project.text("other").as_deref(), Some("}\n"), "{moved}");
        // All of it, if the user overwrites the new file.
        project.redo();
        project.restore(Request::Undo, true);
        let texts = ["b", "deep/a"].map(|it| project.text(it).unwrap());
        assert_eq!(texts, ["one\nthe user's\n}\n", "old\n}\n"], "{moved}");
    }
    // Put back elsewhere, or changed only in part: nothing is in the way.
    let mut project = Project::new();
    project.put("a", "1\n2\n3\n");
    project.put("b", "one\n");
    project.sh("sed -i 's/1/x/' a; cp b copy; echo more >> b; echo 1 > moved");
    project.put("b", "one\nless\n");
    let restored = project.undo();
    let kept: Vec<_> = restored.kept.into_iter().map(|it| it.0).collect();
    assert_eq!(kept, [project.path("b")]);
    assert_eq!(project.text("copy"), None);
    assert_eq!(project.text("a").as_deref(), Some("1\n2\n3\n"));
}

#[test]
fn a_folder_that_became_a_link_to_one_with_the_same_files_comes_back() {
    for also in [
        "",
        "; rm other/a",
        "; echo new > other/c",
        "; ln -sfn \"$PWD/other\" folder",
        "; ln -s other third; ln -sfn third folder",
        "; rm other/deep/b; rmdir other/deep; ln -s /tmp other/deep",
    ] {
        let mut project = Project::new();
        project.put("folder/a", "one\n");
        project.put("folder/deep/b", "one\n");
        project.sh("true");
        project.sh(&format!("mv folder other; ln -s other folder{also}"));
        assert_eq!(project.undo().kept, [], "{also}");
        for name in ["folder/a", "folder/deep/b"] {
            let text = project.text(name);
            assert_eq!(text.as_deref(), Some("one\n"), "{name}{also}");
        }
        assert!(!project.path("other").exists(), "{also}");
    }
}

#[test]
fn nothing_is_restored_through_a_link_that_the_user_made() {
    let mut project = Project::new();
    project.put("folder/deep/b", "one\n");
    project.put("a", "one\n");
    project.sh("rm -r folder; echo two > a");
    project.put("mine/deep/c", "mine\n");
    symlink("mine", project.path("folder")).unwrap();
    let restored = project.undo();
    assert_eq!(restored.changed, [project.path("a")]);
    let why = "its folder is now a file".to_owned();
    assert_eq!(restored.kept, [(project.path("folder/deep/b"), why)]);
    assert_eq!(project.text("mine/deep/b"), None);
}

#[test]
fn modes_and_links_that_a_command_changes_come_back() {
    let mut project = Project::new();
    project.put("a", "one\n");
    fs::set_permissions(project.path("a"), Permissions::from_mode(0o644)).unwrap();
    symlink("a", project.path("link")).unwrap();
    let summary = project.sh("chmod 755 a; ln -sfn b link; ln -s a other");
    assert_eq!(summary.changes, 3, "{summary:?}");
    project.undo();
    let mode = fs::metadata(project.path("a")).unwrap().mode() & 0o777;
    assert_eq!(mode, 0o644);
    assert_eq!(
        fs::read_link(project.path("link")).unwrap().as_os_str(),
        "a"
    );
    assert!(fs::symlink_metadata(project.path("other")).is_err());
}

#[test]
fn a_command_that_changes_nothing_has_no_checkpoint() {
    let mut project = Project::new();
    project.put("a", "one\n");
    assert_eq!(project.sh("touch a; cat a").changes, 0);
    assert!(project.journal().checkpoints.is_empty());
}

#[test]
fn changes_of_ignored_files_and_of_git_are_left_alone() {
    let mut project = Project::new();
    project.put(".gitignore", "target/\n");
    project.put("target/a", "one\n");
    let summary = project.sh("echo two > target/a; echo x > .git/x; echo y > y");
    assert_eq!(summary.changes, 1, "{summary:?}");
    project.undo();
    assert_eq!(project.text("target/a").as_deref(), Some("two\n"));
    assert_eq!(project.text("y"), None);
}

#[test]
fn what_the_user_saves_while_a_command_begins_is_not_the_commands_change() {
    let mut project = Project::new();
    for number in 0..500 {
        project.put(&format!("src/{number}"), "one\n");
    }
    project.sh("true");
    let recorder = project.next_recorder();
    let begins = {
        let recorder = recorder.clone();
        std::thread::spawn(move || block_on(CommandRun::begin(&recorder)))
    };
    // Each at another moment, some of them while the index is brought up to date.
    for number in 0..500 {
        project.put(&format!("src/{number}"), "by the user\n");
        user_saved(&project.path(&format!("src/{number}")));
    }
    let summary = end((begins.join().unwrap(), recorder));
    assert_eq!(summary.changes, 0);
}

#[test]
fn a_file_that_rules_no_longer_ignore_is_not_removed() {
    let mut project = Project::new();
    project.put(".gitignore", "mine\n");
    project.put("mine", "precious\n");
    project.sh("true");
    let summary = project.sh("echo > .gitignore; echo more >> mine");
    assert!(
        summary.remarks[0].contains("mine: it was ignored before"),
        "{summary:?}"
    );
    project.undo();
    assert_eq!(project.text("mine").as_deref(), Some("precious\nmore\n"));
    assert_eq!(project.text(".gitignore").as_deref(), Some("mine\n"));
}

#[test]
fn a_file_that_the_user_saves_meanwhile_belongs_to_the_user() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.put("b", "one\n");
    let command = project.begin();
    project.put("a", "by the command\n");
    project.put("b", "by the user\n");
    user_saved(&project.path("b"));
    let summary = end(command);
    assert_eq!(summary.changes, 1);
    assert!(
        summary.remarks[0].starts_with("You saved b while"),
        "{summary:?}"
    );
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
    assert_eq!(project.text("b").as_deref(), Some("by the user\n"));
}

#[test]
fn commands_that_overlap_share_one_checkpoint() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.put("b", "one\n");
    let (first, second) = (project.begin(), project.begin());
    project.put("a", "two\n");
    assert_eq!(end(first).changes, 1);
    project.put("b", "two\n");
    project.put("a", "three\n");
    assert_eq!(end(second).changes, 2);
    let journal = project.journal();
    assert_eq!(journal.checkpoints.len(), 1);
    assert_eq!(journal.checkpoints[0].calls.len(), 2);
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
    assert_eq!(project.text("b").as_deref(), Some("one\n"));
}

#[test]
fn an_edit_during_a_command_is_not_the_commands() {
    let mut project = Project::new();
    project.put("a", "one\n");
    let command = project.begin();
    project.write("a", "edited\n");
    project.put("b", "by the command\n");
    assert_eq!(end(command).changes, 1);
    project.undo();
    assert_eq!(project.text("b"), None);
    assert_eq!(project.text("a").as_deref(), Some("edited\n"));
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
}

#[test]
fn an_undo_during_a_command_is_not_the_commands() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.write("a", "two\n");
    let command = project.begin();
    project.undo();
    assert_eq!(end(command).changes, 0);
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
}

#[test]
fn the_next_program_takes_the_index_over() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.sh("true");
    assert!(project.store().index_path().exists());
    project.forget();
    project.put("a", "two\n");
    project.sh("echo three > a");
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("two\n"));
}

#[test]
fn files_that_are_too_large_are_named() {
    let mut project = Project::new();
    let large = fs::File::create(project.path("large")).unwrap();
    large.set_len(17 * 1024 * 1024).unwrap();
    let summary = project.sh("echo x >> large; echo y > y");
    assert_eq!(summary.changes, 1);
    assert!(
        summary.remarks[0].contains("large: it is larger than 16 MB"),
        "{summary:?}"
    );
    assert_eq!(
        project.next_recorder().coverage(),
        Coverage::Lacks {
            files: 1,
            ignored: false
        }
    );
    let restored = project.undo();
    assert_eq!(restored.kept.len(), 1);
    assert_eq!(project.text("y"), None);
}

#[test]
fn a_command_that_makes_too_many_files_is_reported() {
    let mut project = Project::new();
    let command = project.begin();
    project.programs[0].outgrow(&project.path(""));
    let summary = end(command);
    let lost = ":Flemma undo cannot restore what this command changed: the project has more than 200,000 files.";
    assert_eq!(summary.remarks, [lost]);
}

#[test]
fn contents_above_the_limit_are_not_covered_and_nothing_is_lost() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.calls += 1;
    let recorder = project.recorder(1);
    let run = block_on(CommandRun::begin(&recorder));
    project.put("a", "two\n");
    block_on(run.end());
    let summary = recorder.summary();
    assert!(summary.remarks[0].contains("too much space"), "{summary:?}");
    assert_eq!(project.text("a").as_deref(), Some("two\n"));
}

#[test]
fn a_call_that_is_dropped_records_what_it_changed() {
    let mut project = Project::new();
    project.put("a", "one\n");
    let (command, _recorder) = project.begin();
    project.put("a", "two\n");
    drop(command);
    // The next command waits for the thread that records it, or shares its checkpoint.
    let tool = project.registry.get("bash").unwrap();
    let context = ToolContext::new(project.path(""), project.path("outputs"));
    let input = json!({"label": "", "command": "true"});
    block_on(run::run(tool, ToolUseId::new("x"), input, context));
    while project.journal().checkpoints.is_empty() {
        std::thread::yield_now();
    }
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
}

#[test]
#[ignore = "a measurement"]
fn prove_how_long_a_checkpoint_of_a_command_takes() {
    let mut project = Project::new();
    let name = |number: usize| format!("src/{}/{}/file{number}.rs", number % 10, number / 100);
    let first = Instant::now();
    for number in 0..100_000 {
        project.put(&name(number), &format!("fn number() {{ {number} }}\n"));
    }
    let made = first.elapsed();
    let first = Instant::now();
    // The first commands come too early for the index.
    while !end(project.begin()).remarks.is_empty() {}
    let indexed = first.elapsed();
    let mut took: Vec<Duration> = (0..15)
        .map(|round| {
            let begun = Instant::now();
            let command = project.begin();
            let before = begun.elapsed();
            for number in 0..10 {
                let path = name(number * 1000 + round);
                fs::write(project.path(&path), format!("fn changed() {{ {round} }}\n")).unwrap();
            }
            let begun = Instant::now();
            assert_eq!(end(command).changes, 10);
            before + begun.elapsed()
        })
        .collect();
    took.sort();
    eprintln!(
        "prove: a checkpoint of a command in 100,000 files: median {:?}, best {:?}, worst {:?}; the first index {indexed:?} \
         (the files were made in {made:?})",
        took[7], took[0], took[14]
    );
}

#[test]
fn a_state_folder_in_the_project_is_no_part_of_it() {
    let _state = StateFolder::new();
    fs::create_dir_all(crate::state_dir::path()).unwrap();
    let root = StateFolder::path().canonicalize().unwrap();
    for file in [root.join("a"), crate::state_dir::path().join("b")] {
        fs::write(file, "x").unwrap();
    }
    let objects = Objects::new(tempfile::tempdir().unwrap().path().join("objects"));
    let mut index = Index::new(root.clone(), LIMIT);
    let Ok(passed) = index.refresh(&objects, Some(0)) else {
        panic!("too many files");
    };
    // Other tests use the folder, too.
    let found: Vec<_> = passed.changes.into_iter().map(|it| it.path.0).collect();
    assert!(found.contains(&root.join("a")), "{found:?}");
    let state = crate::files::leads_to(&crate::state_dir::path());
    let is_ours = |it: &&std::path::PathBuf| it.starts_with(&state);
    assert_eq!(found.iter().find(is_ours), None);
    assert!(!index.has_ignored());
}

#[test]
fn an_undo_says_that_the_index_changed_however_it_was_written() {
    for format in ["sha1", "sha256"] {
        let mut project = Project::new();
        let remark = |project: &Project| {
            let plan = project.plan(Request::Undo);
            plan.unwrap().unwrap().problem.unwrap_or_default()
        };
        project.put("a", "one\n");
        project.sh(&format!(
            "git init -q --object-format={format} && git add a && cp .git/index .git/first"
        ));
        for (command, is_other) in [
            ("echo >> a", false),
            ("touch .git/index; echo >> a", false),
            ("git add a; echo >> a", true),
            ("echo >> a", false),
            // Written in place.
            ("cp .git/first .git/index; echo >> a", true),
            ("cat .git/first > .git/index; echo >> a", false),
            ("rm .git/index; echo >> a", true),
            ("git add a; echo >> a", true),
        ] {
            project.sh(command);
            let said = remark(&project);
            assert_eq!(
                said.contains("the index has other entries"),
                is_other,
                "{format}: {command}: {said}"
            );
        }
    }
}

#[test]
fn an_undo_says_what_it_leaves_of_git_and_of_folders() {
    let mut project = Project::new();
    let remark = |project: &Project| {
        let plan = project.plan(Request::Undo);
        plan.unwrap().unwrap().problem.unwrap_or_default()
    };
    project.put("same", "one\n");
    project.put("a", "one\n");
    project.sh(
        "git init -q && git checkout -qb first && git config user.email t@example.com && \
         git config user.name t && git add . && git commit -qm one && git checkout -qb second && \
         echo two > b && git add . && git commit -qm two && git checkout -q first",
    );
    project.sh("echo two >> a");
    assert_eq!(remark(&project), "");
    for version in [2, 4, 3] {
        // Git itself writes version 3 only for entries that need it.
        project.sh(&format!("git update-index --index-version {version}"));
        project.sh("touch -d 2001-01-01 same; git update-index -q --refresh; echo >> a");
        assert_eq!(remark(&project), "", "version {version}");
        project.sh("git add a && echo >> a");
        let said = remark(&project);
        assert!(said.contains("Git: the index has other entries."), "{said}");
        project.sh(&format!("echo x > new{version} && git add -N new{version}"));
        let said = remark(&project);
        assert!(said.contains("the index has other entries"), "{said}");
    }
    project.sh("git rm -qf --cached new2 new3 new4; rm new2 new3 new4");
    project.sh("git commit -qam more && echo three >> a");
    let said = remark(&project);
    assert!(
        said.contains("HEAD was ") && said.contains(" on first, is "),
        "{said}"
    );
    assert!(!said.contains("other branch"), "{said}");
    project.sh("git checkout -q -- a && git checkout -q second");
    let said = remark(&project);
    assert!(
        said.contains(" on first, is ") && said.contains(" on second;"),
        "{said}"
    );
    assert!(said.contains("of the other branch"), "{said}");
    project.put("a", "mine\n");
    project.sh("git stash -q");
    assert!(remark(&project).contains("the stash has other entries"));
    project.sh("git checkout -q --detach && echo four > a");
    assert!(remark(&project).contains("(detached)"));

    project
        .sh("mkdir -p x/empty y; git init -q nested; for i in nested/f y/f; do echo a > $i; done");
    let said = remark(&project);
    assert!(said.contains("New repositories stay: nested."), "{said}");
    assert!(said.contains("New empty folders stay: x/empty."), "{said}");
    // Folders that were there before.
    project.sh("git init -q y && echo b > y/f");
    let said = remark(&project);
    assert!(said.contains("New repositories stay: y."), "{said}");
    project.sh("rm -rf nested y/.git && rmdir x/empty && echo c > y/f");
    let said = remark(&project);
    let gone = "Removed repositories cannot be restored: nested, y.";
    assert!(said.contains(gone), "{said}");
    assert!(said.contains("Empty folders stay away: x/empty."), "{said}");
    project.sh("echo d > y/f");
    assert_eq!(remark(&project), "");
}

#[test]
fn a_command_that_only_makes_or_removes_a_repository_says_that_it_stays() {
    let mut project = Project::new();
    project.put("nested/f", "one\n");
    for (command, remark) in [
        ("git init -q nested", "New repositories stay: nested."),
        (
            "rm -r nested/.git",
            "Removed repositories cannot be restored: nested.",
        ),
        (
            "rm -r .git",
            "Removed repositories cannot be restored: .git.",
        ),
        ("git init -q", "New repositories stay: .git."),
    ] {
        let said = project.sh(command).remarks;
        let expected = format!(":Flemma undo does not change repositories. {remark}");
        assert_eq!(said, [expected], "{command}");
    }
}
