//! References to the editor and the Git repository, as the model gets them.

use std::process::Command;

use chat::prompt::{Part, PromptMessage};
use serde_json::json;

use super::Stage;
use super::script::{calls, read, says, shown};
use crate::protocol::{EditorQuestion, ReferenceAnswer, ReferenceItem};

impl Stage {
    /// Makes the folder of the chat a repository, whose commit has all files but the chat.
    fn repository(self) -> Self {
        for arguments in [
            &["init", "--quiet"][..],
            &["add", "--", "*.txt", "*.env"],
            &["commit", "--quiet", "-m", "first"],
        ] {
            let author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
            let mut git = Command::new("git");
            git.args(author).args(arguments).current_dir(self.path(""));
            assert!(git.output().unwrap().status.success(), "{arguments:?}");
        }
        self
    }

    /// Defines what a reference names in the editor.
    fn refers(self, kind: &'static str, name: &str, answer: ReferenceAnswer) -> Self {
        let key = (kind, name.to_owned());
        self.record().referred.insert(key, answer);
        self
    }

    /// Returns how often the editor was asked what a reference names.
    fn referrals(&self) -> usize {
        let record = self.record();
        let is_referral = |it: &&EditorQuestion| matches!(it, EditorQuestion::Reference(_));
        record.asked.iter().filter(is_referral).count()
    }

    /// Presses Ctrl-] and returns the last message as it is sent.
    fn sent(&self) -> String {
        self.press("advance");
        all_text(self.script.prompt().messages.last().unwrap())
    }
}

fn all_text(message: &PromptMessage) -> String {
    let parts = message.parts.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::File(file) => file.as_text(),
        other => panic!("{other:?}"),
    });
    parts.collect()
}

fn chat(text: &str) -> Stage {
    let files: [(&str, &[u8]); 2] = [("f.txt", b"first\n"), ("s.env", b"KEY=s3cret\n")];
    Stage::beside(&files, json!({}), &format!("@You:\n{text}\n"))
}

fn buffer(text: &str) -> ReferenceAnswer {
    ReferenceAnswer {
        text: text.to_owned(),
        language: "rust".to_owned(),
        modified: true,
        ..ReferenceAnswer::default()
    }
}

#[test]
fn a_diff_is_sent_as_it_is_when_the_chat_is_sent() {
    let stage = chat("Review @diff.").repository();
    std::fs::write(stage.path("f.txt"), "second\n").unwrap();
    let sent = stage.sent();
    assert!(sent.starts_with("Review @diff:\n```diff\n"), "{sent}");
    assert!(sent.contains("-first\n+second\n"), "{sent}");
    assert!(stage.text().starts_with("@You:\nReview @diff.\n"));
}

#[test]
fn a_secret_is_left_out_of_a_diff_and_the_user_is_told() {
    let stage = chat("@diff").repository();
    std::fs::write(stage.path("f.txt"), "second\n").unwrap();
    std::fs::write(stage.path("s.env"), "KEY=new\n").unwrap();
    let sent = stage.sent();
    assert!(sent.contains("+second"), "{sent}");
    assert!(!sent.contains("KEY"), "{sent}");
    stage.expect_notice("The diff is sent without files that may be secret: s.env.");
}

#[test]
fn without_a_repository_nothing_is_sent() {
    let stage = chat("See\n@diff");
    stage.press("advance");
    stage.expect_notice("Line 3: @diff needs a Git repository, but");
    stage.expect_diagnostic("@diff needs a Git repository");
    stage.expect_requests(0);
}

#[test]
fn an_unknown_diff_is_no_text() {
    let stage = chat("@diff:stagged").repository();
    stage.press("advance");
    stage.expect_notice("Write @diff, @diff:staged, or @diff:unstaged");
    stage.expect_requests(0);
}

#[test]
fn a_buffer_is_sent_with_its_name_and_language() {
    let answer = buffer("fn main() {}\n");
    let stage = chat("Explain @buffer:src/main.rs.").refers("buffer", "src/main.rs", answer);
    assert_eq!(
        stage.sent(),
        "Explain @buffer:src/main.rs:\n```rust\nfn main() {}\n```."
    );
}

#[test]
fn a_buffer_that_is_not_open_is_named_and_nothing_is_sent() {
    let problem = Some("is not an open buffer.".to_owned());
    let answer = ReferenceAnswer {
        problem,
        ..ReferenceAnswer::default()
    };
    let stage = chat("@buffer:x").refers("buffer", "x", answer);
    stage.press("advance");
    stage.expect_diagnostic("@buffer:x is not an open buffer.");
    stage.expect_requests(0);
}

#[test]
fn a_buffer_of_a_secret_without_a_file_is_refused() {
    let mut answer = buffer("KEY=s3cret\n");
    answer.name = "fugitive:///home/ada/p/.git//0/.env".to_owned();
    let stage = chat("@buffer:7").refers("buffer", "7", answer);
    stage.press("advance");
    stage.expect_diagnostic("@buffer:7 is not sent, because /home/ada/p/.git/0/.env is secret");
    stage.expect_requests(0);
}

#[test]
fn diagnostics_are_asked_for_once_and_later_requests_repeat_them() {
    let item = |text: &str| ReferenceItem {
        name: "a.rs".to_owned(),
        line: 3,
        column: 5,
        kind: "error".to_owned(),
        text: text.to_owned(),
        ..ReferenceItem::default()
    };
    let answer = |text: &str| ReferenceAnswer {
        items: vec![item(text)],
        total: 1,
        ..ReferenceAnswer::default()
    };
    let stage = chat("Fix @diagnostics and @diagnostics")
        .refers("diagnostics", "", answer("wrong type"))
        .answers([says("One."), says("Two.")]);
    let sent = stage.sent();
    assert_eq!(sent.matches("a.rs:3:5: error: wrong type\n").count(), 2);
    assert_eq!(stage.referrals(), 1);
    let stage = stage.refers("diagnostics", "", answer("right type"));
    stage.say("steer", "Again.").wait_text("Two.\n\n@You:\n");
    let first = all_text(&stage.script.prompt().messages[0]);
    assert!(first.contains("wrong type"), "{first}");
    assert_eq!(stage.referrals(), 1);
}

#[test]
fn text_of_a_model_or_a_tool_refers_to_nothing() {
    let words = "@diff @diagnostics @buffer:x";
    let stage = Stage::beside(&[("f.txt", words.as_bytes())], json!({}), "@You:\nGo.\n");
    let answers = [calls([read("t_1", "f.txt")]), says(words), says("Well.")];
    let stage = stage.answers(answers);
    stage.press("advance");
    stage.say("steer", words).wait_text("Well.\n\n@You:\n");
    let messages = stage.script.prompt().messages;
    assert_eq!(shown(&messages[2]), [format!("t_1: {words}")]);
    assert_eq!(shown(&messages[3]), [words]);
    assert_eq!(stage.script.last_message(), [words]);
    assert!(stage.text().contains("\\@diff \\@diagnostics \\@buffer:x"));
    assert_eq!(stage.referrals(), 0);
}

#[test]
fn the_text_of_a_buffer_refers_to_nothing() {
    let stage = chat("@buffer:x").refers("buffer", "x", buffer("@./f.txt {{ 6*7 }} @diff\n"));
    let sent = stage.sent();
    assert!(sent.contains("\n@./f.txt {{ 6*7 }} @diff\n"), "{sent}");
}
