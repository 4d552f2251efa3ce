//! What `:Flemma status` and `:Flemma tool:list` report.

use serde_json::json;

use super::script::{calls, wait};
use super::{QUESTION, Stage, below};

#[test]
fn status_shows_what_the_chats_own_frontmatter_decides() {
    let frontmatter = "flemma.opt.tools = { \"read\", \"bash\", \"write\" }
flemma.opt.tools.auto_approve = { \"$default\", \"bash\" }
flemma.opt.tools.auto_approve:remove(\"write\")
flemma.opt.temperature = 0.3";
    let stage = Stage::beside(&[], json!({}), &below(frontmatter));
    stage.key("status");
    let untrusted = stage.report();
    for line in [
        "frontmatter applies, except for this until :Flemma trust:",
        "line 4: would run bash without asking",
        "bash needs approval",
        "read runs; asks if the file is secret (urn:flemma:approval:frontmatter)",
        "write needs approval",
    ] {
        assert!(untrusted.iter().any(|it| it == line), "{untrusted:#?}");
    }
    let is_calculator = |it: &String| it.starts_with("calculator");
    assert!(!untrusted.iter().any(is_calculator), "{untrusted:#?}");
    stage.key("trust").wait_notice("is trusted as it is now");
    stage.record().shown.clear();
    stage.key_at("status", "", json!({"1": "verbose"}));
    let trusted = stage.report();
    for line in [
        "frontmatter applies",
        "bash runs (urn:flemma:approval:frontmatter)",
        "write needs approval",
        "parameters.temperature 0.3 frontmatter",
        "tools { \"read\", \"bash\", \"write\" } frontmatter",
        "tools.auto_approve { names = { \"$default\", \"bash\" }, without = { \"write\" } } frontmatter",
        "tools.autopilot.enabled true defaults",
    ] {
        assert!(trusted.iter().any(|it| it == line), "{line}: {trusted:#?}");
    }
}

#[test]
fn status_of_a_chat_whose_frontmatter_fails_says_so() {
    let stage = Stage::of(&below("flemma.opt.tools = { \"bsah\" }"));
    stage.key("status");
    let report = stage.report().join("\n");
    for part in ["Did you mean \"bash\"?", "Nothing runs and nothing is sent"] {
        assert!(report.contains(part), "{report}");
    }
    assert!(!report.contains("by the policy now"), "{report}");
}

#[test]
fn with_no_tool_running_the_list_says_so() {
    let stage = Stage::of(QUESTION);
    stage.key("tool:list");
    assert_eq!(stage.report()[0], "No tool is running here.");
}

#[test]
fn running_tools_are_listed_and_one_of_them_is_cancelled() {
    let answer = calls([wait("t_1"), wait("t_2")]);
    let stage = Stage::unasked(QUESTION).answers([answer]);
    stage.key("advance").wait_started("t_2");
    stage.key("tool:list");
    let report = stage.report();
    let running: Vec<_> = report.iter().take_while(|it| !it.is_empty()).collect();
    assert_eq!(running, ["wait t_1 0 s", "wait t_2 0 s"]);
    stage.key_at("tool:cancel", "**Tool Result:** `t_2`", json!({}));
    stage.wait_text("`t_2` (error)").open_gate().wait_rest();
    stage.expect_became(["t_1", "t_2"], ["ran", "failed"]);
}
