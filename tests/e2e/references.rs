//! References in the user's text: variables of the frontmatter, and files as text and
//! attachments, as the request has them.

use harness::{Answer, Editor, Provider, Setup};
use serde_json::{Value as Json, json};

use crate::stage::*;
use crate::traces::wait_unlocked;

/// One pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\0IEND\xaeB`\x82";

/// An editor beside a few files, on a chat in which the user types `text`; the key
/// was pressed.
#[track_caller]
fn send(provider: &Provider, text: &str) -> Editor {
    let setup: Setup = setup(provider)
        .with("f.txt", "first\nsecond\n")
        .with("dot.png", PNG)
        .with("{{ 6*7 }}.txt", "x")
        .with("evil.txt", "{{ 6*7 }} @./f.txt")
        .with("../outside.txt", "s3cret");
    let editor = setup.file("question.chat", "").start();
    watch(&editor);
    editor.paste(text);
    editor.keys("<C-]>");
    editor
}

/// The content of the user's first message as it was sent.
#[track_caller]
fn sent(text: &str) -> Json {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = send(&provider, text);
    editor.wait_text("@Assistant:\nWell.");
    provider.requests()[0].body["messages"][0]["content"].clone()
}

/// All text of a content.
fn text_of(content: &Json) -> String {
    let blocks = content.as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|it| it["text"].as_str()).collect();
    texts.join("|")
}

#[test]
fn an_expression_is_sent_as_its_value_and_stays_in_the_chat() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = send(&provider, "@You:\nIt is {{ 6*7 }}.\n");
    editor.wait_text("@Assistant:\nWell.");
    let content = &provider.requests()[0].body["messages"][0]["content"];
    assert_eq!(text_of(content), "It is 42.");
    assert!(editor.text().starts_with("@You:\nIt is {{ 6*7 }}.\n"));
}

#[test]
fn variables_of_the_frontmatter_work_in_every_role_of_the_user() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let text = "```lua\nname = 'Ada'\nlist = { 1, 2 }\n```\n\n@System:\nBe {{ name }}.\n\n@You:\nI am {{ name:upper() }}, {{ #list }}.\n";
    let editor = send(&provider, text);
    editor.wait_text("@Assistant:\nWell.");
    let body = &provider.requests()[0].body;
    assert_eq!(text_of(&body["messages"][0]["content"]), "I am ADA, 2.");
    assert_eq!(text_of(&body["system"]), "Be Ada.");
}

#[test]
fn variables_of_a_json_frontmatter_work() {
    let content = sent("```json\n{\"name\": \"Ada\"}\n```\n\n@You:\nI am {{ name }}.\n");
    assert_eq!(text_of(&content), "I am Ada.");
}

#[test]
fn a_text_file_is_sent_as_its_text() {
    let text = text_of(&sent("@You:\nWhat is in @./f.txt?\n"));
    assert!(text.contains("first\nsecond\n"), "{text}");
    assert!(text.starts_with("What is in"), "{text}");
}

