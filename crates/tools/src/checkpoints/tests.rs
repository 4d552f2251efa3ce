//! Calls of real tools in a folder, and restores of what they changed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod commands;
mod damage;
mod ignored;
mod killed;
mod programs;
mod property;
mod turn;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};

use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::{Value, json};

use super::journal::Journal;
use super::store::Store;
use super::{
    CallLabel, JournalScope, Projects, Recorder, Request, Restore, Restored, StoredPath, Summary,
};
use crate::buffers::NoBuffers;
use crate::context::ToolContext;
use crate::registry::Registry;
use crate::run;

/// More than any test stores.
const LIMIT: u64 = 100_000_000;

/// A state folder for the tests of this process, instead of the user's. Removed with the last test
/// that uses it.
struct StateFolder;

/// Number of tests that use the folder.
static USERS: Mutex<usize> = Mutex::new(0);

impl StateFolder {
    fn new() -> Self {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let variable = ("XDG_STATE_HOME".into(), Self::path().into());
            crate::add_variables(&crate::encode_variables(&[variable]));
        });
        *USERS.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }

    fn path() -> PathBuf {
        std::env::temp_dir().join(format!("flemma-checkpoints-{}", std::process::id()))
    }
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        *users -= 1;
        if *users == 0 {
            // Missing if no test stored anything.
            let _ = fs::remove_dir_all(Self::path());
        }
    }
}

