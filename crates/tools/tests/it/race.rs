//! File tools while another program keeps exchanging a folder and a link to another folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use chat::tool::ToolOutcome;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use tools::{ApprovedPath, Backend, Sandbox, SandboxLimits};

use crate::fixture::TestFolder;

/// Calls per test: 2,000 in `make prove`, which sets the variable.
fn calls() -> u64 {
    match std::env::var_os("FLEMMA_PROVE") {
        Some(_) => 2000,
        None => 300,
    }
}

/// Exchanges two names repeatedly until it is dropped.
pub struct Swapper {
    stop: Arc<AtomicBool>,
    swaps: Arc<AtomicU64>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Swapper {
    pub fn start(one: &Path, other: &Path) -> Self {
        let (one, other) = (one.to_owned(), other.to_owned());
        let stop = Arc::new(AtomicBool::new(false));
        let swaps = Arc::new(AtomicU64::new(0));
        let (stopped, count) = (stop.clone(), swaps.clone());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self {
            stop,
            swaps,
            thread: Some(thread),
        }
    }

    fn has_swapped(&self) -> bool {
        self.swaps.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A writable folder `in` that contains a folder `d` and a link `l` to the folder `out`
/// beside it.
fn stage() -> TestFolder {
    let mut place = TestFolder::new();
    let root = place.path("").canonicalize().unwrap();
    fs::create_dir_all(root.join("in/d")).unwrap();
    fs::create_dir(root.join("out")).unwrap();
    fs::write(root.join("in/d/f"), "inside").unwrap();
    fs::write(root.join("out/f"), "outside").unwrap();
    symlink(root.join("out"), root.join("in/l")).unwrap();
    let limits = SandboxLimits {
        writable: vec![root.join("in")],
        ..SandboxLimits::default()
    };
    place.ctx.files.cwd = root.join("in");
    place.ctx.files.sandbox = Arc::new(Sandbox::new(limits, Backend::default()));
    place
}

/// A path below `in`, approved as a file that is really there.
fn approved(place: &TestFolder, path: &str) -> Vec<ApprovedPath> {
    let path = place.ctx.files.cwd.join(path);
    vec![ApprovedPath {
        named: path.clone(),
        real: path,
    }]
}

fn swapped(place: &TestFolder) -> Swapper {
    Swapper::start(&place.path("in/d"), &place.path("in/l"))
}

/// Calls a tool until it has succeeded and failed, at least [`calls`] times.
/// `input` gets the number of the call.
async fn outcomes(place: &TestFolder, tool: &str, input: impl Fn(u64) -> Value) {
    let (mut done, mut failed) = (0, 0);
    let swapper = swapped(place);
    // On a busy machine, the first calls may all meet the same state.
    while done + failed < calls() || done == 0 || failed == 0 || !swapper.has_swapped() {
        match place.call(tool, input(done + failed)).await {
            ToolOutcome::Done { .. } => done += 1,
            _ => failed += 1,
        }
    }
}

#[tokio::test]
async fn no_write_follows_a_link_that_replaces_a_folder() {
    let place = stage();
    let input =
        |number| json!({"label": "", "path": format!("d/new{}", number % 7), "content": "x"});
    outcomes(&place, "write", input).await;
    let out = fs::read_dir(place.path("out")).unwrap();
    let names: Vec<_> = out.map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["f"]);
    assert_eq!(place.text("out/f"), "outside");
}

#[tokio::test]
async fn no_call_whose_path_was_approved_reads_or_edits_another_file() {
    let mut place = stage();
    place.ctx.files.approved_paths = approved(&place, "d/f");
    let swapper = swapped(&place);
    let (mut done, mut number) = (0, 0);
    while number < calls() || done == 0 || !swapper.has_swapped() {
        number += 1;
        if let ToolOutcome::Done { content, .. } = place
            .call(
                "read",
                json!({"path": "d/f", "label": "", "offset": null, "limit": null}),
            )
            .await
        {
            assert!(content.starts_with("inside"), "{content}");
            done += 1;
        }
        let old = if number % 2 == 0 { "side" } else { "side!" };
        let input = json!({"label": "", "path": "d/f", "oldText": old, "newText": "side!"});
        place.call("edit", input).await;
    }
    assert_eq!(place.text("out/f"), "outside");
}

#[tokio::test]
async fn a_call_whose_path_leads_elsewhere_since_approval_does_nothing() {
    let mut place = stage();
    place.ctx.files.approved_paths = approved(&place, "new/f");
    symlink("d", place.path("in/new")).unwrap();
    let input = json!({"label": "", "path": "new/f", "content": "x"});
    let problem = place.failed("write", input).await;
    assert!(problem.contains("when the call was approved"), "{problem}");
    assert_eq!(place.text("in/d/f"), "inside");
}
