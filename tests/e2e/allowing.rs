//! `:Flemma allow` in a real Neovim.

use std::fs;

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

fn run(id: &str, line: &str) -> Answer {
    Answer::new().tool_use(id, "bash", &command(line))
}

/// Chooses the first rule for the call at the cursor.
fn allow_first(editor: &Editor) {
    editor.keys(":Flemma allow<CR>");
    let title = "Run calls like this one without asking?";
    editor.wait_screen(title, |rows| rows.iter().any(|it| it.contains(title)));
    editor.keys("1<CR>");
}

#[test]
fn a_rule_chosen_by_key_runs_the_call_and_the_next_one_like_it() {
    let answers = [
        run("t_1", "touch one"),
        run("t_2", "touch one"),
        run("t_3", "touch one; touch two"),
    ];
    let provider = Provider::anthropic(answers);
    let setup = with_lua_options(&provider, "tools = { auto_approve = {} }");
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    editor.wait_text("`t_1`\n\n```flemma:tool status=pending");
    allow_first(&editor);
    editor.wait_text("`t_3`\n\n```flemma:tool status=pending");
    assert!(editor.dir().join("one").exists() && !editor.dir().join("two").exists());
    editor.keys(":Flemma allow!<CR>");
    let path = "return vim.api.nvim_buf_get_name(0)";
    let path = editor.lua(path, &json!([]));
    let rules = fs::read_to_string(path.as_str().unwrap()).unwrap();
    assert!(
        rules.contains("command = [\"touch\", \"one\"]\nchat = "),
        "{rules}"
    );
}

#[test]
fn the_message_about_a_rule_stays_readable_when_the_call_is_folded() {
    let provider = Provider::anthropic([run("t_1", "touch one"), Answer::says("Made.")]);
    let setup = with_lua_options(&provider, "tools = { auto_approve = {} }");
    let setup = setup.size(60, 30);
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    editor.wait_text("`t_1`\n\n```flemma:tool status=pending");
    allow_first(&editor);
    wait_end(&editor, "Made.\n\n@You:\n\n");
    editor.wait_for("the closed call", |editor| {
        let folded = "return vim.fn.foldclosed(vim.fn.search('^\\\\*\\\\*Tool Result', 'nw'))";
        editor.lua(folded, &json!([])).as_i64() > Some(0)
    });
    editor.wait_screen("the whole message", |rows| {
        let (message, chat) = rows.split_last().unwrap();
        let words: Vec<&str> = chat.iter().flat_map(|it| it.split_whitespace()).collect();
        let text = words.join(" ");
        text.contains("Allowed from now on")
            && text.contains(":Flemma allow! opens it.")
            && message.contains("Allowed from now on")
    });
}
