//! Which pending calls a key or a command means.

use serde_json::json;

use super::script::{calls, echo, says};
use super::{QUESTION, Stage};

/// A chat in which two calls wait.
fn two_wait() -> Stage {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1"), echo("t_2")]), says("Well.")]);
    stage.press("advance");
    stage.expect_became(["t_1", "t_2"], ["waits", "waits"]);
    stage
}

#[test]
fn the_only_pending_call_is_approved_from_any_line() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")]), says("Well.")]);
    stage.press("advance");
    stage.press_at("approve", "Go.");
    stage.expect_became(["t_1"], ["ran"]);
    stage.expect_end("Well.\n\n@You:\n\n");
}

#[test]
fn one_of_two_calls_is_rejected_where_the_cursor_is() {
    let stage = two_wait();
    stage.press_at("reject", "Go.");
    stage.expect_notice("2 calls are pending. Put the cursor on the one to reject.");
    let before = stage.record().rests();
    let reason = json!({"text": "not this one"});
    stage.key_at("reject", "**Tool Result:** `t_2`", reason);
    stage.wait("rest", |it| it.rests() > before);
    stage.expect_result("t_2", " (error)\n\n```\nnot this one\n```");
    stage.expect_became(["t_1"], ["waits"]);
    stage.key_at("approve", "", json!({"1": "all"}));
    stage.wait_text("Well.\n\n@You:\n");
    let sent = ["t_1: t_1 ran", "t_2 (error): not this one"];
    assert_eq!(stage.script.last_message(), sent);
}

#[test]
fn all_pending_calls_are_approved_by_one_word() {
    let stage = two_wait();
    stage.key_at("approve", "", json!({"1": "all"}));
    stage.wait_text("Well.\n\n@You:\n");
    stage.expect_became(["t_1", "t_2"], ["ran", "ran"]);
    stage.expect_requests(2);
}

#[test]
fn a_key_does_not_overrule_a_rule_that_denies() {
    let options = json!({"tools": {
        "autopilot": {"enabled": false},
        "review_delay": 0,
        "presets": {"$none": {"deny": ["echo"]}}, "auto_approve": ["$none"],
    }});
    let stage = Stage::with(options, QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.press_at("resolve", "**Tool Use:**");
    stage.expect_result(
        "t_1",
        " (error)\n\n```\nThe tool was denied by a policy.\n```",
    );
}

#[test]
fn a_call_of_an_answer_that_just_ended_does_not_run_by_a_key_that_is_held() {
    let options = json!({"tools": {"autopilot": {"enabled": false}, "review_delay": 10_000}});
    let stage = Stage::with(options, QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.press_at("resolve", "**Tool Use:**");
    stage.expect_notice("Nothing was run: the call appeared as you pressed the key.");
    for _ in 0..5 {
        stage.press_at("resolve", "**Tool Use:**");
    }
    assert_eq!(stage.result("t_1"), "");
}

#[test]
fn an_approval_counts_for_the_arguments_that_were_approved() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage
        .types("pending", "approved")
        .types("t_1 ran", "other")
        .press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    stage.expect_notice("was not given in this session for these arguments");
    stage.wait_preview("echo: text=\"other\"");
    stage.types("pending", "approved").press("advance");
    stage.expect_result("t_1", "\n\n```\nother\n```");
}

#[test]
fn an_approved_block_runs_by_the_key_on_it() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")]), says("Well.")]);
    stage.press("advance");
    stage
        .types("pending", "approved")
        .press_at("resolve", "status=approved");
    stage.expect_became(["t_1"], ["ran"]);
    stage.expect_end("Well.\n\n@You:\n\n");
}

#[test]
fn a_corrected_approval_counts_at_the_next_key() {
    let text = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `echo` (`t_1`)\n\n```json\n{\"text\":\"x\"}\n```\n\n@You:\n\
                **Tool Result:** `t_1`\n\n```flemma:tool status=aproved\n```\n";
    let stage = Stage::of(text);
    stage.press("advance");
    // The status is two lines below the key.
    stage.press_at("fix", "**Tool Result:**");
    stage.expect_text(&text.replace("aproved", "approved"));
    stage.press("advance");
    stage.expect_became(["t_1"], ["ran"]);
}
