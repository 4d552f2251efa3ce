//! The harness's editor shows what a user would see.

use std::time::Duration;

use harness::{Editor, Setup};
use serde_json::json;

/// A Neovim in which the plugin is not set up.
fn plain() -> Setup {
    Setup::new().init("")
}

fn editor_on(text: &str) -> Editor {
    plain().file("note.txt", text).start()
}

#[test]
fn keys_change_the_text_and_the_cursor() {
    let editor = editor_on("one\n");
    editor.keys("otwo<Esc>");
    assert_eq!(editor.text(), "one\ntwo\n");
    assert_eq!(editor.cursor(), (1, 2));
    assert_eq!(editor.mode().name, "n");
}

#[test]
fn many_keys_all_arrive() {
    let editor = editor_on("");
    let line = "word <lt>tag> ".repeat(2_000);
    editor.keys(&format!("i{line}<Esc>"));
    assert_eq!(editor.text(), "word <tag> ".repeat(2_000) + "\n");
}

#[test]
fn the_screen_shows_what_is_typed_and_scrolls() {
    let editor = plain().size(40, 8).start();
    editor.keys("ifirst<CR>日本 wide<Esc>");
    assert_eq!(editor.screen()[..2], ["first", "日本 wide"]);

    editor.keys("o<CR><CR><CR><CR><CR><CR>last<Esc>");
    editor.wait_screen("the last line", |rows| rows.iter().any(|row| row == "last"));
    assert!(!editor.screen().contains(&"first".to_owned()));
    editor.keys("gg");
    editor.wait_screen("the first line", |rows| rows[0] == "first");
}

#[test]
fn a_paste_is_one_insertion() {
    let editor = editor_on("\n");
    editor.paste("a\nb\n");
    assert_eq!(editor.text(), "a\nb\n\n");
    editor.keys("u");
    assert_eq!(editor.text(), "\n");
}

#[test]
fn a_prompt_is_seen_as_a_mode_that_waits() {
    let editor = editor_on("one\n");
    editor.keys("\"");
    assert!(editor.mode().blocking);
    editor.keys("ayy");
    assert!(!editor.mode().blocking);
    assert_eq!(
        editor.lua("return vim.fn.getreg('a')", &json!([])),
        json!("one\n")
    );
}

#[test]
fn a_message_that_needs_enter_stops_neovim_until_enter() {
    let editor = editor_on("one\n");
    editor.keys(":echo \"a\\nb\"<CR>");
    assert!(editor.mode().blocking);
    editor.wait_screen("the prompt", |rows| {
        rows.iter().any(|row| row.contains("Press ENTER"))
    });
    editor.keys("<CR>");
    assert!(!editor.mode().blocking);
}

#[test]
fn messages_are_kept() {
    let editor = editor_on("one\n");
    editor.command(":echomsg 'hello'");
    assert_eq!(editor.messages(), "hello");
}

#[test]
fn what_is_drawn_beside_the_text_can_be_read() {
    let editor = editor_on("one\ntwo\n");
    editor.lua(
        r#"
        local space = vim.api.nvim_create_namespace("test")
        local below = { { { "be", "Comment" }, { "low", "Error" } } }
        vim.api.nvim_buf_set_extmark(0, space, 0, 0, { virt_lines = below })
        vim.api.nvim_buf_set_extmark(0, space, 1, 0, { virt_text = { { "beside", "Comment" } } })
        "#,
        &json!([]),
    );
    let below = editor.virtual_lines();
    assert_eq!((below[0].line, below[0].text.as_str()), (0, "below"));
    let beside = editor.virtual_text();
    assert_eq!((beside[0].line, beside[0].text.as_str()), (1, "beside"));
    editor.wait_screen("both on the screen", |rows| {
        rows[..3] == ["one", "below", "two beside"]
    });
    let group = |name: &str| Some(vec![name.to_owned()]);
    assert_eq!(editor.highlight_of("below", 0), group("Comment"));
    assert_eq!(editor.highlight_of("below", 2), group("Error"));
    assert_eq!(editor.highlight_of("one", 0), Some(Vec::new()));
    assert_eq!(editor.highlight_of("three", 0), None);
}

#[test]
fn an_editor_sees_its_own_folder_and_environment_only() {
    let editor = plain()
        .with("sub/other.txt", "other")
        .env("FLEMMA_HARNESS", "yes")
        .file("note.txt", "one\n")
        .start();
    let seen = editor.lua(
        "return { vim.fn.getcwd(), vim.env.FLEMMA_HARNESS, vim.env.FLEMMA_TEST_INIT, \
         vim.fn.readfile('sub/other.txt'), vim.fn.stdpath('state') }",
        &json!([]),
    );
    let home = editor.dir().parent().map(|path| path.join("state/nvim"));
    let expected = json!([editor.dir(), "yes", null, ["other"], home]);
    assert_eq!(seen, expected);
}

#[test]
fn nothing_is_left_when_an_editor_is_dropped() {
    let editor = editor_on("one\n");
    let (folder, pid) = (editor.dir(), editor.nvim_pid());
    assert!(folder.exists());
    drop(editor);
    assert!(!folder.exists());
    assert!(!std::path::Path::new("/proc").join(pid.to_string()).exists());
}

#[test]
#[should_panic(expected = "--- buffer\nthe text so far\n--- screen\nthe text so far")]
fn what_is_waited_for_in_vain_shows_the_buffer_and_the_screen() {
    let setup = plain().patience(Duration::from_millis(500));
    let editor = setup.file("note.txt", "the text so far\n").start();
    editor.wait_for("something else", |editor| {
        editor.text() == "something else\n"
    });
}
