//! Answers, calls, approval: what the three keys do to a chat.

use harness::{Answer, Provider};

use crate::stage::{open, wait_end};

#[test]
fn an_answer_is_written_below_the_question() {
    let provider = Provider::anthropic([Answer::says("Four.")]);
    let editor = open(&provider, "@You:\nTwo and two?\n");
    editor.keys("<C-]>");
    wait_end(&editor, "@You:\n\n");
    assert_eq!(
        editor.text(),
        "@You:\nTwo and two?\n\n@Assistant:\nFour.\n\n@You:\n\n"
    );
}
