//! Reviews of turns: what they list, and what removing parts of their diff does.

use chat::diff::review::{self, ChangedFile};

use super::*;
use crate::checkpoints::{FileArgument, TurnChanges};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
/// Lines 1 and 10 changed: two hunks.
const BOTH: &str = "one\n2\n3\n4\n5\n6\n7\n8\n9\nten\n";

pub(super) fn found(project: &Project) -> Option<TurnChanges> {
    let scope = JournalScope::Chat(project.label());
    let request = Request::Turns {
        from: project.turn,
        calls: Vec::new(),
    };
    block_on(TurnChanges::find(
        project.path(""),
        scope,
        request,
        &NoBuffers,
    ))
    .unwrap()
}

fn with_files<T>(changes: &TurnChanges, then: impl FnOnce(&[ChangedFile<'_>]) -> T) -> T {
    let files = changes.files.iter().map(|it| ChangedFile {
        name: &it.name,
        before: it.before.as_deref(),
        after: it.after.as_deref(),
        moved_to: it.moved_to.as_deref(),
        head: Some(&it.head),
    });
    then(&files.collect::<Vec<_>>())
}

fn diff(project: &Project) -> String {
    found(project).map_or_else(String::new, |it| with_files(&it, review::text))
}

/// Edits the diff of the turn, and applies it.
fn review(project: &Project, edit: impl FnOnce(&str) -> String) -> Restored {
    apply(project, &found(project).unwrap(), edit)
}

pub(super) fn apply(
    project: &Project,
    changes: &TurnChanges,
    edit: impl FnOnce(&str) -> String,
) -> Restored {
    let text = edit(&with_files(changes, review::text));
    let reviewed = with_files(changes, |files| review::parse(files, &text)).unwrap();
    let label = CallLabel {
        call: String::new(),
        tool: "review turn".to_owned(),
        ..project.label()
    };
    block_on(changes.revert(&reviewed, label, &NoBuffers)).unwrap()
}

/// The diff without the hunk or file that begins at this text.
fn without(diff: &str, start: &str) -> String {
    let at = diff.find(start).unwrap();
    let rest = &diff[at + 1..];
    let ends = ["\n@@", "\ndiff "].map(|it| rest.find(it).map_or(diff.len(), |end| at + end + 2));
    let end = if start.starts_with("diff") {
        ends[1]
    } else {
        ends[0].min(ends[1])
    };
    format!("{}{}", &diff[..at], &diff[end..])
}

#[test]
fn a_removed_hunk_is_reverted_and_undo_takes_that_back() {
    let mut project = Project::new();
    project.put("a", TEN);
    project.write("a", BOTH);
    let reverted = review(&project, |it| without(it, "@@ -1,"));
    assert_eq!(reverted.changed, [project.path("a")]);
    let rest = TEN.replace("10\n", "ten\n");
    assert_eq!(project.text("a"), Some(rest.clone()));
    // What is left is still there to review.
    let left = diff(&project);
    assert!(left.contains("+ten") && !left.contains("+one"), "{left}");
    assert_eq!(project.undo().changed, [project.path("a")]);
    assert_eq!(project.text("a").as_deref(), Some(BOTH));
    project.redo();
    assert_eq!(project.text("a"), Some(rest));
    // The turn as a whole still goes back to what was before it.
    let request = Request::Turns {
        from: project.turn,
        calls: Vec::new(),
    };
    project.restore(request, false);
    assert_eq!(project.text("a").as_deref(), Some(TEN));
    assert!(found(&project).is_none());
}

#[test]
fn what_the_user_changed_since_is_merged_or_the_file_stays() {
    let mut project = Project::new();
    project.put("a", TEN);
    project.put("b", TEN);
    project.write("a", BOTH);
    project.write("b", BOTH);
    project.put("a", &BOTH.replace("5\n", "five\n"));
    project.put("b", &BOTH.replace("one\n", "mine\n"));
    let reverted = review(&project, |it| without(&without(it, "@@ -1,"), "@@ -1,"));
    assert_eq!(reverted.changed, [project.path("a")]);
    let why = "the same lines have changed since".to_owned();
    assert_eq!(reverted.kept, [(project.path("b"), why)]);
    let merged = TEN.replace("5\n", "five\n").replace("10\n", "ten\n");
    assert_eq!(project.text("a"), Some(merged));
    assert_eq!(project.text("b"), Some(BOTH.replace("one\n", "mine\n")));
}

#[test]
fn what_the_user_changed_between_two_calls_is_no_change_of_the_turn() {
    let mut project = Project::new();
    project.put("a", TEN);
    project.write("a", &TEN.replace("1\n", "one\n"));
    let first = project.text("a").unwrap();
    project.put("a", &first.replace("5\n", "five\n"));
    let second = project.text("a").unwrap().replace("9\n", "nine\n");
    project.write("a", &second);
    let shown = diff(&project);
    assert!(
        shown.contains("+nine") && !shown.contains("+five"),
        "{shown}"
    );
    review(&project, |_| String::new());
    assert_eq!(project.text("a"), Some(TEN.replace("5\n", "five\n")));
}

#[test]
fn new_files_go_and_deleted_files_come_back_and_undo_knows_both() {
    let mut project = Project::new();
    project.put("gone", "text\n");
    project.put("gone.bin", "\0\u{1}");
    project.write("new/deep/file", "x\n");
    project.sh("rm gone gone.bin; : > empty; printf '\\0' > new.bin");
    let shown = diff(&project);
    for line in [
        "diff --git a/new.bin b/new.bin\nnew file mode 100644\nBinary files /dev/null and b/new.bin differ\n",
        "diff --git a/gone.bin b/gone.bin\ndeleted file mode 100644\nBinary files a/gone.bin and /dev/null differ\n",
        "diff --git a/empty b/empty\nnew file mode 100644\ndiff",
        "deleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-text\n",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    // A hunk that is all of a file, and whole parts of files.
    let reverted = review(&project, |it| {
        let it = without(&without(it, "@@ -0,0"), "@@ -1,1 +0,0");
        let it = without(
            &without(&it, "diff --git a/gone.bin"),
            "diff --git a/new.bin",
        );
        without(&it, "diff --git a/empty")
    });
    assert_eq!(reverted.kept, []);
    assert_eq!(project.text("gone").as_deref(), Some("text\n"));
    assert_eq!(project.text("gone.bin").as_deref(), Some("\0\u{1}"));
    for name in ["new", "empty", "new.bin"] {
        assert!(!project.path(name).exists(), "{name}");
    }
    assert!(found(&project).is_none());
    project.undo();
    assert_eq!(project.text("new/deep/file").as_deref(), Some("x\n"));
    assert!(project.path("new.bin").exists() && !project.path("gone").exists());
}

#[test]
fn modes_links_and_moves_are_listed_as_git_does_and_go_with_their_part() {
    let mut project = Project::new();
    project.put("run", "a\n");
    project.put("old", TEN);
    project.put("old.bin", "\0\u{2}");
    project.put("linked", "a\n");
    symlink("old", project.path("link")).unwrap();
    project.sh(
        "chmod +x run; ln -sfn elsewhere link; ln -sf run linked; sed -i 's/^1$/one/' old; mv old moved; mv old.bin moved.bin",
    );
    let shown = diff(&project);
    for line in [
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n",
        "diff --git a/link b/link\nlink to old\nlink to elsewhere\n",
        "diff --git a/linked b/linked\nold mode 100644\nnew mode 120000\nlink to run\ndiff",
        "diff --git a/old b/moved\nsimilarity index 90%\nrename from old\nrename to moved\n--- a/old\n",
        "diff --git a/old.bin b/moved.bin\nsimilarity index 100%\nrename from old.bin\nrename to moved.bin\n",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    // Without its hunk, a file stays moved.
    review(&project, |it| without(it, "@@ -1,"));
    assert_eq!(project.text("moved").as_deref(), Some(TEN));
    assert!(!project.path("old").exists());
    let reverted = review(&project, |_| String::new());
    assert_eq!(reverted.kept, []);
    assert_eq!(project.text("old").as_deref(), Some(TEN));
    assert_eq!(project.text("old.bin").as_deref(), Some("\0\u{2}"));
    assert!(!project.path("moved").exists() && !project.path("moved.bin").exists());
    assert!(!project.path("linked").is_symlink());
    assert_eq!(project.text("linked").as_deref(), Some("a\n"));
    let mode = fs::metadata(project.path("run")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o644);
    assert_eq!(
        fs::read_link(project.path("link")).unwrap().to_str(),
        Some("old")
    );
}

#[test]
fn files_without_a_text_or_a_checkpoint_are_named_and_large_ones_go_as_a_whole() {
    let mut project = Project::new();
    let large = "long line\n".repeat(200_000);
    project.put("large", &large);
    project.put("latin1", "");
    fs::write(project.path("latin1"), b"\xfc\n").unwrap();
    project.sh("echo more >> large; printf '\\344\\n' > latin1; truncate -s 17M huge");
    let shown = diff(&project);
    for line in [
        "diff --git a/large b/large\nnote: too large to be shown\n",
        "diff --git a/latin1 b/latin1\nBinary files a/latin1 and b/latin1 differ\n",
        "diff --git a/huge b/huge\nno checkpoint: it is larger than 16 MB\n",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    let reverted = review(&project, |_| String::new());
    let kept: Vec<_> = reverted.kept.iter().map(|it| it.0.clone()).collect();
    assert_eq!(kept, [project.path("huge")]);
    assert_eq!(project.text("large"), Some(large));
    assert_eq!(fs::read(project.path("latin1")).unwrap(), b"\xfc\n");
}

#[test]
fn a_moved_file_that_changed_since_stays_where_it_is() {
    let mut project = Project::new();
    project.put("old", TEN);
    project.sh("mv old moved");
    project.put("moved", "mine\n");
    let reverted = review(&project, |_| String::new());
    assert_eq!(reverted.changed, [] as [PathBuf; 0]);
    assert_eq!(reverted.kept.len(), 2);
    assert_eq!(project.text("moved").as_deref(), Some("mine\n"));
    assert!(!project.path("old").exists());
}

#[test]
fn a_diff_that_was_opened_before_another_call_applies_to_the_files_as_they_are() {
    let mut project = Project::new();
    project.put("a", TEN);
    project.write("a", BOTH);
    let opened = found(&project).unwrap();
    project.write("a", &BOTH.replace("5\n", "five\n"));
    apply(&project, &opened, |it| without(it, "@@ -1,"));
    let merged = TEN.replace("5\n", "five\n").replace("10\n", "ten\n");
    assert_eq!(project.text("a"), Some(merged));
    // A hunk that is gone already changes nothing, and leaves nothing to undo.
    let before = project.journal().checkpoints.len();
    let again = apply(&project, &opened, |it| without(it, "@@ -1,"));
    assert_eq!(again, Restored::default());
    assert_eq!(project.journal().checkpoints.len(), before);
}

#[test]
fn what_the_user_took_back_by_hand_is_not_listed() {
    let mut project = Project::new();
    project.put("a", TEN);
    project.write("a", BOTH);
    project.put("a", TEN);
    assert!(found(&project).is_none());
}

#[test]
fn turns_above_that_are_gone_since_do_not_count() {
    let mut project = Project::new();
    for (turn, name) in [(1, "a"), (2, "b"), (3, "c")] {
        project.turn = turn;
        project.write(name, "x\n");
    }
    let changed = |from, call: &str, now| {
        let scope = JournalScope::Chat(project.label());
        let calls = vec![(call.to_owned(), now)];
        let request = Request::Turns { from, calls };
        let found = TurnChanges::find(project.path(""), scope, request, &NoBuffers);
        let files = block_on(found).unwrap().unwrap().files;
        files.into_iter().map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(changed(3, "call_3", 3), ["c"]);
    assert_eq!(changed(1, "call_3", 1), ["c"]);
    assert_eq!(changed(1, "call_3", 2), ["b", "c"]);
    // And one that is new.
    assert_eq!(changed(3, "call_2", 3), ["b", "c"]);
    assert_eq!(changed(2, "unknown", 2), ["b", "c"]);
}

#[test]
fn a_review_says_what_it_lacks_since_the_store_was_full() {
    let mut project = Project::new();
    project.write("a", "a\n");
    assert!(project.store().shrink(0, |_| false).unwrap() > 0);
    let scope = JournalScope::Chat(project.label());
    let request = Request::Turns {
        from: 1,
        calls: Vec::new(),
    };
    let plan = TurnChanges::find(project.path(""), scope.clone(), request.clone(), &NoBuffers);
    let why = block_on(plan).unwrap_err();
    assert!(
        why.contains("removed to make room (checkpoints.limit)"),
        "{why}"
    );
    project.turn = 2;
    project.write("b", "b\n");
    let plan = TurnChanges::find(project.path(""), scope, request, &NoBuffers);
    let found = block_on(plan).unwrap().unwrap();
    assert_eq!(found.files.len(), 1);
    assert!(found.problem.unwrap().contains("removed to make room"));
}

#[test]
fn windows_line_ends_and_a_missing_one_stay() {
    let mut project = Project::new();
    let text = |lines: &str| lines.replace('\n', "\r\n") + "end";
    project.put("a", &text(TEN));
    project.put("open", "1\n2");
    project.sh("sed -i 's/^1\\r/one\\r/; s/^10\\r/ten\\r/' a; printf '1\\ntwo\\n' > open");
    review(&project, |it| without(&without(it, "@@ -1,4"), "@@ -1,2"));
    assert_eq!(project.text("a"), Some(text(TEN).replace("10\r", "ten\r")));
    assert_eq!(project.text("open").as_deref(), Some("1\n2"));
}

fn file(name: &str) -> Request {
    Request::File(argument(name))
}

fn argument(name: &str) -> FileArgument {
    FileArgument {
        name: name.to_owned(),
        folders: Vec::new(),
    }
}

#[test]
fn a_review_can_be_about_one_file() {
    let mut project = Project::new();
    project.write("sub/a", "a\n");
    project.write("b", "b\n");
    let mut changes = found(&project).unwrap();
    assert!(changes.keep_only(&argument("sub/../sub/a")));
    let names: Vec<_> = changes.files.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["sub/a"]);
    assert!(changes.keep_only(&argument("sub")));
    assert!(!changes.keep_only(&argument("b")));
}

#[test]
fn an_undo_of_one_file_leaves_the_others_and_goes_back_call_by_call() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.put("b", "one\n");
    project.write("a", "two\n");
    project.sh("echo three > a; echo three > b; echo three > c");
    let text = |project: &Project| ["a", "b", "c"].map(|it| project.text(it).unwrap_or_default());
    let restored = project.restore(file("a"), false);
    assert_eq!(restored.changed, [project.path("a")]);
    assert_eq!(text(&project), ["two\n", "three\n", "three\n"]);
    // Again: the call before.
    project.restore(file("a"), false);
    assert_eq!(text(&project), ["one\n", "three\n", "three\n"]);
    assert!(project.plan(file("a")).unwrap().is_none());
    project.redo();
    project.redo();
    assert_eq!(text(&project), ["three\n", "three\n", "three\n"]);

    project.restore(file("b"), false);
    // The rest of the call, without the file that is restored already and changed since.
    project.put("b", "mine\n");
    let restored = project.undo();
    assert_eq!(restored.changed, [project.path("a"), project.path("c")]);
    assert_eq!(text(&project), ["two\n", "mine\n", ""]);
    project.redo();
    assert_eq!(text(&project), ["three\n", "mine\n", "three\n"]);
    project.undo();
    project.undo();
    assert_eq!(text(&project), ["one\n", "mine\n", ""]);
    assert!(project.plan(file("b")).unwrap().is_none());
}

#[test]
fn a_call_whose_files_were_all_restored_one_by_one_is_undone() {
    let mut project = Project::new();
    project.write("x", "before\n");
    project.sh("echo 1 > a; echo 1 > b");
    project.restore(file("a"), false);
    project.restore(file("b"), false);
    assert_eq!(project.undo().changed, [project.path("x")]);
    assert!(project.plan(file("nothing")).unwrap().is_none());
}
