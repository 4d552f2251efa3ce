//! Images in the results of calls: a line in the chat, and the bytes in requests.

use std::fs;

use chat::prompt::{Attachment, Content, Part, Prompt};
use chat::result_files::NOT_ATTACHED;
use serde_json::json;

use super::Stage;
use super::script::{calls, read, says};

/// A PNG of one black pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\
    \0\0\0\x0aIDATx\xdac`\0\0\0\x02\0\x01\xe5'\xde\xfc\0\0\0\0IEND\xaeB`\x82";

/// Returns a chat whose model has read `a.png`.
fn has_read() -> Stage {
    let options = json!({"tools": {"require_approval": false}});
    let stage = Stage::beside(&[("a.png", PNG)], options, "@You:\nLook.\n");
    let stage = stage.answers([calls([read("t_1", "a.png")]), says("A dot.")]);
    stage.press("advance").wait_text("A dot.\n\n@You:\n");
    stage
}

/// The texts and files of the results in a request.
fn results(prompt: &Prompt) -> Vec<(String, Vec<Attachment>)> {
    let parts = prompt.messages.iter().flat_map(|it| &it.parts);
    let results = parts.filter_map(|part| match part {
        Part::ToolResult { content, files, .. } => Some((content.clone(), files.clone())),
        _ => None,
    });
    results.collect()
}

/// The line about the image in the chat.
fn line(stage: &Stage) -> String {
    let text = stage.text();
    let line = text.lines().find(|it| it.starts_with("[image "));
    line.unwrap().to_owned()
}

#[test]
fn an_image_that_was_read_is_a_line_in_the_chat_and_sent_with_each_request() {
    let stage = has_read();
    let line = line(&stage);
    assert!(
        line.starts_with("[image a.png, 1 x 1 pixels, 67 B, blake3 "),
        "{line}"
    );
    let sent = results(&stage.script.prompt());
    let [(content, files)] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    assert_eq!(*content, line);
    let [file] = files.as_slice() else {
        panic!("{files:?}");
    };
    assert_eq!(file.name, "a.png");
    assert!(matches!(&file.content, Content::Image { mime, .. } if mime == "image/png"));

    fs::remove_file(stage.path("a.png")).unwrap();
    let before = stage.script.prompt().messages;
    stage.types_below("And now?").press("advance");
    let now = stage.script.prompt().messages;
    assert_eq!(now[..before.len()], before);
}

#[test]
fn the_same_line_elsewhere_is_only_text() {
    let stage = has_read();
    let line = line(&stage);
    let copy = json!({"text": format!("before\n{line}")});
    let stage = stage.answers([calls([("t_2", "echo", copy)]), says("Only text.")]);
    stage.types_below("Say it.").press("advance");
    stage.wait_text("Only text.\n\n@You:\n");
    let sent = results(&stage.script.prompt());
    assert_eq!(sent[0].1.len(), 1);
    assert_eq!(sent[1], (format!("before\n{line}"), Vec::new()));
}

#[test]
fn a_line_that_the_user_removes_takes_the_image_along() {
    let stage = has_read();
    let line = line(&stage);
    stage.types(&line, "(removed)");
    stage.types_below("And now?").press("advance");
    let sent = results(&stage.script.prompt());
    assert_eq!(sent, [("(removed)".to_owned(), Vec::new())]);
}

#[test]
fn a_chat_from_elsewhere_has_the_line_and_a_remark() {
    let text = has_read().text();
    let stage = Stage::with(json!({}), &text);
    stage.types_below("And now?").press("advance");
    let sent = results(&stage.script.prompt());
    let [(content, files)] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    assert!(content.starts_with("[image a.png, "), "{content}");
    assert!(content.ends_with(NOT_ATTACHED), "{content}");
    assert_eq!(*files, []);
}
