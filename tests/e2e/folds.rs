//! Folds: which blocks close, which never do, and what the user's own keys do.

use harness::{Answer, Editor, Gate, Provider};
use serde_json::json;

use crate::stage::*;

const CHAT: &str = r#"```json
{}
```

@You:
What is in f.txt?

@Assistant:
<thinking>
I should look.

Then tell.
</thinking>

**Tool Use:** `read` (`t_1`)

```json
{"label":"reading","path":"f.txt"}
```

@You:
**Tool Result:** `t_1`

```
one
two
```

@Assistant:
It holds two lines.

@You:
"#;

/// An editor on a chat in which only complete thinking blocks are closed.
#[track_caller]
fn open(provider: &Provider, text: &str) -> Editor {
    let options = json!({"folds": {"closed": ["thinking"]}});
    // The screen shows the whole chat, so its folds arrive in one message.
    let setup = with_options(provider, options).size(80, 60);
    let editor = setup.file("question.chat", text).start();
    watch(&editor);
    editor
}

/// The fold level of each line, with `.` for 0 and `#` for closed folds.
fn folds(editor: &Editor) -> String {
    let code = "local levels = {}
      for line = 1, vim.fn.line('$') do
        local level = vim.fn.foldlevel(line)
        levels[line] = vim.fn.foldclosed(line) ~= -1 and '#' or level == 0 and '.' or tostring(level)
      end
      return table.concat(levels)";
    let levels = editor.lua(code, &json!([]));
    levels.as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn wait_folds(editor: &Editor, expected: &str) {
    let expected = expected.replace(' ', "");
    let mut last = String::new();
    editor.wait_for(&format!("the folds\n{expected}"), |editor| {
        let now = folds(editor);
        if now != last {
            eprintln!("folds: {}", &now[..now.len().min(200)]);
        }
        last = now;
        last == expected
    });
}

/// The folds of [`CHAT`] when it is opened.
const OPENED: &str = "111 . 111 1#####1222221 12222221 111 .";

/// An editor on [`CHAT`] with its folds.
#[track_caller]
pub fn opened() -> (Provider, Editor) {
    let provider = Provider::anthropic([Answer::says("Well."), Answer::says("Fine.")]);
    let editor = open(&provider, CHAT);
    wait_folds(&editor, OPENED);
    (provider, editor)
}

#[test]
fn complete_blocks_can_be_folded_and_thinking_is_closed() {
    let (_provider, editor) = opened();
    editor.wait_screen("the thinking in one line", |rows| {
        rows.iter()
            .any(|row| row == "  thinking I should look. Then tell.")
    });
    editor.keys("zM");
    editor.wait_screen("the chat in five lines", |rows| {
        // Below the winbar.
        let is = |row: usize, text: &str| rows[row + 1] == text;
        is(0, "frontmatter (json) {}")
            && is(2, "@You: What is in f.txt?")
            && is(3, "@Assistant: read: f.txt  # reading")
            && is(4, "@You: ✓ read")
            && is(5, "@Assistant: It holds two lines.")
            && is(6, "@You:")
    });
    editor.keys("zR");
    wait_folds(&editor, &OPENED.replace('#', "2"));
}

#[test]
fn thinking_folds_when_complete_and_a_message_when_the_next_begins() {
    let gate = Gate::new();
    let answer = Answer::new()
        .thinking("Hm,\nhm.", Some("s"))
        .text("Well.\n\nYes.\n")
        .gate(&gate)
        .text("No.");
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    gate.wait_reached();
    wait_folds(&editor, "111 .####.....");
    editor.wait_screen("one line for the thinking", |rows| {
        rows.iter().any(|row| row == "  thinking Hm, hm.")
    });
    assert_eq!(
        editor.cursor().0 + 1,
        editor.lines().len(),
        "{}",
        editor.text()
    );
    gate.open();
    wait_end(&editor, "No.\n\n@You:\n\n");
    wait_folds(&editor, "111 1####111111 ..");
}

#[test]
fn folds_stay_as_the_user_set_them() {
    let (_provider, editor) = opened();
    editor.keys("9Gzo5GzcGoMore.<Esc><C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    wait_folds(&editor, "111 . ### 122222122222 1 12222221 111 111 111 ..");
}

/// A pending call of `bash` in the second to last message.
fn waits(command: &str) -> String {
    let input = json!({"label": "x", "command": command, "timeout": null});
    format!(
        "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `bash` (`t_1`)\n\n```json\n{input}\n```\n\n\
         @You:\n**Tool Result:** `t_1`\n\n```flemma:tool status=pending\n```\n\n"
    )
}

#[test]
fn the_arguments_of_a_pending_call_are_folded_if_all_of_them_are_shown_below() {
    let edit = json!({"label": "x", "path": "f.txt", "oldText": "one", "newText": "two"});
    let edit = waits("").replace(
        &json!({"label": "x", "command": "", "timeout": null}).to_string(),
        &edit.to_string(),
    );
    for (text, shown, done, then) in [
        (
            waits("touch ran"),
            "bash $ touch ran  # x",
            "ran",
            "bash $ touch ran  # x",
        ),
        (
            waits("touch ran\ntouch too"),
            "bash $ touch ran⤶touch too",
            "too",
            "bash $ touch ran⤶touch too",
        ),
        (
            edit.replace("`bash`", "`edit`"),
            "edit f.txt  # x",
            "f.txt",
            "edit +1 −1 f.txt  # x",
        ),
    ] {
        let provider = Provider::anthropic([Answer::says("Well.")]);
        let options = json!({"folds": {"closed": ["tool_use"]}});
        let setup = with_options(&provider, options)
            .size(80, 60)
            .file("f.txt", "one\n");
        let editor = setup.file("question.chat", &text).start();
        watch(&editor);
        wait_folds(&editor, "111 1#####1 ......");
        let wait_title = |title: &str| {
            editor.wait_screen(title, |rows| {
                let title = format!("  → {title}");
                rows.iter().any(|row| row.starts_with(&title))
            });
        };
        wait_title(shown);
        editor.keys("12G<M-CR>");
        editor.wait_for("that it runs", |editor| {
            let text = std::fs::read_to_string(editor.dir().join(done));
            text.is_ok_and(|it| it != "one\n")
        });
        wait_end(&editor, "Well.\n\n@You:\n\n");
        wait_still_closed(&editor, 4);
        wait_title(then);
    }
}

/// Waits until the host is at rest, and expects that a line is in a closed fold.
#[track_caller]
fn wait_still_closed(editor: &Editor, line: usize) {
    at_rest(editor);
    let folds = folds(editor);
    assert_eq!(folds.as_bytes()[line], b'#', "{folds}");
}

#[test]
fn a_pending_call_whose_arguments_are_cut_is_not_folded() {
    let provider = Provider::anthropic([Answer::new()]);
    let options = json!({"folds": {"closed": ["tool_use"]}});
    let setup = with_options(&provider, options).size(80, 60);
    let editor = setup
        .file("question.chat", &waits(&"true\n".repeat(40)))
        .start();
    watch(&editor);
    editor.wait_screen("that there is more", |rows| {
        rows.iter().any(|row| row.contains("K shows all of it."))
    });
    at_rest(&editor);
    wait_folds(&editor, "111 1111111 ......");
}

#[test]
fn no_key_decides_about_a_folded_call_unless_all_of_it_is_shown_below() {
    for (keys, place) in [("<M-CR>", "12G"), ("<C-]>", "gg"), ("<M-CR>", "5G")] {
        let provider = Provider::anthropic([Answer::says("Well.")]);
        let command = format!("touch ran\n{}", "true\n".repeat(40));
        let editor = open(&provider, &waits(&command));
        wait_folds(&editor, "111 1111111 ......");
        let approve = if keys == "<C-]>" { APPROVE } else { "" };
        editor.keys(&format!("gg{approve}{place}zM"));
        wait_folds(&editor, "### ####### ......");
        editor.keys(keys);
        wait_message(&editor, "a pending call was folded");
        wait_folds(&editor, "### 1111111 ......");
        at_rest(&editor);
        assert!(!editor.dir().join("ran").exists(), "{keys}");
        editor.keys(&format!("{place}{keys}"));
        editor.wait_for("that it runs", |editor| editor.dir().join("ran").exists());
    }
}

/// A call without a result, and two messages below it.
fn asked(input: &str) -> String {
    format!(
        "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `bash` (`t_1`)\n\n```json\n{input}\n```\n\n\
         @You:\nMore.\n\n@You:\nStill more.\n"
    )
}

#[test]
fn pending_calls_and_errors_unfold() {
    for (input, result) in [
        (r#"{"label":"x","command":"true","timeout":null}"#, "● bash"),
        (r#"{"label":"x"}"#, "✗ bash"),
    ] {
        let provider = Provider::anthropic([Answer::says("Well.")]);
        let editor = open(&provider, &asked(input));
        wait_folds(&editor, "111 1111111 111 ..");
        editor.keys("ggzM");
        wait_folds(&editor, "### ####### ### ..");
        editor.keys("<C-]>");
        editor.wait_screen("what became of the call", |rows| {
            let header = "**Tool Result:** `t_1`";
            rows.iter().any(|row| row.starts_with(header)) && rows[1].starts_with("@You: Go.")
        });
        at_rest(&editor);
        editor.keys("GzMgg");
        editor.wait_screen("the message in one line", |rows| {
            let words = format!("@You: More. | {result}");
            rows.contains(&words)
        });
    }
}

#[test]
fn each_window_has_its_own_folds_and_a_split_copies_them() {
    let (_provider, editor) = opened();
    editor.keys("zR5Gzc");
    let one = "111 . ### 1222221222221 12222221 111";
    wait_folds(&editor, &format!("{one} ."));
    editor.command("split");
    wait_folds(&editor, &format!("{one} ."));
    // A key before the host knows the new window.
    editor.command("close | split | normal! zM");
    editor.keys("GoMore.<Esc><C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    // The question and the answer are complete messages now.
    let other = one.replace(char::is_numeric, "#").replace(' ', "");
    wait_folds(&editor, &format!("{other} 111 111 .."));
    editor.command("wincmd p");
    wait_folds(&editor, &format!("{one} 111 111 .."));
}

#[test]
fn folds_return_when_a_window_shows_the_chat_again() {
    let (_provider, editor) = opened();
    editor.keys("5Gzc");
    let mine = OPENED.replacen(" 111 ", " ### ", 1);
    wait_folds(&editor, &mine);
    editor.command("set hidden | enew | redraw");
    editor.command("buffer question.chat");
    wait_folds(&editor, &mine);
    // The text changes while no window shows it.
    editor.command("enew | redraw");
    editor.lua(
        "vim.api.nvim_buf_set_lines(vim.fn.bufnr('question.chat'), 3, 3, false, { '', '' })",
        &json!([]),
    );
    editor.command("buffer question.chat");
    wait_folds(&editor, &OPENED.replacen('.', "...", 1));
    editor.command("edit!");
    wait_folds(&editor, OPENED);
}

#[test]
fn other_foldmethods_and_disabled_folds_are_left_alone() {
    let provider = Provider::anthropic([Answer::says("Well."), Answer::says("Well.")]);
    for (options, method) in [
        (json!({}), "indent"),
        (json!({"folds": {"enabled": false}}), "manual"),
    ] {
        let setup = with_options(&provider, options).with("question.chat", CHAT);
        let editor = setup.file("notes.txt", "one\n").start();
        editor.command(&format!("set foldmethod={method}"));
        editor.command("edit question.chat");
        watch(&editor);
        editor.keys("GoMore.<Esc><C-]>");
        wait_end(&editor, "Well.\n\n@You:\n\n");
        at_rest(&editor);
        assert!(
            !folds(&editor).contains(['1', '2', '#']),
            "{method}: {}",
            folds(&editor)
        );
        assert_eq!(
            editor.lua("return { vim.wo.foldtext, vim.wo.foldlevel }", &json!([])),
            json!(["foldtext()", 0])
        );
    }
}

#[test]
fn options_decide_which_folds_close_and_errors_never_do() {
    let text = CHAT.replace("`t_1`\n\n```\none", "`t_1` (error)\n\n```\none");
    let provider = Provider::anthropic([Answer::new()]);
    let kinds = ["frontmatter", "message", "tool_use", "tool_result"];
    for (text, expected) in [
        (CHAT, "### . ### ############# ######## ### ."),
        (text.as_str(), "### . ### ############# 12222221 ### ."),
    ] {
        let options = json!({"folds": {"closed": kinds}});
        let setup = with_options(&provider, options).with("question.chat", text);
        let editor = setup.file("notes.txt", "one\n").start();
        editor.command("edit +$ question.chat");
        wait_folds(&editor, expected);
        // Options can be changed later.
        editor.lua(
            "require('flemma').setup({ folds = { closed = {} }, sandbox = { enabled = false } })",
            &json!([]),
        );
        editor.keys("zR:edit!<CR>");
        wait_folds(&editor, &OPENED.replace('#', "2"));
    }
}

#[test]
fn thinking_around_the_cursor_stays_open() {
    let text = "@You:\nGo.\n\n@Assistant:\n<thinking>\nHm.\nhm.\n\nWell.\n\n@You:\n";
    for (cursor, expected) in [("7G", "111 1222211 ."), ("9G", "111 1####11 .")] {
        let provider = Provider::anthropic([Answer::new()]);
        let editor = open(&provider, text);
        wait_folds(&editor, "111 1111111 .");
        editor.keys(cursor);
        let close = "vim.api.nvim_buf_set_lines(0, 7, 8, true, { '</thinking>' })";
        editor.lua(close, &json!([]));
        wait_folds(&editor, expected);
    }
}

#[test]
fn a_long_chat_is_folded_in_pieces_and_keys_send_no_messages() {
    let turn = "@You:\nGo.\n\n@Assistant:\n<thinking>\nHm.\n</thinking>\n\nWell.\n\n";
    let text = turn.repeat(400) + "@You:\nGo.\n";
    let answer = Answer::new().text_in_pieces(&"word ".repeat(400), 5);
    let provider = Provider::anthropic([answer]);
    let editor = setup(&provider)
        .with("question.chat", &text)
        .file("notes.txt", "")
        .start();
    // Records the number of folds in each message.
    let count = "sent = {}
      local folds = require('flemma.folds')
      local receive = folds.folds
      folds.folds = function(message)
        local items = 0
        for _, part in ipairs(message.parts) do items = items + #part.items end
        table.insert(sent, items)
        receive(message)
      end";
    editor.lua(count, &json!([]));
    editor.command("edit + question.chat");
    watch(&editor);
    wait_folds(&editor, &(["111", "1###111"].concat().repeat(400) + ".."));
    let sent = || -> Vec<u64> {
        let sent = editor.lua("return sent", &json!([]));
        serde_json::from_value(sent).unwrap()
    };
    at_rest(&editor);
    let opening = sent();
    assert_eq!(opening.iter().sum::<u64>(), 1200, "{opening:?}");
    assert!(opening.iter().all(|items| *items <= 100), "{opening:?}");
    editor.keys("GA and more<CR>and more.<Esc>");
    editor.keys("ggjAx<Esc>");
    let once = opening.len() + 1;
    editor.wait_for("the words of the first message", |_| sent().len() == once);
    at_rest(&editor);
    assert_eq!(sent().len(), once, "{:?}", sent());
    editor.keys("G<C-]>");
    wait_end(&editor, "\n\n@You:\n\n");
    at_rest(&editor);
    // The question and the answer are complete messages now.
    assert!(sent().len() <= opening.len() + 4, "{:?}", sent());
}

#[test]
fn folds_survive_a_host_that_dies() {
    let (_provider, editor) = opened();
    editor.keys("9Gzo5Gzc");
    let mine = OPENED.replace('#', "2").replacen(" 111 ", " ### ", 1);
    wait_folds(&editor, &mine);
    let host = editor.host_pid().unwrap();
    let killed = std::process::Command::new("kill")
        .args(["-9", &host.to_string()])
        .status();
    assert!(killed.unwrap().success());
    wait_message(&editor, "is starting again");
    editor.keys("GoMore.<Esc><C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    wait_folds(&editor, &(mine[..mine.len() - 1].to_owned() + "111 111 .."));
}
