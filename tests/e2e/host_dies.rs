//! The host is killed at each step of a conversation: the buffer keeps its text, nothing
//! runs again by itself, and one key continues.

mod running_calls;

use harness::{Answer, Editor, Gate, Provider};
use rustix::process::Signal;
use serde_json::json;

use crate::processes::{Host, host, next_host, signal, stop};
use crate::stage::{QUESTION, ask_with, open, wait_end};
use crate::traces::{counted, kill_host_at, runs, settle, unasked, wait_review};

/// Kills both processes of the host and waits for the next one.
#[track_caller]
fn kill_host(editor: &Editor, host: &Host) {
    signal(host.worker, Signal::KILL);
    signal(host.watcher, Signal::KILL);
    next_host(editor, host);
}

/// The processes that a kill can end: the worker and the watcher.
const VICTIMS: [fn(&Host) -> u32; 2] = [|host| host.worker, |host| host.watcher];

#[test]
fn before_the_request_the_chat_stays_as_it_was_and_one_key_sends_once() {
    let provider = Provider::anthropic([Answer::says("Four.")]);
    let text = "@You:\nOne?\n\n@Assistant:\nYes.\n\n@You:\nTwo and two?\n";
    let editor = open(&provider, text);
    let first = host(&editor);
    // A stopped worker does not handle the key.
    stop(first.worker);
    editor.keys("<C-]>");
    kill_host(&editor, &first);
    settle(&editor);
    assert_eq!(editor.text(), text);
    assert!(provider.requests().is_empty());

    editor.keys("<C-]>");
    wait_end(&editor, "@Assistant:\nFour.\n\n@You:\n\n");
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn while_the_answer_is_awaited_no_older_answer_is_marked() {
    let gate = Gate::new();
    let provider = Provider::anthropic([Answer::new().gate(&gate), Answer::says("Four.")]);
    let text = "@You:\nOne?\n\n@Assistant:\nYes.\n\n@You:\nTwo and two?\n";
    let editor = open(&provider, text);
    let first = host(&editor);
    editor.keys("<C-]>");
    gate.wait_reached();
    kill_host(&editor, &first);
    settle(&editor);
    assert_eq!(editor.text(), text);

    editor.keys("<C-]>");
    wait_end(&editor, "@Assistant:\nFour.\n\n@You:\n\n");
    assert_eq!(provider.requests().len(), 2);
    assert_eq!(editor.text().matches("@Assistant:").count(), 2);
}

#[test]
fn in_the_middle_of_text_what_was_shown_stays_and_is_marked() {
    for victim in VICTIMS {
        let gate = Gate::new();
        let answer = Answer::new().text("One,\ntwo").gate(&gate).text(", three.");
        let provider = Provider::anthropic([answer, Answer::says("Three.")]);
        let editor = open(&provider, "@You:\nCount.\n");
        let first = host(&editor);
        editor.keys("<C-]>");
        editor.wait_text("two");
        signal(victim(&first), Signal::KILL);
        next_host(&editor, &first);
        wait_end(
            &editor,
            "@You:\nCount.\n\n@Assistant:\nOne,\ntwo\n\n<!-- flemma:aborted: the host stopped -->\n",
        );

        editor.keys("<C-]>");
        wait_end(&editor, "@Assistant:\nThree.\n\n@You:\n\n");
        let requests = provider.requests();
        assert_eq!(requests.len(), 2);
        // The model does not get the mark.
        assert!(!String::from_utf8_lossy(&requests[1].raw).contains("aborted"));
    }
}

#[test]
fn before_the_placeholder_is_written_the_call_does_not_run_by_itself() {
    let answer = Answer::new().tool_use("toolu_1", "bash", &counted(""));
    let provider = Provider::anthropic([answer, Answer::says("Done.")]);
    let editor = ask_with(&provider, unasked());
    let first = host(&editor);
    kill_host_at(&editor, &first, "**Tool Use:**");
    editor.keys("<C-]>");
    next_host(&editor, &first);
    wait_end(&editor, "<!-- flemma:aborted: the host stopped -->\n");
    assert!(!editor.text().contains("Tool Result"));

    editor.keys("<C-]>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    assert_eq!(runs(&editor), 0);
    assert_eq!(
        editor
            .text()
            .matches("Tool Result:** `toolu_1` (error)")
            .count(),
        1
    );
}

#[test]
fn after_an_approval_by_policy_the_call_waits_for_review() {
    let answer = Answer::new().tool_use("toolu_1", "bash", &counted(""));
    let provider = Provider::anthropic([answer, Answer::says("Done.")]);
    let editor = ask_with(&provider, unasked());
    let first = host(&editor);
    kill_host_at(&editor, &first, "status=approved");
    editor.keys("<C-]>");
    next_host(&editor, &first);
    settle(&editor);
    assert_eq!(runs(&editor), 0);

    editor.keys("<C-]>");
    wait_review(&editor);
    editor.keys("<M-CR>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    assert_eq!(runs(&editor), 1);
}

#[test]
fn after_all_results_the_next_key_sends_them_once() {
    let gate = Gate::new();
    let call = json!({"label": "sum", "expression": "6*7"});
    let provider = Provider::anthropic([
        Answer::new().tool_use("toolu_1", "calculator", &call),
        Answer::new().gate(&gate),
        Answer::says("It is 42."),
    ]);
    let editor = ask_with(&provider, unasked());
    let first = host(&editor);
    editor.keys("<C-]>");
    gate.wait_reached();
    let before = editor.text();
    kill_host(&editor, &first);
    settle(&editor);
    assert_eq!(editor.text(), before);

    editor.keys("<C-]>");
    wait_end(&editor, "It is 42.\n\n@You:\n\n");
    assert_eq!(provider.requests().len(), 3);
    assert_eq!(editor.text().matches("Tool Result").count(), 1);
}

#[test]
fn an_approval_of_the_old_host_is_not_trusted_by_the_new_one() {
    let provider = Provider::anthropic([Answer::new().tool_use("toolu_1", "bash", &counted(""))]);
    let editor = open(&provider, QUESTION);
    let first = host(&editor);
    editor.keys("<C-]>");
    wait_review(&editor);
    editor.keys(":%s/pending/approved/<CR>");
    kill_host(&editor, &first);

    editor.keys("<C-]>");
    wait_review(&editor);
    assert_eq!(runs(&editor), 0);
}

#[test]
fn a_stopped_host_blocks_no_key_and_continues_afterwards() {
    let gate = Gate::new();
    let answer = Answer::new().text("One, ").gate(&gate).text("two.");
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, "@You:\nCount.\n");
    let host = host(&editor);
    editor.keys("<C-]>");
    editor.wait_text("One,");
    stop(host.worker);
    stop(host.watcher);
    gate.open();
    // Editing still works.
    editor.keys("ggOtyped<Esc>jddu<C-]>Gzt");
    editor.command("write");
    let seen = "typed\n@You:\nCount.\n\n@Assistant:\nOne,";
    assert!(editor.text().starts_with(seen), "{}", editor.text());
    signal(host.watcher, Signal::CONT);
    signal(host.worker, Signal::CONT);
    wait_end(&editor, "two.\n\n@You:\n\n");
    assert_eq!(editor.text(), format!("{seen} two.\n\n@You:\n\n"));
    assert_eq!(provider.requests().len(), 1);
}

/// A failed allocation ends the host at any point.
#[test]
fn out_of_memory_the_host_ends_and_the_text_is_kept_and_marked() {
    let gate = Gate::new();
    let flood = "no end of this answer, ".repeat(400_000);
    let answer = Answer::new().text("One,\ntwo").gate(&gate).text(&flood);
    let provider = Provider::anthropic([answer, Answer::says("Three.")]);
    let editor = open(&provider, "@You:\nCount.\n");
    let first = host(&editor);
    editor.keys("<C-]>");
    editor.wait_text("two");
    gate.wait_reached();
    // Limits the host to the memory that it has.
    let pid = rustix::process::Pid::from_raw(i32::try_from(first.worker).unwrap());
    let none = rustix::process::Rlimit {
        current: Some(1),
        maximum: Some(1),
    };
    rustix::process::prlimit(pid, rustix::process::Resource::Data, none).unwrap();
    gate.open();
    next_host(&editor, &first);
    wait_end(&editor, "\n\n<!-- flemma:aborted: the host stopped -->\n");
    let text = editor.text();
    assert!(text.starts_with("@You:\nCount.\n\n@Assistant:\nOne,\ntwo"));
    let said = editor.messages();
    assert_eq!(said.matches("The host stopped (").count(), 1, "{said}");

    editor.keys("<C-]>");
    wait_end(&editor, "@Assistant:\nThree.\n\n@You:\n\n");
    assert_eq!(provider.requests().len(), 2);
}
