//! `:Flemma rewind` with real keys, and two Neovims that undo at once.

use std::fs;

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

const BEFORE: &str = "1\n2\n3\n4\n5\n";

fn edit(id: &str, old: &str, new: &str) -> Answer {
    let edits = json!([{"oldText": old, "newText": new}]);
    let input = json!({"label": "", "path": "a.txt", "edits": edits});
    Answer::new().tool_use(id, "edit", input)
}

fn write(id: &str, path: &str, text: &str) -> Answer {
    let input = json!({"label": "", "path": path, "content": text});
    Answer::new().tool_use(id, "write", input)
}

#[test]
fn a_rewind_over_three_turns_restores_files_and_keeps_the_users_edit() {
    let provider = Provider::anthropic([
        edit("t_1", "1\n", "ONE\n"),
        Answer::says("Done 1."),
        write("t_2", "b.txt", "new\n"),
        Answer::says("Done 2."),
        edit("t_3", "2\n", "TWO\n"),
        Answer::says("Done 3."),
    ]);
    let setup = setup(&provider).with("a.txt", BEFORE).size(80, 24);
    let editor = setup.file("question.chat", QUESTION).start();
    let read = |name: &str| fs::read_to_string(editor.dir().join(name)).unwrap_or_default();
    editor.keys("<C-]>");
    wait_end(&editor, "Done 1.\n\n@You:\n\n");

    editor.keys(":edit a.txt<CR>Gccfive<Esc>:write<CR>:buffer question.chat<CR>");
    for (question, end) in [("More.", "Done 2."), ("And more.", "Done 3.")] {
        editor.keys(&format!("GA{question}<Esc><C-]>"));
        wait_end(&editor, &format!("{end}\n\n@You:\n\n"));
    }
    assert_eq!(read("a.txt"), "ONE\nTWO\n3\n4\nfive\n");
    let whole = editor.text();

    editor.keys(":Flemma rewind<CR>");
    editor.wait_screen("the messages", |rows| {
        let has = |text: &str| rows.iter().any(|row| row.starts_with(text));
        has("1: And more.  (message 3)") && has("3: Go.  (message 1)")
    });
    editor.keys("3<CR>");
    editor.wait_screen("the files", |rows| {
        let has = |text: &str| rows.iter().any(|row| row.contains(text));
        has("keeping later changes") && has("remove   b.txt") && has("1: Change 2 files and cut")
    });
    editor.keys("1<CR>");
    editor.wait_for("the cut", |it| it.text().trim_end() == QUESTION.trim_end());
    assert_eq!([read("a.txt"), read("b.txt")], ["1\n2\n3\n4\nfive\n", ""]);
    // At the prompt, although the text around it was removed.
    editor.wait_screen("the report", |rows| {
        rows.iter()
            .any(|row| row.starts_with("· Restored 2 files: a.txt, b.txt."))
    });

    editor.keys("u");
    assert_eq!(editor.text(), whole);
    editor.keys(":Flemma redo<CR>");
    editor.wait_screen("the files", |rows| {
        rows.iter().any(|row| row.contains("b.txt"))
    });
    editor.keys("1<CR>");
    wait_message(&editor, ":Flemma undo takes that back");
    let after = ["ONE\nTWO\n3\n4\nfive\n".to_owned(), "new\n".to_owned()];
    assert_eq!([read("a.txt"), read("b.txt")], after);
}

/// Keeps the choice open that the next list of an editor asks for.
fn hold_choice(editor: &Editor) {
    let code = "vim.ui.select = function(items, _, done)
      decide = function() decide = nil; done(items[1], 1) end
    end";
    editor.lua(code, json!([]));
    editor.keys(":Flemma undo<CR>");
    editor.wait_for("the list", |it| {
        it.lua("return decide ~= nil", json!([])) == json!(true)
    });
}

#[test]
fn two_neovims_that_undo_at_once_lose_nothing() {
    let provider = Provider::anthropic([
        edit("t_1", "1\n", "ONE\n"),
        Answer::says("Done."),
        edit("t_2", "5\n", "FIVE\n"),
        Answer::says("Done."),
    ]);
    let files = setup(&provider)
        .with("a.txt", BEFORE)
        .with("two.chat", QUESTION);
    let first = files.file("one.chat", QUESTION).start();
    let state = first.dir().parent().unwrap().join("state");
    let second = setup(&provider).env("XDG_STATE_HOME", state).start();
    second.command(&format!("edit {}/two.chat", first.dir().display()));
    for editor in [&first, &second] {
        editor.keys("<C-]>");
        wait_end(editor, "Done.\n\n@You:\n\n");
    }
    let read = || fs::read_to_string(first.dir().join("a.txt")).unwrap();
    assert_eq!(read(), "ONE\n2\n3\n4\nFIVE\n");

    // Both lists are of the same text, so the second choice is about an older one.
    hold_choice(&first);
    hold_choice(&second);
    first.lua("decide()", json!([]));
    wait_message(&first, "Restored 1 file");
    assert_eq!(read(), "1\n2\n3\n4\nFIVE\n");
    second.lua("decide()", json!([]));
    wait_message(&second, "nothing was restored");
    assert_eq!(read(), "1\n2\n3\n4\nFIVE\n");

    hold_choice(&second);
    second.lua("decide()", json!([]));
    wait_message(&second, "Restored 1 file");
    assert_eq!(read(), BEFORE);
}
