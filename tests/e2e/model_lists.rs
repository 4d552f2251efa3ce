//! The provider's own list of models: fetched alongside a request, and used by later ones.

use std::fs;
use std::path::Path;

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;

/// Texts of the stored lists, with the files' permissions.
fn stored(editor: &Editor) -> Vec<(String, u32)> {
    use std::os::unix::fs::PermissionsExt;
    let folder = editor
        .dir()
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default();
    let files = fs::read_dir(folder.join("state/nvim/flemma/models"));
    let files = files.into_iter().flatten().flatten();
    let lists = files.filter(|it| it.path().extension().is_some_and(|it| it == "json"));
    let read = lists.map(|it| {
        let mode = it.metadata().map(|it| it.permissions().mode());
        let text = fs::read_to_string(it.path());
        (text.unwrap_or_default(), mode.unwrap_or_default() & 0o777)
    });
    read.collect()
}

/// Sends a chat to a server with this list, again once the list is stored, and returns the
/// figures below each answer.
fn figures_with(list: &Json, is_stored: impl Fn(&str) -> bool) -> [String; 2] {
    let says = |text| Answer::says(text).usage(1000, 200);
    let provider = Provider::chat_completions([says("One."), says("Two.")]).listing(list);
    let setup = with_options(&provider, json!({"model": "new-model"}));
    let editor = setup.file("question.chat", QUESTION).start();
    let figures = |sum: &str| {
        let mut found = String::new();
        editor.wait_for("the figures", |editor| {
            let drawn = editor.virtual_text().into_iter().map(|it| it.text);
            found = drawn.filter(|it| it.contains(" out")).collect();
            found.contains(sum)
        });
        found
    };
    editor.keys("<C-]>");
    wait_end(&editor, "One.\n\n@You:\n\n");
    let first = figures("1000 in");
    editor.wait_for("the stored list", |editor| {
        stored(editor).iter().any(|(text, _)| is_stored(text))
    });
    editor.keys("GiAgain.<Esc><C-]>");
    wait_end(&editor, "Two.\n\n@You:\n\n");
    let second = figures("chat: 2000 in");
    assert!(stored(&editor).iter().all(|(_, mode)| *mode == 0o600));
    assert_eq!(provider.lists(), 1, "once a day");
    [first, second]
}

#[test]
fn a_list_says_what_the_catalogue_lacks() {
    let list = json!({"data": [{
        "id": "new-model", "context_length": 10_000,
        "pricing": {"prompt": "0.000001", "completion": "0.000005"},
    }]});
    let [first, second] = figures_with(&list, |text| text.contains("new-model"));
    assert!(!first.contains('$'), "{first}");
    assert!(second.contains("$0.0020"), "{second}");
}

#[test]
fn a_list_with_wrong_data_changes_nothing() {
    let list = json!({"data": [{
        "id": "new-model", "context_length": -5, "max_model_len": 1e300,
        "pricing": {"prompt": "-1", "completion": "free"},
    }, 5, null]});
    let [first, second] = figures_with(&list, |text| text.contains("asked"));
    assert!(!first.contains('$') && !second.contains('$'), "{second}");
}

#[test]
fn a_huge_list_changes_nothing() {
    let padding = "x".repeat(5 << 20);
    let list = json!({"data": [{"id": "new-model", "context_length": 10_000, "about": padding}]});
    let [first, second] = figures_with(&list, |text| text.contains("asked"));
    assert!(!first.contains('%') && !second.contains('%'), "{second}");
}

#[test]
fn a_list_that_never_comes_delays_nothing() {
    let says = |text| Answer::says(text).usage(1000, 200);
    let provider = Provider::chat_completions([says("One."), says("Two.")]).without_list();
    let setup = with_options(&provider, json!({"model": "new-model"}));
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    wait_end(&editor, "One.\n\n@You:\n\n");
    editor.wait_for("a request for the list", |_| provider.lists() == 1);
    editor.keys("GiAgain.<Esc><C-]>");
    wait_end(&editor, "Two.\n\n@You:\n\n");
    at_rest(&editor);
    assert_eq!(provider.lists(), 1, "once a day");
}
