//! Chats that came as files: what their frontmatter loosens is withheld.

use serde_json::json;

use super::script::{bash, calls, echo, read, says};
use super::{QUESTION, Stage, below};

const LOOSE: &str = "flemma.opt.tools.auto_approve = { \"$default\", \"bash\" }";
const WITHHELD: &str = "Line 2 of the frontmatter would run bash without asking.";

/// A chat in a file with this text, whose model wants to run a command.
fn foreign(text: &str) -> Stage {
    let stage = Stage::beside(&[], json!({}), text);
    stage.answers([calls([bash("t_1", "touch ran")]), says("Well.")])
}

#[test]
fn what_a_files_frontmatter_loosens_is_withheld_and_reported() {
    let stage = foreign(&below(LOOSE));
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    stage.expect_notice(WITHHELD);
    stage.expect_diagnostic(
        "This would run bash without asking; it does not apply until :Flemma trust.",
    );
    assert!(!stage.path("ran").exists());
}

#[test]
fn a_json_frontmatter_is_trusted_no_further() {
    let options = r#"{"flemma": {"tools": {"auto_approve": ["bash"]}}}"#;
    let stage = foreign(&format!("```json\n{options}\n```\n\n{QUESTION}"));
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    stage.expect_notice(WITHHELD);
}

#[test]
fn tightening_applies_without_trust() {
    for tight in [
        "flemma.opt.tools.auto_approve = {}",
        "flemma.opt.tools.auto_approve:remove(\"read\")",
        "flemma.opt.tools.auto_approve = function() return false end",
        "flemma.opt.tools.auto_approve = function() end",
    ] {
        let stage = Stage::beside(&[("f.txt", b"a\n")], json!({}), &below(tight));
        let stage = stage.answers([calls([read("t_1", "f.txt")])]);
        stage.press("advance");
        stage.expect_became(["t_1"], ["waits"]);
    }
}

#[test]
fn a_files_function_approves_nothing_beyond_the_options() {
    let deny_reading = "flemma.opt.tools.auto_approve = function(name)
  if name == \"read\" then return \"deny\" end
  return true
end";
    let stage = Stage::beside(&[("f.txt", b"a\n")], json!({}), &below(deny_reading));
    let answer = calls([bash("t_b", "touch ran"), read("t_r", "f.txt")]);
    let stage = stage.answers([answer]);
    stage.press("advance");
    stage.expect_became(["t_b", "t_r"], ["waits", "denied"]);
    stage.expect_notice("would decide about every call by a function of this chat");
    assert!(!stage.path("ran").exists());
}

#[test]
fn the_users_own_options_can_trust_every_file() {
    let options = json!({"trust": {"frontmatter": "always"}});
    let text = below("flemma.opt.tools.auto_approve = { \"echo\" }");
    let stage = Stage::beside(&[], options, &text).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["ran"]);
}

#[test]
fn typing_in_a_chat_that_came_with_a_frontmatter_does_not_make_it_trusted() {
    let stage = foreign(&below("flemma.opt.tools.auto_approve = {\n  \"bash\",\n}"));
    stage
        .types("auto_approve = {", "auto_approve = { -- mine")
        .types("Go.", "Go.\nmore")
        .press("advance");
    stage.expect_became(["t_1"], ["waits"]);
}

#[test]
fn trusting_nothing_says_so() {
    let stage = Stage::beside(&[], json!({}), QUESTION);
    stage.press("trust");
    stage.expect_notice("This chat has no frontmatter in a file");
}

#[test]
fn a_trusted_frontmatter_applies_until_that_is_revoked() {
    let stage = Stage::beside(
        &[],
        json!({}),
        &below("flemma.opt.tools.auto_approve = { \"echo\" }"),
    );
    let stage = stage.answers([calls([echo("t_1")]), says("Well."), calls([echo("t_2")])]);
    stage
        .key("trust")
        .wait_notice("The frontmatter of this file is trusted as it is now.")
        .press("advance");
    stage.expect_became(["t_1"], ["ran"]);
    stage
        .key("trust!")
        .wait_notice("no longer trusted")
        .say("steer", "Again.")
        .wait_text("`t_2`\n\n```flemma:tool");
    stage.expect_became(["t_2"], ["waits"]);
}

#[test]
fn a_file_that_decides_what_runs_is_written_once_the_user_approves_it() {
    let input = json!({"path": "notes.chat", "content": "@You:\n"});
    let stage = Stage::beside(&[], json!({"tools": {"require_approval": false}}), QUESTION);
    let stage = stage.answers([calls([("t_1", "write", input)])]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    stage.types("pending", "approved").press("advance");
    stage.expect_became(["t_1"], ["ran"]);
    let written = std::fs::read_to_string(stage.path("notes.chat"));
    assert_eq!(written.unwrap(), "@You:\n");
}
