//! Files that the user's text refers to: as attachments, and from outside the project.

use harness::{Answer, Editor, Provider, Setup};
use serde_json::{Value as Json, json};

use crate::stage::*;

/// A PNG image of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\0IEND\xaeB`\x82";

/// Types and sends `text` in a chat beside a few files.
#[track_caller]
fn send(provider: &Provider, text: &str) -> Editor {
    let setup: Setup = setup(provider)
        .with("dot.png", PNG)
        .with("../outside.txt", "s3cret");
    let editor = setup.file("question.chat", "").start();
    watch(&editor);
    editor.paste(text);
    editor.keys("<C-]>");
    editor
}

/// The content of the user's first message in the request.
#[track_caller]
fn sent(text: &str) -> Json {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = send(&provider, text);
    editor.wait_text("@Assistant:\nWell.");
    provider.requests()[0].body["messages"][0]["content"].clone()
}

/// All text in a content.
fn text_of(content: &Json) -> String {
    let blocks = content.as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|it| it["text"].as_str()).collect();
    texts.join("|")
}

#[test]
fn an_image_is_sent_as_an_attachment() {
    let content = sent("@You:\nWhat is @./dot.png\n");
    let blocks = content.as_array().unwrap();
    let image = blocks.iter().find(|it| it["type"] == "image").unwrap();
    assert_eq!(image["source"]["type"], "base64");
    assert_eq!(image["source"]["media_type"], "image/png");
    let start = image["source"]["data"].as_str().unwrap();
    assert!(start.starts_with("iVBORw0KGgo"), "{start}");
}

/// The zero-based lines of all diagnostics.
fn diagnostic_lines(editor: &Editor) -> Vec<u64> {
    let code = "return vim.tbl_map(function(it) return it.lnum end, vim.diagnostic.get(0))";
    let lines = editor.lua(code, &json!([]));
    lines
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Json::as_u64)
        .collect()
}

