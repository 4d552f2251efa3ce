//! Stores that are damaged, full, or in the wrong place.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use super::commands::end;
use super::{LIMIT, Project, StateFolder, block_on};
use crate::buffers::NoBuffers;
use crate::checkpoints::index::Index;
use crate::checkpoints::store::Store;
use crate::checkpoints::{
    CallLabel, CommandRun, JournalScope, Projects, Recorder, Request, Restore, commands,
};
use crate::files::{FileTarget, RealPath};

#[test]
fn a_damaged_content_is_reported_and_nothing_is_restored() {
    // Compressed, and too short for that.
    for before in ["one\n".repeat(2000), "one\n".to_owned()] {
        let mut project = Project::new();
        project.put("a", &before);
        project.write("a", "two\n");
        let change = project.journal().checkpoints.remove(0).files.remove(0);
        let compressed = project.store().objects.path(change.before.hash().unwrap());
        let plain = compressed.with_extension("raw");
        assert_ne!(compressed.exists(), plain.exists());
        let object = [compressed, plain].into_iter().find(|it| it.exists());
        fs::write(object.unwrap(), "damaged").unwrap();
        let plan = project.plan(Request::Undo).unwrap().unwrap();
        let why = block_on(plan.apply(false, &NoBuffers)).unwrap_err();
        assert!(why.contains("is damaged"), "{why}");
        assert_eq!(project.text("a").as_deref(), Some("two\n"));
        assert_eq!(project.journal().checkpoints.len(), 1);
    }
}

#[test]
fn damaged_and_torn_lines_of_the_journal_are_reported_and_the_others_count() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.write("a", "two\n");
    let path = project.store().journal_path();
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"id\": \"torn");
    fs::write(&path, text).unwrap();
    project.write("a", "three\n");
    let plan = project.plan(Request::Undo).unwrap().unwrap();
    assert!(plan.problem.unwrap().starts_with("1 lines"));
    project.undo();
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
}

#[test]
fn the_oldest_turns_are_removed_when_the_store_is_full() {
    let mut project = Project::new();
    for turn in 0..20_u64 {
        let text: String = (0..2000)
            .map(|it| format!("{} ", it * (turn + 7919)))
            .collect();
        project.write(&format!("file{turn}"), &text);
    }
    let store = project.store();
    let size = |store: &Store| store.objects.sizes().iter().map(|it| it.1).sum::<u64>();
    let all = size(&store);
    // All calls are of one turn, which goes as a whole.
    assert_eq!(store.shrink(all, |_| false).unwrap(), 0);
    assert_eq!(store.shrink(all - 1, |_| false).unwrap(), 1);
    assert_eq!(size(&store), 0);
    let why = project.plan(Request::Undo).unwrap_err();
    assert!(
        why.starts_with("The checkpoints of 20 earlier calls were removed"),
        "{why}"
    );
}

#[test]
fn a_restore_says_which_calls_it_lacks_since_the_store_was_full() {
    let mut project = Project::new();
    project.put("a", "0\n");
    for turn in 1..=4 {
        project.turn = turn;
        project.write("a", &format!("{turn}\n"));
    }
    let since = |from| Request::Turns {
        from,
        calls: Vec::new(),
    };
    let store = project.store();
    let all: u64 = store.objects.sizes().iter().map(|it| it.1).sum();
    assert_eq!(store.shrink(all - 1, |_| false).unwrap(), 1);

    let plan = project.plan(since(2)).unwrap().unwrap();
    assert_eq!((plan.problem, plan.calls.len()), (None, 3));
    let plan = project.plan(since(1)).unwrap().unwrap();
    let lacks = "The checkpoint of 1 earlier call was removed to make room (checkpoints.limit), so what it changed stays.";
    assert_eq!(plan.problem.as_deref(), Some(lacks));
    project.restore(since(1), false);
    assert_eq!(project.text("a").as_deref(), Some("1\n"));
    assert_eq!(project.plan(Request::Undo).unwrap_err(), lacks);
    project.redo();
    assert_eq!(project.text("a").as_deref(), Some("4\n"));
}

