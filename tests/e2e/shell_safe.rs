//! `$shell-safe`: reading commands run, others ask, and without a user the refusal names
//! them. In a chat and on the command line.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::sandbox::holds;
use crate::shell::Shell;
use crate::stage::*;

/// A call that only reads and one that writes, `t_r` and `t_w`.
fn two_commands() -> Answer {
    Answer::new()
        .tool_use("t_r", "bash", &command("ls | wc -l"))
        .tool_use("t_w", "bash", &command("ls; touch ran"))
}

#[track_caller]
fn expect(options: serde_json::Value, expected: [&str; 2]) -> Editor {
    let provider = Provider::anthropic([two_commands()]);
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_r", "t_w"]), expected);
    assert!(!editor.dir().join("ran").exists());
    editor
}

#[test]
fn reading_commands_run_and_the_rest_waits() {
    let editor = expect(
        json!({"tools": {"auto_approve": ["$shell-safe"]}}),
        ["ran", "waits"],
    );
    editor.command("Flemma status");
    editor.wait_screen("what becomes of commands", |rows| {
        let row = "needs approval; commands that only read run";
        rows.iter()
            .any(|it| it.starts_with("bash") && it.contains(row))
    });
}

#[test]
fn without_the_preset_every_command_waits() {
    expect(json!({}), ["waits", "waits"]);
}

#[test]
fn the_user_adds_commands_and_forbids_others() {
    let lists = json!({"tools": {"auto_approve": ["$shell-safe"], "bash": {
        "allow": ["touch"], "deny": ["wc"]
    }}});
    let provider = Provider::anthropic([two_commands()]);
    let editor = ask_with(&provider, lists);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_r", "t_w"]), ["denied", "ran"]);
    assert!(editor.dir().join("ran").exists());
    let said = result(&editor, "t_r");
    assert!(
        said.contains("The command \"wc\" is not allowed: the user's settings forbid it"),
        "{said}"
    );
    // Not even if the user approves it by hand.
    let call = Answer::new().tool_use("t_h", "bash", &command("wc -l f"));
    let provider = Provider::anthropic([call]);
    let options = json!({"tools": {"auto_approve": [], "bash": {"deny": ["wc"]}}});
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_h"]), ["denied"]);
}

#[test]
fn unlisted_commands_can_be_denied_at_once() {
    let editor = expect(
        json!({"tools": {"auto_approve": ["$shell-safe"], "bash": {"unlisted": "deny"}}}),
        ["ran", "denied"],
    );
    let said = result(&editor, "t_w");
    assert!(
        said.contains("The command \"touch\" is not allowed: it is not in the whitelist."),
        "{said}"
    );
}

#[test]
fn a_chat_can_narrow_to_the_preset_and_widens_only_when_trusted() {
    let provider = Provider::anthropic([two_commands()]);
    let text = "flemma.opt.tools.auto_approve = { \"$shell-safe\" }";
    let editor = type_below(&provider, text);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_r", "t_w"]), ["ran", "waits"]);
    let provider = Provider::anthropic([two_commands()]);
    let editor = open(&provider, &below(text));
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_r", "t_w"]), ["waits", "waits"]);
    wait_diagnostic(
        &editor,
        "would run shell commands that only read without asking",
    );
}

fn bash(command: &str) -> String {
    json!({ "command": command }).to_string()
}

#[test]
fn on_the_command_line_it_runs_without_a_question() {
    let shell = Shell::offline();
    shell.write("f.txt", "a\n");
    let ran = shell.run(&["tool", "bash", &bash("ls -la ./f.txt | cut -c1")]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "-\n"), "{ran:?}");
    let find = "find . -name package.json -o -name f.txt";
    let ran = shell.run(&["tool", "bash", "--restricted", &bash(find)]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "./f.txt\n"),
        "{ran:?}"
    );
    let input = json!({"command": "pwd", "working_dir": "/"}).to_string();
    let ran = shell.run(&["tool", "shell", "--restricted", &input]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "/\n"), "{ran:?}");
}

