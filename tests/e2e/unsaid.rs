//! Messages that were not sent before Neovim ended are in the prompt when the chat is
//! opened again.

use std::fs;
use std::path::Path;
use std::time::Instant;

use harness::{Answer, Editor, Gate, PATIENCE, Provider};
use rustix::process::Signal;
use serde_json::json;

use crate::processes::{host, is_running, signal};
use crate::stage::{QUESTION, open, wait_end, wait_message};
use crate::traces::settle;
use crate::two_editors::second;

/// A provider whose first answer waits after its first word.
fn unfinished() -> Provider {
    let answer = Answer::new().text("Well").gate(&Gate::new()).text(".");
    Provider::anthropic([answer, Answer::says("Yes.")])
}

/// An editor with two queued messages during an answer, and a saved chat.
#[track_caller]
fn with_words(provider: &Provider) -> Editor {
    let editor = open(provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("Well");
    editor.keys(":Flemma steer Shorter: @You:<CR>:Flemma queue Next.<CR>");
    editor.wait_for("both are shown", |editor| {
        let lines = editor.virtual_lines();
        lines.iter().any(|line| line.text.ends_with("then: Next."))
    });
    editor.command("silent write");
    editor
}

/// The stored messages of all chats of an editor's user.
fn kept(editor: &Editor) -> Vec<String> {
    let folder = editor.dir().join("../state/nvim/flemma/unsaid");
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .map(|it| fs::read_to_string(it.path()).unwrap())
        .collect()
}

#[track_caller]
fn wait_gone(processes: &[u32]) {
    let deadline = Instant::now() + PATIENCE;
    while processes.iter().any(|&pid| is_running(pid)) {
        assert!(Instant::now() < deadline, "{processes:?} still run");
        std::thread::yield_now();
    }
}

const PROMPT: &str = "\n\n@You:\nShorter: @You:\n\nNext.\n";

#[track_caller]
fn opened_again_they_are_in_the_prompt(provider: &Provider, first: &Editor) {
    let again = second(provider, first);
    wait_end(&again, PROMPT);
    wait_message(
        &again,
        "2 unsent messages are in the prompt again. Ctrl-] sends, u removes.",
    );
    settle(&again);
    assert_eq!(provider.requests().len(), 1);
    again.wait_for("nothing kept twice", |again| {
        kept(first).is_empty() && again.lua("return vim.bo.modified", &json!([])) == json!(true)
    });
    again.keys("<C-]>");
    wait_end(&again, "Next.\n\n@Assistant:\nYes.\n\n@You:\n\n");
    let sent = provider.requests()[1].body["messages"].clone();
    assert_eq!(sent[2]["content"][0]["text"], "Shorter: @You:\n\nNext.");
}

#[test]
fn unsent_messages_survive_leaving_neovim() {
    let provider = unfinished();
    let editor = with_words(&provider);
    let host = host(&editor);
    let leaves = [host.watcher, host.worker, editor.nvim_pid()];
    editor.request("nvim_input", json!([":qa!<CR>"]));
    wait_gone(&leaves);
    opened_again_they_are_in_the_prompt(&provider, &editor);
}

#[test]
fn unsent_messages_survive_the_kill_of_neovim_and_its_host() {
    let provider = unfinished();
    let editor = with_words(&provider);
    let host = host(&editor);
    let all = [editor.nvim_pid(), host.watcher, host.worker];
    for pid in all {
        signal(pid, Signal::KILL);
    }
    wait_gone(&all);
    opened_again_they_are_in_the_prompt(&provider, &editor);
}

#[test]
fn unsent_messages_of_a_closed_chat_are_reported_and_restored() {
    let provider = unfinished();
    let editor = with_words(&provider);
    editor.command("bwipeout!");
    wait_message(
        &editor,
        "They will be in its prompt when you open it again: Shorter: @You: … Next.",
    );
    editor.command("edit question.chat");
    wait_end(&editor, PROMPT);
    // One undo removes them for good.
    editor.keys("u");
    editor.wait_for("the prompt as it was", |editor| {
        !editor.text().contains("Next.")
    });
    editor.command("silent write | bwipeout | edit question.chat");
    settle(&editor);
    assert!(!editor.text().contains("Next."), "{}", editor.text());
    editor.wait_for("nothing kept", |editor| kept(editor).is_empty());
}

#[test]
fn the_messages_of_a_running_neovim_stay_with_it() {
    let provider = unfinished();
    let editor = with_words(&provider);
    assert_eq!(kept(&editor).len(), 1, "{:?}", kept(&editor));
    assert!(kept(&editor)[0].contains(r#""texts":["Shorter: @You:","Next."]"#));
    let other = second(&provider, &editor);
    settle(&other);
    assert!(!other.text().contains("Next."), "{}", other.text());
    editor.keys(":Flemma queue!<CR><C-c>");
    editor.wait_text("@You:\nShorter: @You:\n\nNext.\n");
    editor.wait_for("nothing kept", |editor| kept(editor).is_empty());
}

#[test]
fn an_unreadable_store_is_set_aside_and_reported() {
    let provider = unfinished();
    let editor = with_words(&provider);
    editor.command("bwipeout!");
    let folder = editor.dir().join("../state/nvim/flemma/unsaid");
    let file = fs::read_dir(&folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::write(&file, "{").unwrap();
    editor.command("edit question.chat");
    wait_message(
        &editor,
        "Unsent messages of this chat cannot be read; they are in ",
    );
    let aside = file.with_extension("unreadable");
    assert_eq!(fs::read_to_string(Path::new(&aside)).unwrap(), "{");
    assert!(!editor.text().contains("Next."));
}

#[test]
fn a_chat_that_is_reopened_at_once_has_its_messages() {
    let provider = unfinished();
    let editor = with_words(&provider);
    // Ends the session and starts the next one immediately.
    editor.command("bwipeout! | edit question.chat");
    editor.wait_for("the words in the prompt", |editor| {
        editor.text().contains("Next.")
    });
}
