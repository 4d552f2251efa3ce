//! Calls that look like allowed ones and are not, and generated commands, which a real shell
//! must find to be what the rule says.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;

/// Variants of `cargo test`, which is allowed with any arguments.
const HOSTILE: &[&str] = &[
    "cargo test; rm -rf x",
    "cargo test && rm -rf x",
    "cargo test || rm -rf x",
    "cargo test | sh",
    "cargo test & rm -rf x",
    "cargo test\nreboot",
    "cargo test\r\nreboot",
    "cargo test $(reboot)",
    "cargo test \"$(reboot)\"",
    "cargo test `reboot`",
    "cargo test <(reboot)",
    "cargo test ${X:-$(reboot)}",
    "cargo test > f",
    "cargo test 2> f",
    "cargo test &> f",
    "cargo test >> f",
    "cargo test >| f",
    "cargo test < f",
    "cargo test <<< x",
    "cargo test *",
    "cargo test ~root",
    "CARGO_X=1 cargo test",
    "PATH=. cargo test",
    "./cargo test",
    "/tmp/cargo test",
    "../bin/cargo test",
    "~/cargo test",
    "env cargo test",
    "command cargo test",
    "exec cargo test",
    "eval cargo test",
    "time cargo test",
    "! cargo test",
    "cargo testx",
    "cargo 'test x'",
    "cargo \"\" test",
    "cargo +nightly test",
    "cargo -Zx test",
    "Cargo test",
    "cargo Test",
    "cаrgo test",
    "cargo\u{a0}test",
    "cargo\u{200b} test",
    "cargo test \u{202e}",
    "cargo() { reboot; }; cargo test",
    "alias cargo=reboot; cargo test",
    "cd /tmp && cargo test",
    "(cargo test)",
    "{ cargo test; }",
    "if cargo test; then reboot; fi",
    "cargo test # x\nreboot",
    "cargo test 'a\n' ; reboot",
    "cargo test \\; reboot; reboot",
];

#[test]
fn no_hostile_variant_of_an_allowed_command_is_approved() {
    let rules = [command("cargo test", true)];
    assert!(is_approved(&rules, &bash("cargo  test  -q 'a;b'")));
    for line in HOSTILE {
        assert_eq!(approving(&rules, &bash(line)), None, "{line:?}");
    }
    let elsewhere = json!({"command": "cargo test", "working_dir": "evil"});
    assert!(!is_approved(&rules, &call("shell", elsewhere)));
    let outer = json!({"name": "bash", "arguments": {"command": "cargo test"}});
    assert!(!is_approved(&rules, &call("execute_tool", outer)));
    assert!(!is_approved(
        &rules,
        &call("bash", json!({"command": ["cargo", "test"]}))
    ));
    assert!(!is_approved(&rules, &call("bash", json!("cargo test"))));
}

#[test]
fn any_arguments_of_a_program_that_runs_others_are_never_approved() {
    for program in [
        "env",
        "bash",
        "sudo",
        "xargs",
        "/bin/sh",
        "git",
        "git fetch",
        "git rebase",
        "git grep",
        "git bisect",
        "git submodule",
        "go test",
        "find",
        "tar",
        "rsync",
    ] {
        let rules = [command(program, true)];
        assert!(
            !is_approved(&rules, &bash(&format!("{program} rm -rf x"))),
            "{program}"
        );
    }
}

#[test]
fn no_path_leads_out_of_an_allowed_folder() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    for name in ["src", "outside"] {
        std::fs::create_dir(top.join(name)).unwrap();
    }
    symlink(top.join("outside"), top.join("src/link")).unwrap();
    symlink(top.join("outside/file"), top.join("src/file")).unwrap();
    symlink(top.join("outside/none"), top.join("src/dangling")).unwrap();
    let rules = [always(AllowedCalls::Below(top.join("src")))];
    let edit = |path: &str| CallFacts {
        files: vec![real(&top, path)],
        ..call("edit", json!({"path": path}))
    };
    assert!(is_approved(&rules, &edit("src/new")));
    assert!(is_approved(&rules, &edit("src/../src/./deep//new")));
    for path in [
        "src/../x",
        "src/link/x",
        "src/link/../src/x/../../x",
        "src/file",
        "src/dangling",
        "src/..",
        "src/.",
        "src",
        "SRC/x",
        "src /x",
        "ſrc/x",
        "/etc/passwd",
        "outside/../outside/x",
    ] {
        assert!(!is_approved(&rules, &edit(path)), "{path}");
    }
    // A folder that becomes a link later is another folder.
    std::fs::rename(top.join("src"), top.join("old")).unwrap();
    symlink(top.join("outside"), top.join("src")).unwrap();
    assert!(!is_approved(&rules, &edit("src/new")));
}

/// What the generated lines consist of.
const PIECES: &[&str] = &[
    "cargo",
    "test",
    " ",
    " ",
    " ",
    "\t",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "$(id)",
    "`id`",
    "$X",
    ">f",
    "<f",
    "2>&1",
    ">/dev/null",
    "'",
    "\"",
    "\\",
    "A=1",
    "x",
    "-q",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "~",
    "(",
    ")",
    "#",
    "!",
    "\r",
    "\u{a0}",
    "é",
    "./",
    "id",
    "cargo test",
    " cargo test ",
    "=",
    "cd /",
    "true",
    "{",
    "}",
    "if",
    "do",
    "\u{7f}",
    "\\\n",
];

/// The commands that bash runs for a line, as it reports them. It finds no program, so only its
/// own commands and redirections have an effect.
fn traced(line: &str, folder: &Path) -> Vec<String> {
    let run = Command::new("/bin/bash")
        .args(["-c", "PS4=@@; set -x; eval \"$1\"", "bash", line])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&run.stderr).into_owned();
    let lines = output.lines().filter_map(|it| it.strip_prefix("@@"));
    let commands = lines.map(|it| it.trim_start_matches('@').to_owned());
    // The first one is our own `eval`.
    commands.skip(1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_bash_runs_for_an_approved_line_is_what_the_rule_allows(
        pieces in vec(select(PIECES), 0..7),
    ) {
        let line = format!("cargo test{}", pieces.concat());
        if is_approved(&[command("cargo test", true)], &bash(&line)) {
            let folder = tempfile::tempdir().unwrap();
            for command in traced(&line, folder.path()) {
                let reads = tools::review(&command, &ShellLists::default()).is_ok();
                let is_allowed = command == "cargo test" || command.starts_with("cargo test ") || reads;
                prop_assert!(is_allowed, "{line:?} runs {command:?}");
            }
            let left = std::fs::read_dir(folder.path()).unwrap().count();
            prop_assert_eq!(left, 0, "{:?} writes a file", line);
        }
    }

    #[test]
    fn a_line_is_approved_only_if_each_of_its_parts_is(
        parts in vec(select(&["cargo test", "cargo test -q", "cargo fmt", "reboot", "rm x"]), 1..5),
        joint in select(&[";", " && ", " || ", " | ", "\n"]),
    ) {
        let line = parts.join(joint);
        let allowed = parts.iter().all(|it| it.starts_with("cargo test"));
        let rules = [command("cargo test", true)];
        prop_assert_eq!(is_approved(&rules, &bash(&line)), allowed, "{:?}", line);
    }
}

#[test]
fn the_trace_of_a_shell_shows_what_else_runs() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        traced("cargo test -q; id", folder.path()),
        ["cargo test -q", "id"]
    );
}
