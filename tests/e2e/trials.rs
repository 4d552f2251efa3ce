//! Trials: a pending command is run where it changes nothing, its outcome is shown, and an
//! approval takes that. Without a working bubblewrap, or where no overlay can be
//! mounted, the tests print their names and skip.

use std::fs;
use std::process::Command;

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::processes::{commands_in, host, next_host, signal};
use crate::restoring::choose;
use crate::sandbox::overlays;
use crate::shell::Shell;
use crate::stage::*;

/// A chat in a project, with this pending command, at its placeholder.
fn waiting(files: &[(&str, &str)], script: &str) -> (Provider, Editor) {
    let (provider, editor) = asked(files, &[script], json!({"sandbox": {}}));
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);
    (provider, editor)
}

/// A chat in a project, after Ctrl-] on calls of these commands.
fn asked(
    files: &[(&str, &str)],
    scripts: &[&str],
    options: serde_json::Value,
) -> (Provider, Editor) {
    let mut calls = Answer::new();
    for (number, script) in scripts.iter().enumerate() {
        calls = calls.tool_use(&format!("t_{}", number + 1), "bash", &command(script));
    }
    let provider = Provider::anthropic([calls, Answer::says("Well.")]);
    let mut setup = with_options(&provider, options);
    for (name, text) in files {
        setup = setup.file(name, text);
    }
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    let mut git = Command::new("git");
    let made = git.args(["init", "-q"]).current_dir(editor.dir()).output();
    assert!(made.unwrap().status.success());
    editor.keys("<C-]>");
    (provider, editor)
}

/// The lines below the call.
fn shown(editor: &Editor) -> Vec<String> {
    let lines = editor.virtual_lines();
    lines.into_iter().map(|it| it.text).collect()
}

/// Waits for the outcome of the trial, and returns the lines below the call.
#[track_caller]
fn wait_tried(editor: &Editor) -> Vec<String> {
    editor.wait_for("the outcome", |editor| {
        shown(editor).iter().any(|it| it.starts_with("tried: "))
    });
    shown(editor)
}

fn read(editor: &Editor, name: &str) -> Option<String> {
    fs::read_to_string(editor.dir().join(name)).ok()
}

#[test]
fn a_command_is_tried_shown_and_applied_without_running_again() {
    if !overlays("a_command_is_tried_shown_and_applied_without_running_again") {
        return;
    }
    let script = "echo $RANDOM$RANDOM$RANDOM > number; echo two >> a.txt; rm old/b.txt; rmdir old; chmod +x run; echo out";
    let files = [("a.txt", "one\n"), ("old/b.txt", "b\n"), ("run", "true\n")];
    let (provider, editor) = waiting(&files, script);
    editor.keys("<M-t>");
    let lines = wait_tried(&editor);
    let headline = lines.iter().find(|it| it.starts_with("tried: ")).unwrap();
    assert!(headline.contains("would change 4 files"), "{lines:#?}");
    assert!(headline.contains("exit code 0"), "{lines:#?}");
    assert!(lines.iter().any(|it| it == "  out"), "{lines:#?}");
    // Nothing has reached the project.
    assert_eq!(read(&editor, "a.txt").unwrap(), "one\n");
    assert_eq!(read(&editor, "number"), None);
    editor.wait_for("the diff", |editor| {
        let lines = shown(editor);
        let has = |text: &str| lines.iter().any(|it| it.contains(text));
        has("+ two") && has("old/b.txt") && has("644 → 755")
    });
    let drawn = shown(&editor).join("\n");
    editor.keys("<M-CR>");
    editor.wait_for("the result", |editor| became(editor, "t_1") == "ran");
    let output = result(&editor, "t_1");
    assert!(output.ends_with("```\nout\n```"), "{output}");
    assert_eq!(read(&editor, "a.txt").unwrap(), "one\ntwo\n");
    assert!(!editor.dir().join("old").exists());
    let number = read(&editor, "number").unwrap();
    assert!(drawn.contains(number.trim()), "{number}\n{drawn}");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    assert_eq!(provider.requests().len(), 2);
    // It is a checkpoint like an edit.
    choose(&editor, 1);
    editor.command("Flemma undo");
    editor.wait_for("the files as before", |editor| {
        let is_back = |name: &str, text: &str| read(editor, name).as_deref() == Some(text);
        is_back("a.txt", "one\n") && is_back("old/b.txt", "b\n") && read(editor, "number").is_none()
    });
}

#[test]
fn a_command_without_effect_says_so() {
    if !overlays("a_command_without_effect_says_so") {
        return;
    }
    let (_provider, editor) = waiting(&[("a.txt", "one\n")], "touch a.txt; grep -c two a.txt");
    editor.keys("<M-t>");
    let lines = wait_tried(&editor);
    let headline = lines.iter().find(|it| it.starts_with("tried: ")).unwrap();
    assert!(
        headline.starts_with("tried: no effect · exit code 1"),
        "{headline}"
    );
    editor.keys("<M-CR>");
    editor.wait_for("the result", |editor| became(editor, "t_1") == "ran");
    assert!(result(&editor, "t_1").contains("exited with code 1"));
}

