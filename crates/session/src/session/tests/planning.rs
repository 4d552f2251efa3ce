//! Plan mode: what still runs, what the model is answered, and how it begins and ends.

use serde_json::{Value, json};

use super::script::{Answer, bash, calls, read, says};
use super::{QUESTION, Stage, below};
use crate::protocol::Display;

const IDS: [&str; 5] = ["t_r", "t_w", "t_ls", "t_b", "t_x"];

/// A read, a write, a command that reads, one that writes, and a write inside another call.
fn five_calls() -> Answer {
    let write = json!({"path": "new", "content": "x"});
    calls([
        read("t_r", "f.txt"),
        ("t_w", "write", write.clone()),
        bash("t_ls", "ls"),
        bash("t_b", "touch ran"),
        (
            "t_x",
            "execute_tool",
            json!({"name": "write", "arguments": write}),
        ),
    ])
}

/// A chat in which every call runs, unless plan mode denies it.
fn stage(text: &str, mut tools: Value) -> Stage {
    tools["require_approval"] = json!(false);
    tools["bash"] = json!({"allow": ["touch"]});
    tools["offer"] = json!(["execute_tool"]);
    Stage::beside(&[("f.txt", b"a\n")], json!({"tools": tools}), text)
}

fn expect_only_reads(stage: &Stage) {
    stage.expect_became(IDS, ["ran", "denied", "ran", "denied", "denied"]);
    assert!(!stage.path("new").exists() && !stage.path("ran").exists());
    assert!(
        stage
            .text()
            .contains("This chat is in plan mode, in which only reads and searches run.")
    );
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
        .wait_notice("Plan mode: only reads and searches run in this chat");
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
    let write = json!({"path": "new", "content": "x"});
    let stage = Stage::beside(&[], json!({"tools": {"auto_approve": []}}), QUESTION);
    let stage = stage.answers([calls([("t_w", "write", write)])]);
    stage.press("advance");
    stage.expect_became(["t_w"], ["waits"]);
    stage.key("plan").wait_notice("Plan mode");
    stage.press_at("resolve", "**Tool Result:** `t_w`");
    stage.expect_became(["t_w"], ["denied"]);
    assert!(!stage.path("new").exists());
}
