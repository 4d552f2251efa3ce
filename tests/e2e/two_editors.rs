//! One chat in two Neovims: the second one is warned, its keys do nothing, and neither
//! loses text.

use std::fs;

use harness::{Answer, Editor, Gate, Provider};
use rustix::process::Signal;
use serde_json::json;

use crate::processes::{host, next_host, signal};
use crate::shell::Shell;
use crate::stage::{QUESTION, at_rest, open, setup, wait_end, wait_message};
use crate::traces::settle;

/// Another Neovim of the same user with the chat of `first`. It ignores the swap file.
#[track_caller]
pub fn second(provider: &Provider, first: &Editor) -> Editor {
    let home = first.dir().parent().unwrap().to_owned();
    let editor = setup(provider)
        .env("XDG_STATE_HOME", home.join("state"))
        .start();
    let chat = first.dir().join("question.chat");
    editor.command("set shortmess+=A");
    editor.command(&format!("edit {}", chat.display()));
    editor
}

/// Presses the key until this many requests were sent, because the other host may not have ended yet.
#[track_caller]
fn press_until_sent(editor: &Editor, provider: &Provider, count: usize) {
    editor.wait_for("the chat free and sent", |editor| {
        editor.keys("<C-]>");
        provider.requests().len() == count
    });
}

#[test]
fn the_second_neovim_is_warned_and_continues_from_the_firsts_text() {
    let provider = Provider::anthropic([Answer::says("Gone."), Answer::says("Yes.")]);
    let first = open(&provider, QUESTION);
    first.keys("A .<BS><BS><Esc>");
    settle(&first);
    let second = second(&provider, &first);
    let holder = format!("open in Neovim (process {}, for ", first.nvim_pid());
    wait_message(&second, &holder);
    for keys in ["<C-]>", "<M-CR>", ":Flemma send<CR>"] {
        second.command("messages clear");
        second.keys(keys);
        wait_message(&second, "so nothing was sent or run here");
    }
    at_rest(&second);
    assert!(provider.requests().is_empty());
    assert_eq!(second.text(), QUESTION);

    first.keys("<C-]>");
    wait_end(&first, "@Assistant:\nGone.\n\n@You:\n\n");
    first.command("write | bwipeout");
    second.wait_for("the chat as it is on disk", |second| {
        second.keys("<C-]>");
        second.text().contains("Gone.")
    });
    second.keys("GiAnd now?<Esc>");
    press_until_sent(&second, &provider, 2);
    wait_end(&second, "And now?\n\n@Assistant:\nYes.\n\n@You:\n\n");
    let sent = provider.requests()[1].body.to_string();
    assert!(
        sent.contains("Gone.") && sent.contains("And now?"),
        "{sent}"
    );
}

#[test]
fn a_hard_link_to_the_chat_is_the_same_chat() {
    let provider = Provider::anthropic([Answer::says("Never.")]);
    let first = open(&provider, QUESTION);
    let link = first.dir().join("link.chat");
    fs::hard_link(first.dir().join("question.chat"), &link).unwrap();
    first.keys("A .<BS><BS><Esc>");
    settle(&first);
    let home = first.dir().parent().unwrap().to_owned();
    let second = setup(&provider)
        .env("XDG_STATE_HOME", home.join("state"))
        .start();
    second.command(&format!("edit {}", link.display()));
    let holder = format!("open in Neovim (process {}, for ", first.nvim_pid());
    wait_message(&second, &holder);
    second.keys("<C-]>");
    wait_message(&second, "so nothing was sent or run here");
    let shell = Shell::new(&provider);
    let mut send = shell.command(&["send", link.to_str().unwrap()]);
    let ran = send
        .env("XDG_STATE_HOME", home.join("state"))
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(err.contains("so nothing was sent"), "{err}");
    assert!(provider.requests().is_empty());
}

