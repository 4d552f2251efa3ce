//! Scrolling while the model works: a window at the end of the chat follows, Insert mode
//! returns at the next prompt, and no other window moves.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::{
    QUESTION, at_rest, command, file, wait_cursor, wait_end, wait_event, watch, with_options,
};
use crate::traces::{gate, open_gate, wait_gate};

/// The last line of the last answer.
const END: &str = "The end of the run.";

/// A run with this many calls of `read`, in one answer each or in one `together`, and a last answer
/// that is longer than the screen.
fn run_of(calls: usize, together: bool) -> Provider {
    let call = |answer: Answer, number: usize| {
        answer.tool_use(&format!("t_{number}"), "read", &file("long.txt"))
    };
    let mut script: Vec<Answer> = if together {
        vec![(0..calls).fold(Answer::says("I'll look."), call)]
    } else {
        (0..calls)
            .map(|number| call(Answer::says("I'll look.\n\nHere:"), number))
            .collect()
    };
    let last = format!("{}{END}", "A line of the last answer.\n".repeat(40));
    script.push(Answer::new().text_in_pieces(&last, 64));
    Provider::anthropic(script)
}

#[track_caller]
fn start(provider: &Provider, tools: &Json) -> Editor {
    let long = "a line of the file\n".repeat(40);
    let setup = with_options(provider, json!({"tools": tools})).with("long.txt", long);
    let chat = format!("@You:\n{}Go.\n", "An earlier line.\n".repeat(30));
    let editor = setup.size(80, 24).file("question.chat", &chat).start();
    watch(&editor);
    editor
}

/// For each window of the chat, the distances from the last visible line and from the cursor to the
/// end of the text.
fn below(editor: &Editor) -> Vec<(u64, u64)> {
    let code = "
        local count = vim.api.nvim_buf_line_count(0)
        return vim.tbl_map(function(window)
          return { count - vim.fn.line('w$', window), count - vim.api.nvim_win_get_cursor(window)[1] }
        end, vim.fn.win_findbuf(vim.api.nvim_get_current_buf()))";
    let found = editor.lua(code, &json!([]));
    let windows = found.as_array().into_iter().flatten();
    windows
        .map(|window| {
            let number = |at: usize| window[at].as_u64().unwrap_or(u64::MAX);
            (number(0), number(1))
        })
        .collect()
}

/// Plays a run with the cursor at the end of the chat, and checks that the windows follow.
#[track_caller]
fn follows(calls: usize, together: bool, insert: bool, windows: usize) {
    let provider = run_of(calls, together);
    let editor = start(&provider, &json!({"require_approval": false}));
    editor.keys("G");
    if windows == 2 {
        editor.keys(":split<CR>");
    }
    editor.keys(if insert { "A Now.<C-]>" } else { "<C-]>" });
    wait_end(&editor, &format!("{END}\n\n@You:\n\n"));
    wait_event(&editor, "FlemmaRested");
    let case = format!("{calls} calls, together {together}, insert {insert}, {windows} windows");
    editor.wait_for(&format!("the end on screen: {case}"), |editor| {
        below(editor) == vec![(0, 0); windows]
    });
    editor.wait_screen(&format!("the last words: {case}"), |rows| {
        rows.iter().any(|row| row.contains(END))
    });
    let mode = if insert { "i" } else { "n" };
    editor.wait_for(&format!("mode {mode}: {case}"), |editor| {
        editor.mode().name == mode
    });
    if insert {
        editor.keys("typed");
        assert!(editor.text().ends_with("@You:\ntyped\n"), "{case}");
    }
}

#[test]
fn a_run_from_normal_mode_is_followed_to_its_end() {
    for calls in [1, 20] {
        follows(calls, false, false, 1);
    }
    follows(20, true, false, 1);
}

#[test]
fn a_run_started_in_insert_mode_ends_in_insert_mode() {
    for calls in [1, 20] {
        follows(calls, false, true, 1);
    }
    follows(20, true, true, 1);
}

#[test]
fn a_run_is_followed_in_both_of_two_windows() {
    for insert in [false, true] {
        follows(1, false, insert, 2);
        follows(20, false, insert, 2);
        follows(7, true, insert, 2);
    }
}

#[test]
fn the_end_of_a_line_longer_than_the_window_is_on_screen() {
    let long = format!("{}{END}", "words without a line end, ".repeat(150));
    let provider = Provider::anthropic([Answer::new().text_in_pieces(&long, 50).stall()]);
    let editor = start(&provider, &json!({}));
    editor.keys("G<C-]>");
    editor.wait_screen("the end of the line", |rows| rows.concat().contains(END));
}

/// The cursor and the first line of the current window.
fn view(editor: &Editor) -> Json {
    editor.lua(
        "return { vim.api.nvim_win_get_cursor(0), vim.fn.line('w0') }",
        &json!([]),
    )
}

#[test]
fn a_window_that_is_scrolled_away_stays_there() {
    let calls = Answer::says("One moment.")
        .tool_use("t_1", "bash", &command(&gate("gate")))
        .tool_use("t_2", "read", &file("long.txt"));
    let waits = Answer::says("And this.").tool_use(
        "t_3",
        "write",
        &json!({"label": "", "path": "x", "content": "x"}),
    );
    let provider = Provider::anthropic([calls, waits]);
    let editor = start(&provider, &json!({"auto_approve": ["bash", "read"]}));
    editor.keys("GA Now.<C-]>");
    wait_gate(&editor, "gate");
    editor.keys("5G");
    let before = view(&editor);
    open_gate(&editor, "gate");
    editor.wait_text("status=pending");
    at_rest(&editor);
    assert_eq!(view(&editor), before);
    assert_eq!(editor.mode().name, "n");
    // The key moves the cursor.
    editor.keys("<C-]>");
    wait_cursor(&editor, "**Tool Result:** `t_3`");
}