#[test]
fn a_file_outside_the_project_is_sent_once_the_user_agrees() {
    let answers = ["One.", "Two."].map(Answer::says);
    let provider = Provider::anthropic(answers);
    let editor = send(&provider, "@You:\nSee\n@../outside.txt\n");
    wait_diagnostic(&editor, "put the cursor here and run :Flemma allow-file");
    editor.command("write");
    // On another line, there is nothing to allow.
    editor.keys("gg");
    editor.command("Flemma allow-file");
    wait_message(
        &editor,
        "No file outside the project and no secret was found on this line.",
    );
    editor.keys("3G");
    editor.command("Flemma allow-file");
    wait_message(
        &editor,
        "as it is now; if it changes, you are asked again. :Flemma trust! revokes that.",
    );
    editor.wait_for("no diagnostic", |editor| {
        diagnostic_lines(editor).is_empty()
    });
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nOne.\n\n@You:\n");
    let content = provider.requests()[0].body["messages"][0]["content"].clone();
    assert!(text_of(&content).contains("s3cret"), "{content}");

    // The grant is stored for this chat until it is revoked.
    editor.command("edit!");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nTwo.\n\n@You:\n");

    // Another program replaces the file.
    std::fs::write(editor.dir().join("../outside.txt"), "0ther").unwrap();
    editor.command("edit!");
    editor.keys("<C-]>");
    wait_diagnostic(&editor, "has changed since you allowed it");
    assert_eq!(provider.requests().len(), 2);
    std::fs::write(editor.dir().join("../outside.txt"), "s3cret").unwrap();
    editor.command("Flemma trust!");
    wait_message(&editor, "This file is no longer trusted");
    editor.command("edit!");
    editor.keys("<C-]>");
    wait_diagnostic(&editor, ":Flemma allow-file");
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn what_is_wrong_with_references_is_shown_once_and_whole() {
    for columns in [42, 60, 80] {
        let text = "@You:\nSee @../outside.txt and @./missing.txt.\n";
        let provider = Provider::anthropic(Vec::<Answer>::new());
        let setup = setup(&provider).with("../outside.txt", "x\n");
        let setup = setup.size(columns, 30);
        let editor = setup.file("question.chat", text).start();
        editor.keys("<C-]>");
        // The sign of the first error takes two columns from the text.
        editor.wait_screen("each error once, then what to do", |rows| {
            let end = rows.len() - 2;
            let shown: String = rows[..end].concat().split_whitespace().collect();
            let at = |words: &str| {
                let found: Vec<_> = shown.match_indices(words).collect();
                (found.len() == 1).then(|| found[0].0)
            };
            let errors = [
                at("missing.txtdoesnotexist."),
                at("soitisnotsentuntilyouagree:putthecursorhereandrun:Flemmaallow-file."),
            ];
            let next = at("✗Nothingwassent.CorrectitandpressCtrl-]again.");
            errors.iter().all(|it| it.is_some() && *it < next)
        });
    }
}

#[test]
fn allowing_a_file_allows_no_other_file_and_no_other_chat() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let setup = setup(&provider)
        .with("../outside.txt", "s3cret")
        .with("../other.txt", "0ther")
        .with("copy.chat", "@You:\n@./link.txt\n");
    let editor = setup.file("question.chat", "@You:\n@./link.txt\n").start();
    let link = editor.dir().join("link.txt");
    std::os::unix::fs::symlink("../outside.txt", &link).unwrap();
    watch(&editor);
    editor.keys("<C-]>");
    wait_diagnostic(&editor, ":Flemma allow-file");
    editor.keys("2G");
    editor.command("Flemma allow-file");
    wait_message(&editor, "This chat may send");
    // The same reference leads to another file now.
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("../other.txt", &link).unwrap();
    editor.keys("<C-]>");
    wait_diagnostic(&editor, "other.txt, so it is not sent until you agree");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("../outside.txt", &link).unwrap();
    editor.command("edit copy.chat");
    editor.keys("<C-]>");
    wait_diagnostic(&editor, "outside.txt, so it is not sent until you agree");
    assert_eq!(provider.requests().len(), 0);
}

/// Sends `text`, lets the user change the file while the model writes, and returns the file and the
/// result of the call `write`.
fn written_after(text: &str, first: Option<Json>) -> (String, String) {
    let gate = harness::Gate::new();
    let write = json!({"label": "", "path": "f.txt", "content": "a\nb\nc\nd\n"});
    let write = Answer::says("Now")
        .gate(&gate)
        .tool_use("t_2", "write", &write);
    let commands = first.into_iter();
    let script = commands
        .map(|it| Answer::says("First").tool_use("t_1", "bash", &it))
        .chain([write, Answer::says("Done.")]);
    let provider = Provider::anthropic(script);
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options).with("f.txt", "a\nb\nc\n");
    let editor = setup
        .file("question.chat", &format!("@You:\n{text}\n"))
        .start();
    // `@buffer:NAME` needs it.
    editor.command("badd f.txt | call bufload('f.txt')");
    editor.keys("<C-]>");
    editor.wait_text("Now");
    std::fs::write(editor.dir().join("f.txt"), "mine\na\nb\nc\n").unwrap();
    gate.open();
    editor.wait_text("Done.");
    let file = std::fs::read_to_string(editor.dir().join("f.txt")).unwrap();
    (file, result(&editor, "t_2"))
}

#[test]
fn a_file_that_was_shown_is_not_overwritten_with_what_the_user_changed() {
    let cat = |command| Some(json!({"label": "", "command": command, "timeout": null}));
    for (text, first) in [
        ("Add d at the end of @./f.txt.", None),
        ("Add d to {{ include('./f.txt') }}", None),
        ("Add d to @buffer:f.txt", None),
        ("Add d.", cat("cat f.txt")),
    ] {
        let (file, said) = written_after(text, first);
        assert_eq!(file, "mine\na\nb\nc\nd\n", "{text}: {said}");
        assert!(said.contains("Wrote"), "{said}");
    }
}
