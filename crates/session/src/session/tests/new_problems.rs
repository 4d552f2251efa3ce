//! The result of a call that changed a file: what it did, and then the problems that the editor
//! found since.

use serde_bytes::ByteBuf;
use serde_json::json;

use super::script::calls;
use super::{QUESTION, Stage};
use crate::protocol::{EditorQuestion, FindProblems, ProblemItem, ProblemsFound};

/// An error in a line.
fn error(line: usize, text: &str) -> ProblemItem {
    ProblemItem {
        kind: "error".to_owned(),
        line,
        text: ByteBuf::from(text),
        message: ByteBuf::from("no such name"),
    }
}

/// A chat in which the model replaces `two` in a file. The editor finds these problems.
fn edited(name: &str, diagnostics: bool, found: ProblemsFound) -> Stage {
    let options = json!({"tools": {"diagnostics": diagnostics}, "sandbox": {"enabled": false}});
    let stage = Stage::beside(&[(name, b"one\ntwo\n")], options, QUESTION);
    let edit = json!({"path": name, "oldText": "two", "newText": "2"});
    let stage = stage.answers([calls([("t_1", "edit", edit)])]);
    stage.record().problems.push_back(found);
    stage.press("advance");
    stage
}

/// What the editor was asked.
fn asked(stage: &Stage) -> Vec<FindProblems> {
    let asked = stage.record().asked.clone();
    let questions = asked.into_iter().filter_map(|it| match it {
        EditorQuestion::FindProblems(question) => Some(question),
        _ => None,
    });
    questions.collect()
}

#[test]
fn new_problems_come_after_what_the_call_did() {
    let found = ProblemsFound {
        before: vec![error(0, "one")],
        after: vec![error(0, "one"), error(1, "2")],
    };
    let stage = edited("f.txt", true, found);
    stage.wait_text(
        "```\nApplied the edit to f.txt at line 2.\n\n\
         New problems in f.txt after this change:\nline 2: error: no such name: 2\n```\n",
    );
    let [question] = &asked(&stage)[..] else {
        panic!("one file was changed");
    };
    assert!(question.path.ends_with("/f.txt"));
    assert_eq!(question.before.as_deref(), Some("one\ntwo\n"));
    assert_eq!(question.after, "one\n2\n");
}

#[test]
fn the_lines_of_a_secret_file_are_not_quoted() {
    let found = ProblemsFound {
        before: Vec::new(),
        after: vec![error(1, "2")],
    };
    let stage = edited(".env", true, found);
    // A secret waits for the user, whatever the policy says.
    stage.press_at("resolve", "**Tool Result:**");
    stage.wait_text("```\nApplied the edit to .env at line 2.\n```\n");
    assert_eq!(asked(&stage), []);
}

#[test]
fn an_option_turns_it_off() {
    let stage = edited("f.txt", false, ProblemsFound::default());
    stage.wait_text("```\nApplied the edit to f.txt at line 2.\n```\n");
    assert_eq!(asked(&stage), []);
}
