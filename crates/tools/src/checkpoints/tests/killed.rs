//! Restores whose program is killed after some of the files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use async_trait::async_trait;

use super::*;
use crate::buffers::{OpenBuffers, OpenText, Replaced, Replacement};
use crate::checkpoints::{Content, FileState, Made, recover};

/// Ends the restore once the file `a` has the text `text`, before the file `b` changes.
struct Killer<'a> {
    project: &'a Project,
    text: &'a str,
}

#[async_trait]
impl OpenBuffers for Killer<'_> {
    async fn text(&self, path: &Path) -> Option<OpenText> {
        let is_done = self.project.text("a").as_deref() == Some(self.text);
        assert!(!is_done || path != self.project.path("b"), "killed");
        None
    }

    async fn replace(&self, path: &Path, new: Replacement<'_>) -> Result<Replaced, String> {
        NoBuffers.replace(path, new).await
    }
}

/// A project in which one command changed two files.
fn project() -> Project {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.put("b", "one\n");
    project.sh("echo two > a; echo two > b");
    project
}

fn kill(project: &Project, request: Request, text: &str) {
    let plan = project.plan(request).unwrap().unwrap();
    let killer = Killer { project, text };
    let ended = catch_unwind(AssertUnwindSafe(|| block_on(plan.apply(false, &killer))));
    assert!(ended.is_err());
}

fn texts(project: &Project) -> [String; 2] {
    ["a", "b"].map(|name| project.text(name).unwrap())
}

const ONE: &str = "one\n";
const TWO: &str = "two\n";
const MINE: &str = "mine\n";

#[test]
fn changes_that_a_killed_program_was_making_are_reverted_by_the_next_one() {
    let project = Project::new();
    project.put("a", ONE);
    project.put("b", ONE);
    let change = |name: &str, text: &str, content| Made {
        path: project.path(name),
        before: match name {
            "new/c" => FileState::Absent,
            _ => FileState::file(ONE.as_bytes(), 0o644),
        },
        after: FileState::file(text.as_bytes(), 0o644),
        content,
    };
    let bytes = |text: &str| Content::Bytes(text.as_bytes().to_vec());
    let changes = || {
        let names = ["new/c", "a", "b"];
        names
            .map(|name| change(name, TWO, bytes(TWO)))
            .into_iter()
            .collect()
    };
    let recorder = || project.recorder(LIMIT);
    let killer = Killer {
        project: &project,
        text: TWO,
    };
    let ended = catch_unwind(AssertUnwindSafe(|| {
        block_on(recorder().make(changes(), &killer))
    }));
    assert!(ended.is_err());
    assert_eq!(texts(&project), [TWO, ONE]);
    assert!(project.path("new/c").exists());
    block_on(recover(project.path(""), &NoBuffers));
    assert_eq!(texts(&project), [ONE, ONE]);
    assert!(!project.path("new").exists());
    assert!(project.plan(Request::Undo).unwrap().is_none());
    // What is not as it was shown is not changed, and nothing else is either.
    project.put("b", "mine\n");
    let failed = block_on(recorder().make(changes(), &NoBuffers)).unwrap_err();
    assert!(failed.contains("b has changed since"), "{failed}");
    assert_eq!(texts(&project), [ONE, "mine\n"]);
    project.put("b", ONE);
    block_on(recorder().make(changes(), &NoBuffers)).unwrap();
    assert_eq!(texts(&project), [TWO, TWO]);
    block_on(recover(project.path(""), &NoBuffers));
    assert_eq!(texts(&project), [TWO, TWO]);
    assert_eq!(project.undo().changed.len(), 3);
    assert_eq!(texts(&project), [ONE, ONE]);
}

/// Another program that writes or removes the file `a` once it has its new text, and writes the file `b`.
struct OtherProgram<'a> {
    project: &'a Project,
    /// The text that it writes to the file `a`; `None` removes it.
    text: Option<&'a str>,
}

#[async_trait]
impl OpenBuffers for OtherProgram<'_> {
    async fn text(&self, path: &Path) -> Option<OpenText> {
        let project = self.project;
        if path == project.path("b") && project.text("a").as_deref() == Some(TWO) {
            match self.text {
                Some(text) => project.put("a", text),
                None => fs::remove_file(project.path("a")).unwrap(),
            }
            project.put("b", MINE);
        }
        None
    }

    async fn replace(&self, path: &Path, new: Replacement<'_>) -> Result<Replaced, String> {
        NoBuffers.replace(path, new).await
    }
}

/// Changes of the files `a` and `b`, whose mode is `mode`, from [`ONE`] to [`TWO`].
fn both(project: &Project, mode: u32) -> Vec<Made> {
    let change = |name| Made {
        path: project.path(name),
        before: FileState::file(ONE.as_bytes(), mode),
        after: FileState::file(TWO.as_bytes(), mode),
        content: Content::Bytes(TWO.as_bytes().to_vec()),
    };
    ["a", "b"].map(change).into()
}