#[test]
fn the_store_is_private_and_another_thing_in_its_place_is_refused() {
    let mut project = Project::new();
    project.write("a", "secret\n");
    let journal = project.store().journal_path();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&journal), 0o600);
    let folder = journal.parent().unwrap();
    assert_eq!(mode(folder), 0o700);
    fs::remove_dir_all(folder).unwrap();
    fs::write(folder, "a file").unwrap();
    let why = project.plan(Request::Undo).unwrap_err();
    assert!(why.contains("cannot be used"), "{why}");
    let summary = project.write("a", "again\n");
    assert_eq!(summary.changes, 0);
    assert!(summary.remarks[0].contains("cannot restore"), "{summary:?}");
    assert_eq!(project.text("a").as_deref(), Some("again\n"));
}

#[test]
fn the_home_folder_and_those_above_it_are_no_projects() {
    let _state = StateFolder::new();
    let home = std::env::home_dir().unwrap();
    for folder in home.ancestors().map(Path::to_owned) {
        let plan = Restore::plan(folder, JournalScope::Project, Request::Undo, &NoBuffers);
        assert!(block_on(plan).unwrap_err().contains("not a project"));
    }
}

#[test]
fn a_store_that_cannot_be_written_is_reported_and_no_file_is_touched() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.sh("true");
    let objects = project.store().journal_path().with_file_name("objects");
    fs::remove_dir_all(&objects).unwrap();
    fs::write(&objects, "a file").unwrap();
    let summary = project.sh("echo two > a");
    assert_eq!(summary.changes, 0);
    assert!(
        summary.remarks[0].contains("cannot restore a: "),
        "{summary:?}"
    );
    let summary = project.write("a", "three\n");
    assert!(summary.remarks[0].contains("cannot restore"), "{summary:?}");
    let restored = project.undo();
    assert_eq!((restored.changed.len(), restored.kept.len()), (0, 1));
    assert_eq!(project.text("a").as_deref(), Some("three\n"));
}

#[test]
fn contents_that_the_index_needs_stay_when_old_turns_are_removed() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.sh("true");
    project.write("b", "two\n");
    let store = project.store();
    let needed = commands::needed(&project.programs[0], &store).unwrap();
    assert_eq!(store.shrink(1, |it| needed.contains(it)).unwrap(), 1);
    project.sh("echo three > a");
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
    assert_eq!(project.text("b").as_deref(), Some("two\n"));
}

#[test]
fn contents_of_a_call_that_runs_stay_when_old_turns_are_removed() {
    let project = Project::new();
    project.put("a", "one\n");
    let target = RealPath::of(&project.path("a")).unwrap();
    let target = block_on(FileTarget::find(target, Arc::new(NoBuffers))).unwrap();
    let recorder = project.recorder(LIMIT);
    let before = block_on(recorder.before(&target));
    // Another host finds its store full.
    assert_eq!(project.store().shrink(0, |_| false).unwrap(), 0);
    project.put("a", "two\n");
    block_on(recorder.after(&target, before));
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
    assert_eq!(project.store().shrink(0, |_| false).unwrap(), 1);
    assert_eq!(project.store().objects.sizes(), []);
}

#[test]
fn contents_that_a_running_command_may_change_stay_when_another_host_removes_old_turns() {
    let mut project = Project::new();
    project.put("a", "one\n");
    let running = project.begin();
    assert_eq!(project.store().shrink(0, |_| false).unwrap(), 0);
    project.put("a", "two\n");
    assert_eq!(end(running).changes, 1);
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
}

#[test]
fn hosts_that_write_the_index_at_the_same_time_leave_a_whole_one() {
    let project = Project::new();
    let (root, store) = (project.path(""), project.store());
    let files = |count: usize| {
        let mut index = Index::new(root.clone(), LIMIT);
        for number in 0..count {
            let path = root.join(format!("folder{number}/file"));
            index.add_link(&path);
        }
        index
    };
    // The more often they write, the surer they meet.
    let (small, large) = (files(1), files(100));
    std::thread::scope(|scope| {
        for index in [&small, &large] {
            let store = &store;
            // One that waits too long for the other leaves its file.
            scope.spawn(move || (0..500).for_each(|_| drop(store.save_index(index))));
        }
    });
    let found = Index::load(&store.index_path(), root.clone(), LIMIT, &store.objects);
    assert!(found == small || found == large);
}