#[test]
fn an_included_file_replaces_its_expression() {
    let content = sent("@You:\n<{{ include('f.txt') }}>\n");
    assert_eq!(text_of(&content), "<first\nsecond\n>");
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

#[test]
fn an_unsupported_file_is_reported_to_the_user_and_the_model() {
    let provider = Provider::chat_completions(["One.", "Two."].map(Answer::says));
    let setup = setup(&provider).with("paper.pdf", "%PDF-1.4\n");
    let editor = setup.file("question.chat", "").start();
    watch(&editor);
    editor.paste("@You:\nRead @./paper.pdf\n");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nOne.\n\n@You:\n");
    let message =
        "openai_compatible takes no such files, so the model sees only the names of: @./paper.pdf.";
    wait_message(&editor, message);
    // Once: the file goes with every further request.
    editor.keys("GiAgain.<Esc><C-]>");
    editor.wait_text("@Assistant:\nTwo.");
    assert_eq!(editor.messages().matches(message).count(), 1);
}

#[test]
fn the_content_of_a_file_is_not_evaluated() {
    let text = text_of(&sent(
        "@You:\nSee @./evil.txt and {{ include('evil.txt') }}\n",
    ));
    assert_eq!(text.matches("{{ 6*7 }} @./f.txt").count(), 2, "{text}");
    assert!(!text.contains("42"), "{text}");
}

#[test]
fn text_of_a_model_or_a_tool_is_not_evaluated() {
    let tool = Answer::new().tool_use("t_r", "read", file("evil.txt"));
    let provider = Provider::anthropic([tool, Answer::says("I say {{ 6*7 }} @./f.txt.")]);
    let editor = send(&provider, "@You:\nGo.\n");
    editor.wait_text("I say {{ 6*7 }} @./f.txt.\n\n@You:\n");
    wait_unlocked(&editor);
    editor.keys("GiAgain.<Esc><C-]>");
    let requests = provider.wait_requests(3);
    let messages = requests[2].body["messages"].to_string();
    assert_eq!(
        messages.matches("{{ 6*7 }} @./f.txt").count(),
        2,
        "{messages}"
    );
}

#[test]
fn an_unresolved_reference_is_reported_with_its_line_and_nothing_is_sent() {
    for (reference, what) in [
        ("@./missing.txt", "Line 3: @./missing.txt"),
        ("@./../outside.txt", "Line 3: @./../outside.txt"),
        ("@../outside.txt", "Line 3: @../outside.txt"),
        ("@//etc/passwd", "Line 3: @//etc/passwd"),
        (
            "{{ include('../outside.txt') }}",
            "Line 3: {{ include('../outside.txt') }}",
        ),
        (
            "{{ include('/etc/passwd') }}",
            "Line 3: {{ include('/etc/passwd') }}",
        ),
        ("{{ undefined }}", "Line 3: {{ undefined }}"),
        ("{{ error('no') }}", "Line 3: {{ error('no') }}"),
        (
            "{{ os.execute('touch ran') }}",
            "Line 3: {{ os.execute('touch ran') }}",
        ),
        (
            "{{ (function() while true do end end)() }}",
            "Line 3: {{ (function() while",
        ),
    ] {
        let provider = Provider::anthropic([Answer::says("Well.")]);
        let editor = send(&provider, &format!("@You:\nSee\n{reference}\n"));
        let said = wait_message(&editor, "Nothing was sent.");
        assert!(said.contains(what), "{said}");
        let (_, said) = what.split_once(": ").unwrap();
        wait_diagnostic(&editor, said);
        assert_eq!(diagnostic_lines(&editor), [2], "{reference}");
        assert_eq!(provider.requests().len(), 0, "{reference}");
        assert!(!editor.dir().join("ran").exists(), "{reference}");
    }
}

/// The lines of all diagnostics, from zero.
fn diagnostic_lines(editor: &Editor) -> Vec<u64> {
    let code = "return vim.tbl_map(function(it) return it.lnum end, vim.diagnostic.get(0))";
    let lines = editor.lua(code, json!([]));
    lines
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Json::as_u64)
        .collect()
}

#[test]
fn the_message_about_a_reference_disappears_with_its_line() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = send(&provider, "@You:\nSee\n@./missing.txt\n");
    wait_diagnostic(&editor, "@./missing.txt does not exist.");
    editor.keys("/missing<CR>cwf<Esc>");
    editor.wait_for("no diagnostic", |editor| {
        diagnostic_lines(editor).is_empty()
    });
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
}

#[test]
fn a_file_outside_the_project_is_sent_once_the_user_agrees() {
    let answers = ["One.", "Two."].map(Answer::says);
    let provider = Provider::anthropic(answers);
    let editor = send(&provider, "@You:\nSee\n@../outside.txt\n");
    wait_diagnostic(&editor, "put the cursor here and run :Flemma allow-file");
    editor.command("write");
    // Elsewhere there is nothing to agree to.
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
        "as it is now; when it has changed you are asked again. :Flemma trust! takes that back.",
    );
    editor.wait_for("no diagnostic", |editor| {
        diagnostic_lines(editor).is_empty()
    });
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nOne.\n\n@You:\n");
    let content = provider.requests()[0].body["messages"][0]["content"].clone();
    assert!(text_of(&content).contains("s3cret"), "{content}");

    // It is remembered for this file, until that is taken back.
    editor.command("edit!");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nTwo.\n\n@You:\n");

    // Somebody puts something else in its place.
    std::fs::write(editor.dir().join("../outside.txt"), "0ther").unwrap();
    editor.command("edit!");
    editor.keys("<C-]>");
    wait_diagnostic(&editor, "has changed since you agreed to send it");
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
    // The same words lead elsewhere now.
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

#[test]
fn an_email_or_web_address_is_no_file() {
    let content = sent("@You:\nMail to ada@example.org, see https://x.org/@./y and `{{ 6*7 }}`?\n");
    let text = text_of(&content);
    assert!(text.contains("ada@example.org"), "{text}");
}

#[test]
fn assignments_in_an_expression_are_forgotten() {
    let text = "```lua\nn = 1\n```\n\n@You:\n{{ (function() n = n + 1 return n end)() }} {{ n }}\n";
    assert_eq!(text_of(&sent(text)), "2 1");
}

#[test]
fn a_link_out_of_the_project_does_not_smuggle_a_file() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let setup = setup(&provider).with("../outside.txt", "s3cret");
    let editor = setup.file("question.chat", "@You:\n@./link.txt\n").start();
    std::os::unix::fs::symlink("../outside.txt", editor.dir().join("link.txt")).unwrap();
    watch(&editor);
    editor.keys("<C-]>");
    wait_message(&editor, "Nothing was sent.");
    assert_eq!(provider.requests().len(), 0);
    assert_eq!(editor.lua("return 1", json!([])), 1);
}
