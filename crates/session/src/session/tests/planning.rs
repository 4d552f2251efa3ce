//! Plan mode: what still runs, what the model is answered, and how it begins and ends.

use serde_json::{Value, json};

use super::script::{Answer, bash, calls, read, says};
use super::{QUESTION, Stage, below};
use crate::protocol::Display;

const IDS: [&str; 5] = ["t_r", "t_w", "t_ls", "t_b", "t_x"];

fn write(id: &str) -> (&str, &'static str, Value) {
    (id, "write", json!({"path": "new", "content": "x"}))
}

/// A read, a write, a command that reads, one that writes, and a write inside another call.
fn five_calls() -> Answer {
    calls([
        read("t_r", "f.txt"),
        write("t_w"),
        bash("t_ls", "ls"),
        bash("t_b", "touch ran"),
        (
            "t_x",
            "execute_tool",
            json!({"name": "write", "arguments": write("").2}),
        ),
    ])
}

/// A chat in which every call runs, unless plan mode denies it, and in which no command is tried.
fn stage(text: &str, mut tools: Value) -> Stage {
    tools["require_approval"] = json!(false);
    tools["bash"] = json!({"allow": ["touch"], "trial": false});
    tools["offer"] = json!(["execute_tool"]);
    Stage::beside(&[("f.txt", b"a\n")], json!({"tools": tools}), text)
}

fn expect_only_reads(stage: &Stage) {
    stage.expect_became(IDS, ["ran", "denied", "ran", "denied", "denied"]);
    assert!(!stage.path("new").exists() && !stage.path("ran").exists());
    for part in [
        "This chat is in plan mode, in which nothing is changed.",
        "Other commands cannot be tried here: tools.bash.trial is false.",
    ] {
        assert!(stage.text().contains(part), "{}", stage.text());
    }
}

/// Changes the status of a pending call, like a user who types.
fn approve_by_typing(stage: &Stage, id: &str) {
    let text = stage.text();
    let header = format!("**Tool Result:** `{id}`");
    let at = text.lines().position(|it| it == header).unwrap() + 2;
    let line = text.lines().nth(at).unwrap();
    let line = line.replace("status=pending", "status=approved");
    stage.replaces(at..at + 1, &[line], Some(usize::MAX));
}

fn status_line(stage: &Stage) -> String {
    let shown = stage.record().shown.clone();
    let texts = shown.into_iter().rev().filter_map(|it| match it {
        Display::Statusline(it) => Some(it.text),
        _ => None,
    });
    texts.take(1).collect()
}

#[test]
fn in_plan_mode_only_reads_and_searches_run_until_it_is_ended() {
    let stage = stage(QUESTION, json!({})).answers([
        five_calls(),
        says("Well."),
        calls([bash("t_2", "touch ran")]),
    ]);
    stage
        .key("plan")
        .wait_notice("Plan mode: until :Flemma plan, this chat only reads");
    stage.press("advance");
    expect_only_reads(&stage);
    assert!(
        status_line(&stage).starts_with("plan"),
        "{}",
        status_line(&stage)
    );
    stage.key("plan").wait_notice("Plan mode is off.");
    stage
        .say("steer", "Do it.")
        .wait_text("`t_2`")
        .wait_text("Done.");
    assert!(stage.path("ran").exists());
    assert!(!status_line(&stage).contains("plan"));
}

#[test]
fn the_preset_puts_a_chat_into_plan_mode_from_the_options_or_from_an_untrusted_file() {
    let options = json!({"auto_approve": ["$plan", "bash", "write"]});
    let by_options = stage(QUESTION, options).answers([five_calls()]);
    by_options.press("advance");
    expect_only_reads(&by_options);
    let text = below("flemma.opt.tools.auto_approve = { \"$plan\" }");
    let by_file = stage(&text, json!({})).answers([five_calls()]);
    by_file.press("advance");
    expect_only_reads(&by_file);
}

#[test]
fn no_approval_by_hand_runs_a_write_in_plan_mode() {
    let stage = Stage::beside(&[], json!({"tools": {"auto_approve": []}}), QUESTION);
    let stage = stage.answers([calls([write("t_w")])]);
    stage.press("advance");
    stage.expect_became(["t_w"], ["waits"]);
    stage.key("plan").wait_notice("Plan mode");
    stage.press_at("resolve", "**Tool Result:** `t_w`");
    stage.expect_became(["t_w"], ["denied"]);
    assert!(!stage.path("new").exists());
}

#[test]
fn no_approval_by_hand_or_by_a_rule_runs_a_command_in_plan_mode() {
    // Tests have no program for views, so nothing can be tried.
    let tools = json!({"auto_approve": ["bash"]});
    let stage = Stage::beside(&[], json!({"tools": tools}), QUESTION);
    let stage = stage.answers([calls([bash("t_1", "touch ran")])]);
    stage.key("plan").wait_notice("Plan mode");
    stage.press("advance");
    stage.expect_became(["t_1"], ["failed"]);
    let refused = "In plan mode, commands run only in a trial. The call cannot be tried: ";
    assert!(stage.result("t_1").contains(refused), "{}", stage.text());
    assert!(!stage.path("ran").exists());

    let options = json!({"tools": {"auto_approve": []}});
    let stage = Stage::beside(&[], options, QUESTION);
    let stage = stage.answers([calls([bash("t_1", "touch ran"), write("t_w")])]);
    stage.press("advance");
    stage.key("plan").wait_notice("Plan mode");
    approve_by_typing(&stage, "t_1");
    approve_by_typing(&stage, "t_w");
    stage.press("advance");
    stage.expect_became(["t_1", "t_w"], ["failed", "denied"]);
    assert!(!stage.path("ran").exists() && !stage.path("new").exists());
}