#[test]
fn what_needs_the_network_or_changes_git_runs_when_it_is_approved() {
    if !overlays("what_needs_the_network_or_changes_git_runs_when_it_is_approved") {
        return;
    }
    let commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x";
    for (script, expected) in [
        (
            "(exec 3<>/dev/tcp/192.0.2.9/80)",
            "tried: it needs the network, so approving runs it",
        ),
        (
            commit,
            "tried: it changes Git's own files, so approving runs it",
        ),
        (
            "echo x > /etc/flemma-test",
            "tried: the trial did not allow it (Read-only file system)",
        ),
        (
            "mkfifo pipe",
            "tried: it creates pipe, which is not a regular file, so approving runs it",
        ),
    ] {
        let (_provider, editor) = waiting(&[], script);
        editor.keys("<M-t>");
        let lines = wait_tried(&editor);
        assert!(
            lines.iter().any(|it| it.contains(expected)),
            "{script}: {lines:#?}"
        );
        assert!(!editor.dir().join(".git/refs/heads/master").exists());
        if script == commit {
            editor.keys("<M-CR>");
            editor.wait_for("the result", |editor| became(editor, "t_1") == "ran");
            let log = Command::new("git")
                .args(["log", "-1", "--format=%s"])
                .current_dir(editor.dir())
                .output();
            assert_eq!(log.unwrap().stdout, b"x\n");
        }
    }
}

#[test]
fn a_file_that_changed_since_the_trial_is_not_overwritten() {
    if !overlays("a_file_that_changed_since_the_trial_is_not_overwritten") {
        return;
    }
    let (_provider, editor) = waiting(
        &[("a.txt", "one\n"), ("b.txt", "b\n")],
        "echo two >> a.txt; echo c >> b.txt",
    );
    editor.keys("<M-t>");
    wait_tried(&editor);
    fs::write(editor.dir().join("b.txt"), "mine\n").unwrap();
    editor.keys("<M-CR>");
    editor.wait_for("the result", |editor| became(editor, "t_1") == "failed");
    let output = result(&editor, "t_1");
    assert!(
        output.contains("b.txt has changed since the command was tried"),
        "{output}"
    );
    // All or nothing.
    assert_eq!(read(&editor, "a.txt").unwrap(), "one\n");
    assert_eq!(read(&editor, "b.txt").unwrap(), "mine\n");
}

/// A file's text, as the editor sees it.
fn seen(editor: &Editor, name: &str) -> serde_json::Value {
    let code = "local ok, lines = pcall(vim.fn.readfile, ...); return ok and lines[1] or 'none'";
    editor.lua(code, &json!([name]))
}

/// A chat with this pending command, in a project with these files. A folder of the editor is a disk
/// of this size in bytes.
fn on_small_disk(
    (folder, size): (&'static str, u64),
    files: &[(&str, &[u8])],
    script: &str,
) -> (Provider, Editor) {
    let provider = Provider::anthropic([
        Answer::new().tool_use("t_1", "bash", &command(script)),
        Answer::says("Well."),
    ]);
    let mut setup = with_options(&provider, json!({"sandbox": {}})).small_disk(folder, size);
    for (name, content) in files {
        setup = setup.with(name, content);
    }
    let editor = setup.file("question.chat", QUESTION).start();
    editor.command("call system('git init -q')");
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);
    (provider, editor)
}

#[test]
fn where_the_disk_is_full_nothing_of_an_outcome_is_applied() {
    if !overlays("where_the_disk_is_full_nothing_of_an_outcome_is_applied") {
        return;
    }
    let full = "there is not enough room on the disk";
    let large = "echo two > a.txt; head -c 700000 /dev/urandom > b.bin";
    let many = "echo two > a.txt; for i in $(seq 20); do head -c 40000 /dev/urandom > f$i; done";
    for (disk, script, why) in [
        (("work", 600_000), large, full),
        (("work", 600_000), many, full),
        (("state", 1_200_000), large, "it could not be stored: "),
    ] {
        let (_provider, editor) = on_small_disk(disk, &[("a.txt", b"one\n")], script);
        editor.keys("<M-t>");
        wait_tried(&editor);
        editor.keys("<M-CR>");
        editor.wait_for("the result", |editor| became(editor, "t_1") == "failed");
        let output = result(&editor, "t_1");
        assert!(output.contains("Nothing was changed: "), "{output}");
        assert!(output.contains(why), "{output}");
        assert_eq!(seen(&editor, "a.txt"), "one");
        assert_eq!(seen(&editor, "b.bin"), "none");
        assert_eq!(seen(&editor, "f1"), "none");
    }
}

