//! The demo as `make demo` plays it without a terminal: the script's own Neovim, real
//! keys, and the tutor, so that no server is needed.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const INIT: &str = r#"
vim.opt.runtimepath:prepend(vim.env.FLEMMA_REPOSITORY)
vim.o.swapfile = false
require("flemma").setup({ provider = "tutor" })
"#;

/// Runs the demo script in `folder` like `scripts/demo.sh` does, with the first chat.
fn play(folder: &Path) -> Output {
    let repository = harness::repository();
    for example in fs::read_dir(repository.join("examples")).unwrap() {
        let example = example.unwrap();
        if !example.file_type().unwrap().is_file() {
            continue;
        }
        fs::copy(example.path(), folder.join(example.file_name())).unwrap();
    }
    fs::write(folder.join("init.lua"), INIT).unwrap();
    let mut command = Command::new(harness::neovim());
    command
        .args(["--clean", "-l"])
        .arg(repository.join("scripts/demo.lua"))
        .arg(harness::neovim())
        .args(["init.lua", "hello.chat"])
        .current_dir(folder)
        .env("FLEMMA_REPOSITORY", &repository)
        .env("FLEMMA_HOST", env!("CARGO_BIN_EXE_flemma"));
    for name in ["HOME", "TMPDIR", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] {
        command.env(name, folder);
    }
    command.output().unwrap()
}

#[test]
fn the_demo_shows_an_approved_and_a_refused_command() {
    let folder = tempfile::tempdir().unwrap();

    let played = play(folder.path());

    let printed = String::from_utf8_lossy(&played.stdout);
    let complaints = String::from_utf8_lossy(&played.stderr);
    assert!(played.status.success(), "{printed}{complaints}");
    let (approved, refused) = printed.split_once("=== hello-refused.chat").unwrap();
    assert!(approved.contains("Ctrl-], Alt-Enter, :w\n"), "{approved}");
    assert!(
        approved.contains("**Tool Result:** `tutor_2`\n\n```\n30 notes.txt\n```"),
        "{approved}"
    );
    assert!(
        refused.contains("`tutor_2` (error)\n\n```\nNot today: I count my words myself.\n```"),
        "{refused}"
    );
    let saved = fs::read_to_string(folder.path().join("hello.chat")).unwrap();
    assert!(approved.contains(saved.trim_end()), "{saved}");
}
