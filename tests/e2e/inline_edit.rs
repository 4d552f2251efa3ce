//! `:Flemma edit`: a model changes a selection, and the user reviews what it proposes.

use harness::{Answer, Editor, Gate, Provider};
use serde_json::json;

use crate::stage::*;

const NONE: [Answer; 0] = [];

const FILE: &str = "def add(a, b):\n    return a + b\n\nadd(1, 2)\n";

/// An editor on a file, without a chat, and the model's answers: a proposal that adds types,
/// and the end of the turn.
fn editing(provider: &Provider) -> (Editor, [Answer; 2]) {
    let setup = setup(provider).with("calc.py", FILE);
    let editor = setup.file("calc.py", FILE).start();
    editor.keys(":set hidden<CR>");
    let edits = json!([{"oldText": "def add(a, b):", "newText": "def add(a: int, b: int):"}]);
    let path = editor.dir().join("calc.py").display().to_string();
    let input = json!({"label": "add types", "path": path, "edits": edits});
    let call = Answer::new().tool_use("t_1", "edit", &input);
    (editor, [call, Answer::says("Done.")])
}

/// The same, with these answers to come.
fn proposing(provider: &Provider) -> Editor {
    let (editor, answers) = editing(provider);
    answers.into_iter().for_each(|it| provider.then(it));
    editor
}

fn filetype(editor: &Editor) -> String {
    let found = editor.lua("return vim.bo.filetype", &json!([]));
    found.as_str().unwrap_or_default().to_owned()
}

fn wait_review(editor: &Editor) {
    editor.wait_for("the review", |it| filetype(it) == "diff");
}

fn wait_file(editor: &Editor) {
    editor.wait_for("the file alone", |it| {
        let windows = it.lua("return #vim.api.nvim_tabpage_list_wins(0)", &json!([]));
        filetype(it) == "python" && windows == json!(1)
    });
}

fn wait_message(editor: &Editor, part: &str) {
    editor.wait_screen(part, |rows| rows.concat().contains(part));
}

/// The text of the chat of the edit, and whether its file has it.
fn chat(editor: &Editor) -> (String, bool) {
    let code = "for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
        if vim.bo[buffer].filetype == 'chat' then
          local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\\n')
          return { text, not vim.bo[buffer].modified }
        end
      end";
    let found = editor.lua(code, &json!([]));
    let text = found[0].as_str().unwrap_or_default().to_owned();
    (text, found[1] == json!(true))
}

/// Waits until the chat has a text and is saved, so that Neovim can quit.
#[track_caller]
fn wait_chat(editor: &Editor, part: &str) {
    editor.wait_for(part, |it| {
        let (text, is_saved) = chat(it);
        text.contains(part) && is_saved
    });
}

#[test]
fn a_proposal_opens_as_a_review_and_a_write_applies_it_in_one_undo_step() {
    let provider = Provider::anthropic(NONE);
    let editor = proposing(&provider);
    // Unsaved text elsewhere, and a mark below.
    editor.keys("4Gma4GA  # three<Esc>1GVj:Flemma edit Add types.<CR>");
    wait_review(&editor);
    assert!(editor.text().contains("+def add(a: int, b: int):"));

    let request = &provider.requests()[0].body;
    let tools = request["tools"].as_array().unwrap();
    let tools: Vec<&str> = tools.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(tools, ["edit"]);
    let content = format!("{}{}", request["system"], request["messages"]);
    for part in [
        "The whole file: @buffer:calc.py (not saved):\\n```python\\ndef add",
        "add(1, 2)  # three",
        "calc.py, lines 1-2:\\n\\n```python\\ndef add(a, b):\\n    return a + b\\n```\\n\\nAdd types.",
    ] {
        assert!(content.contains(part), "no {part} in {content}");
    }

    editor.keys(":w<CR>");
    wait_file(&editor);
    let applied = "def add(a: int, b: int):\n    return a + b\n\nadd(1, 2)  # three";
    editor.wait_text(applied);
    // The buffer had unsaved text, so the file is not written.
    let path = editor.dir().join("calc.py");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), FILE);
    assert_eq!(editor.lua("return vim.fn.line(\"'a\")", &json!([])), 4);
    editor.keys("u");
    let before = "def add(a, b):\n    return a + b\n\nadd(1, 2)  # three";
    assert_eq!(editor.text().trim_end(), before);

    wait_chat(&editor, "@Assistant:\nDone.");
}

#[test]
fn closing_the_review_drops_the_proposal_and_sends_nothing() {
    let provider = Provider::anthropic(NONE);
    let editor = proposing(&provider);
    editor.keys("1GV:Flemma edit Add types.<CR>");
    wait_review(&editor);
    editor.keys(":q<CR>");
    wait_file(&editor);
    wait_message(&editor, "The edit of calc.py was dropped.");
    assert_eq!(editor.text().trim_end(), FILE.trim_end());
    wait_chat(&editor, "Cancelled by the user");
    assert_eq!(provider.requests().len(), 1);
    // Its chat is reached by the same command.
    editor.keys(":Flemma edit<CR>");
    editor.wait_for("the chat", |it| filetype(it) == "chat");
}

#[test]
fn a_user_who_types_is_not_interrupted() {
    let provider = Provider::anthropic(NONE);
    let gate = Gate::new();
    let (editor, [call, done]) = editing(&provider);
    provider.then(call.gate(&gate));
    provider.then(done);
    editor.keys("1GV:Flemma edit Add types.<CR>");
    provider.wait_requests(1);
    editor.keys("Go# typed");
    gate.open();
    let ready = "The edit of calc.py is ready. Run :Flemma edit to see it.";
    editor.wait_for(ready, |it| it.messages().contains(ready));
    editor.keys(" on<Esc>");
    // Neovim has replaced the message by its own about Insert mode.
    wait_message(&editor, ready);
    assert_eq!(filetype(&editor), "python");
    assert!(editor.text().trim_end().ends_with("# typed on"));
    editor.keys(":Flemma edit<CR>");
    wait_review(&editor);
    editor.keys("ZZ");
    editor.wait_text("def add(a: int, b: int):");
    assert!(editor.text().trim_end().ends_with("# typed on"));
}

#[test]
fn an_answer_without_a_proposal_is_reported() {
    let provider = Provider::anthropic([Answer::says("Which types?")]);
    let (editor, _) = editing(&provider);
    editor.keys("1GV:Flemma edit Add types.<CR>");
    wait_message(&editor, "No edit of calc.py was proposed.");
    editor.keys(":Flemma edit<CR>");
    editor.wait_for("the chat", |it| filetype(it) == "chat");
    assert!(editor.text().contains("Which types?"));
}

#[test]
fn what_cannot_be_edited_sends_nothing() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let (editor, _) = editing(&provider);
    editor.keys(":Flemma edit<CR>");
    wait_message(&editor, "Write what to change after the command");
    editor.keys(":enew<CR>itext<Esc>:%Flemma edit Change it.<CR>");
    wait_message(&editor, "Write it first.");
    assert!(provider.requests().is_empty());
}
