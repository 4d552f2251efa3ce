//! The host or Neovim is killed while a tool runs: its processes die, and the call ends
//! as an error without running again.

use std::fs;

use harness::{Answer, Editor, Provider};
use rustix::process::Signal;
use serde_json::json;

use super::{VICTIMS, kill_host};
use crate::processes::{host, is_running, next_host, signal, stop, wait_commands};
use crate::stage::{QUESTION, ask_with, open, wait_end, wait_message};
use crate::traces::{counted, runs, settle, unasked, wait_review, wait_running};

#[test]
fn a_running_command_dies_with_all_its_processes_and_its_call_fails() {
    for victim in VICTIMS {
        let tree = counted("setsid -f sleep 3000; (sleep 3001; true) & sleep 3002; true");
        let answer = Answer::new().tool_use("toolu_1", "bash", &tree);
        let provider = Provider::anthropic([answer, Answer::says("I see.")]);
        let editor = open(&provider, QUESTION);
        let first = host(&editor);
        editor.keys("<C-]>");
        wait_review(&editor);
        editor.keys("<M-CR>");
        // The shell, its subshell, and three `sleep`s.
        wait_commands(&editor, 5);
        wait_running(&editor);
        signal(victim(&first), Signal::KILL);
        wait_commands(&editor, 0);
        next_host(&editor, &first);
        editor.wait_text("Tool Result:** `toolu_1` (error)");
        assert!(!editor.text().contains("flemma:tool"), "{}", editor.text());
        assert_eq!(runs(&editor), 1);

        editor.keys("<C-]>");
        wait_end(&editor, "I see.\n\n@You:\n\n");
        assert_eq!(runs(&editor), 1);
        assert_eq!(provider.requests().len(), 2);
    }
}

/// A provider that calls a command that never ends.
fn endless() -> Provider {
    let call = counted("sleep 3000; true");
    Provider::anthropic([
        Answer::new().tool_use("toolu_1", "bash", &call),
        Answer::says("I see."),
    ])
}

/// An editor in which that command runs before Neovim has got the mark of the running call.
#[track_caller]
fn runs_without_a_mark(provider: &Provider) -> Editor {
    let editor = ask_with(provider, unasked());
    host(&editor);
    editor.lua(
        "require('flemma.render').marks = function() end",
        &json!([]),
    );
    editor.keys("<C-]>");
    wait_commands(&editor, 2);
    editor
}

const CUT_OFF: &str =
    "**Tool Result:** `toolu_1` (error)\n\n```\nThe host stopped, or the chat was closed, while";

#[test]
fn a_call_that_neovim_does_not_know_to_run_ends_as_an_error() {
    let provider = endless();
    let editor = runs_without_a_mark(&provider);
    let first = host(&editor);
    signal(first.worker, Signal::KILL);
    next_host(&editor, &first);
    editor.wait_text(CUT_OFF);
    wait_commands(&editor, 0);
    // The log contains the end of the call now, so another host reports nothing.
    let before = editor.text();
    kill_host(&editor, &host(&editor));
    settle(&editor);
    assert_eq!(editor.text(), before);

    editor.keys("<C-]>");
    wait_end(&editor, "I see.\n\n@You:\n\n");
    assert_eq!(runs(&editor), 1);
}

/// Kills a Neovim and its host, and waits until both are gone.
fn kill_all(editor: &Editor) {
    let dead = [editor.nvim_pid(), host(editor).worker];
    for pid in dead {
        signal(pid, Signal::KILL);
    }
    crate::shell::wait("Neovim and its host to be gone", || {
        !dead.into_iter().any(is_running)
    });
}

#[test]
fn if_neovim_dies_too_the_next_one_reports_it_at_the_first_key() {
    let provider = endless();
    let first = runs_without_a_mark(&provider);
    first.command("write");
    kill_all(&first);
    let next = crate::two_editors::second(&provider, &first);
    settle(&next);
    assert!(
        next.text()
            .ends_with("```flemma:tool status=approved\n```\n")
    );
    assert_eq!(next.lua("return vim.bo.modified", &json!([])), json!(false));

    next.keys("<M-CR>");
    next.wait_text(CUT_OFF);
    assert_eq!(runs(&first), 1);
    next.keys("<C-]>");
    wait_end(&next, "I see.\n\n@You:\n\n");
    assert_eq!(runs(&first), 1);
}

#[test]
fn a_second_neovim_reports_the_lost_call_once_it_has_the_chat() {
    let provider = endless();
    let first = runs_without_a_mark(&provider);
    first.command("write");
    let next = crate::two_editors::second(&provider, &first);
    wait_message(&next, "This chat is open in Neovim");
    kill_all(&first);
    next.keys("<M-CR>");
    next.wait_text(CUT_OFF);
    assert_eq!(runs(&first), 1);
}

#[test]
fn a_call_whose_result_was_lost_does_not_run_again() {
    let call = counted("mkfifo gate; cat gate; touch over");
    let provider = Provider::anthropic([
        Answer::new().tool_use("toolu_1", "bash", &call),
        Answer::says("I see."),
    ]);
    let editor = open(&provider, QUESTION);
    let first = host(&editor);
    editor.keys("<C-]>");
    wait_review(&editor);
    editor.keys("<M-CR>");
    let gate = editor.dir().join("gate");
    editor.wait_for("the command waits", |_| gate.exists());
    wait_running(&editor);
    stop(first.worker);
    fs::write(&gate, "go\n").unwrap();
    editor.wait_for("the command is over", |editor| {
        editor.dir().join("over").exists()
    });
    kill_host(&editor, &first);
    editor.wait_text("Tool Result:** `toolu_1` (error)");

    editor.keys("<C-]>");
    wait_end(&editor, "I see.\n\n@You:\n\n");
    assert_eq!(runs(&editor), 1);
}

#[test]
fn a_file_that_is_being_written_is_old_or_new_and_nothing_is_left() {
    let (old, new) = ("old\n".repeat(1000), "new\n".repeat(5000));
    let call = json!({"label": "write", "path": "target", "content": new});
    // Killed at a different time in each run.
    for patience in [0, 1, 3, 6, 10] {
        let provider = Provider::anthropic([
            Answer::new().tool_use("toolu_1", "write", &call),
            Answer::says("I see."),
        ]);
        let editor = ask_with(&provider, unasked());
        fs::write(editor.dir().join("target"), &old).unwrap();
        let first = host(&editor);
        let kill = "
            local pid, patience = ...
            vim.api.nvim_create_autocmd('User', { pattern = 'FlemmaToolStarted', callback = function()
              vim.uv.sleep(patience)
              vim.uv.kill(pid, 'sigkill')
            end })
        ";
        editor.lua(kill, &json!([first.worker, patience]));
        editor.keys("<C-]>");
        next_host(&editor, &first);
        editor.wait_text("**Tool Result:** `toolu_1`");
        editor.wait_for("its result", |editor| {
            !editor.text().contains("flemma:tool")
        });
        let target = fs::read_to_string(editor.dir().join("target")).unwrap();
        assert!(target == old || target == new, "{} bytes", target.len());
        let names = fs::read_dir(editor.dir()).unwrap().flatten();
        let mut names: Vec<_> = names.map(|it| it.file_name()).collect();
        names.sort();
        assert_eq!(names, ["question.chat", "target"]);
        settle(&editor);
    }
}
