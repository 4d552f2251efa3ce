//! References in the user's text: expressions and files, as the model gets them.

use chat::prompt::{Content, Part};
use serde_json::json;

use super::Stage;
use super::script::{calls, read, says, shown};

/// The beginning of a picture.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\0IEND\xaeB`\x82";

const FILES: [(&str, &[u8]); 5] = [
    ("f.txt", b"first\nsecond\n"),
    ("dot.png", PNG),
    ("evil.txt", b"{{ 6*7 }} @./f.txt"),
    ("paper.pdf", b"%PDF-1.4\n"),
    ("../outside.txt", b"s3cret"),
];

/// A chat with this text, beside [`FILES`].
fn chat(text: &str) -> Stage {
    Stage::beside(&FILES, json!({}), text)
}

/// The parts of the user's first message as they are sent.
#[track_caller]
fn sent(text: &str) -> Vec<Part> {
    let stage = chat(text);
    stage.press("advance");
    assert!(stage.text().starts_with(text), "{}", stage.story());
    stage.script.prompt().messages[0].parts.clone()
}

/// All text of the user's first message as it is sent.
#[track_caller]
fn sent_text(text: &str) -> String {
    let parts = sent(text);
    let texts = parts.iter().filter_map(|it| match it {
        Part::Text(text) => Some(text.as_str()),
        Part::File(file) => match &file.content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        },
        _ => None,
    });
    texts.collect::<Vec<_>>().join("|")
}

#[test]
fn an_expression_is_sent_as_its_value_and_stays_in_the_chat() {
    assert_eq!(sent_text("@You:\nIt is {{ 6*7 }}.\n"), "It is 42.");
}

#[test]
fn variables_of_the_frontmatter_work_in_every_role_of_the_user() {
    let stage = chat(
        "```lua\nname = 'Ada'\nlist = { 1, 2 }\n```\n\n@System:\nBe {{ name }}.\n\n\
         @You:\nI am {{ name:upper() }}, {{ #list }}.\n",
    );
    stage.press("advance");
    let prompt = stage.script.prompt();
    assert_eq!(shown(&prompt.messages[0]), ["I am ADA, 2."]);
    assert_eq!(prompt.system.as_deref(), Some("Be Ada."));
}

#[test]
fn variables_of_a_json_frontmatter_work() {
    let text = "```json\n{\"name\": \"Ada\"}\n```\n\n@You:\nI am {{ name }}.\n";
    assert_eq!(sent_text(text), "I am Ada.");
}

#[test]
fn assignments_in_an_expression_are_forgotten() {
    let expression = "{{ (function() n = n + 1 return n end)() }} {{ n }}";
    let text = format!("```lua\nn = 1\n```\n\n@You:\n{expression}\n");
    assert_eq!(sent_text(&text), "2 1");
}

#[test]
fn a_text_file_is_sent_as_its_text() {
    let text = sent_text("@You:\nWhat is in @./f.txt?\n");
    assert!(text.starts_with("What is in"), "{text}");
    assert!(text.contains("first\nsecond\n"), "{text}");
}

#[test]
fn an_included_file_replaces_its_expression() {
    let text = sent_text("@You:\n<{{ include('f.txt') }}>\n");
    assert_eq!(text, "<first\nsecond\n>");
}

#[test]
fn an_image_is_sent_as_an_attachment() {
    let parts = sent("@You:\nWhat is @./dot.png\n");
    let image = parts.iter().find_map(|it| match it {
        Part::File(file) => Some(&file.content),
        _ => None,
    });
    let Some(Content::Image { mime, base64 }) = image else {
        panic!("{parts:?}");
    };
    assert_eq!(mime, "image/png");
    assert!(base64.starts_with("iVBORw0KGgo"), "{base64}");
}

#[test]
fn a_file_that_the_provider_does_not_take_is_reported_once() {
    let text = "@You:\nRead @./paper.pdf\n";
    let options = json!({"provider": "openai_compatible", "parameters": {
        "openai_compatible": {"base_url": "http://127.0.0.1:1"},
    }});
    let stage = Stage::beside(&FILES, options, text).answers([says("One."), says("Two.")]);
    stage.press("advance");
    stage.say("steer", "Again.").wait_text("Two.\n\n@You:\n");
    // The file goes with every further request.
    let said = |it: &&String| {
        it.contains("takes no such files, so the model sees only the names of: @./paper.pdf.")
    };
    assert_eq!(stage.record().notices.iter().filter(said).count(), 1);
}

