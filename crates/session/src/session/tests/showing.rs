//! Displays beside the text.

use serde_json::json;

use super::script::{begins, calls, echo, ends, says, wait};
use super::{QUESTION, Record, Stage};
use crate::protocol::{DiagnosticItem, Display};

fn diagnostics(record: &Record) -> Vec<DiagnosticItem> {
    let items = record.shown.iter().rev().find_map(|it| match it {
        Display::Diagnostics(it) => Some(it.items.clone()),
        _ => None,
    });
    items.unwrap_or_default()
}

fn has_state(record: &Record, state: &str) -> bool {
    record.marks().iter().any(|it| it.state == Some(state))
}

fn request_states(record: &Record) -> Vec<&'static str> {
    let states = record.shown.iter().filter_map(|it| match it {
        Display::Request(it) => Some(it.state),
        _ => None,
    });
    states.collect()
}

#[test]
fn a_pending_call_has_a_mark_with_its_preview() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.wait("a mark", |it| has_state(it, "pending"));
    let marks = stage.record().marks();
    let preview = marks[0].preview.clone().unwrap_or_default();
    assert!(
        preview.contains("echo") && preview.contains("t_1 ran"),
        "{preview}"
    );
}

#[test]
fn the_mark_of_a_call_disappears_when_it_has_its_result() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.wait("a mark", |it| has_state(it, "pending"));
    stage.press_at("resolve", "**Tool Result:** `t_1`");
    stage.wait("no mark", |it| {
        !has_state(it, "pending") && has_state(it, "done")
    });
}

#[test]
fn a_call_that_runs_has_a_mark_with_its_tools_label() {
    let stage = Stage::unasked(QUESTION).answers([calls([wait("t_1")])]);
    stage
        .key("advance")
        .wait("a mark", |it| has_state(it, "running"));
    assert_eq!(stage.record().marks()[0].label.as_deref(), Some("Echo"));
    stage.open_gate().wait_rest();
}

#[test]
fn a_failed_call_has_a_failed_mark() {
    let answer = calls([("t_1", "calculator", json!({"expression": "1 +"}))]);
    let stage = Stage::unasked(QUESTION).answers([answer]);
    stage.press("advance");
    stage.wait("a mark", |it| has_state(it, "failed"));
}

#[test]
fn a_request_is_shown_until_its_answer_is_written() {
    let stage = Stage::of(QUESTION).answers([begins("Once")]);
    stage.key("advance").wait_text("Once");
    stage.wait("streaming", |it| {
        request_states(it).last() == Some(&"streaming")
    });
    stage
        .continues(ends())
        .wait("idle", |it| request_states(it).last() == Some(&"idle"));
}

#[test]
fn a_misspelled_status_has_a_diagnostic_with_its_fix() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.types("pending", "aproved");
    stage.wait("a diagnostic", |it| {
        let is_it = |it: &DiagnosticItem| it.message.contains("\"aproved\" is not a status");
        diagnostics(it).iter().any(is_it)
    });
    assert!(diagnostics(&stage.record())[0].fix.is_some());
}

#[test]
fn errors_in_a_partial_answer_are_not_shown() {
    let stage = Stage::of(QUESTION).answers([begins("**Tool Use:** `echo` (`x`)\n\n```json\n")]);
    stage.key("advance").wait_text("json");
    stage.key("status").settle();
    assert_eq!(diagnostics(&stage.record()), []);
}

#[test]
fn nothing_is_drawn_again_without_a_change() {
    let stage = Stage::of(QUESTION);
    stage.press("autopilot:status");
    let shown = stage.record().shown.len();
    stage.press("autopilot:status").press("autopilot:status");
    assert_eq!(stage.record().shown.len(), shown);
}

#[test]
fn a_chat_has_folds_for_the_window_that_shows_it() {
    let stage = Stage::of(QUESTION).answers([says("Hi.")]);
    stage.press("advance");
    let folds = |it: &Display| matches!(it, Display::Folds(it) if it.enabled);
    stage.wait("folds", |it| it.shown.iter().any(folds));
}

#[test]
fn a_running_call_shows_up_in_the_list_of_tools() {
    let stage = Stage::unasked(QUESTION).answers([calls([wait("t_1")])]);
    stage.key("advance").wait_started("t_1");
    stage.key("tool:list").wait("a report", |it| {
        let lists = |it: &Display| match it {
            Display::Report(it) => it
                .lines
                .iter()
                .any(|it| it.starts_with("wait") && it.contains("t_1")),
            _ => false,
        };
        it.shown.iter().any(lists)
    });
    stage.open_gate().wait_rest();
}

#[test]
fn a_frontmatter_of_a_file_approves_nothing() {
    let text = "```lua\nflemma.opt.tools.auto_approve = { \"echo\" }\n```\n\n@You:\nGo.\n";
    let stage = Stage::of(text).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.expect_result("t_1", "\n\n```flemma:tool status=pending\n```");
    stage.expect_notice("so that does not apply until you read it and agree with :Flemma trust.");
}

#[test]
fn a_failing_frontmatter_sends_nothing_and_is_reported() {
    let stage = Stage::of("```lua\nerror(\"no\")\n```\n\n@You:\nGo.\n");
    stage.press("advance");
    stage.expect_requests(0);
    stage.wait("a diagnostic", |it| !diagnostics(it).is_empty());
}
