//! The host is killed at each step of a conversation: what stood in the buffer
//! stays, nothing runs again by itself, and one key goes on.

use std::fs;

use harness::{Answer, Editor, Gate, Provider};
use rustix::process::Signal;
use serde_json::json;

use crate::processes::{Host, host, is_running, next_host, signal, stop, wait_commands};
use crate::stage::{QUESTION, ask_with, open, wait_end, wait_message};
use crate::traces::{counted, kill_host_at, runs, settle, unasked, wait_review, wait_running};

/// Kills both processes of the host and waits for the next one.
#[track_caller]
fn kill_host(editor: &Editor, host: &Host) {
    signal(host.worker, Signal::KILL);
    signal(host.watcher, Signal::KILL);
    next_host(editor, host);
}

/// Where a kill can hit: the process that works, or the one that watches.
const VICTIMS: [fn(&Host) -> u32; 2] = [|host| host.worker, |host| host.watcher];

#[test]
fn before_the_request_the_chat_stays_as_it_was_and_one_key_sends_once() {
    let provider = Provider::anthropic([Answer::says("Four.")]);
    let text = "@You:\nOne?\n\n@Assistant:\nYes.\n\n@You:\nTwo and two?\n";
    let editor = open(&provider, text);
    let first = host(&editor);
    // Stopped, it takes the key and does nothing with it.
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
        // The mark is for the user; the model does not see it.
        assert!(!String::from_utf8_lossy(&requests[1].raw).contains("aborted"));
    }
}

#[test]
fn between_a_call_and_its_placeholder_the_call_does_not_run_by_itself() {
    let answer = Answer::new().tool_use("toolu_1", "bash", counted(""));
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
fn between_an_approval_by_policy_and_the_start_the_call_comes_up_again_for_review() {
    let answer = Answer::new().tool_use("toolu_1", "bash", counted(""));
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
fn while_a_command_runs_its_whole_tree_dies_and_its_call_ends_as_an_error() {
    for victim in VICTIMS {
        let tree = counted("setsid -f sleep 3000; (sleep 3001; true) & sleep 3002; true");
        let answer = Answer::new().tool_use("toolu_1", "bash", tree);
        let provider = Provider::anthropic([answer, Answer::says("I see.")]);
        let editor = open(&provider, QUESTION);
        let first = host(&editor);
        editor.keys("<C-]>");
        wait_review(&editor);
        editor.keys("<M-CR>");
        // The shell, its subshell and three sleeps.
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

/// A provider that asks for a command that never ends.
fn endless() -> Provider {
    let call = counted("sleep 3000; true");
    Provider::anthropic([
        Answer::new().tool_use("toolu_1", "bash", call),
        Answer::says("I see."),
    ])
}

/// An editor in which that command runs, and Neovim does not know of it: the mark of
/// a running call has not arrived.
#[track_caller]
fn runs_without_a_mark(provider: &Provider) -> Editor {
    let editor = ask_with(provider, unasked());
    host(&editor);
    editor.lua("require('flemma.render').marks = function() end", json!([]));
    editor.keys("<C-]>");
    wait_commands(&editor, 2);
    editor
}

const CUT_OFF: &str =
    "**Tool Result:** `toolu_1` (error)\n\n```\nThe host stopped, or the chat was closed, while";

#[test]
fn before_neovim_knew_that_a_call_runs_it_ends_as_an_error_too() {
    let provider = endless();
    let editor = runs_without_a_mark(&provider);
    let first = host(&editor);
    signal(first.worker, Signal::KILL);
    next_host(&editor, &first);
    editor.wait_text(CUT_OFF);
    wait_commands(&editor, 0);
    // The log of decisions has its end now; another host finds nothing to say.
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
fn with_neovim_the_next_one_says_so_at_the_first_key_and_not_before() {
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
    assert_eq!(next.lua("return vim.bo.modified", json!([])), json!(false));

    next.keys("<M-CR>");
    next.wait_text(CUT_OFF);
    assert_eq!(runs(&first), 1);
    next.keys("<C-]>");
    wait_end(&next, "I see.\n\n@You:\n\n");
    assert_eq!(runs(&first), 1);
}

#[test]
fn one_that_opened_the_chat_before_says_so_once_it_has_it() {
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
fn a_result_that_did_not_reach_the_buffer_is_not_made_a_second_time() {
    let call = counted("mkfifo gate; cat gate; touch over");
    let provider = Provider::anthropic([
        Answer::new().tool_use("toolu_1", "bash", call),
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
fn with_all_results_there_the_next_key_sends_them_once() {
    let gate = Gate::new();
    let call = json!({"label": "sum", "expression": "6*7"});
    let provider = Provider::anthropic([
        Answer::new().tool_use("toolu_1", "calculator", call),
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
    let provider = Provider::anthropic([Answer::new().tool_use("toolu_1", "bash", counted(""))]);
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
fn a_stopped_host_holds_up_no_key_and_its_work_goes_on_afterwards() {
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
    // All that a user does still works.
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

#[test]
fn while_a_file_is_written_it_is_the_old_one_or_the_new_one_and_nothing_is_left() {
    let (old, new) = ("old\n".repeat(1000), "new\n".repeat(50_000));
    let call = json!({"label": "write", "path": "target", "content": new});
    // Killed at another moment each time.
    for patience in [0, 1, 3, 6, 10] {
        let provider = Provider::anthropic([
            Answer::new().tool_use("toolu_1", "write", call.clone()),
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
        editor.lua(kill, json!([first.worker, patience]));
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

/// F020: the system gives the host no memory any more, which ends it wherever it is.
#[test]
fn without_memory_the_host_ends_and_the_text_so_far_is_kept_and_marked() {
    let gate = Gate::new();
    let flood = "no end of this answer, ".repeat(400_000);
    let answer = Answer::new().text("One,\ntwo").gate(&gate).text(&flood);
    let provider = Provider::anthropic([answer, Answer::says("Three.")]);
    let editor = open(&provider, "@You:\nCount.\n");
    let first = host(&editor);
    editor.keys("<C-]>");
    editor.wait_text("two");
    gate.wait_reached();
    // What it has it keeps; more it does not get.
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
