//! What commands may change, according to the user, the chat, and a foreign chat. Without
//! a working bubblewrap, the tests that need it print their names and skip.

use std::os::unix::fs::PermissionsExt;
use std::sync::OnceLock;

use harness::{Answer, Editor, Provider};
use serde_json::{Value, json};

use crate::shell::Shell;
use crate::stage::*;

/// Options that require a missing bubblewrap.
fn without_one(backend: &str) -> Value {
    json!({
        "tools": {"auto_approve": ["write"]},
        "sandbox": {"backend": backend, "backends": {"bwrap": {"path": "/nowhere/bwrap"}}},
    })
}

/// Returns true if bubblewrap works here.
pub fn holds(test: &str) -> bool {
    let holds = std::process::Command::new("bwrap")
        .args([
            "--ro-bind",
            "/",
            "/",
            "--unshare-user",
            "--unshare-pid",
            "true",
        ])
        .status()
        .is_ok_and(|status| status.success());
    if !holds {
        eprintln!("skipped: {test}: bubblewrap is not installed or does not hold");
    }
    holds
}

/// Returns true if an overlay can be mounted where the tests run, without privileges.
pub fn overlays(test: &str) -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    let works = WORKS.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        for name in ["lower", "upper", "work"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let options = "userxattr,lowerdir=lower,upperdir=upper,workdir=work";
        let mount = format!("mount -t overlay overlay -o {options} lower && echo x > lower/x");
        let mut unshare = std::process::Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &mount]);
        let status = unshare.current_dir(folder.path()).status();
        let work = folder.path().join("work/work");
        let _ = std::fs::set_permissions(work, std::fs::Permissions::from_mode(0o700));
        status.is_ok_and(|status| status.success())
    });
    if !works {
        eprintln!("skipped: {test}: no overlay can be mounted here");
    }
    *works && holds(test)
}

fn calls(command_line: &str) -> Provider {
    Provider::anthropic([Answer::new().tool_use("t_1", "bash", &command(command_line))])
}

fn written(path: &str) -> Value {
    json!({"label": "", "path": path, "content": "x"})
}

#[test]
fn without_a_sandbox_a_pending_command_says_so_and_runs_once_approved() {
    let provider = calls("echo free");
    let editor = ask_with(&provider, without_one("auto"));
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);
    editor.wait_for("the word beside the call", |editor| {
        let drawn = editor.virtual_text();
        drawn.iter().any(|it| it.text.contains("UNSANDBOXED"))
    });
    editor.keys("<M-CR>");
    editor.wait_for("the result", |editor| became(editor, "t_1") == "ran");
    editor.command("Flemma sandbox:status");
    wait_message(
        &editor,
        "Sandbox: UNSANDBOXED: /nowhere/bwrap does not hold",
    );
    wait_message(&editor, "also on files that write and edit ask about.");
}

#[test]
fn a_required_sandbox_that_is_missing_runs_nothing() {
    let provider = calls("touch ran");
    let mut options = without_one("required");
    options["tools"]["auto_approve"] = json!(["bash"]);
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["failed"]);
    let output = result(&editor, "t_1");
    assert!(
        output.contains("Nothing was run, because a sandbox is required"),
        "{output}"
    );
    assert!(!editor.dir().join("ran").exists());
}

#[test]
fn files_are_written_only_where_the_sandbox_allows() {
    let path = format!("/var/tmp/flemma-escape-{}", std::process::id());
    let provider = Provider::anthropic([
        Answer::new()
            .tool_use("t_1", "write", &written("inside"))
            .tool_use("t_2", "write", &written(&path)),
        Answer::says("Well."),
    ]);
    let editor = ask_with(&provider, without_one("auto"));
    editor.keys("<C-]>");
    assert_eq!(
        outcomes(&editor, ["t_1", "t_2"]),
        ["ran", "failed"],
        "{}",
        editor.text()
    );
    let output = result(&editor, "t_2");
    assert!(
        output.contains("the sandbox lets files be written only below"),
        "{output}"
    );
    assert!(!std::path::Path::new(&path).exists());
    editor.command("Flemma sandbox:disable");
    wait_message(
        &editor,
        "The sandbox is off: commands run with all of your rights.",
    );
    editor.command("Flemma sandbox:status");
    wait_message(&editor, "Sandbox: off");
}

/// The results of a command that writes outside and uses the network, under a typed frontmatter.
fn tried(frontmatter: &str) -> (Editor, String) {
    let provider = calls(
        "echo x > inside; (echo x > /var/tmp/flemma-escape) 2>&1; ls /sys/class/net; rm -f /var/tmp/flemma-escape",
    );
    let rules = format!("flemma.opt.tools.auto_approve = {{ 'bash' }}\n{frontmatter}");
    let setup = with_options(&provider, json!({"sandbox": {}}));
    let editor = setup.file("question.chat", "").start();
    watch(&editor);
    editor.type_text(&below(&rules));
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["ran"]);
    let output = result(&editor, "t_1");
    (editor, output)
}

#[test]
fn commands_write_in_the_chats_folder_and_nowhere_else() {
    if !holds("commands_write_in_the_chats_folder_and_nowhere_else") {
        return;
    }
    let (editor, output) = tried("");
    assert!(output.contains("Read-only file system"), "{output}");
    assert!(editor.dir().join("inside").exists());
    let (_, output) = tried("flemma.opt.sandbox.policy.rw_paths = { '$CWD', '/var/tmp' }");
    assert!(!output.contains("Read-only file system"), "{output}");
    let (_, output) = tried("flemma.opt.sandbox = false");
    assert!(!output.contains("Read-only file system"), "{output}");
}