#[test]
fn what_another_program_changed_is_left_and_named_if_a_change_fails() {
    for text in [Some(MINE), None] {
        let project = Project::new();
        project.put("a", ONE);
        project.put("b", ONE);
        let other = OtherProgram {
            project: &project,
            text,
        };
        let made = project.recorder(LIMIT);
        let failed = block_on(made.make(both(&project, 0o644), &other)).unwrap_err();
        let [a, b] = ["a", "b"].map(|name| project.path(name).display().to_string());
        assert_eq!(
            failed,
            format!(
                "{b} changed meanwhile. These files were changed, then changed again by something else, and \
                 left as they are: {a}."
            )
        );
        assert_eq!(project.text("a").as_deref(), text);
        // Nothing is tried again, and nothing can be undone.
        block_on(recover(project.path(""), &NoBuffers));
        assert_eq!(project.text("a").as_deref(), text);
        assert_eq!(project.text("b").as_deref(), Some(MINE));
        assert!(project.plan(Request::Undo).unwrap().is_none());
    }
}

#[test]
fn a_read_only_file_that_was_only_made_writable_gets_its_mode_back() {
    let project = Project::new();
    let set = |name: &str, mode| {
        fs::set_permissions(project.path(name), Permissions::from_mode(mode)).unwrap();
    };
    for name in ["a", "b"] {
        project.put(name, ONE);
        set(name, 0o444);
    }
    let killer = Killer {
        project: &project,
        text: TWO,
    };
    let ended = catch_unwind(AssertUnwindSafe(|| {
        block_on(project.recorder(LIMIT).make(both(&project, 0o444), &killer))
    }));
    assert!(ended.is_err());
    // As if it had been killed before it wrote the text.
    set("a", 0o644);
    project.put("a", ONE);
    block_on(recover(project.path(""), &NoBuffers));
    assert_eq!(texts(&project), [ONE, ONE]);
    let mode = fs::metadata(project.path("a")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o444);
}

#[test]
fn a_killed_undo_is_finished_by_the_next_one_which_says_so() {
    let project = project();
    kill(&project, Request::Undo, ONE);
    assert_eq!(texts(&project), [ONE, TWO]);
    let plan = project.plan(Request::Undo).unwrap().unwrap();
    assert!(plan.problem.unwrap().contains("did not end"));
    assert_eq!(project.undo().changed, [project.path("b")]);
    assert_eq!(texts(&project), [ONE, ONE]);
    assert!(project.plan(Request::Undo).unwrap().is_none());
    // What each of them changed comes back.
    assert_eq!(project.redo().changed, [project.path("b")]);
    assert_eq!(project.redo().changed, [project.path("a")]);
    assert_eq!(texts(&project), [TWO, TWO]);
}

#[test]
fn a_killed_undo_can_be_taken_back() {
    let project = project();
    kill(&project, Request::Undo, ONE);
    assert_eq!(project.redo().changed, [project.path("a")]);
    assert_eq!(texts(&project), [TWO, TWO]);
    assert!(project.plan(Request::Redo).unwrap().is_none());
    assert_eq!(project.undo().changed.len(), 2);
    assert_eq!(texts(&project), [ONE, ONE]);
}

#[test]
fn a_killed_redo_is_finished_or_taken_back() {
    for finish in [true, false] {
        let project = project();
        project.undo();
        kill(&project, Request::Redo, TWO);
        assert_eq!(texts(&project), [TWO, ONE]);
        if finish {
            assert_eq!(project.redo().changed, [project.path("b")]);
            assert_eq!(texts(&project), [TWO, TWO]);
            assert!(project.plan(Request::Redo).unwrap().is_none());
        } else {
            assert_eq!(project.undo().changed, [project.path("a")]);
            assert_eq!(texts(&project), [ONE, ONE]);
        }
    }
}

#[test]
fn a_change_that_was_cut_off_before_its_mode_was_set_is_reverted() {
    let project = Project::new();
    project.put("a", ONE);
    let file = |text: &str, mode| FileState::file(text.as_bytes(), mode);
    let made = |name: &str, before, after| Made {
        path: project.path(name),
        before,
        after,
        content: Content::Bytes(TWO.as_bytes().to_vec()),
    };
    let changes = vec![
        made("a", file(ONE, 0o644), file(TWO, 0o755)),
        made("new/c", FileState::Absent, file(TWO, 0o755)),
    ];
    block_on(project.recorder(LIMIT).make(changes, &NoBuffers)).unwrap();
    // The line that says that all is done is the last one.
    let journal = project.store().journal_path();
    let text = fs::read_to_string(&journal).unwrap();
    let (begun, _) = text.trim_end().rsplit_once('\n').unwrap();
    fs::write(&journal, begun).unwrap();
    for name in ["a", "new/c"] {
        fs::set_permissions(project.path(name), Permissions::from_mode(0o644)).unwrap();
    }
    block_on(recover(project.path(""), &NoBuffers));
    assert_eq!(project.text("a").as_deref(), Some(ONE));
    assert!(!project.path("new").exists());
    assert!(project.journal().checkpoints.is_empty());
}