#[test]
fn commands_in_a_folder_that_is_no_project_say_so_once() {
    let _state = StateFolder::new();
    let projects = Projects::default();
    let run = || {
        let home = std::env::home_dir().unwrap();
        let recorder = Recorder::new(&projects, home, LIMIT, CallLabel::default());
        block_on(async { CommandRun::begin(&recorder).await.end().await });
        recorder.summary().remarks
    };
    assert!(run()[0].contains("this folder is not a project"));
    assert_eq!(run(), Vec::<String>::new());
}

#[test]
fn a_store_of_another_user_is_not_used_and_the_calls_still_run() {
    if !rustix::process::geteuid().is_root() {
        // Only root can give a folder away.
        return;
    }
    let mut project = Project::new();
    project.write("a", "one\n");
    let journal = project.store().journal_path();
    let before = fs::read(&journal).unwrap();
    let folder = journal.parent().unwrap();
    std::os::unix::fs::chown(folder, Some(12345), None).unwrap();
    let summary = project.write("a", "two\n");
    let refused = "belongs to another user";
    assert!(summary.remarks[0].contains(refused), "{summary:?}");
    assert_eq!(project.text("a").as_deref(), Some("two\n"));
    assert!(project.plan(Request::Undo).unwrap_err().contains(refused));
    std::os::unix::fs::chown(folder, Some(0), None).unwrap();
    assert_eq!(fs::read(&journal).unwrap(), before);
    assert_eq!(project.undo().kept.len(), 1);
    assert_eq!(project.text("a").as_deref(), Some("two\n"));
}

#[test]
fn a_file_that_the_store_does_not_hold_is_not_removed() {
    let mut project = Project::new();
    project.write("new", "one\n");
    let store = project.store();
    let objects = store.journal_path().with_file_name("objects");
    let plan = project.plan(Request::Undo).unwrap().unwrap();
    // The list says that the file is removed, and then the store loses what it holds.
    assert_eq!(plan.lines(), ["remove   new"]);
    fs::remove_dir_all(&objects).unwrap();
    fs::write(&objects, "a file").unwrap();
    let refused = block_on(plan.apply(false, &NoBuffers)).unwrap_err();
    assert!(refused.contains("othing was restored"), "{refused}");
    assert_eq!(project.text("new").as_deref(), Some("one\n"));

    // A store that can be written holds it again before the file is removed.
    fs::remove_file(&objects).unwrap();
    assert_eq!(project.undo().changed, [project.path("new")]);
    project.redo();
    assert_eq!(project.text("new").as_deref(), Some("one\n"));
}

#[test]
fn what_the_index_lost_is_read_again_and_nothing_is_restored_wrongly() {
    for damage in ["", "garbage\n", "{\"path\": 7}\n\0\0\n"] {
        let mut project = Project::new();
        project.put("a", "one\n");
        project.sh("true");
        project.forget();
        fs::write(project.store().index_path(), damage).unwrap();
        project.put("a", "two\n");
        assert_eq!(project.sh("echo three > a; echo x > b").changes, 2);
        project.undo();
        assert_eq!(project.text("a").as_deref(), Some("two\n"), "{damage:?}");
        assert_eq!(project.text("b"), None);
    }
}

#[test]
fn a_command_that_cannot_be_listed_says_so_and_the_users_saves_stay() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.sh("true");
    let running = project.store().folder().join("running.jsonl");
    fs::remove_file(&running).unwrap();
    fs::create_dir(&running).unwrap();
    let summary = project.sh("echo two > a");
    assert_eq!(summary.changes, 0);
    let remark = &summary.remarks[0];
    assert!(remark.contains("cannot be listed as running"), "{remark}");
    assert!(project.plan(Request::Undo).unwrap().is_none());
}