#[test]
fn the_content_of_a_file_is_not_evaluated() {
    let text = sent_text("@You:\nSee @./evil.txt and {{ include('evil.txt') }}\n");
    assert_eq!(text.matches("{{ 6*7 }} @./f.txt").count(), 2, "{text}");
    assert!(!text.contains("42"), "{text}");
}

#[test]
fn text_of_a_model_or_a_tool_is_not_evaluated() {
    let words = "{{ 6*7 }} @./f.txt";
    let answers = [calls([read("t_1", "evil.txt")]), says(words), says("Well.")];
    let stage = chat("@You:\nGo.\n").answers(answers);
    stage.press("advance");
    stage.say("steer", "Again.").wait_text("Well.\n\n@You:\n");
    let messages = stage.script.prompt().messages;
    assert_eq!(shown(&messages[2]), [format!("t_1: {words}")]);
    assert_eq!(shown(&messages[3]), [words]);
}

#[test]
fn the_users_words_to_a_running_model_refer_to_nothing() {
    let stage = Stage::of("@You:\n\n").answers([says("Ok."), says("Sure.")]);
    let words = "See @./none and {{ none() }}, not `{{ none }}`.";
    stage.say("steer", words).wait_rest();
    let escaped = "See \\@./none and \\{{ none() }}, not `{{ none }}`.";
    assert!(stage.text().contains(escaped), "{}", stage.story());
    assert_eq!(stage.script.last_message(), [words]);
    stage.say("queue", "Then {{ 1 + 1 }}.").wait_text("Sure.");
    assert_eq!(stage.script.last_message(), ["Then {{ 1 + 1 }}."]);
}

#[test]
fn an_address_is_no_file() {
    let words = "Mail to ada@example.org, see https://x.org/@./y and `{{ 6*7 }}`?";
    assert_eq!(sent_text(&format!("@You:\n{words}\n")), words);
}

#[test]
fn a_reference_that_cannot_be_resolved_is_named_with_its_line_and_nothing_is_sent() {
    for reference in [
        "@./missing.txt",
        "@./../outside.txt",
        "@../outside.txt",
        "@//etc/passwd",
        "{{ include('../outside.txt') }}",
        "{{ include('/etc/passwd') }}",
        "{{ undefined }}",
        "{{ error('no') }}",
        "{{ os.execute('touch ran') }}",
        "{{ (function() while true do end end)() }}",
    ] {
        let stage = chat(&format!("@You:\nSee\n{reference}\n"));
        stage.press("advance");
        let start: String = reference.chars().take(24).collect();
        stage.expect_notice(&format!("Line 3: {start}"));
        stage.expect_notice("Nothing was sent.");
        stage.expect_diagnostic(&start);
        assert_eq!(stage.record().diagnostics()[0].line, 2, "{reference}");
        stage.expect_requests(0);
        assert!(!stage.path("ran").exists(), "{reference}");
    }
}

#[test]
fn the_message_about_a_reference_disappears_with_its_line() {
    let stage = chat("@You:\nSee\n@./missing.txt\n");
    stage.press("advance");
    stage.expect_diagnostic("@./missing.txt does not exist.");
    stage.types("missing", "f");
    stage.wait("no diagnostic", |it| it.diagnostics().is_empty());
    stage.press("advance");
    stage.expect_requests(1);
}

#[test]
fn a_link_out_of_the_project_does_not_smuggle_a_file() {
    let stage = chat("@You:\n@./link.txt\n");
    std::os::unix::fs::symlink("../outside.txt", stage.path("link.txt")).unwrap();
    stage.press("advance");
    stage.expect_notice("Nothing was sent.");
    stage.expect_requests(0);
}

#[test]
fn a_secret_is_sent_once_the_user_agrees() {
    let stage = Stage::beside(&[(".env", b"s3cret")], json!({}), "@You:\nSee\n@./.env\n");
    stage.press("advance");
    stage.expect_diagnostic("may hold secrets of an environment");
    stage.expect_requests(0);
    stage.press_at("allow-file", "@./.env");
    stage.expect_notice("This chat may send");
    stage.press("advance");
    assert!(stage.script.last_message().concat().contains("s3cret"));
}