#[test]
fn conflicting_changes_are_kept_and_the_user_chooses() {
    let provider = Provider::anthropic([Answer::says("Gone."), Answer::says("Yes.")]);
    let first = open(&provider, QUESTION);
    first.keys("A .<BS><BS><Esc>");
    settle(&first);
    let second = second(&provider, &first);
    wait_message(&second, "This chat is open in Neovim");
    second.keys("GoOf the second.<Esc>");
    let typed = second.text();
    first.keys("<C-]>");
    wait_end(&first, "@Assistant:\nGone.\n\n@You:\n\n");
    first.command("write");
    let written = first.text();
    // It cannot release its lock.
    signal(first.nvim_pid(), Signal::KILL);

    // Neovim asks which text to keep. Keeps the buffer's.
    second.keys("<C-]>");
    second.wait_screen("the question", |rows| {
        rows.iter().any(|row| row.contains("(L)oad File"))
    });
    second.keys("o");
    press_until_sent(&second, &provider, 2);
    wait_end(&second, "@Assistant:\nYes.\n\n@You:\n\n");
    assert!(second.text().starts_with(&typed), "{}", second.text());
    let chat = first.dir().join("question.chat");
    assert_eq!(fs::read_to_string(&chat).unwrap(), written);
}

/// Runs `flemma send` on the chat of a Neovim, with the same state folder.
fn send(editor: &Editor, provider: &Provider, more: &[&str]) -> crate::shell::Ran {
    let chat = editor.dir().join("question.chat");
    let state = editor.dir().parent().unwrap().join("state");
    let shell = Shell::new(provider);
    let mut command = shell.command(&[&["send", chat.to_str().unwrap()], more].concat());
    command.env("XDG_STATE_HOME", &state);
    command.env("NVIM_APPNAME", "");
    crate::shell::end(command.spawn().unwrap())
}

#[test]
fn a_change_by_the_command_line_is_read_before_the_next_key() {
    let answers = ["One.", "Two.", "Three."].map(Answer::says);
    let provider = Provider::anthropic(answers);
    let editor = open(&provider, QUESTION);
    settle(&editor);
    crate::shell::wait("the chat to be free", || free(&editor));
    let ran = send(&editor, &provider, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "One.\n"), "{ran:?}");
    assert_eq!(editor.text(), QUESTION);
    // Typing applies to the new text.
    editor.keys("i<Esc>");
    wait_end(&editor, "@Assistant:\nOne.\n\n@You:\n\n");
    editor.keys("GiAnd?<Esc>");
    settle(&editor);
    let refused = send(&editor, &provider, &[]);
    assert!(
        refused.err.contains("is open in Neovim (process "),
        "{refused:?}"
    );
    editor.command("write");
    crate::shell::wait("the chat to be free", || free(&editor));
    let ran = send(&editor, &provider, &[]);
    assert_eq!(ran.out, "Two.\n", "{ran:?}");
    // So does a key: there is nothing to send, and the old question is not sent again.
    editor.keys("<C-]>");
    wait_end(&editor, "And?\n\n@Assistant:\nTwo.\n\n@You:\n\n");
    at_rest(&editor);
    assert_eq!(provider.requests().len(), 2);
    editor.keys("GiMore<Esc><C-]>");
    wait_end(&editor, "More\n\n@Assistant:\nThree.\n\n@You:\n\n");
}

#[test]
fn the_chat_is_kept_until_everything_that_the_host_wrote_is_saved() {
    let answers = [
        Answer::says("Gone."),
        Answer::new().tool_use("t_1", "bash", &json!({"label": "a", "command": "true"})),
        Answer::status(400, "no"),
    ];
    for (answer, end) in answers
        .into_iter()
        .zip(["Gone.", "status=pending", "@You:"])
    {
        let provider = Provider::anthropic([answer]);
        let first = open(&provider, QUESTION);
        settle(&first);
        first.keys("<C-]>");
        first.wait_for("the answer", |it| {
            provider.requests().len() == 1 && it.text().contains(end)
        });
        at_rest(&first);
        let is_modified = first.lua("return vim.bo.modified", &json!([])) == json!(true);
        if !is_modified {
            crate::shell::wait("the chat to be free", || free(&first));
            continue;
        }
        assert!(!free(&first), "{}", first.text());
        let refused = send(&first, &provider, &[]);
        assert!(
            refused.err.contains("is open in Neovim (process "),
            "{refused:?}"
        );
        let second = second(&provider, &first);
        wait_message(&second, "This chat is open in Neovim");
        second.keys("<C-]>");
        wait_message(&second, "so nothing was sent or run here");
        assert_eq!(provider.requests().len(), 1);
        // Undone, the text is the file's again.
        first.keys("uuuuuu");
        settle(&first);
        crate::shell::wait("the chat to be free", || free(&first));
        first.keys("<C-r>");
        crate::shell::wait("the chat to be taken", || !free(&first));
        first.command("write");
        crate::shell::wait("the chat to be free", || free(&first));
    }
}

