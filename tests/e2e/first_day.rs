//! A user's first day: a new chat, a hidden chat, a stalled answer, diagnostics, and
//! files that calls would write.

use std::fs;

use harness::{Answer, Editor, Gate, Provider};
use serde_json::json;

use crate::stage::*;

#[test]
fn a_new_chat_starts_with_a_prompt_and_the_cursor_below_it() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = setup(&provider).file("notes.txt", "text\n").start();
    editor.command("edit new.chat");
    assert_eq!(editor.text(), "@You:\n\n");
    assert_eq!(editor.cursor(), (1, 0));
    let modified = editor.lua("return vim.bo.modified", &json!([]));
    assert_eq!(modified, false);
    editor.keys("iGo.<Esc>u");
    assert_eq!(editor.text(), "@You:\n\n");
    editor.keys("u");
    assert_eq!(editor.text(), "@You:\n\n");
    editor.keys("iGo.<Esc><C-]>");
    wait_end(&editor, "@You:\nGo.\n\n@Assistant:\nWell.\n\n@You:\n\n");
}

#[test]
fn the_users_own_template_is_kept() {
    let init =
        "vim.api.nvim_create_autocmd('BufNewFile', { pattern = '*.chat', callback = function()
          vim.api.nvim_buf_set_lines(0, 0, -1, false, { '@System:', 'Be brief.', '', '@You:', '' })
        end })
        require('flemma').setup({ sandbox = { enabled = false } })";
    let editor = offline().init(init).file("notes.txt", "text\n").start();
    editor.command("edit new.chat");
    assert_eq!(editor.text(), "@System:\nBe brief.\n\n@You:\n\n");
}

#[test]
fn a_command_line_argument_runs_before_neovim_has_started() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let command = "name: hello\nprompt:\n  template: Say hello.\n";
    let setup = setup(&provider).command("Flemma run hello");
    let editor = setup.with(".flemma/commands/hello.yaml", command).start();
    wait_end(&editor, "@Assistant:\nWell.\n\n@You:\n\n");
}

/// Records what the user's own notifier gets, and the terminal.
const NOTIFIER: &str = "notified = {}
    vim.notify = function(text) table.insert(notified, text) end
    sent = {}
    local chansend = vim.fn.chansend
    vim.fn.chansend = function(channel, bytes)
      if channel == vim.v.stderr then table.insert(sent, bytes) return #bytes end
      return chansend(channel, bytes)
    end
    if vim.api.nvim_ui_send then
      vim.api.nvim_ui_send = function(bytes) table.insert(sent, bytes) end
    end";

fn list(editor: &Editor, name: &str) -> Vec<String> {
    let found = editor.lua(&format!("return {name}"), &json!([]));
    serde_json::from_value(found).unwrap()
}

#[test]
fn a_hidden_chat_notifies_once_that_it_needs_you() {
    let says = |answer: Answer| answer.text("Well.");
    let calls = |answer: Answer| answer.tool_use("t_1", "bash", &command("true"));
    let rows: [(&dyn Fn(Answer) -> Answer, &str); 2] = [
        (&says, "question.chat: the answer is complete."),
        (&calls, "question.chat: 1 call needs your approval (bash)."),
    ];
    for (rest, message) in rows {
        let gate = Gate::new();
        let provider = Provider::anthropic([rest(Answer::new().gate(&gate))]);
        let options = json!({"ui": {"bell": "osc9"}, "tools": {"auto_approve": []}});
        let editor = ask_with(&provider, options);
        editor.lua(NOTIFIER, &json!([]));
        editor.keys("<C-]>");
        gate.wait_reached();
        editor.command("enew");
        gate.open();
        editor.wait_for("the notification", |editor| {
            !list(editor, "notified").is_empty()
        });
        assert_eq!(list(&editor, "notified"), [format!("Flemma: {message}")]);
        assert_eq!(
            list(&editor, "sent"),
            [format!("\u{1b}]9;Flemma: {message}\u{1b}\\")]
        );
    }
}

#[test]
fn a_visible_chat_sends_no_notification() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = ask_with(&provider, json!({"ui": {"bell": "bell"}}));
    editor.lua(NOTIFIER, &json!([]));
    editor.keys("<C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    wait_event(&editor, "FlemmaRested");
    assert!(list(&editor, "notified").is_empty() && list(&editor, "sent").is_empty());
}

#[test]
fn an_answer_that_stalls_is_reported_until_it_goes_on() {
    let gate = Gate::new();
    let provider = Provider::anthropic([Answer::new().text("Well.\n").gate(&gate).text("Done.")]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    let stalls = |rows: &[String]| {
        rows.iter()
            .any(|row| row.contains("No data from anthropic") && row.contains("(Ctrl-C stops it)"))
    };
    editor.wait_screen("that nothing comes", |rows| stalls(rows));
    gate.open();
    wait_end(&editor, "Done.\n\n@You:\n\n");
    editor.wait_screen("that it goes on", |rows| !stalls(rows));
}

#[test]
fn a_diagnostic_shows_its_text_below_its_line() {
    let text = "@You:\nGo.\n\n@you:\nMore.\n";
    let editor = offline().size(60, 20).file("question.chat", text).start();
    editor.wait_screen("the text in lines that fit", |rows| {
        let at = |text: &str| rows.iter().position(|row| row.contains(text));
        let line = at("W @you:");
        line.is_some()
            && at("! \"@you:\" is not a role marker") == line.map(|it| it + 1)
            && at("Write \"@You:\"").is_some()
    });
    // The user's own display of diagnostics replaces the plugin's.
    editor.lua("vim.diagnostic.config({ virtual_text = true })", &json!([]));
    editor.wait_for("no second text", |editor| editor.virtual_lines().is_empty());
}

#[test]
fn a_write_says_what_happens_to_the_file_and_where_a_link_leads() {
    let write = |path: &str| json!({"label": "", "path": path, "content": "x"});
    let calls = Answer::new()
        .tool_use("t_1", "write", &write("new.txt"))
        .tool_use("t_2", "write", &write("f.txt"))
        .tool_use("t_3", "write", &write("link.txt"));
    let provider = Provider::anthropic([calls]);
    let setup = with_options(&provider, json!({"tools": {"auto_approve": []}}));
    let editor = setup
        .size(80, 60)
        .with("f.txt", "old\n")
        .file("question.chat", QUESTION)
        .start();
    let outside = editor.dir().join("../outside.txt");
    fs::write(&outside, "mine\n").unwrap();
    std::os::unix::fs::symlink(&outside, editor.dir().join("link.txt")).unwrap();
    let outside = fs::canonicalize(&outside).unwrap();
    editor.keys("<C-]>");
    let expected = [
        "→ new file".to_owned(),
        "→ overwrites the file".to_owned(),
        format!("→ link to {}, overwrites the file", outside.display()),
    ];
    editor.wait_for("what becomes of each file", |editor| {
        let lines = editor.virtual_lines().into_iter().map(|it| it.text);
        lines.filter(|it| it.starts_with('→')).eq(expected.clone())
    });
}

#[test]
fn a_policy_function_that_fails_is_reported_and_the_call_waits() {
    let call = Answer::new().tool_use("t_1", "read", &file("f.txt"));
    let provider = Provider::anthropic([call]);
    let setup = with_lua_options(
        &provider,
        "tools = { auto_approve = function() error('no such rule') end }",
    );
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);
    wait_message(&editor, "The function tools.auto_approve failed: ");
    assert!(
        editor
            .messages()
            .contains("no such rule; the call needs your approval."),
        "{}",
        editor.messages()
    );
}