/// A project, and a chat in it in each of two programs.
struct Project {
    /// Which of the programs this is.
    program: usize,
    programs: [Projects; 2],
    _state: StateFolder,
    folder: tempfile::TempDir,
    registry: Registry,
    calls: usize,
    turn: usize,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        Self {
            program: 0,
            programs: [Projects::unhurried(), Projects::unhurried()],
            _state: StateFolder::new(),
            folder,
            registry: Registry::builtin(),
            calls: 0,
            turn: 1,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn label(&self) -> CallLabel {
        CallLabel {
            chat: Some(StoredPath(self.path(["a.chat", "b.chat"][self.program]))),
            session: ["first", "second"][self.program].to_owned(),
            turn: self.turn,
            call: format!("call_{}", self.calls),
            tool: "write".to_owned(),
        }
    }

    /// Records the changes of the next call in a store that holds at most `limit` bytes.
    fn recorder(&self, limit: u64) -> Recorder {
        let projects = &self.programs[self.program];
        Recorder::new(projects, self.path(""), limit, self.label())
    }

    /// Forgets all projects, as the next program would.
    fn forget(&mut self) {
        self.programs[self.program] = Projects::unhurried();
    }

    fn call(&mut self, tool: &str, input: Value) -> Summary {
        self.calls += 1;
        let recorder = self.recorder(LIMIT);
        let mut context = ToolContext::new(self.path(""), self.path("outputs"));
        context.files.recorder = recorder.clone();
        let tool = self.registry.get(tool).unwrap();
        let id = ToolUseId::new(format!("call_{}", self.calls));
        let ran = block_on(run::run(tool, id, input, context));
        assert!(matches!(ran, ToolOutcome::Done { .. }), "{ran:?}");
        recorder.summary()
    }

    fn write(&mut self, name: &str, text: &str) -> Summary {
        self.call("write", json!({"label": "", "path": name, "content": text}))
    }

    fn plan(&self, request: Request) -> Result<Option<Restore>, String> {
        let scope = JournalScope::Chat(self.label());
        block_on(Restore::plan(self.path(""), scope, request, &NoBuffers))
    }

    fn restore(&self, request: Request, overwrite: bool) -> Restored {
        let plan = self.plan(request).unwrap().expect("something to restore");
        block_on(plan.apply(overwrite, &NoBuffers)).unwrap()
    }

    fn undo(&self) -> Restored {
        self.restore(Request::Undo, false)
    }

    fn redo(&self) -> Restored {
        self.restore(Request::Redo, false)
    }

    fn store(&self) -> Store {
        Store::open(&self.path("")).unwrap()
    }

    fn journal(&self) -> Journal {
        self.store().read().unwrap()
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(work)
}

#[test]
fn undo_and_redo_move_through_the_calls_of_a_chat() {
    let mut project = Project::new();
    project.put("a", "one\n");
    assert_eq!(project.write("a", "two\n").changes, 1);
    project.write("a", "three\n");
    assert_eq!(project.undo().changed, [project.path("a")]);
    assert_eq!(project.text("a").as_deref(), Some("two\n"));
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
    assert!(project.plan(Request::Undo).unwrap().is_none());
    project.redo();
    assert_eq!(project.text("a").as_deref(), Some("two\n"));
    project.redo();
    assert_eq!(project.text("a").as_deref(), Some("three\n"));
    assert!(project.plan(Request::Redo).unwrap().is_none());
    project.undo();
    project.write("b", "new\n");
    assert!(project.plan(Request::Redo).unwrap().is_none());
}

#[test]
fn a_new_file_is_removed_with_its_folders_and_comes_back() {
    let mut project = Project::new();
    project.write("deep/er/a", "one\n");
    project.undo();
    assert!(!project.path("deep").exists());
    project.redo();
    assert_eq!(project.text("deep/er/a").as_deref(), Some("one\n"));
    project.put("deep/mine", "mine\n");
    project.undo();
    assert_eq!(project.text("deep/mine").as_deref(), Some("mine\n"));
}

#[test]
fn later_changes_are_merged_or_kept_or_overwritten_if_the_user_says_so() {
    let mut project = Project::new();
    project.put("a", "1\n2\n3\n4\n5\n6\n");
    project.put("b", "old\n");
    project.write("a", "one\n2\n3\n4\n5\n6\n");
    project.put("a", "one\n2\n3\n4\n5\nsix\n");
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("1\n2\n3\n4\n5\nsix\n"));
    project.redo();
    assert_eq!(project.text("a").as_deref(), Some("one\n2\n3\n4\n5\nsix\n"));

    project.write("b", "new\n");
    project.put("b", "mine\n");
    let restored = project.undo();
    assert_eq!(restored.kept.len(), 1);
    assert_eq!(project.text("b").as_deref(), Some("mine\n"));

    project.write("c", "new\n");
    project.put("c", "mine\n");
    let restored = project.restore(Request::Undo, true);
    assert_eq!(restored.changed, [project.path("c")]);
    assert_eq!(project.text("c"), None);
    project.redo();
    assert_eq!(project.text("c").as_deref(), Some("mine\n"));
}

#[test]
fn files_that_are_as_before_are_not_touched() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.write("a", "two\n");
    project.put("a", "one\n");
    let before = fs::metadata(project.path("a")).unwrap();
    let restored = project.undo();
    let after = fs::metadata(project.path("a")).unwrap();
    assert_eq!(restored, Restored::default());
    let times = |it: &fs::Metadata| (it.ino(), it.mtime(), it.mtime_nsec(), it.ctime_nsec());
    assert_eq!(times(&before), times(&after));
}

#[test]
fn modes_come_back_and_the_users_own_mode_stays() {
    let mut project = Project::new();
    project.put("a", "one\n");
    fs::set_permissions(project.path("a"), Permissions::from_mode(0o750)).unwrap();
    project.write("a", "two\n");
    fs::set_permissions(project.path("a"), Permissions::from_mode(0o440)).unwrap();
    project.undo();
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
    let mode = |name: &str| fs::metadata(project.path(name)).unwrap().mode() & 0o7777;
    assert_eq!(mode("a"), 0o440);
}

