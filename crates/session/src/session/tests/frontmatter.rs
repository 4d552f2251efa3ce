//! What a frontmatter that the user typed does besides approving calls: it selects tools,
//! fails, and is evaluated only for a key.

use serde_json::json;

use super::script::{bash, calls, echo, says};
use super::{Stage, below};

/// An example of the manual, word for word.
const SELECTION: &str = r#"flemma.opt.tools = {"bash", "read"}             -- only these tools
flemma.opt.tools:remove("calculator")           -- remove from defaults
flemma.opt.tools:append("calculator_async")     -- add a tool
flemma.opt.tools = flemma.opt.tools + "read"    -- operator overloads work too"#;

#[test]
fn the_documented_selection_decides_which_tools_are_offered() {
    let stage = Stage::typed(json!({}), SELECTION);
    stage.press("advance");
    let expected = ["bash", "calculator_async", "job_output", "job_stop", "read"];
    assert_eq!(stage.script.offered(), expected);
}

#[test]
fn a_tool_that_the_chat_does_not_offer_cannot_run() {
    for selection in ["{}", "{ \"read\" }"] {
        let frontmatter = format!("flemma.opt.tools = {selection}");
        let answers = [calls([bash("t_1", "touch ran")]), says("Well.")];
        let stage = Stage::typed(json!({}), &frontmatter).answers(answers);
        stage.press("advance");
        stage.expect_became(["t_1"], ["failed"]);
        stage.expect_end("Well.\n\n@You:\n\n");
        assert!(!stage.path("ran").exists());
    }
}

#[test]
fn a_misspelled_tool_is_reported_with_a_suggestion_and_nothing_is_sent() {
    let frontmatter = "flemma.opt.tools = {\n  \"read\",\n  \"bsah\",\n}";
    let stage = Stage::typed(json!({}), frontmatter);
    stage.press("advance");
    let what = "frontmatter line 4: no tool named \"bsah\". Did you mean \"bash\"?";
    stage.expect_notice(what);
    stage.expect_diagnostic(what);
    stage.expect_requests(0);
}

#[test]
fn a_failing_frontmatter_runs_no_approved_call() {
    let stage = Stage::typed(json!({}), "local fine = true").answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage
        .types("pending", "approved")
        .types("local fine = true", "flemma.opt.tols = {}")
        .press("advance");
    stage.expect_notice("There is no option \"tols\". Did you mean \"tools\"?");
    assert_eq!(stage.became("t_1"), "undecided");
    stage.expect_requests(1);
}

#[test]
fn opening_and_drawing_a_chat_evaluates_nothing() {
    let stage = Stage::of(&below("error('evaluated')"));
    stage.press("autopilot:status");
    let is_said = |it: &String| it.contains("evaluated");
    assert!(!stage.record().notices.iter().any(is_said));
    // The key is what evaluates it.
    stage.press("advance");
    stage.expect_notice("evaluated");
    stage.expect_requests(0);
}

#[test]
fn a_chat_reveals_no_secret() {
    let frontmatter = "flemma.opt.sandbox.reveal = { \"$CWD/.env\" }";
    let stage = Stage::typed(json!({}), frontmatter);
    stage.press("advance");
    stage.expect_diagnostic("sandbox.reveal can only be set in setup() or the configuration file.");
    stage.expect_requests(0);
}

#[test]
fn the_chats_own_rules_stay_when_the_options_change_meanwhile() {
    let rules = "flemma.opt.tools.auto_approve = { \"wait\" }\nflemma.opt.tools.autopilot = false";
    let answer = calls([super::script::wait("t_1")]);
    let stage = Stage::typed(json!({}), rules).answers([answer]);
    stage.press("advance");
    stage.key("advance").wait_started("t_1");
    let options = json!({"tools": {"autopilot": {"enabled": true}}});
    stage.send(super::Input::Editor(super::EditorInput::Settings(
        stage.shared(&options),
    )));
    stage.open_gate().wait("a result", |it| it.rests() > 1);
    stage.expect_became(["t_1"], ["ran"]);
    stage.press("autopilot:status");
    stage.expect_notice("Autopilot is off.");
    stage.expect_requests(1);
}

#[test]
fn settings_that_are_not_at_the_top_stop_keys_until_they_are_moved() {
    let stage = Stage::of("\n~~~lua\nflemma.opt.temperature = 1\n~~~\n\n@You:\nGo.\n");
    stage.press("advance");
    stage.expect_notice("Line 2 looks like settings");
    stage.press("send");
    stage.expect_requests(0);
    stage.key_at("fix", "~~~lua", json!({}));
    stage.wait_text("```lua\nflemma.opt.temperature = 1\n```\n\n@You:\nGo.\n");
}

#[test]
fn settings_from_a_file_that_a_fix_moves_to_the_top_still_need_trust() {
    let loose = "flemma.opt.tools.auto_approve = { \"echo\" }";
    // The user typed the notes above.
    let stage = Stage::of(&format!("\n~~~lua\n{loose}\n~~~\n\n@You:\nGo.\n"));
    let notes = ["# A", "# B"].map(str::to_owned);
    stage.replaces(0..1, &notes, Some(usize::MAX));
    stage.key_at("fix", "~~~lua", json!({}));
    stage.wait_text(&format!("```lua\n{loose}\n```\n# A\n# B"));
    stage.press("advance");
    stage.wait_notice("that does not apply until you read it and confirm with :Flemma trust");
}
