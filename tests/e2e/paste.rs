//! Images that are pasted into a chat, or dropped on the terminal.

use std::os::unix::fs::PermissionsExt;

use harness::{Answer, Editor, Provider, Setup};
use serde_json::json;

use crate::stage::*;

/// A PNG image of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\0IEND\xaeB`\x82";

/// A `wl-paste` whose clipboard has the file `clipboard.png`, if that exists.
const WL_PASTE: &str = "#!/bin/sh
case \"$1\" in
  --list-types) [ -e clipboard.png ] && printf 'text/html\\nimage/png\\n' || echo text/plain ;;
  *) cat clipboard.png ;;
esac
";

/// A chat, with programs of its own.
fn with_clipboard(provider: &Provider, programs: &[(&str, &str)]) -> Editor {
    let mut setup: Setup = setup(provider)
        .env("WAYLAND_DISPLAY", "test")
        .env("DISPLAY", "");
    for (name, text) in programs {
        setup = setup.with(&format!("bin/{name}"), text);
    }
    let editor = setup.file("question.chat", "@You:\n").start();
    watch(&editor);
    let bin = editor.dir().join("bin");
    for (name, _) in programs {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(bin.join(name), mode).unwrap();
    }
    let code = "vim.env.PATH = ... .. ':' .. vim.env.PATH";
    editor.lua(code, &json!([bin.display().to_string()]));
    editor
}

fn wait_message(editor: &Editor, part: &str) {
    editor.wait_screen(part, |rows| rows.concat().contains(part));
}

#[test]
fn the_image_of_the_clipboard_is_saved_beside_the_chat_and_sent() {
    let provider = Provider::anthropic([Answer::says("A dot.")]);
    let editor = with_clipboard(&provider, &[("wl-paste", WL_PASTE)]);
    std::fs::write(editor.dir().join("clipboard.png"), PNG).unwrap();
    std::fs::write(editor.dir().join("question-1.png"), "taken").unwrap();
    editor.keys("oWhat is<Esc>:Flemma paste<CR>");
    editor.wait_text("What is @./question-2.png");
    let saved = std::fs::read(editor.dir().join("question-2.png")).unwrap();
    assert_eq!(saved, PNG);
    editor.keys("<C-]>");
    editor.wait_text("A dot.");
    let content = provider.requests()[0].body["messages"][0]["content"].to_string();
    assert!(content.contains("iVBORw0KGgo"), "{content}");
}

#[test]
fn a_clipboard_without_an_image_and_a_machine_without_a_program_say_so() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = with_clipboard(&provider, &[("wl-paste", WL_PASTE)]);
    editor.keys(":Flemma paste<CR>");
    wait_message(&editor, "The clipboard has no image, as wl-paste says.");
    std::fs::remove_file(editor.dir().join("bin/wl-paste")).unwrap();
    editor.lua("vim.env.PATH = ''", &json!([]));
    editor.keys(":Flemma paste<CR>");
    wait_message(
        &editor,
        "No program that reads images from the clipboard was found.",
    );
    assert_eq!(editor.text(), "@You:\n");
}

#[test]
fn the_path_of_a_dropped_image_becomes_a_reference_and_other_text_stays() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let setup = setup(&provider).with("img/a b.png", PNG).with("x.txt", "x");
    let editor = setup.file("question.chat", "@You:\n").start();
    watch(&editor);
    let folder = editor.dir().display().to_string();
    editor.keys("oSee");
    editor.paste(&format!("'{folder}/img/a b.png'"));
    editor.wait_text("See @./img/a%20b.png");
    editor.keys("<Esc>o");
    editor.paste(&format!("{folder}/x.txt"));
    editor.wait_text(&format!("\n{folder}/x.txt"));
    editor.keys("<Esc>o");
    editor.paste(&format!("see {folder}/img/a b.png"));
    editor.wait_text(&format!("\nsee {folder}/img/a b.png"));
}