#[test]
fn a_folder_that_became_a_link_is_not_followed() {
    let mut project = Project::new();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("a"), "new\n").unwrap();
    project.put("folder/a", "old\n");
    project.write("folder/a", "new\n");
    fs::remove_dir_all(project.path("folder")).unwrap();
    symlink(elsewhere.path(), project.path("folder")).unwrap();
    let restored = project.undo();
    assert_eq!(restored.changed, Vec::<PathBuf>::new());
    assert_eq!(restored.kept.len(), 1);
    let text = fs::read_to_string(elsewhere.path().join("a")).unwrap();
    assert_eq!(text, "new\n");
}

#[test]
fn a_file_in_place_of_a_folder_holds_back_only_what_was_in_the_folder() {
    let mut project = Project::new();
    project.put("folder/deep/a", "one\n");
    project.put("b", "one\n");
    project.sh("rm -r folder; echo two > b");
    project.put("folder", "mine\n");
    let restored = project.undo();
    assert_eq!(restored.changed, [project.path("b")]);
    assert_eq!(restored.kept[0].0, project.path("folder/deep/a"));
    assert_eq!(project.text("folder").as_deref(), Some("mine\n"));

    // A file that the call itself put there is removed first.
    let mut project = Project::new();
    project.put("folder/a", "one\n");
    project.sh("rm -r folder; echo two > folder");
    assert_eq!(project.undo().kept, []);
    assert_eq!(project.text("folder/a").as_deref(), Some("one\n"));
}

#[test]
fn two_restores_at_once_do_not_both_happen() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.write("a", "two\n");
    let (first, second) = (project.plan(Request::Undo), project.plan(Request::Undo));
    let (first, second) = (first.unwrap().unwrap(), second.unwrap().unwrap());
    block_on(first.apply(false, &NoBuffers)).unwrap();
    let why = block_on(second.apply(false, &NoBuffers)).unwrap_err();
    assert!(why.contains("nothing was restored"), "{why}");
    assert_eq!(project.text("a").as_deref(), Some("one\n"));
    project.redo();
    assert_eq!(project.text("a").as_deref(), Some("two\n"));
}

#[test]
fn a_restore_that_fails_halfway_is_taken_back() {
    let mut project = Project::new();
    project.put("a", "one\n");
    project.put("b", "one\n");
    project.write("a", "two\n");
    project.write("b", "two\n");
    let request = Request::Turns {
        from: 1,
        calls: Vec::new(),
    };
    let plan = project.plan(request.clone()).unwrap().unwrap();
    // A folder cannot be replaced by a file, and it is found before anything is changed.
    fs::remove_file(project.path("b")).unwrap();
    fs::create_dir(project.path("b")).unwrap();
    let why = block_on(plan.apply(false, &NoBuffers)).unwrap_err();
    assert!(why.contains("nothing was restored"), "{why}");
    assert_eq!(project.text("a").as_deref(), Some("two\n"));
    let restored = project.restore(request, false);
    assert_eq!(restored.changed, [project.path("a")]);
    assert_eq!(restored.kept.len(), 1);
}

#[test]
#[ignore = "a measurement"]
fn prove_how_long_a_checkpoint_of_an_edit_takes() {
    let mut project = Project::new();
    let text = "fn main() { println!(\"hello\"); }\n".repeat(1000);
    project.write("a", &text);
    let path = crate::files::RealPath::of(&project.path("a")).unwrap();
    let took: Vec<_> = (0..50)
        .map(|round| {
            let recorder = project.recorder(LIMIT);
            let path = path.clone();
            let text = format!("{round}{text}");
            block_on(async {
                let buffers = std::sync::Arc::new(NoBuffers);
                let target = crate::files::FileTarget::find(path, buffers).await.unwrap();
                let begun = std::time::Instant::now();
                let before = recorder.before(&target).await;
                let took = begun.elapsed();
                fs::write(target.path(), text).unwrap();
                let begun = std::time::Instant::now();
                recorder.after(&target, before).await;
                took + begun.elapsed()
            })
        })
        .collect();
    let mut sorted = took;
    sorted.sort();
    eprintln!(
        "prove: a checkpoint of an edit: median {:?}, worst {:?}",
        sorted[25], sorted[49]
    );
}
