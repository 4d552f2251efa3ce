//! A temporary folder for one test, and helpers that call tools in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chat::tool::{ToolOutcome, ToolUseId};
use platform::files::FileStatus;
use serde_json::{Value, json};
use tempfile::TempDir;
use tools::{
    Backend, OpenBuffers, OpenText, Registry, Replaced, Replacement, ToolContext, find_out,
};

/// A temporary folder, which is removed at the end of the test.
pub struct TestFolder {
    folder: TempDir,
    registry: Registry,
    /// The context of the next calls.
    pub ctx: ToolContext,
}

impl TestFolder {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ctx = ToolContext::new(folder.path(), folder.path().join("outputs"));
        Self {
            folder,
            registry: Registry::builtin(),
            ctx,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.path(name), content).unwrap();
        self
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of all entries of the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub async fn call(&self, tool: &str, input: Value) -> ToolOutcome {
        let tool = self.registry.get(tool).unwrap();
        tools::run(tool, ToolUseId::new("toolu_01"), input, self.ctx.clone()).await
    }

    pub async fn done(&self, tool: &str, input: Value) -> String {
        match self.call(tool, input).await {
            ToolOutcome::Done { content, .. } => content,
            other => panic!("{other:?}"),
        }
    }

    pub async fn failed(&self, tool: &str, input: Value) -> String {
        match self.call(tool, input).await {
            ToolOutcome::Failed(text) => text,
            other => panic!("{other:?}"),
        }
    }
}

/// Runs a command with `bash` and returns its result.
pub async fn bash(place: &TestFolder, command: &str) -> String {
    let input = json!({"label": "", "command": command, "timeout": null});
    place.done("bash", input).await
}

/// Returns true if sandboxed commands can run here. If not, prints that the test is skipped.
pub fn has_sandbox() -> bool {
    find_out(&Backend::default())
        .map_err(|why| skipped(&why))
        .is_ok()
}

/// Prints that the current test is skipped.
pub fn skipped(why: &str) {
    let test = std::thread::current();
    eprintln!("skipped: {}: {why}", test.name().unwrap_or_default());
}

/// An editor with one file open.
pub struct OneBuffer {
    path: PathBuf,
    state: Mutex<OpenText>,
}

impl OneBuffer {
    pub fn open(path: &Path, text: &str, modified: bool) -> Arc<Self> {
        let state = Mutex::new(OpenText {
            text: text.to_owned(),
            modified,
        });
        Arc::new(Self {
            path: path.canonicalize().unwrap(),
            state,
        })
    }

    pub fn shown(&self) -> String {
        self.state.lock().unwrap().text.clone()
    }
}

#[async_trait]
impl OpenBuffers for OneBuffer {
    async fn text(&self, path: &Path) -> Option<OpenText> {
        (path == self.path).then(|| self.state.lock().unwrap().clone())
    }

    async fn replace(&self, path: &Path, new: Replacement<'_>) -> Result<Replaced, String> {
        let mut state = self.state.lock().unwrap();
        let is_expected = new.expected.is_none_or(|expected| expected == state.text);
        if path != self.path || !is_expected {
            return Err("The buffer was changed meanwhile.".to_owned());
        }
        let found = FileStatus::at(path).unwrap();
        assert_eq!(new.file, Some(found.id));
        new.text.clone_into(&mut state.text);
        if !state.modified {
            fs::write(path, new.text).unwrap();
        }
        Ok(Replaced {
            saved: !state.modified,
            bytes: new.text.len() as u64,
            ..Replaced::default()
        })
    }
}

/// Another program that writes files while a call runs: right before a path is looked up in the
/// editor for the `nth` time.
pub struct Interferes {
    path: PathBuf,
    nth: AtomicUsize,
    writes: Vec<(PathBuf, &'static str)>,
}

impl Interferes {
    pub fn new(path: &Path, nth: usize, writes: &[(PathBuf, &'static str)]) -> Arc<Self> {
        let folder = path.parent().unwrap().canonicalize().unwrap();
        Arc::new(Self {
            path: folder.join(path.file_name().unwrap()),
            nth: AtomicUsize::new(nth),
            writes: writes.to_vec(),
        })
    }

    pub fn has_written(&self) -> bool {
        self.nth.load(Ordering::Relaxed) == 0
    }
}

#[async_trait]
impl OpenBuffers for Interferes {
    async fn text(&self, path: &Path) -> Option<OpenText> {
        let is_it = path == self.path && self.nth.load(Ordering::Relaxed) > 0;
        if is_it && self.nth.fetch_sub(1, Ordering::Relaxed) == 1 {
            for (path, text) in &self.writes {
                fs::write(path, text).unwrap();
            }
        }
        None
    }

    async fn replace(&self, _path: &Path, _new: Replacement<'_>) -> Result<Replaced, String> {
        Err("It is not open.".to_owned())
    }
}

/// Waits until `condition` holds. The test runner stops a test that waits forever.
pub async fn eventually(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
