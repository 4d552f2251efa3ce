//! `:Flemma rewind` with real keys, and two Neovims that undo at once.

use std::fs;
use std::path::Path;

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

const BEFORE: &str = "1\n2\n3\n4\n5\n";

fn edit(id: &str, old: &str, new: &str) -> Answer {
    let edits = json!([{"oldText": old, "newText": new}]);
    let input = json!({"label": "", "path": "a.txt", "edits": edits});
    Answer::new().tool_use(id, "edit", &input)
}

fn write(id: &str, path: &str, text: &str) -> Answer {
    let input = json!({"label": "", "path": path, "content": text});
    Answer::new().tool_use(id, "write", &input)
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
    let setup = setup(&provider).with("a.txt", BEFORE).size(64, 24);
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
        has("keeping later changes") && has("remove   b.txt") && has("1: Restore 2 files and cut")
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
        rows.iter().any(|row| row.contains("create   b.txt"))
    });
    editor.keys("1<CR>");
    wait_message(&editor, ":Flemma undo reverts that");
    let after = ["ONE\nTWO\n3\n4\nfive\n".to_owned(), "new\n".to_owned()];
    assert_eq!([read("a.txt"), read("b.txt")], after);
}

#[test]
fn a_message_that_arrives_as_a_list_closes_asks_for_no_key() {
    let provider = Provider::anthropic([
        edit("t_1", "1\n", "ONE\n"),
        write("t_2", "another.txt", "new\n"),
        Answer::says("Done."),
    ]);
    let setup = setup(&provider).with("a.txt", BEFORE).size(80, 24);
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    // Neovim's list, and a plugin that keeps Neovim busy until the report has arrived.
    let code = r#"
        local host, list = require("flemma.host"), vim.ui.select
        local notices = require("flemma.notices")
        local notify, arrived = notices.notify, 0
        notices.notify = function(...)
          arrived = arrived + 1
          notify(...)
        end
        vim.ui.select = function(items, options, done)
          list(items, options, function(...)
            done(...)
            local scheduled = false
            vim.wait(10000, function() return arrived > 0 end, 5)
            vim.schedule(function() scheduled = true end)
            vim.wait(10000, function() return scheduled end, 5)
          end)
        end
    "#;
    editor.lua(code, &json!([]));
    editor.keys(":Flemma rewind<CR>");
    editor.wait_screen("the messages", |rows| {
        rows.iter()
            .any(|row| row.starts_with("1: Go.  (message 1)"))
    });
    editor.keys("1<CR>");
    editor.wait_screen("the files", |rows| {
        rows.iter().any(|row| row.contains("remove   another.txt"))
    });
    editor.keys("1<CR>");
    wait_message(&editor, ":Flemma redo reverts that");
    assert!(!editor.mode().blocking);
}

/// Keeps the choice open that the next list of an editor asks for.
fn hold_choice(editor: &Editor) {
    let code = "vim.ui.select = function(items, _, done)
      decide = function() decide = nil; done(items[1], 1) end
    end";
    editor.lua(code, &json!([]));
    editor.keys(":Flemma undo<CR>");
    editor.wait_for("the list", |it| {
        it.lua("return decide ~= nil", &json!([])) == json!(true)
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
    first.lua("decide()", &json!([]));
    wait_message(&first, "Restored 1 file");
    assert_eq!(read(), "1\n2\n3\n4\nFIVE\n");
    second.lua("decide()", &json!([]));
    wait_message(&second, "nothing was restored");
    assert_eq!(read(), "1\n2\n3\n4\nFIVE\n");

    hold_choice(&second);
    second.lua("decide()", &json!([]));
    wait_message(&second, "Restored 1 file");
    assert_eq!(read(), BEFORE);
}

/// A command that changes files at once, and again when the test lets it go on.
fn slow(id: &str, folder: &Path, first: &str, then: &str) -> Answer {
    let folder = folder.display();
    let script = format!(
        "cd {folder}; {first}; touch begun_{id}
         while [ ! -e go_{id} ]; do sleep 0.02; done; rm go_{id} begun_{id}; {then}"
    );
    Answer::new().tool_use(id, "bash", &command(&script))
}

#[test]
fn commands_of_two_neovims_that_overlap_are_undone_together_in_either() {
    let provider = Provider::anthropic([""; 0]);
    let options = json!({"tools": {"require_approval": false}});
    let files = with_options(&provider, options.clone())
        .with("a.txt", BEFORE)
        .with("two.chat", QUESTION);
    let first = files.file("one.chat", QUESTION).start();
    let folder = first.dir();
    let state = folder.parent().unwrap().join("state");
    let second = with_options(&provider, options)
        .env("XDG_STATE_HOME", state)
        .start();
    second.command(&format!("edit {}/two.chat", folder.display()));
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();

    provider.then(slow("t_1", &folder, "echo one > a.txt", "echo c > c.txt"));
    first.keys("<C-]>");
    first.wait_for("the first command", |_| folder.join("begun_t_1").exists());
    provider.then(slow("t_2", &folder, "echo two >> a.txt", "echo b > b.txt"));
    second.keys("<C-]>");
    second.wait_for("the second command", |_| folder.join("begun_t_2").exists());
    for (editor, id) in [(&first, "t_1"), (&second, "t_2")] {
        provider.then(Answer::says("Done."));
        fs::write(folder.join(format!("go_{id}")), "").unwrap();
        wait_end(editor, "Done.\n\n@You:\n\n");
    }
    assert_eq!(read("a.txt"), "one\ntwo\n");

    // The list names both calls.
    second.lua(
        "vim.ui.select = function(items, options, done)
           asked = options.prompt; done(items[1], 1) end",
        &json!([]),
    );
    second.keys(":Flemma undo<CR>");
    wait_message(&second, "Restored 3 files");
    let asked = second.lua("return asked", &json!([]));
    assert_eq!(asked, json!("Undo 2 calls (bash)?"));
    assert_eq!(
        [read("a.txt"), read("b.txt"), read("c.txt")],
        [BEFORE, "", ""]
    );
    first.keys(":Flemma undo<CR>");
    wait_message(&first, "There is nothing to undo");
}