#[test]
fn a_restricted_run_refuses_and_names_the_command() {
    let shell = Shell::offline();
    shell.write("x", "");
    for program in ["rm", "rmdir", "chmod +x", "chown me", "sudo ls", "su"] {
        let call = bash(&format!("{program} x"));
        let name = program.split(' ').next().unwrap();
        let refusal = format!("The command \"{name}\" is not allowed: it is not in the whitelist.");
        // Neither an answer nor a list approves it.
        for more in [
            &["--restricted"][..],
            &["--restricted", "--yes", "--approve", "bash"],
        ] {
            let arguments = [&["tool", "bash", &call][..], more].concat();
            let ran = shell.run_with(&arguments, "y\n");
            assert_eq!(ran.code, Some(4), "{ran:?}");
            assert!(ran.out.contains(&refusal), "{ran:?}");
        }
        // Without --restricted, it would ask. Without a terminal, the refusal is the same.
        let ran = shell.run(&["tool", "bash", &call]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(ran.out.contains(&refusal), "{ran:?}");
    }
    assert!(shell.path("x").exists());
    let ran = shell.run(&["tool", "bash", "--restricted", &bash("ls > y")]);
    assert!(
        ran.code == Some(4) && ran.out.contains("a redirection into a file"),
        "{ran:?}"
    );
    assert!(!shell.path("y").exists());
}

#[test]
fn the_command_lines_options_add_and_forbid_commands() {
    let shell = Shell::offline();
    shell.configure("[tools.bash]\nallow = [\"touch\"]\ndeny = [\"curl\"]\n");
    let ran = shell.run(&["tool", "bash", "--restricted", &bash("touch ran")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(shell.path("ran").exists());
    let ran = shell.run(&["tool", "bash", "--yes", &bash("curl --version")]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.out.contains("\"curl\" is not allowed"), "{ran:?}");
    let ran = shell.run(&["tools"]);
    assert!(
        ran.out.ends_with("bash: commands that only read run.\n"),
        "{}",
        ran.out
    );
}

#[test]
fn a_restricted_chat_tells_the_model_what_it_may_not_do() {
    let call = Answer::new().tool_use("t", "bash", &command("rm x"));
    let provider = Provider::anthropic([call, Answer::says("I see.")]);
    let shell = Shell::new(&provider);
    let ran = shell.run(&["send", "a.chat", "-m", "Go.", "--restricted"]);
    let sent = provider.requests()[1].body["messages"][2]["content"][0].clone();
    assert_eq!(sent["is_error"], true);
    let refusal = sent["content"].as_str().unwrap();
    assert!(
        refusal.starts_with("The tool was denied by a policy. The command \"rm\" is not allowed"),
        "{refusal}"
    );
    assert!(ran.out.contains("I see."), "{ran:?}");
}

/// A repository whose configuration makes Git run a program.
fn hostile_repository(shell: &Shell) {
    let git = std::process::Command::new("git")
        .args(["init", "-q"])
        .current_dir(shell.path("."))
        .env("HOME", shell.path("."))
        .output()
        .unwrap();
    assert!(git.status.success(), "{git:?}");
    shell.write("f", "x\n");
    let config = std::fs::read_to_string(shell.path(".git/config")).unwrap();
    let canary = shell.path("pwned");
    let program = format!("\tfsmonitor = \"touch {};:\"\n", canary.display());
    shell.write(".git/config", &(config + "[core]\n" + &program));
}

#[test]
fn commands_that_do_more_than_they_seem_change_nothing() {
    let shell = Shell::offline();
    hostile_repository(&shell);
    shell.write("-exec", "");
    let variants: [&[&str]; 3] = [
        &[],
        &["--restricted"],
        &["--restricted", "--approve", "bash"],
    ];
    let secret = bash("cat ~/.s?h/id_ed25519 ~/.ssh/x");
    for more in variants {
        let ran = shell.run(&[&["tool", "bash", &secret][..], more].concat());
        let said = format!("{}{}", ran.out, ran.err);
        assert!(ran.code == Some(4) && said.contains("secrets"), "{ran:?}");
    }
    for command in [
        "git -c core.fsmonitor='touch pwned' status",
        "git -p -c core.pager='touch pwned' log",
        "cd . && git diff",
        "find . -maxdepth 0 -exe? sh -c 'id > pwned' \\;",
        "awk 'BEGIN { print > \"pwned\" }'",
        "sed -n '1w pwned' f",
        "sort -o pwned f",
        "env touch pwned",
    ] {
        for more in variants.into_iter().take(2) {
            let call = bash(command);
            let ran = shell.run(&[&["tool", "bash", &call][..], more].concat());
            // Without a sandbox, they ask.
            assert!(tools_hold() || ran.code == Some(4), "{command}: {ran:?}");
        }
    }
    assert!(!shell.path("pwned").exists());
}

#[test]
fn a_program_of_the_project_does_not_replace_the_systems() {
    use std::os::unix::fs::PermissionsExt;
    let shell = Shell::offline();
    shell.write("ls", "#!/bin/sh\ntouch pwned\n");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(shell.path("ls"), executable).unwrap();
    let path = format!(
        ".:{}:{}",
        shell.path(".").display(),
        std::env::var("PATH").unwrap()
    );
    for more in [&[][..], &["--restricted"]] {
        let call = bash("ls && test -f ls");
        let arguments = [&["tool", "bash", &call][..], more].concat();
        let ran = shell
            .command(&arguments)
            .env("PATH", &path)
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    }
    assert!(!shell.path("pwned").exists());
}

#[test]
fn approved_commands_run_read_only() {
    let shell = Shell::offline();
    let asked = "test -w . && echo writes || echo reads";
    let holds = tools_hold();
    let expected = if holds { "reads\n" } else { "writes\n" };
    for more in [&[][..], &["--restricted"]] {
        let call = bash(asked);
        let ran = shell.run(&[&["tool", "bash", &call][..], more].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), expected), "{ran:?}");
    }
    // Approved by hand or by name, it has all permissions of the chat.
    for more in ["--yes", "--approve=bash"] {
        let ran = shell.run(&["tool", "bash", more, &bash(&format!("{asked}; touch w"))]);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(0), "writes\n"),
            "{ran:?}"
        );
    }
}