#[test]
fn where_the_disk_is_full_nothing_is_undone() {
    if !overlays("where_the_disk_is_full_nothing_is_undone") {
        return;
    }
    let files: [(&str, &[u8]); 2] = [("a.txt", b"one\n"), ("b.bin", &[b'b'; 400_000])];
    let script = "echo two > a.txt; rm b.bin";
    let (_provider, editor) = on_small_disk(("work", 600_000), &files, script);
    editor.keys("<M-CR>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    assert_eq!(seen(&editor, "b.bin"), "none");
    editor.command("call system('head -c 400000 /dev/zero > filler')");
    choose(&editor, 1);
    for command in ["Flemma undo", "Flemma undo b.bin"] {
        editor.command("messages clear");
        editor.command(command);
        wait_message(
            &editor,
            "Nothing was restored: there is not enough room on the disk.",
        );
        assert_eq!(seen(&editor, "a.txt"), "two");
    }
    editor.command("call delete('filler')");
    editor.command("Flemma undo");
    wait_message(&editor, "Restored 2 files");
    assert_eq!(seen(&editor, "a.txt"), "one");
}

#[test]
fn ignored_files_are_counted_and_applied() {
    if !overlays("ignored_files_are_counted_and_applied") {
        return;
    }
    let script = "mkdir -p target/debug && echo x > target/debug/a && echo y > target/b && echo t > /tmp/note";
    let (_provider, editor) = waiting(&[(".gitignore", "target\n")], script);
    editor.keys("<M-t>");
    let lines = wait_tried(&editor);
    let expected = "tried: no file of the project changes · 2 ignored files in target";
    assert!(
        lines.iter().any(|it| it.starts_with(expected)),
        "{lines:#?}"
    );
    assert!(!editor.dir().join("target").exists());
    editor.keys("<M-CR>");
    editor.wait_for("the result", |editor| became(editor, "t_1") == "ran");
    assert_eq!(read(&editor, "target/debug/a").unwrap(), "x\n");
    assert_eq!(read(&editor, "target/b").unwrap(), "y\n");
}

#[test]
fn a_trial_of_a_rule_goes_on_from_what_earlier_ones_wrote_to_ignored_folders() {
    if !overlays("a_trial_of_a_rule_goes_on_from_what_earlier_ones_wrote_to_ignored_folders") {
        return;
    }
    let build = "mkdir -p target && echo built >> target/log && cat target/log";
    let call = |id: &str, script: &str| Answer::new().tool_use(id, "bash", &command(script));
    let provider = Provider::anthropic([
        call("t_1", build),
        call("t_2", build),
        call("t_3", "echo by hand >> target/log; rm a.txt"),
        Answer::says("Well."),
    ]);
    let setup = with_options(&provider, with_trial(&["$default", "$trial"]));
    let setup = setup.file("a.txt", "one\n").file(".gitignore", "target\n");
    let editor = setup.file("question.chat", QUESTION).start();
    let mut git = Command::new("git");
    let made = git.args(["init", "-q"]).current_dir(editor.dir()).output();
    assert!(made.unwrap().status.success());
    editor.keys("<C-]>");
    editor.wait_for("the removal that waits", |editor| {
        shown(editor)
            .iter()
            .any(|it| it.starts_with("tried: would change 1 file"))
    });
    let first = result(&editor, "t_1");
    assert!(
        first
            .contains("\nbuilt\n\n(tried: target was kept for later trials, not in the project)\n"),
        "{first}"
    );
    assert!(result(&editor, "t_2").contains("\nbuilt\nbuilt\n\n(tried: "));
    assert_eq!(read(&editor, "target/log"), None);
    // What the user approves is whole: with what it was made from.
    editor.keys("<M-CR>");
    editor.wait_for("the result", |editor| became(editor, "t_3") == "ran");
    assert_eq!(
        read(&editor, "target/log").unwrap(),
        "built\nbuilt\nby hand\n"
    );
    editor.command("Flemma sandbox:clear");
    wait_message(&editor, "The next trial starts without target.");
    editor.command("Flemma sandbox:clear");
    wait_message(&editor, "This chat has no scratch layer.");
}

#[test]
fn what_is_no_file_counts_neither_in_tmp_nor_in_ignored_folders() {
    if !overlays("what_is_no_file_counts_neither_in_tmp_nor_in_ignored_folders") {
        return;
    }
    let call = |id: &str, script: &str| Answer::new().tool_use(id, "bash", &command(script));
    let provider = Provider::anthropic([
        call("t_1", "mkfifo pipe"),
        call(
            "t_2",
            "mkdir -m 700 target; mkfifo target/p /tmp/p; chmod 711 /tmp; echo x > target/a; cat target/a",
        ),
        call("t_3", "ls -d /tmp/p target"),
        Answer::says("Well."),
    ]);
    let setup = with_options(&provider, with_trial(&["$default", "$trial"]));
    let setup = setup.file(".gitignore", "target\n");
    let editor = setup.file("question.chat", QUESTION).start();
    git(&editor.dir(), &["init", "-q"]);
    editor.keys("<C-]>");
    let why = "tried: it creates pipe, which is not a regular file";
    editor.wait_for("the outcome", |editor| {
        shown(editor).iter().any(|it| it.starts_with(why))
    });
    // A real command leaves the folders of mounts in `/tmp`.
    editor.keys("<M-CR>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    assert!(result(&editor, "t_2").contains("\nx\n\n(tried: target was kept"));
    let last = result(&editor, "t_3");
    assert!(
        last.contains("'/tmp/p': No such file") && last.contains("\ntarget\n"),
        "{last}"
    );
}

#[test]
fn a_call_is_tried_again_after_another_one_changed_the_same_file() {
    if !overlays("a_call_is_tried_again_after_another_one_changed_the_same_file") {
        return;
    }
    let scripts = ["sleep 0.2; echo two >> a.txt", "rm a.txt"];
    let files = [("a.txt", "one\n")];
    let (_provider, editor) = asked(&files, &scripts, with_trial(&["$default", "$trial"]));
    editor.wait_for("the removal of what the first call wrote", |editor| {
        became(editor, "t_1") == "ran" && shown(editor).iter().any(|it| it.contains("- two"))
    });
    editor.keys("<M-CR>");
    editor.wait_for("the result", |editor| became(editor, "t_2") == "ran");
    assert_eq!(read(&editor, "a.txt"), None);
}

#[test]
fn a_hunk_that_is_dropped_in_a_review_is_not_applied_and_the_model_reads_so() {
    if !overlays("a_hunk_that_is_dropped_in_a_review_is_not_applied_and_the_model_reads_so") {
        return;
    }
    let (_provider, editor) = waiting(
        &[("a.txt", "one\n"), ("b.txt", "b\n")],
        "echo two >> a.txt; echo c >> b.txt; echo out",
    );
    editor.keys("<M-t>");
    wait_tried(&editor);
    editor.keys("<CR>");
    crate::reviewing::wait_review(&editor);
    editor.keys("gg]cdih:w<CR>");
    editor.wait_for("the result", |editor| became(editor, "t_1") == "ran");
    assert_eq!(read(&editor, "b.txt").unwrap(), "b\nc\n");
    assert_eq!(read(&editor, "a.txt").unwrap(), "one\n");
    let output = result(&editor, "t_1");
    assert!(output.contains("out\n"), "{output}");
    assert!(output.contains("a.txt"), "{output}");
}

/// Returns true if the call is being tried, by its label.
fn is_tried(editor: &Editor) -> bool {
    let drawn = editor.virtual_text();
    drawn.iter().any(|it| it.text.contains("is being tried"))
}

#[test]
fn a_second_trial_shows_nothing_of_the_first() {
    if !overlays("a_second_trial_shows_nothing_of_the_first") {
        return;
    }
    let script = "[ -e slow ] && sleep 60; echo two >> a.txt";
    let (_provider, editor) = waiting(&[("a.txt", "one\n")], script);
    let has_diff = |editor: &Editor| shown(editor).iter().any(|it| it.contains("+ two"));
    editor.keys("<M-t>");
    editor.wait_for("the diff", has_diff);
    fs::write(editor.dir().join("slow"), "").unwrap();
    editor.keys("<M-t>");
    editor.wait_for("the second trial alone", |editor| {
        is_tried(editor) && !has_diff(editor)
    });
    // A trial that is stopped leaves the call untried.
    editor.keys("<C-c>");
    wait_message(&editor, "The trial was stopped. The call is pending.");
    assert!(!has_diff(&editor), "{:#?}", shown(&editor));
}

#[test]
fn a_key_during_a_trial_says_so_and_the_second_one_runs_the_call() {
    if !overlays("a_key_during_a_trial_says_so_and_the_second_one_runs_the_call") {
        return;
    }
    let script = "[ -e marker ] || sleep 60; echo ran";
    let (_provider, editor) = waiting(&[], script);
    editor.keys("<M-t>");
    editor.wait_for("the trial", is_tried);
    fs::write(editor.dir().join("marker"), "").unwrap();
    editor.keys("<M-CR>");
    wait_message(&editor, "This call was still being tried.");
    assert_eq!(became(&editor, "t_1"), "waits");
    editor.keys("<M-CR>");
    editor.wait_for("the result", |editor| became(editor, "t_1") == "ran");
    // Ctrl-C stops a trial, and the call stays pending.
    let (_provider, editor) = waiting(&[], "sleep 60");
    editor.keys("<M-t>");
    editor.wait_for("the trial", is_tried);
    editor.keys("<C-c>");
    wait_message(&editor, "The trial was stopped. The call is pending.");
    assert_eq!(became(&editor, "t_1"), "waits");
}

fn with_trial(names: &[&str]) -> serde_json::Value {
    json!({"sandbox": {}, "tools": {"auto_approve": names}})
}

#[test]
fn commands_without_effect_run_without_a_question_and_changes_are_decided_like_writes() {
    if !overlays(
        "commands_without_effect_run_without_a_question_and_changes_are_decided_like_writes",
    ) {
        return;
    }
    let scripts = ["grep -c one a.txt", "echo $RANDOM$RANDOM > b.txt"];
    let both = with_trial(&["$default", "$trial"]);
    let (provider, editor) = asked(&[("a.txt", "one\n")], &scripts, both);
    wait_end(&editor, "Well.\n\n@You:\n\n");
    assert_eq!(outcomes(&editor, ["t_1", "t_2"]), ["ran", "ran"]);
    assert!(result(&editor, "t_1").contains("\n1\n"));
    assert!(read(&editor, "b.txt").is_some());
    assert_eq!(provider.requests().len(), 2);
    editor.command("Flemma log");
    editor.wait_for("the log", |editor| {
        let text = editor.text();
        text.contains("tried by trial")
            && text.contains("approved by trial")
            && text.contains("started, sandbox trial")
    });
    // Where `write` asks, the change waits, with its outcome on the screen.
    let only = with_trial(&["$readonly", "$trial"]);
    let (_provider, editor) = asked(&[("a.txt", "one\n")], &scripts, only);
    editor.wait_for("the outcome of the change", |editor| {
        became(editor, "t_1") == "ran"
            && shown(editor)
                .iter()
                .any(|it| it.starts_with("tried: would change 1 file +1 −0"))
    });
    assert_eq!(became(&editor, "t_2"), "waits");
    assert_eq!(read(&editor, "b.txt"), None);
}

#[test]
fn a_new_program_waits_although_write_is_approved() {
    if !overlays("a_new_program_waits_although_write_is_approved") {
        return;
    }
    let script = "printf '#!/bin/sh\\n' > run; chmod +x run";
    let both = with_trial(&["$default", "$trial"]);
    let (_provider, editor) = asked(&[], &[script], both);
    let lines = wait_tried(&editor);
    assert!(
        lines.iter().any(|it| it.contains("would change 1 file")),
        "{lines:#?}"
    );
    editor.wait_for("its mode", |editor| {
        shown(editor).iter().any(|it| it.contains("new, mode 755"))
    });
    assert_eq!(became(&editor, "t_1"), "waits");
    assert_eq!(read(&editor, "run"), None);
    editor.keys("<M-CR>");
    editor.wait_for("the result", |editor| became(editor, "t_1") == "ran");
    let status = Command::new(editor.dir().join("run")).status();
    assert!(status.unwrap().success());
}

#[test]
fn where_nothing_can_be_tried_the_calls_of_an_answer_wait_and_one_message_says_why() {
    let mut options = with_trial(&["$default", "$trial"]);
    options["sandbox"] = json!({"backends": {"bwrap": {"path": "/nowhere/bwrap"}}});
    let scripts = ["touch a", "touch b", "touch c"];
    let (_provider, editor) = asked(&[], &scripts, options);
    wait_message(&editor, "cannot be tried");
    at_rest(&editor);
    assert_eq!(outcomes(&editor, ["t_1", "t_2", "t_3"]), ["waits"; 3]);
    let said = editor.messages().matches("cannot be tried").count();
    assert_eq!(said, 1, "{}", editor.messages());
}

#[test]
fn what_a_trial_cannot_take_waits_and_a_rule_that_asks_keeps_its_question() {
    if !overlays("what_a_trial_cannot_take_waits_and_a_rule_that_asks_keeps_its_question") {
        return;
    }
    // What is written in the home folder of a trial is lost, as a cache may be.
    let scripts = [
        "rm a.txt",
        "(exec 3<>/dev/tcp/192.0.2.9/80)",
        "mkdir -p ~/.cache/x && echo made; ls ~/notes",
    ];
    let both = with_trial(&["$default", "$trial"]);
    let (_provider, editor) = asked(&[("a.txt", "one\n")], &scripts, both);
    let home = editor.lua("return vim.uv.os_homedir()", &json!([]));
    fs::create_dir_all(format!("{}/notes", home.as_str().unwrap())).unwrap();
    editor.wait_for("the outcomes", |editor| {
        let tried = shown(editor);
        tried.iter().filter(|it| it.starts_with("tried: ")).count() == 2
            && became(editor, "t_3") == "ran"
    });
    assert_eq!(outcomes(&editor, ["t_1", "t_2"]), ["waits", "waits"]);
    assert!(editor.dir().join("a.txt").exists());
    assert!(result(&editor, "t_3").contains("\nmade\n"));
    assert!(!std::path::Path::new(&format!("{}/.cache/x", home.as_str().unwrap())).exists());
    // What is in the home folder is not seen unasked.
    assert!(
        result(&editor, "t_3").contains("No such file"),
        "{}",
        result(&editor, "t_3")
    );
    let asks = "flemma.opt.tools.auto_approve = function(name) if name == 'bash' then return false end end";
    let provider = Provider::anthropic([Answer::new().tool_use("t_1", "bash", &command("true"))]);
    let setup = with_options(&provider, with_trial(&["$default", "$trial"]));
    let editor = setup.file("question.chat", "").start();
    watch(&editor);
    editor.type_text(&below(asks));
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);
    at_rest(&editor);
    assert!(!shown(&editor).iter().any(|it| it.starts_with("tried: ")));
    editor.command("Flemma log");
    editor.wait_for("the function's decision", |editor| {
        let text = editor.text();
        text.contains("waits, by frontmatter") && !text.contains("tried by trial")
    });
}

#[test]
fn what_a_command_does_to_its_view_stays_in_it() {
    if !overlays("what_a_command_does_to_its_view_stays_in_it") {
        return;
    }
    let files = [("a.txt", "one\n"), ("old/b.txt", "b\n")];
    for (script, expected) in [
        // More files than a trial may write.
        (
            "for i in $(seq 21000); do : > f$i; done; sleep 60",
            "it wrote more than 1 GiB or 20000 files",
        ),
        (
            "head -c 2000000000 /dev/zero > big; echo $?",
            "File size limit",
        ),
        (
            "for i in 1 2 3; do head -c 500000000 /dev/zero > b$i; done; sleep 60",
            "it wrote more than 1 GiB",
        ),
        (
            "mkfifo p",
            "tried: it creates p, which is not a regular file",
        ),
        (
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'",
            "tried: it creates s, which is not a regular file",
        ),
        (
            "mknod n c 0 0 || mknod n b 7 0",
            "tried: the trial did not allow it (Operation not permitted)",
        ),
        (
            "chmod 4755 a.txt",
            "tried: the trial did not allow it (Operation not permitted)",
        ),
        ("chmod 000 a.txt", "tried: it makes a.txt unreadable"),
        ("chmod 000 old", "tried: it "),
        (
            "rm -r old; echo x > old",
            "tried: it replaces the folder old by a file",
        ),
        (
            "rm a.txt; mkdir a.txt",
            "tried: it replaces a.txt by a folder",
        ),
        ("mv old new; rmdir old; true", "tried: would change 2 files"),
        ("ln a.txt c.txt", "tried: would change 1 file +1 −0"),
        ("ln -s /etc/passwd l", "tried: would change 1 file"),
        ("printf x > $'new\\nline'", "tried: would change 1 file"),
        ("mount -t tmpfs t . || unshare -U true", "tried: "),
        (
            "sleep 60 & disown; setsid sleep 60 & true",
            "tried: no effect",
        ),
        ("kill -9 $$", "tried: no effect"),
    ] {
        let (_provider, editor) = waiting(&files, script);
        let before = listing(&editor);
        editor.keys("<M-t>");
        let lines = wait_tried(&editor);
        assert!(
            lines.iter().any(|it| it.contains(expected)),
            "{script}: {lines:#?}"
        );
        assert_eq!(listing(&editor), before, "{script}");
        editor.keys("<M-r><CR>");
        editor.wait_for("the rejection", |editor| became(editor, "t_1") != "waits");
        // Nothing of a trial is left once its call is decided.
        editor.wait_for("no layer", |editor| layers(editor) == json!(0));
    }
}

/// The number of layers of trials.
fn layers(editor: &Editor) -> serde_json::Value {
    let glob = "return #vim.fn.glob(vim.fn.stdpath('state') .. '/flemma/temporary/.flemma-*/0/upper', true, true)";
    editor.lua(glob, &json!([]))
}

/// The names, modes, and sizes of everything in the project.
fn listing(editor: &Editor) -> String {
    let find =
        "find . -name .git -prune -o -name '*.chat' -prune -o -printf '%p %m %s %l\\n' | sort";
    let found = Command::new("sh")
        .args(["-c", find])
        .current_dir(editor.dir())
        .output();
    String::from_utf8_lossy(&found.unwrap().stdout).into_owned()
}

#[test]
fn a_shell_shows_what_a_command_would_change_before_it_asks() {
    if !overlays("a_shell_shows_what_a_command_would_change_before_it_asks") {
        return;
    }
    let call = Answer::new().tool_use("t_1", "bash", &command("echo two >> a.txt; echo out"));
    let provider = Provider::anthropic([call, Answer::says("Well.")]);
    let shell = Shell::new(&provider);
    shell.write("a.txt", "one\n");
    shell.write("question.chat", QUESTION);
    let ran = shell.run_with(&["send", "--trial", "question.chat"], "n\n");
    for expected in [
        "tried: would change 1 file +1 −0 · exit code 0",
        "  out",
        "two",
        "Continue?",
    ] {
        assert!(ran.err.contains(expected), "{expected}: {ran:?}");
    }
    assert_eq!(shell.read("a.txt"), "one\n");
    let call = json!({"label": "", "command": "echo $RANDOM$RANDOM > b.txt", "timeout": null});
    let ran = shell.run_with(&["tool", "bash", &call.to_string(), "--trial"], "y\n");
    let number = shell.read("b.txt");
    assert!(ran.err.contains(number.trim()), "{ran:?}");
}

/// Runs Git in a folder, as a user with a name.
fn git(folder: &std::path::Path, words: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    let mut git = Command::new("git");
    let ran = git.args(identity).args(words).current_dir(folder).output();
    let ran = ran.unwrap();
    assert!(ran.status.success(), "git {words:?}: {ran:?}");
}

/// Makes this the only pending call of a chat, tries it, and returns the first line of its outcome.
fn outcome_of(editor: &Editor, provider: &Provider, id: &str, script: &str) -> String {
    provider.then(Answer::new().tool_use(id, "bash", &command(script)));
    provider.then(Answer::says("Well."));
    editor.keys("GoGo on.<Esc><C-]>");
    editor.wait_for("the call", |editor| became(editor, id) == "waits");
    editor.keys("<M-t>");
    let lines = wait_tried(editor).into_iter();
    let line = lines.rev().find(|it| it.starts_with("tried: ")).unwrap();
    editor.keys("<M-r><CR>");
    editor.wait_for("the rejection", |editor| became(editor, id) != "waits");
    editor.keys("<C-]>");
    wait_end(editor, "Well.\n\n@You:\n\n");
    line
}

#[test]
fn git_in_a_linked_worktree_and_in_a_submodule_is_read_and_not_changed() {
    if !overlays("git_in_a_linked_worktree_and_in_a_submodule_is_read_and_not_changed") {
        return;
    }
    let provider = Provider::anthropic([""; 0]);
    let setup = with_options(&provider, json!({"sandbox": {}}));
    let editor = setup.file("question.chat", QUESTION).start();
    let root = editor.dir();
    let [main, linked] = ["main", "linked"].map(|it| root.join(it));
    fs::create_dir(&main).unwrap();
    fs::write(main.join("a.txt"), "one\n").unwrap();
    for words in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["commit", "-qm", "Begin"],
    ] {
        git(&main, words);
    }
    git(&main, &["worktree", "add", "-q", linked.to_str().unwrap()]);
    git(&root, &["init", "-q"]);
    let from = main.to_str().unwrap();
    let allowed = "protocol.file.allow=always";
    git(
        &root,
        &["-c", allowed, "submodule", "add", "-q", from, "sub"],
    );
    for (number, (script, expected)) in [
        (
            "cd linked && git status --short && git log --oneline",
            "tried: no effect · exit code 0",
        ),
        (
            "cd sub && git status --short && git log --oneline",
            "tried: no effect · exit code 0",
        ),
        (
            "cd linked && echo two > a.txt",
            "tried: would change 1 file +1 −1",
        ),
        (
            "cd sub && echo two > a.txt",
            "tried: would change 1 file +1 −1",
        ),
        (
            "cd sub && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
            "tried: it changes Git's own files",
        ),
        (
            "cd linked && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
            "tried: it changes Git's own files",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let line = outcome_of(&editor, &provider, &format!("t_{number}"), script);
        assert!(line.starts_with(expected), "{script}: {line}");
    }
}

#[test]
fn files_of_another_group_are_read_and_what_writes_them_runs_when_approved() {
    if !overlays("files_of_another_group_are_read_and_what_writes_them_runs_when_approved") {
        return;
    }
    let (_provider, editor) = waiting(&[("a.txt", "one\n")], "cat a.txt && echo two >> a.txt");
    if std::os::unix::fs::chown(editor.dir().join("a.txt"), None, Some(4711)).is_err() {
        return eprintln!("skipped: only root can change a file's group to any");
    }
    editor.keys("<M-t>");
    let lines = wait_tried(&editor);
    let expected = "tried: the trial did not allow it (Value too large for defined data type)";
    assert!(
        lines.iter().any(|it| it.starts_with(expected)),
        "{lines:#?}"
    );
    editor.keys("<M-CR>");
    editor.wait_for("the result", |editor| became(editor, "t_1") == "ran");
    assert_eq!(read(&editor, "a.txt").unwrap(), "one\ntwo\n");
}

#[test]
fn two_chats_try_at_once_and_the_second_to_change_a_file_is_told() {
    if !overlays("two_chats_try_at_once_and_the_second_to_change_a_file_is_told") {
        return;
    }
    let provider = Provider::anthropic([
        Answer::new().tool_use("t_1", "bash", &command("echo first >> a.txt")),
        Answer::new().tool_use("t_2", "bash", &command("echo second >> a.txt")),
        Answer::says("Well."),
        Answer::says("Well."),
    ]);
    let setup = with_options(&provider, json!({"sandbox": {}}));
    let setup = setup.file("a.txt", "one\n");
    let editor = setup
        .with("other.chat", QUESTION)
        .file("question.chat", QUESTION)
        .start();
    git(&editor.dir(), &["init", "-q"]);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);
    editor.keys(":edit other.chat<CR><C-]>");
    assert_eq!(outcomes(&editor, ["t_2"]), ["waits"]);
    editor.keys("<M-t>:buffer question.chat<CR><M-t>");
    wait_tried(&editor);
    // A trial that still runs when the first change is applied would begin with it.
    editor.keys(":buffer other.chat<CR>");
    wait_tried(&editor);
    editor.keys(":buffer question.chat<CR><M-CR>");
    editor.wait_for("the first result", |editor| became(editor, "t_1") == "ran");
    editor.keys(":buffer other.chat<CR><M-CR>");
    editor.wait_for("the second result", |editor| {
        became(editor, "t_2") == "failed"
    });
    let output = result(&editor, "t_2");
    assert!(
        output.contains("a.txt has changed since the command was tried. Try it again."),
        "{output}"
    );
    assert_eq!(read(&editor, "a.txt").unwrap(), "one\nfirst\n");
}

#[test]
fn a_host_that_is_killed_during_a_trial_leaves_no_process_and_no_layer() {
    if !overlays("a_host_that_is_killed_during_a_trial_leaves_no_process_and_no_layer") {
        return;
    }
    let (_provider, editor) = waiting(&[("a.txt", "one\n")], "echo two >> a.txt; sleep 60");
    let runs = |editor: &Editor| {
        let name = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm"));
        let mut found = commands_in(&editor.dir()).into_iter();
        found.any(|it| name(&it).is_ok_and(|it| it == "sleep\n"))
    };
    let old = host(&editor);
    editor.keys("<M-t>");
    editor.wait_for("the command", runs);
    assert_eq!(layers(&editor), json!(1));
    for process in [old.watcher, old.worker] {
        signal(process, rustix::process::Signal::KILL);
    }
    editor.wait_for("the end of the command", |editor| !runs(editor));
    next_host(&editor, &old);
    assert_eq!(read(&editor, "a.txt").unwrap(), "one\n");
    // The call is untried; the next trial removes what the last one left.
    assert!(!shown(&editor).iter().any(|it| it.starts_with("tried: ")));
    editor.keys("<M-t>");
    editor.wait_for("the command", runs);
    assert_eq!(layers(&editor), json!(1));
}

/// A chat in plan mode with calls of these commands, after Ctrl-].
fn planned(scripts: &[&str], options: serde_json::Value) -> (Provider, Editor) {
    let mut options = options;
    options["tools"]["auto_approve"]
        .as_array_mut()
        .unwrap()
        .push(json!("$plan"));
    asked(&[("a.txt", "one\n")], scripts, options)
}

#[test]
fn in_plan_mode_commands_run_as_trials_whose_changes_are_discarded() {
    if !overlays("in_plan_mode_commands_run_as_trials_whose_changes_are_discarded") {
        return;
    }
    let scripts = [
        "echo two >> a.txt; echo x > b.txt; echo t > /tmp/note; cat a.txt",
        "ls",
        "cat a.txt >&2; true",
        "(exec 3<>/dev/tcp/192.0.2.9/80)",
        "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && echo committed",
        "echo x > /etc/flemma-test; false",
    ];
    let (provider, editor) = planned(&scripts, with_trial(&["bash"]));
    wait_end(&editor, "Well.\n\n@You:\n\n");
    let ids = ["t_1", "t_2", "t_3", "t_4", "t_5", "t_6"];
    assert_eq!(outcomes(&editor, ids), ["ran"; 6]);
    for (id, part) in [
        (
            "t_1",
            "one\ntwo\n\n(plan mode: changes of 3 files were discarded)\n```",
        ),
        ("t_2", "a.txt\n"),
        ("t_3", "\none\n```"),
        (
            "t_4",
            "(plan mode: the command ran in a trial, and it needs the network)",
        ),
        (
            "t_5",
            "committed\n\n(plan mode: the command ran in a trial, and it changes Git's own files; its changes were discarded)",
        ),
        (
            "t_6",
            "(plan mode: the command ran in a trial, and the trial did not allow it (Read-only file system))",
        ),
    ] {
        assert!(
            result(&editor, id).contains(part),
            "{}",
            result(&editor, id)
        );
    }
    assert_eq!(read(&editor, "a.txt").unwrap(), "one\n");
    assert_eq!(read(&editor, "b.txt"), None);
    assert!(!editor.dir().join(".git/refs/heads/master").exists());
    assert_eq!(provider.requests().len(), 2);
    editor.command("Flemma log");
    editor.wait_for("the log", |editor| {
        editor.text().contains("started, sandbox trial")
    });
}

#[test]
fn a_command_that_waits_in_plan_mode_says_what_becomes_of_it() {
    if !overlays("a_command_that_waits_in_plan_mode_says_what_becomes_of_it") {
        return;
    }
    let scripts = [
        "echo two >> a.txt; cat a.txt",
        "curl -s http://192.0.2.9; echo end; false",
    ];
    let (_provider, editor) = planned(&scripts, with_trial(&[]));
    assert_eq!(outcomes(&editor, ["t_1", "t_2"]), ["waits", "waits"]);
    let planned = "In plan mode, it runs as a trial, and its changes are discarded.";
    editor.wait_for("the line", |editor| {
        shown(editor).iter().filter(|it| *it == planned).count() == 2
    });
    // What was tried is not run again, and no diff is to be reviewed.
    editor.keys("<M-t>");
    let lines = wait_tried(&editor);
    assert!(
        lines.iter().any(|it| it.contains("would change 1 file")),
        "{lines:#?}"
    );
    crate::deciding::open_window(&editor);
    editor.wait_screen(planned, |rows| rows.iter().any(|it| it.contains(planned)));
    editor.keys("a");
    editor.wait_for("the result", |editor| became(editor, "t_1") == "ran");
    let discarded = "one\ntwo\n\n(plan mode: changes of 1 file were discarded)";
    assert!(result(&editor, "t_1").contains(discarded));
    assert_eq!(read(&editor, "a.txt").unwrap(), "one\n");
}

#[test]
fn in_plan_mode_the_rule_for_trials_approves_what_can_be_discarded() {
    if !overlays("in_plan_mode_the_rule_for_trials_approves_what_can_be_discarded") {
        return;
    }
    let scripts = ["rm a.txt; echo gone", "(exec 3<>/dev/tcp/192.0.2.9/80)"];
    let (_provider, editor) = planned(&scripts, with_trial(&["$trial"]));
    editor.wait_for("the outcomes", |editor| {
        became(editor, "t_1") == "ran"
            && shown(editor)
                .iter()
                .any(|it| it.starts_with("tried: it needs the network · exit code"))
    });
    let discarded = "gone\n\n(plan mode: changes of 1 file were discarded)";
    assert!(result(&editor, "t_1").contains(discarded));
    assert!(editor.dir().join("a.txt").exists());
    assert_eq!(became(&editor, "t_2"), "waits");
    editor.keys("<M-CR>");
    editor.wait_for("the result", |editor| became(editor, "t_2") == "ran");
    assert!(result(&editor, "t_2").contains("it needs the network"));
}

#[test]
fn where_nothing_can_be_tried_plan_mode_runs_only_what_reads() {
    let mut options = with_trial(&["bash"]);
    options["tools"]["bash"] = json!({"trial": false});
    let (_provider, editor) = planned(&["touch b", "cat a.txt"], options);
    wait_end(&editor, "Well.\n\n@You:\n\n");
    assert_eq!(outcomes(&editor, ["t_1", "t_2"]), ["denied", "ran"]);
    let why = "Other commands cannot be tried here: tools.bash.trial is false.";
    assert!(result(&editor, "t_1").contains(why));
    assert_eq!(read(&editor, "b"), None);
}

#[test]
fn in_a_shell_plan_mode_says_so_before_it_asks() {
    if !overlays("in_a_shell_plan_mode_says_so_before_it_asks") {
        return;
    }
    let call = Answer::new().tool_use("t_1", "bash", &command("echo two >> a.txt; cat a.txt"));
    let provider = Provider::anthropic([call, Answer::says("Well.")]);
    let shell = Shell::new(&provider);
    shell.write("a.txt", "one\n");
    shell.write(
        "question.chat",
        "```lua\nflemma.opt.tools.auto_approve = { \"$plan\" }\n```\n\n@You:\nGo.\n",
    );
    let ran = shell.run_with(&["send", "question.chat"], "y\n");
    let planned = "In plan mode, it runs as a trial, and its changes are discarded.";
    assert!(ran.err.contains(planned), "{ran:?}");
    assert_eq!(shell.read("a.txt"), "one\n");
    let chat = shell.read("question.chat");
    let discarded = "two\n\n(plan mode: changes of 1 file were discarded)";
    assert!(chat.contains(discarded), "{chat}");
}

#[test]
fn a_trial_that_nobody_asked_for_sees_what_the_user_lists_of_the_home_folder() {
    if !overlays("a_trial_that_nobody_asked_for_sees_what_the_user_lists_of_the_home_folder") {
        return;
    }
    let script = "cd ~; cat .config/foo/settings; cat .config/foo/.env; ls other; ls .config";
    let call = Answer::new().tool_use("t_1", "bash", &command(script));
    let provider = Provider::anthropic([call, Answer::says("Well.")]);
    let mut options = with_trial(&["$default", "$trial"]);
    options["tools"]["bash"] = json!({"trial_home": ["~/.config/foo", "~/missing"]});
    let setup = with_options(&provider, options);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    let home = editor.lua("return vim.uv.os_homedir()", &json!([]));
    let home = std::path::PathBuf::from(home.as_str().unwrap());
    for (name, text) in [
        (".config/foo/settings", "shown"),
        (".config/foo/.env", "KEY=hidden"),
        (".config/bar/settings", "unlisted"),
        ("other/notes", "unlisted"),
    ] {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    editor.keys("<C-]>");
    editor.wait_for("the outcome", |editor| {
        became(editor, "t_1") == "ran" || shown(editor).iter().any(|it| it.starts_with("tried: "))
    });
    let seen = match became(&editor, "t_1") {
        "ran" => result(&editor, "t_1"),
        _ => shown(&editor).join("\n"),
    };
    assert!(seen.contains("shown") && seen.contains("foo"), "{seen}");
    for hidden in ["hidden", "notes", "bar"] {
        assert!(!seen.contains(hidden), "{seen}");
    }
}