#[test]
fn the_cursor_does_not_move_while_the_user_types() {
    let first = Answer::says("One moment.").tool_use("t_1", "bash", &command(&gate("gate")));
    let waits = Answer::new().tool_use(
        "t_2",
        "write",
        &json!({"label": "", "path": "x", "content": "x"}),
    );
    let provider = Provider::anthropic([first, waits]);
    let editor = start(&provider, &json!({"auto_approve": ["bash"]}));
    editor.keys("G<C-]>");
    wait_gate(&editor, "gate");
    editor.keys("ggA one");
    open_gate(&editor, "gate");
    editor.wait_text("status=pending");
    editor.keys(" two");
    at_rest(&editor);
    editor.keys(" three<Esc>");
    assert!(
        editor.text().starts_with("@You: one two three\n"),
        "{}",
        editor.text()
    );
}

#[test]
fn a_window_follows_once_the_command_line_closes() {
    let call = Answer::new().tool_use("t_1", "bash", &command(&gate("gate")));
    let provider = Provider::anthropic([call, Answer::says(END)]);
    let editor = start(&provider, &json!({"require_approval": false}));
    editor.keys("G<C-]>");
    wait_gate(&editor, "gate");
    editor.keys(":echo 1");
    open_gate(&editor, "gate");
    editor.wait_text(&format!("{END}\n\n@You:\n"));
    wait_event(&editor, "FlemmaRested");
    editor.keys("<C-c>");
    provider.then(END);
    editor.keys(":Flemma steer More.<CR>");
    wait_end(
        &editor,
        &format!("More.\n\n@Assistant:\n{END}\n\n@You:\n\n"),
    );
    editor.wait_for("the end on screen", |editor| below(editor) == [(0, 0)]);
}

#[test]
fn the_option_only_affects_calls_that_were_pending() {
    for option in ["result", "stay", "next"] {
        let call = Answer::new().tool_use("t_1", "read", &file("long.txt"));
        let provider = Provider::anthropic([call]);
        let tools = json!({"cursor_after_result": option, "autopilot": {"enabled": false}});
        let editor = start(&provider, &tools);
        editor.keys("G<C-]>");
        wait_event(&editor, "FlemmaRequestFinished success");
        at_rest(&editor);
        editor.keys("<C-]>");
        editor.wait_text("**Tool Result:** `t_1`\n\n```\na line of the file");
        at_rest(&editor);
        editor.wait_for(option, |editor| below(editor) == [(0, 0)]);
    }
}

#[test]
fn a_readonly_chat_is_written_without_a_warning_and_stays_readonly() {
    let provider = Provider::anthropic([Answer::says(END)]);
    let editor = crate::stage::open(&provider, QUESTION);
    editor.command("set readonly");
    editor.keys("<C-]>");
    wait_end(&editor, &format!("{END}\n\n@You:\n\n"));
    let messages = editor.messages();
    assert!(!messages.contains("W10"), "{messages}");
    assert_eq!(
        editor.lua("return vim.bo.readonly", &json!([])),
        json!(true)
    );
}

#[test]
fn a_key_on_a_pending_call_that_is_on_screen_scrolls_nothing() {
    // All of the chat fits, just fits, or is longer than the window.
    for lines in [1, 12, 18, 22, 24, 60] {
        let provider = Provider::anthropic([Answer::new().tool_use("t_1", "bash", &command("ls"))]);
        let setup = with_options(&provider, json!({"tools": {"auto_approve": []}}));
        let chat = format!("@You:\n{}Go.\n", "An earlier line.\n".repeat(lines));
        let editor = setup.size(80, 40).file("question.chat", &chat).start();
        editor.keys("G<C-]>");
        editor.wait_text("`t_1`\n\n```flemma:tool status=pending");
        let keys = "Alt-r rejects";
        editor.wait_screen("the keys of the call", |rows| {
            // The reason is found after the first frame, and takes a line.
            let has = |words| rows.iter().any(|it| it.contains(words));
            has("asks: runs a command") && has(keys)
        });
        at_rest(&editor);
        let top = |editor: &Editor| editor.lua("return vim.fn.line('w0')", &json!([]));
        let before = top(&editor);
        assert!(lines > 12 || before == 1, "{lines} lines: {before}");
        for _ in 0..2 {
            editor.keys("<C-]>");
            at_rest(&editor);
            assert_eq!(top(&editor), before, "{lines} lines");
            let rows = editor.screen();
            assert!(rows.iter().any(|it| it.contains(keys)), "{rows:#?}");
        }
    }
}

#[test]
fn a_window_that_becomes_higher_still_shows_what_is_above_the_end() {
    let content: String = (1..=40).map(|it| format!("line {it}\n")).collect();
    let input = json!({"label": "", "path": "x", "content": content});
    let call = Answer::new().tool_use("t_1", "write", &input);
    let provider = Provider::anthropic([call, Answer::says(END)]);
    let editor = start(&provider, &json!({"require_approval": false}));
    editor.keys("G<C-]>");
    wait_end(&editor, &format!("{END}\n\n@You:\n\n"));
    // What the run changed is shown as virtual lines above the prompt.
    let is_full = |rows: &[String]| rows.iter().filter(|it| it.starts_with('~')).count() < 3;
    editor.wait_screen("the changes", |rows| {
        is_full(rows) && rows.iter().any(|it| it.contains("line 40"))
    });
    editor.keys(":belowright 15new<CR>");
    editor.keys(":q<CR>");
    editor.wait_screen("the changes again", |rows| {
        is_full(rows) && rows.iter().any(|it| it.contains("line 40"))
    });
}