/// Returns true if bubblewrap works on this machine.
fn tools_hold() -> bool {
    let mut bwrap = std::process::Command::new("bwrap");
    bwrap.args([
        "--ro-bind",
        "/",
        "/",
        "--unshare-user",
        "--unshare-net",
        "true",
    ]);
    bwrap.output().is_ok_and(|it| it.status.success())
}

#[test]
fn local_addresses_are_fetched_only_if_the_options_name_them() {
    let provider = Provider::anthropic([Answer::says("x")]);
    let shell = Shell::new(&provider);
    let address = provider.environment()[0].1.clone();
    let call = json!({ "url": address }).to_string();
    let ran = shell.run(&["tool", "http_get", &call]);
    assert_eq!(ran.code, Some(4), "no user could be asked: {ran:?}");
    let ran = shell.run(&["tool", "http_get", "--restricted", &call]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.contains("only this machine or its network"),
        "{ran:?}"
    );
    for url in ["ftp://example.com/x", "file:///etc/passwd"] {
        let call = json!({ "url": url }).to_string();
        let ran = shell.run(&["tool", "http_get", "--restricted", &call]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.out.contains("only http and https"), "{ran:?}");
    }
    shell.configure("[tools.http_get]\nallow = [\"127.0.0.1\"]\n");
    let ran = shell.run(&["tool", "http_get", &call]);
    assert!(
        ran.out.starts_with("HTTP 4") || ran.out.starts_with("HTTP 2"),
        "{ran:?}"
    );
    shell.configure("[tools.http_get]\nallow = [\"http://a/\"]\n");
    let ran = shell.run(&["tool", "http_get", &call]);
    assert!(ran.err.contains("\"http://a/\" is not a host."), "{ran:?}");
}

#[test]
fn a_call_that_the_view_hinders_waits_and_an_approval_runs_it() {
    if !holds("a_call_that_the_view_hinders_waits_and_an_approval_runs_it") {
        return;
    }
    let calls = Answer::new()
        .tool_use("t_1", "bash", &command("find . -name f.txt -delete"))
        .tool_use("t_2", "bash", &command("grep -c nothing g.txt"))
        .tool_use("t_3", "bash", &command("grep -r KEY sub"));
    let provider = Provider::anthropic([calls, Answer::says("Well.")]);
    let options = json!({"sandbox": {}, "tools": {"auto_approve": ["$shell-safe"]}});
    let setup = with_options(&provider, options).with("f.txt", "a\n");
    let setup = setup.with("g.txt", "b\n").with("sub/.env", "KEY=1\n");
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    let asks = "asks: failed in the read-only view (Read-only file system)";
    editor.wait_screen(asks, |rows| rows.iter().any(|row| row.starts_with(asks)));
    // A command that fails by itself has its result, and so has one that meets a secret, which an
    // approval would not open.
    let ids = ["t_1", "t_2", "t_3"];
    assert_eq!(outcomes(&editor, ids), ["waits", "ran", "ran"]);
    assert!(result(&editor, "t_3").contains(".env: Permission denied"));
    assert!(editor.dir().join("f.txt").exists());
    // Autopilot waits, and no rule approves it again.
    editor.keys("<C-]>");
    at_rest(&editor);
    assert_eq!(became(&editor, "t_1"), "waits");
    assert_eq!(provider.requests().len(), 1);
    editor.keys("<M-CR>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    assert_eq!(became(&editor, "t_1"), "ran");
    assert!(!editor.dir().join("f.txt").exists());
    editor.command("Flemma log");
    editor.wait_for("the log", |editor| {
        let text = editor.text();
        text.contains("approved by shell-safe") && text.contains("approved by user: Alt-Enter")
    });
}

#[test]
fn in_a_shell_a_call_that_the_view_hinders_is_asked_about_or_rejected() {
    if !holds("in_a_shell_a_call_that_the_view_hinders_is_asked_about_or_rejected") {
        return;
    }
    let shell = Shell::offline();
    shell.write("f.txt", "a\n");
    let delete = bash("find . -name f.txt -delete");
    let why = "The command failed in the read-only view (Read-only file system).";
    let ran = shell.run(&["tool", "bash", &delete]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.out.contains(why), "{ran:?}");
    let ran = shell.run_with(&["tool", "bash", &delete], "n\n");
    assert!(ran.err.contains(why), "{ran:?}");
    // What is refused instead of asked about fails, whoever approved it.
    for more in [&[][..], &["--yes"], &["--yes", "--approve", "bash"]] {
        let words = ["tool", "bash", "--restricted", &delete];
        let ran = shell.run(&[&words[..], more].concat());
        assert!(ran.out.contains("Read-only file system"), "{ran:?}");
        assert!(shell.path("f.txt").exists());
    }
    let ran = shell.run_with(&["tool", "bash", &delete], "y\n");
    assert!(!shell.path("f.txt").exists(), "{ran:?}");
}