/// Returns true if no program has locked a chat.
fn free(editor: &Editor) -> bool {
    let state = editor
        .dir()
        .parent()
        .unwrap()
        .join("state/nvim/flemma/leases");
    crate::shell::names_in(&state).is_empty()
}

#[test]
fn typing_while_the_command_line_has_the_chat_warns_and_loses_nothing() {
    let gate = Gate::new();
    let provider = Provider::anthropic([Answer::says("One.").gate(&gate)]);
    let editor = open(&provider, QUESTION);
    settle(&editor);
    crate::shell::wait("the chat to be free", || free(&editor));
    let chat = editor.dir().join("question.chat");
    std::thread::scope(|scope| {
        let working = scope.spawn(|| send(&editor, &provider, &[]));
        gate.wait_reached();
        editor.keys("GoMine.<Esc>");
        wait_message(&editor, "This chat is open in flemma send");
        gate.open();
        assert_eq!(working.join().unwrap().code, Some(0));
    });
    assert!(editor.text().ends_with("Mine.\n"), "{}", editor.text());
    assert!(fs::read_to_string(&chat).unwrap().contains("One."));
    // Neovim asks which text to keep.
    editor.keys("<C-]>");
    editor.wait_screen("the question", |rows| {
        rows.iter().any(|row| row.contains("(L)oad File"))
    });
    editor.keys("l");
    editor.wait_text("@Assistant:\nOne.");
}

#[test]
fn a_restarted_host_takes_its_chats_back_silently() {
    let gate = Gate::new();
    let provider = Provider::anthropic([Answer::says("One, ").gate(&gate), Answer::says("Two.")]);
    let editor = open(&provider, QUESTION);
    for kill in 0..2 {
        let old = host(&editor);
        editor.keys("<C-]>");
        signal([old.worker, old.watcher][kill], Signal::KILL);
        next_host(&editor, &old);
        settle(&editor);
        assert!(!editor.messages().contains("is open in"));
    }
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:");
    gate.open();
}

#[test]
fn a_chat_with_another_name_is_another_chat() {
    let provider = Provider::anthropic([Answer::says("Gone."), Answer::says("Yes.")]);
    let first = open(&provider, QUESTION);
    settle(&first);
    first.command("saveas other.chat");
    first.keys("A .<BS><BS><Esc>");
    settle(&first);
    let second = second(&provider, &first);
    second.keys("<C-]>");
    wait_end(&second, "@Assistant:\nGone.\n\n@You:\n\n");
    second.command(&format!(
        "edit! {}",
        first.dir().join("other.chat").display()
    ));
    wait_message(&second, "This chat is open in Neovim");
    second.wait_for("its status line", |second| {
        let line = second.lua("return require('flemma').statusline()", &json!([]));
        line == json!("open in another program")
    });
    // Two windows of one Neovim with the same file show one chat.
    first.keys(":split %<CR><C-]>");
    wait_end(&first, "@Assistant:\nYes.\n\n@You:\n\n");
}

#[test]
fn a_key_on_a_changed_chat_waits_and_keeps_what_is_typed_after_it() {
    let provider = Provider::anthropic([Answer::says("One.")]);
    let editor = open(&provider, QUESTION);
    editor.keys("GoFirst.<Esc>");
    let leases = editor
        .dir()
        .parent()
        .unwrap()
        .join("state/nvim/flemma/leases");
    crate::shell::wait("the chat to be taken", || !free(&editor));
    let lease = leases.join(&crate::shell::names_in(&leases)[0]);
    editor.command("write");
    crate::shell::wait("the chat to be free", || free(&editor));
    // Like the lock of this Neovim's previous host, which is about to end.
    let pid = editor.lua("return vim.fn.getpid()", &json!([]));
    let record = json!({"name": "Neovim", "pid": pid, "since": 0, "chat": ""});
    fs::write(&lease, record.to_string()).unwrap();
    let held = fs::File::open(&lease).unwrap();
    held.lock().unwrap();
    editor.keys("<C-]>");
    editor.keys("GoSecond.<Esc>");
    wait_message(
        &editor,
        "This chat is open in another buffer of this Neovim",
    );
    assert!(
        editor.text().ends_with("First.\nSecond.\n"),
        "{}",
        editor.text()
    );
    assert_eq!(provider.requests().len(), 0);
    fs::remove_file(&lease).unwrap();
    drop(held);
    editor.keys("<C-]>");
    wait_end(&editor, "Second.\n\n@Assistant:\nOne.\n\n@You:\n\n");
}
