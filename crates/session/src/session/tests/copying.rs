//! `:Flemma rename` and `:Flemma export`.

use serde_json::json;

use super::script::{calls, wait};
use super::setup::Setup;
use super::{QUESTION, Stage};
use crate::protocol::{Display, Open, Rename};

const CHAT: &str = "@System: Be brief.\n\n@You:\n\nWhy does `next` panic?\n";

/// A chat whose folder has these files.
fn chat(text: &str, files: &[&str]) -> Stage {
    let files: Vec<(&str, &[u8])> = files.iter().map(|it| (*it, &b"x"[..])).collect();
    Setup::new(json!({}), text).files(&files).start()
}

impl Stage {
    /// Runs a command with words, which starts no work.
    fn runs(&self, name: &str, words: &str) {
        let before = self.record().rests();
        self.say(name, words).wait("rest", |it| it.rests() > before);
    }

    /// The names that the editor was asked to give to the chat's file.
    fn names(&self) -> Vec<String> {
        let record = self.record();
        let names = record.shown.iter().filter_map(|it| match it {
            Display::Rename(Rename { path, .. }) => Some(path),
            _ => None,
        });
        let last = |it: &String| it.rsplit('/').next().unwrap_or_default().to_owned();
        names.map(last).collect()
    }

    fn opened(&self) -> Open {
        let record = self.record();
        let opened = record.shown.iter().rev().find_map(|it| match it {
            Display::Open(it) => Some(it.clone()),
            _ => None,
        });
        opened.unwrap()
    }
}

#[test]
fn a_chat_is_renamed_to_its_first_words_or_to_a_title() {
    let stage = chat(CHAT, &[]);
    stage.press("rename");
    stage.runs("rename", "The Lexer: Ünicode!");
    assert_eq!(
        stage.names(),
        ["why-does-next-panic.chat", "the-lexer-ünicode.chat"]
    );
    // The extension of a name, and what would lead elsewhere.
    for title in ["notes.chat", "../../notes", "notes\u{202e}\n"] {
        stage.runs("rename", title);
        assert_eq!(stage.names().last().unwrap(), "notes.chat", "{title:?}");
    }
}

#[test]
fn no_file_is_overwritten() {
    let stage = chat(CHAT, &["why-does-next-panic.chat"]);
    let link = stage.path("why-does-next-panic-2.chat");
    std::os::unix::fs::symlink("nowhere", link).unwrap();
    stage.press("rename");
    assert_eq!(stage.names(), ["why-does-next-panic-3.chat"]);
}

#[test]
fn a_title_without_words_and_a_chat_without_messages_are_reported() {
    let stage = chat("@You:\n", &[]);
    stage.press("rename");
    stage.expect_notice("The chat has no message with words.");
    stage.runs("rename", "?!");
    stage.expect_notice("A title needs letters or digits.");
    assert_eq!(stage.names(), Vec::<String>::new());
}

#[test]
fn a_chat_is_not_renamed_while_a_call_runs() {
    let stage = Stage::unasked(QUESTION).answers([calls([wait("t_1")])]);
    stage.key("advance").wait_started("t_1");
    stage.key("rename").wait_notice("A call is running.");
    assert_eq!(stage.names(), Vec::<String>::new());
    stage.open_gate().wait_rest();
}

#[test]
fn an_export_is_a_page_if_its_name_ends_in_html_and_markdown_otherwise() {
    let stage = chat(CHAT, &[]);
    stage.runs("export", "my page.html");
    let page = stage.opened();
    assert!(page.name.ends_with("/my page.html"), "{}", page.name);
    assert_eq!(page.lines[0], "<!DOCTYPE html>");
    assert!(
        page.lines
            .iter()
            .any(|it| it == "<p>Why does <code>next</code> panic?</p>")
    );
    stage.runs("export", "PAGE.HTML");
    assert_eq!(stage.opened().lines[0], "<!DOCTYPE html>");
    stage.runs("export", "out");
    let text = stage.opened();
    assert!(text.name.ends_with("/out.md"), "{}", text.name);
    assert_eq!(text.lines[0], "## System");
}

#[test]
fn a_fork_from_the_frontmatter_and_an_export_of_nothing_are_reported() {
    let stage = chat("```lua\nlocal x = 1\n```\n\n@You:\nGo.\n", &[]);
    stage.press_at("fork", "local x");
    stage.expect_notice("Put the cursor on the last message that the fork should contain.");
    let stage = chat("", &[]);
    stage.runs("export", "out.html");
    stage.expect_notice("The chat has no messages, so there is nothing to export.");
    let opened = stage.record();
    let is_open = |it: &Display| matches!(it, Display::Open(_));
    assert!(!opened.shown.iter().any(is_open));
}

#[test]
fn an_export_goes_to_the_home_folder_as_in_a_shell() {
    let stage = chat(CHAT, &[]);
    stage.runs("export", "~/out.md");
    let name = stage.opened().name;
    assert!(!name.contains('~') && name.ends_with("/out.md"), "{name}");
}
