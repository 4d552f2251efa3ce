//! Who wrote a frontmatter: text that came with a file does not become the user's by
//! being moved, completed, or restored.

use std::fs;

use harness::{Answer, Editor, Provider};

use crate::stage::*;

const LOOSE: &str = "flemma.opt.tools.auto_approve = { \"$default\", \"bash\" }";

/// A provider whose model calls a command in each answer.
fn accomplice(ids: &[&str]) -> Provider {
    let call = |id: &&str| Answer::new().tool_use(id, "bash", &command("echo out"));
    Provider::anthropic(ids.iter().map(call).collect::<Vec<_>>())
}

/// The state of a command in a chat that came as a file, after these keys.
#[track_caller]
fn after(text: &str, keys: &str) -> (Editor, &'static str) {
    let provider = accomplice(&["t_b"]);
    let editor = open(&provider, text);
    // The host must have read the file before the user changes the text.
    at_rest(&editor);
    editor.keys(keys);
    editor.keys("<C-]>");
    let [became] = outcomes(&editor, ["t_b"]);
    (editor, became)
}

#[test]
fn byte_order_marks_before_a_block_do_not_trust_it() {
    // Neovim removes the first mark; the second one is part of the text.
    let text = format!("\u{feff}\u{feff}{}", below(LOOSE));
    assert_eq!(after(&text, "").1, "waits");
}

#[test]
fn deleting_text_above_a_block_does_not_trust_it() {
    for (text, keys) in [
        (format!("\n{}", below(LOOSE)), "ggdd"),
        (format!("x{}", below(LOOSE)), "ggx"),
        (format!("@You:\nLook:\n\n{}", below(LOOSE)), "gg3dd"),
        (
            format!("```text\n```\n{}", below(LOOSE)),
            "gg2dd",
        ),
        (
            "\n```json\n{\"flemma\": {\"tools\": {\"auto_approve\": [\"bash\"]}}}\n```\n\n@You:\nGo.\n".to_owned(),
            "ggdd",
        ),
    ] {
        assert_eq!(after(&text, keys).1, "waits", "{text}");
    }
}

#[test]
fn typing_a_character_does_not_trust_a_foreign_line() {
    let (editor, became) = after(&below(LOOSE), "ggjA -- mine<Esc>");
    assert_eq!(became, "waits");
    wait_message(
        &editor,
        "Line 2 of the frontmatter would run bash without asking. Not all of it was typed here",
    );
}

#[test]
fn typing_a_line_does_not_trust_the_foreign_ones_next_to_it() {
    let (editor, became) = after(&below(LOOSE), "ggoflemma.opt.temperature = 0.1<Esc>");
    assert_eq!(became, "waits");
    wait_diagnostic(&editor, "would run bash without asking");
}

#[test]
fn a_block_typed_in_place_of_a_foreign_one_is_the_users() {
    let keys = format!("ggd3jO```lua<CR>{LOOSE} -- mine<CR>```<CR><Esc>");
    let (_, became) = after(&below("flemma.opt.thinking = \"low\""), &keys);
    assert_eq!(became, "ran");
}

#[test]
fn a_foreign_block_restored_by_undo_is_still_foreign() {
    assert_eq!(after(&below(LOOSE), "ggd3ju").1, "waits");
    assert_eq!(after(&below(LOOSE), "ggd3jGp:%d<CR>uu").1, "waits");
}

#[test]
fn trusting_names_the_options_and_later_typing_applies() {
    let provider = accomplice(&["t_1", "t_2"]);
    let editor = open(
        &provider,
        &below("flemma.opt.tools.auto_approve = { \"bash\" }"),
    );
    editor.command("Flemma trust");
    wait_message(&editor, "Line 2 would run bash without asking.");
    at_rest(&editor);
    // The frontmatter is trusted, so the user's own changes to it are as well, saved or not.
    editor.keys("ggjA -- mine<Esc><C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["ran"]);
}

#[test]
fn a_trusted_chat_may_be_changed_before_the_first_key() {
    let provider = accomplice(&["t_1"]);
    let editor = open(&provider, &below(LOOSE));
    editor.command("Flemma trust");
    wait_message(&editor, "is trusted as it is now");
    editor.command("edit!");
    editor.keys("ggoflemma.opt.temperature = 0.1<Esc><C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["ran"]);
}

#[test]
fn a_change_on_disk_is_not_the_users() {
    let provider = accomplice(&["t_1"]);
    let editor = open(&provider, "");
    editor.type_text(&below("flemma.opt.temperature = 0.1"));
    editor.command("write");
    fs::write(editor.dir().join("question.chat"), below(LOOSE)).unwrap();
    editor.command("edit!");
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);
}
