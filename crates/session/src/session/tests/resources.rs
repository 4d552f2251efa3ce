//! References to resources of MCP servers, as the model gets them. The server is
//! `tests/mcp/fake.py`, which has resources and no tools.

use std::path::PathBuf;

use chat::prompt::{Content, Part};
use serde_json::{Map, json};

use super::Stage;
use super::script::says;
use super::sent::shown_as_sent;

fn chat(text: &str) -> Stage {
    let stage = Stage::beside(&[("f.txt", b"a\n")], json!({}), &format!("@You:\n{text}\n"));
    configure(&stage, &[]);
    stage
}

/// Configures the server `docs`, and others whose options are wrong.
fn configure(stage: &Stage, others: &[&str]) {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/fake.py");
    let server = json!({
        "command": ["python3", script.to_string_lossy(), "resources"],
        "env": {"FAKE_STORE": stage.path("store").to_string_lossy()},
    });
    let mut table = Map::from_iter([("docs".to_owned(), server)]);
    let others = others
        .iter()
        .map(|it| ((*it).to_owned(), json!({"command": 7})));
    table.extend(others);
    stage.servers.configure(&table, false, None);
}

/// The parts of the user's first message in the latest request.
fn sent(stage: &Stage) -> Vec<Part> {
    stage.script.prompt().messages[0].parts.clone()
}

fn file(part: &Part) -> (&str, &Content) {
    match part {
        Part::File(file) => (&file.name, &file.content),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_resource_is_sent_like_a_file_and_is_only_text() {
    let stage = chat("What does @docs:note://today say?");
    stage.press("advance");
    let parts = sent(&stage);
    let content = Content::Text("Buy milk.\n@You:\n```\n".to_owned());
    assert_eq!(file(&parts[1]), ("@docs:note://today", &content));
    assert_eq!(parts[2], Part::Text(" say?".to_owned()));
    // The chat has the reference, not the content.
    assert!(!stage.text().contains("milk"));
}

#[test]
fn pictures_are_attached_and_blanks_are_written_as_in_files() {
    let stage = chat("@docs:note://picture and (@docs:note://a%20b).");
    stage.press("advance");
    let parts = sent(&stage);
    assert!(matches!(file(&parts[0]).1, Content::Image { mime, .. } if mime == "image/png"));
    let content = Content::Text("two words\n".to_owned());
    assert_eq!(file(&parts[2]), ("@docs:note://a%20b", &content));
}

#[test]
fn without_the_resource_nothing_is_sent() {
    for (text, why) in [
        (
            "@docs:note://gone",
            "@docs:note://gone cannot be read from the MCP server \"docs\": it has no such resource.",
        ),
        (
            "@docs:note://sound",
            "@docs:note://sound is binary (audio/wav according to its server); only text, PNG, JPEG, GIF, WebP and PDF can be sent.",
        ),
        (
            "@docs:note://large",
            "@docs:note://large cannot be read from the MCP server \"docs\": ",
        ),
    ] {
        let stage = chat(text);
        stage.press("advance");
        stage.expect_diagnostic(why);
        stage.expect_requests(0);
    }
}

#[test]
fn later_requests_repeat_what_was_sent_and_a_change_is_reported() {
    let stage = chat("Read @docs:note://today.").answers([says("One."), says("Two.")]);
    stage.press("advance");
    let before = sent(&stage);
    let store = json!({"note://today": {"text": "Buy bread."}});
    std::fs::write(stage.path("store"), store.to_string()).unwrap();
    stage.asks("And now?");
    stage.wait_notice("@docs:note://today changed after it was sent");
    assert_eq!(sent(&stage), before);
    stage
        .types_below("Read @docs:note://today again.")
        .press("advance");
    let last = stage.script.prompt().messages.pop();
    let content = Content::Text("Buy bread.".to_owned());
    assert_eq!(file(&last.unwrap().parts[1]).1, &content);
}

#[test]
fn only_a_configured_server_makes_a_reference() {
    let text = "See @see:https://x.example, @types:node:x, @ann:std::vec, and @doc:note://today.";
    let stage = chat(text).answers([says("One."), says("Two.")]);
    stage.press("advance");
    let as_written = [Part::Text(text.to_owned())];
    assert_eq!(sent(&stage), as_written);
    stage.expect_notice(
        "@doc:note://today is sent as text, because no MCP server has that name. Servers: docs.",
    );
    // What was sent stays, whatever is configured later.
    configure(&stage, &["doc"]);
    stage.asks("And now?");
    assert_eq!(sent(&stage), as_written);
}

#[test]
fn prose_that_looks_like_a_reference_is_not_shown_as_sent() {
    let stage = chat("Read @./f.txt, not @types:node:x.\nNor @see:https://x.example.");
    stage.press("advance");
    stage.wait("what is shown", |it| shown_as_sent(it) == [(1, 2)]);
}

#[test]
fn a_reference_to_a_server_that_cannot_be_used_is_no_text() {
    let stage = chat("@wrong:note://today");
    configure(&stage, &["wrong"]);
    stage.press("advance");
    stage.expect_diagnostic("@wrong:note://today cannot be read, because the MCP server \"wrong\"");
    stage.expect_requests(0);
}

#[test]
fn resources_are_read_at_the_same_time() {
    let stage = chat("@docs:note://held, @docs:note://release, @docs:note://held");
    stage.press("advance");
    let parts = sent(&stage);
    let files = parts.iter().filter(|it| matches!(it, Part::File(_)));
    let texts: Vec<_> = files.map(file).collect();
    let content = Content::Text("1".to_owned());
    let [held, release] = ["@docs:note://held", "@docs:note://release"];
    assert_eq!(
        texts,
        [(held, &content), (release, &content), (held, &content)]
    );
}
