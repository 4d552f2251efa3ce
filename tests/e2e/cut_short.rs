//! Answers that lose their place, or Neovim, while they arrive: the part that is there is
//! marked as cut off, no text is lost, and a key continues from it.

use harness::{Answer, Editor, Gate, Provider};
use rustix::process::Signal;
use serde_json::json;

use crate::processes::signal;
use crate::stage::{QUESTION, open, setup, wait_end, wait_message, watch, with_options};
use crate::traces::{unasked, wait_request_over};

const MARK: &str = "\n\n<!-- flemma:aborted: ";

/// An answer that stops after `first` until the gate opens, and ends with `rest`.
fn gated(first: &str, rest: &str) -> (Gate, Provider) {
    let gate = Gate::new();
    let answer = Answer::new().text(first).gate(&gate).text(rest);
    (gate.clone(), Provider::anthropic([answer]))
}

/// An editor on a [`QUESTION`] whose answer has begun with `first`.
#[track_caller]
fn streaming(provider: &Provider, first: &str) -> Editor {
    let editor = open(provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text(first);
    editor
}

/// Checks that the partial answer is marked and that Ctrl-] continues from it.
#[track_caller]
fn goes_on_from_the_mark(editor: &Editor, provider: &Provider, half: &str) {
    editor.wait_text(&format!("{half}{MARK}"));
    let before = provider.requests().len();
    editor.keys("<C-]>");
    editor.wait_for("the next request", |_| provider.requests().len() > before);
    wait_end(editor, "@Assistant:\nDone.\n\n@You:\n\n");
}

#[test]
fn a_reload_during_a_stream_marks_the_saved_part_of_the_answer() {
    for command in [
        "silent write | silent edit!",
        "silent write | silent bufdo edit!",
    ] {
        let (_gate, provider) = gated("One, two", ", three.");
        let editor = streaming(&provider, "two");
        editor.command(command);
        goes_on_from_the_mark(&editor, &provider, "@Assistant:\nOne, two");
    }
}

#[test]
fn a_chat_closed_during_a_stream_is_marked_when_it_is_reopened() {
    for command in [
        "silent write | silent bdelete! | silent edit question.chat",
        "silent write | silent bwipeout! | silent edit question.chat",
        "set nohidden | silent write | silent edit! other | silent edit question.chat",
    ] {
        let (_gate, provider) = gated("One, two", ", three.");
        let editor = streaming(&provider, "two");
        editor.command(command);
        goes_on_from_the_mark(&editor, &provider, "@Assistant:\nOne, two");
    }
}

#[test]
fn a_chat_reloaded_to_its_text_before_the_request_gets_no_mark() {
    let (_gate, provider) = gated("One, two", ", three.");
    let chat = "@You:\nGo.\n\n@Assistant:\nWhole.\n\n@You:\nMore.\n";
    let editor = open(&provider, chat);
    editor.keys("<C-]>");
    editor.wait_text("two");
    editor.command("edit!");
    wait_request_over(&editor);
    assert_eq!(editor.text(), chat);
    editor.command("bdelete! | edit question.chat");
    crate::traces::settle(&editor);
    assert_eq!(editor.text(), chat);
}

#[test]
fn a_complete_answer_that_is_reloaded_gets_no_mark() {
    let provider = Provider::anthropic([Answer::says("One, two.")]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_end(&editor, "One, two.\n\n@You:\n\n");
    editor.command("silent write | silent bdelete | silent edit question.chat");
    crate::traces::settle(&editor);
    editor.command("edit!");
    crate::traces::settle(&editor);
    assert!(!editor.text().contains(MARK), "{}", editor.text());
}

#[test]
fn a_rename_during_a_stream_changes_only_the_name() {
    for command in ["saveas new.chat", "file new.chat", "keepalt file new.chat"] {
        let (gate, provider) = gated("One, two", ",\nthree.");
        let editor = streaming(&provider, "two");
        editor.command(command);
        gate.open();
        wait_end(&editor, "One, two,\nthree.\n\n@You:\n\n");
        editor.keys("GAAgain.<Esc><C-]>");
        wait_end(&editor, "@Assistant:\nDone.\n\n@You:\n\n");
        assert!(!editor.text().contains(MARK), "{}", editor.text());
    }
}

#[test]
fn an_approval_typed_before_a_rename_counts_after_it() {
    let call = crate::traces::counted("echo out");
    let provider = Provider::anthropic([Answer::new().tool_use("t_1", "bash", &call)]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    crate::traces::wait_review(&editor);
    editor.keys("/pending<CR>cwapproved<Esc>:saveas new.chat<CR><C-]>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    assert_eq!(crate::traces::runs(&editor), 1);
}

#[test]
fn an_undo_during_a_stream_leaves_no_gap() {
    for undo in [
        "u",
        "3u",
        ":undo 0<CR>",
        ":earlier 9<CR>",
        "g-",
        "uu",
        "u<C-r>",
    ] {
        let (second, third) = (Gate::new(), Gate::new());
        let answer = Answer::new()
            .text("One, two")
            .gate(&second)
            .text(",\nthree");
        let provider = Provider::anthropic([answer.gate(&third).text(",\nfour.")]);
        let editor = streaming(&provider, "two");
        editor.keys("2GA typed<Esc>");
        second.open();
        editor.wait_text("three");
        editor.keys(undo);
        if !undo.ends_with("<C-r>") {
            wait_message(&editor, "still arriving");
        }
        third.open();
        wait_end(&editor, "@You:\n\n");
        let expected = "@You:\nGo. typed\n\n@Assistant:\nOne, two,\nthree,\nfour.\n\n@You:\n\n";
        assert_eq!(editor.text(), expected, "{undo}");
    }
}

#[test]
fn an_undo_followed_by_a_change_ends_and_marks_the_answer() {
    let (second, third) = (Gate::new(), Gate::new());
    let answer = Answer::new()
        .text("One, two")
        .gate(&second)
        .text(",\nthree");
    let provider = Provider::anthropic([answer.gate(&third).text(",\nfour.")]);
    let editor = streaming(&provider, "two");
    editor.keys("2GA typed<Esc>");
    second.open();
    editor.wait_text("three");
    // In one call, so that Neovim handles nothing in between.
    editor.lua("vim.cmd('normal! uGGAx')", &json!([]));
    third.open();
    wait_request_over(&editor);
    let text = editor.text();
    assert!(!text.contains("four"), "{text}");
    assert!(text.contains(MARK), "{text}");
}

#[test]
fn trimming_blanks_on_save_breaks_no_line_of_the_answer() {
    let gates: Vec<Gate> = (0..4).map(|_| Gate::new()).collect();
    let pieces = [
        "if x: ",
        "\n    ",
        "return  1\n\t",
        "\t  done  \nend",
        " here.",
    ];
    let mut answer = Answer::new();
    for (at, piece) in pieces.iter().enumerate() {
        answer = answer.text(piece);
        if let Some(gate) = gates.get(at) {
            answer = answer.gate(gate);
        }
    }
    let provider = Provider::anthropic([answer]);
    let editor = streaming(&provider, "if x:");
    editor.command(r"autocmd BufWritePre * silent! %s/\s\+$//e");
    for gate in &gates {
        gate.wait_reached();
        editor.command("write");
        gate.open();
    }
    wait_end(&editor, "@You:\n\n");
    let text = editor.text();
    let answer = text.split("@Assistant:\n").nth(1).unwrap();
    let trimmed: Vec<&str> = answer.lines().map(str::trim_end).collect();
    let expected = [
        "if x:",
        "    return  1",
        "\t\t  done",
        "end here.",
        "",
        "@You:",
        "",
    ];
    assert_eq!(trimmed, expected, "{text}");
}

#[test]
fn an_answer_without_its_marker_ends_and_does_not_become_the_users_text() {
    let (gate, provider) = gated("One, two", ", three.");
    let editor = streaming(&provider, "two");
    editor.keys("/@Assistant<CR>dd");
    gate.open();
    wait_message(&editor, "so the answer ends here");
    wait_request_over(&editor);
    assert!(!editor.text().contains("three"), "{}", editor.text());
}

#[test]
fn the_queue_waits_while_a_command_line_window_is_open() {
    let (gate, provider) = gated("One, two", ", three.");
    let editor = streaming(&provider, "two");
    editor.lua(
        "looked = 0
         local queue = require('flemma.queue')
         local blocked = queue.blocked
         queue.blocked = function(...) looked = looked + 1 return blocked(...) end",
        &json!([]),
    );
    editor.keys("q:");
    gate.open();
    editor.wait_for("something that waits", |editor| {
        editor.lua(
            "return pcall(vim.api.nvim_get_autocmds, { group = 'flemma.queue' })",
            &json!([]),
        ) == json!(true)
    });
    let looks = || editor.lua("return looked", &json!([])).as_u64().unwrap();
    // Each request is one iteration of the main loop, which may check the queue once.
    let before = looks();
    for _ in 0..20 {
        editor.lua("return 1", &json!([]));
    }
    let during = looks() - before;
    assert!(during < 200, "{during} looks");
    editor.keys(":q<CR>");
    wait_end(&editor, "One, two, three.\n\n@You:\n\n");
}

/// Kills Neovim, and recovers the chat from its swap file in another one.
#[track_caller]
pub fn killed_and_recovered(editor: &Editor, provider: &Provider) -> Editor {
    let host = crate::processes::host(editor);
    signal(editor.nvim_pid(), Signal::KILL);
    for pid in [host.watcher, host.worker] {
        while crate::processes::is_running(pid) {
            std::thread::yield_now();
        }
    }
    let home = editor.dir().parent().unwrap().to_owned();
    let chat = editor.dir().join("question.chat");
    let next = setup(provider)
        .env("XDG_STATE_HOME", home.join("state"))
        .start();
    next.command("set directory+=.");
    next.lua(
        "vim.o.directory = ...; vim.o.swapfile = true; vim.o.shortmess = vim.o.shortmess .. 'A'",
        &json!([format!("{}/swap//", home.display())]),
    );
    next.command(&format!("silent! recover {}", chat.display()));
    watch(&next);
    next
}

/// An editor with swap files that outlive it.
#[track_caller]
pub fn with_swap(provider: &Provider, options: serde_json::Value) -> Editor {
    let editor = with_options(provider, options)
        .with("question.chat", QUESTION)
        .start();
    let swap = editor.dir().parent().unwrap().join("swap");
    std::fs::create_dir_all(&swap).unwrap();
    editor.lua(
        "vim.o.directory = ...; vim.o.swapfile = true",
        &json!([format!("{}//", swap.display())]),
    );
    editor.command("edit question.chat");
    watch(&editor);
    editor
}

/// Waits until the swap file contains a text.
#[track_caller]
fn wait_swap(editor: &Editor, text: &str) {
    let name = editor.lua("return vim.fn.swapname('%')", &json!([]));
    let name = name.as_str().unwrap().to_owned();
    editor.wait_for(&format!("{text:?} in the swap file"), |_| {
        let swap = std::fs::read(&name).unwrap_or_default();
        String::from_utf8_lossy(&swap).contains(text)
    });
}

#[test]
fn a_recovered_half_answer_is_marked_and_a_key_resumes_it() {
    let (_gate, provider) = gated("One, two", ", three.");
    let editor = with_swap(&provider, json!({}));
    editor.keys("<C-]>");
    editor.wait_text("two");
    wait_swap(&editor, "One, two");
    let next = killed_and_recovered(&editor, &provider);
    goes_on_from_the_mark(&next, &provider, "@Assistant:\nOne, two");
}

#[test]
fn streamed_text_reaches_the_swap_file_during_a_pause() {
    let gates = [Gate::new(), Gate::new()];
    let answer = Answer::new()
        .text("One")
        .gate(&gates[0])
        .text(" two")
        .gate(&gates[1]);
    let provider = Provider::anthropic([answer.text(" three").stall()]);
    let editor = with_swap(&provider, json!({}));
    editor.keys("<C-]>");
    editor.wait_text("One");
    wait_swap(&editor, "One");
    gates[0].open();
    editor.wait_text("One two");
    gates[1].open();
    editor.wait_text("One two three");
    wait_swap(&editor, "One two three");
}

#[test]
fn a_recovered_chat_has_the_results_from_before_the_kill() {
    let call = crate::traces::counted("echo result");
    let answer = Answer::new().tool_use("t_1", "bash", &call);
    let provider = Provider::anthropic([answer, Answer::new().stall()]);
    let editor = with_swap(&provider, unasked());
    // Nothing after the decision reaches the swap file.
    editor.lua(
        "local swap = require('flemma.swap')
         swap.changed = function() end",
        &json!([]),
    );
    editor.keys("<C-]>");
    editor.wait_text("\nresult\n");
    provider.wait_requests(2);
    let next = killed_and_recovered(&editor, &provider);
    next.wait_text("\nresult\n");
    assert_eq!(crate::traces::runs(&editor), 1);
    next.keys("<C-]>");
    provider.wait_requests(3);
    assert_eq!(crate::traces::runs(&editor), 1);
}