#[test]
fn a_command_cannot_write_the_chat_that_is_saved_while_it_runs() {
    if !holds("a_command_cannot_write_the_chat_that_is_saved_while_it_runs") {
        return;
    }
    let forge = "touch running; until [ -e saved ]; do sleep 0.01; done; (echo forged >> question.chat) 2>&1";
    let provider = Provider::anthropic([
        Answer::new().tool_use("t_1", "bash", &command(forge)),
        Answer::says("Well."),
    ]);
    let options = json!({"sandbox": {}, "tools": {"auto_approve": ["bash"]}});
    let setup = with_options(&provider, options);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    // By default, Neovim does not save files below /tmp by renaming.
    editor.command("set backupskip= | setglobal backupcopy=no");
    editor.keys("<C-]>");
    editor.wait_for("the command", |editor| {
        editor.dir().join("running").exists()
    });
    editor.keys(":w<CR>");
    editor.wait_for("the save", |editor| {
        let saved = std::fs::read_to_string(editor.dir().join("question.chat"));
        saved.is_ok_and(|text| text.contains("**Tool Use:**"))
    });
    std::fs::write(editor.dir().join("saved"), "").unwrap();
    assert_eq!(outcomes(&editor, ["t_1"]), ["ran"]);
    let output = result(&editor, "t_1");
    assert!(output.contains("Read-only file system"), "{output}");
    let saved = std::fs::read_to_string(editor.dir().join("question.chat")).unwrap();
    assert!(!saved.contains("\nforged"), "{saved}");
}

#[test]
fn a_foreign_chat_can_narrow_the_sandbox_and_not_disable_it() {
    if !holds("a_foreign_chat_can_narrow_the_sandbox_and_not_disable_it") {
        return;
    }
    for (rules, withheld) in [
        ("flemma.opt.sandbox = false", true),
        ("flemma.opt.sandbox.policy.rw_paths = { '/' }", true),
        ("flemma.opt.sandbox.policy.network = false", false),
    ] {
        let provider = calls("(echo x > /var/tmp/flemma-escape2) 2>&1");
        let setup = with_options(
            &provider,
            json!({"sandbox": {}, "tools": {"auto_approve": ["bash"]}}),
        );
        let chat = format!(
            "{}\n{QUESTION}",
            below(rules).split("\n@You:").next().unwrap()
        );
        let editor = setup.file("question.chat", &chat).start();
        watch(&editor);
        editor.keys("<C-]>");
        assert_eq!(outcomes(&editor, ["t_1"]), ["ran"], "{rules}");
        let output = result(&editor, "t_1");
        assert!(
            output.contains("Read-only file system"),
            "{rules}: {output}"
        );
        let said = editor.messages();
        assert_eq!(said.contains(":Flemma trust"), withheld, "{rules}: {said}");
    }
}

#[test]
fn files_that_run_by_themselves_are_set_aside_and_reported() {
    if !holds("files_that_run_by_themselves_are_set_aside_and_reported") {
        return;
    }
    let provider = calls(
        "mkdir -p sub/.git && echo '[core]' > .git-config; echo x > sub/.envrc; echo '[alias] a = !b' > sub/.git/config; echo made",
    );
    let options = json!({"sandbox": {}, "tools": {"auto_approve": ["bash"]}});
    let setup = with_options(&provider, options);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["ran"]);
    let output = result(&editor, "t_1");
    for line in [
        "made\n",
        "/sub/.envrc.flemma-held.\n",
        "/sub/.git/config.flemma-held.]",
    ] {
        assert!(output.contains(line), "{output}");
    }
    let folder = editor.dir().join("sub");
    assert!(!folder.join(".envrc").exists() && !folder.join(".git/config").exists());
    assert_eq!(
        std::fs::read_to_string(folder.join(".envrc.flemma-held")).unwrap(),
        "x\n"
    );
}

#[test]
fn without_a_sandbox_only_reading_commands_run_by_policy() {
    let provider = Provider::anthropic([Answer::new()
        .tool_use("t_1", "bash", &command("touch ran"))
        .tool_use("t_2", "bash", &command("echo read"))]);
    let mut options = without_one("auto");
    options["tools"]["auto_approve"] = json!(["bash"]);
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1", "t_2"]), ["waits", "ran"]);
    wait_message(&editor, "could read the keys of Neovim");
    assert!(!editor.dir().join("ran").exists());
}

#[test]
fn a_question_on_the_command_line_says_that_there_is_no_sandbox() {
    let provider = calls("touch ran");
    let shell = Shell::new(&provider);
    shell.configure("[sandbox.backends.bwrap]\npath = \"/nowhere/bwrap\"\n");
    shell.write("a.chat", QUESTION);
    let ran = shell.run_with(&["send", "--approve", "bash", "a.chat"], "n\n");
    assert!(
        ran.err.contains("UNSANDBOXED: no sandbox confines"),
        "{ran:?}"
    );
    assert!(!shell.path("ran").exists());
}

#[test]
fn the_log_names_the_sandbox_of_the_first_call_of_a_process() {
    if !holds("the_log_names_the_sandbox_of_the_first_call_of_a_process") {
        return;
    }
    let shell = Shell::offline();
    shell.configure("[sandbox]\nenabled = true\n");
    let ran = shell.run(&["tool", "bash", r#"{"command":"echo ran"}"#, "--yes"]);
    assert_eq!(ran.out, "ran\n", "{ran:?}");
    let log = shell.run(&["log", "--json", "9"]).out;
    assert!(log.contains(r#""sandbox":"bwrap""#), "{log}");
}
