//! Which calls run, wait, or are denied: lists and presets of the options and of a
//! frontmatter. The texts in capitals are the examples of the manual, word for word.

use serde_json::{Value, json};

use super::script::{Answer, bash, calls, echo, read};
use super::{QUESTION, Stage};

const PRESET_FORM: &str = r#"-- Preset form: read-only access for this buffer
flemma.opt.tools.auto_approve = { "$readonly" }
"#;

const LIST_FORM: &str = r#"-- List form: auto-approve these tools in this buffer
flemma.opt.tools.auto_approve = { "calculator", "read" }
"#;

const MIXED_FORM: &str = r#"-- Mix presets and tool names
flemma.opt.tools.auto_approve = { "$default", "bash" }
"#;

const FUNCTION_FORM: &str = r#"-- Function form: full control per-buffer
flemma.opt.tools.auto_approve = function(tool_name, input, ctx)
  if tool_name == "calculator" then return true end
  return nil  -- pass to next resolver
end"#;

const WITHOUT_WRITE: &str = r#"-- Start from default, but remove write access
flemma.opt.tools.auto_approve = { "$default" }
flemma.opt.tools.auto_approve:remove("write")
"#;

const WITH_BASH: &str = r#"-- Add bash to the default set
flemma.opt.tools.auto_approve = { "$default" }
flemma.opt.tools.auto_approve:append("bash")
"#;

const OPERATORS: &str = r#"-- Operator shorthand: + (append), - (remove)
flemma.opt.tools.auto_approve = flemma.opt.tools.auto_approve + "bash" - "write""#;

const CALLS: [&str; 5] = ["t_r", "t_w", "t_e", "t_b", "t_c"];

/// Calls `read`, `write`, `edit`, `bash`, and `calculator`: see [`CALLS`].
fn five_tools() -> Answer {
    calls([
        read("t_r", "f.txt"),
        ("t_w", "write", json!({"path": "new.txt", "content": "b"})),
        (
            "t_e",
            "edit",
            json!({"path": "f.txt", "oldText": "a", "newText": "b"}),
        ),
        bash("t_b", "echo out"),
        ("t_c", "calculator", json!({"expression": "2 + 2"})),
    ])
}

/// Expects what becomes of the five calls under these `tools.*` options.
#[track_caller]
fn expect_under(tools: &Value, expected: [&str; 5]) {
    let stage = Stage::beside(&[("f.txt", b"a\n")], json!({"tools": tools}), QUESTION)
        .answers([five_tools()]);
    stage.press("advance");
    stage.expect_became(CALLS, expected);
}

/// The same under a frontmatter that the user typed.
#[track_caller]
fn expect_typed(frontmatter: &str, expected: [&str; 5]) {
    let stage = Stage::typed(json!({}), frontmatter).answers([five_tools()]);
    stage.press("advance");
    stage.expect_became(CALLS, expected);
}

#[test]
fn files_are_read_and_changed_and_commands_wait_by_default() {
    expect_under(&json!({}), ["ran", "ran", "ran", "waits", "waits"]);
}

#[test]
fn a_preset_approves_its_tools_and_no_others() {
    let readonly = json!({"auto_approve": ["$readonly"]});
    expect_under(&readonly, ["ran", "waits", "waits", "waits", "waits"]);
    expect_under(&json!({"auto_approve": []}), ["waits"; 5]);
}

#[test]
fn presets_and_tool_names_can_be_combined() {
    let both = json!({"auto_approve": ["$default", "calculator"]});
    expect_under(&both, ["ran", "ran", "ran", "waits", "ran"]);
}

#[test]
fn a_tool_that_one_preset_denies_is_denied() {
    let presets = json!({
        "presets": {
            "$yolo": {"approve": ["bash", "read", "write", "edit"]},
            "$no-bash": {"deny": ["bash"]},
        },
        "auto_approve": ["$yolo", "$no-bash"],
    });
    expect_under(&presets, ["ran", "ran", "ran", "denied", "waits"]);
}

#[test]
fn a_users_preset_replaces_the_built_in_one() {
    let presets = json!({"presets": {"$default": {"approve": ["bash"]}}});
    expect_under(&presets, ["waits", "waits", "waits", "ran", "waits"]);
}

#[test]
fn every_call_runs_without_required_approval() {
    expect_under(&json!({"require_approval": false}), ["ran"; 5]);
}

#[test]
fn each_documented_list_approves_what_it_names() {
    expect_typed(PRESET_FORM, ["ran", "waits", "waits", "waits", "waits"]);
    expect_typed(LIST_FORM, ["ran", "waits", "waits", "waits", "ran"]);
    expect_typed(MIXED_FORM, ["ran", "ran", "ran", "ran", "waits"]);
}

#[test]
fn the_documented_function_approves_one_tool() {
    let expected = ["waits", "waits", "waits", "waits", "ran"];
    expect_typed(FUNCTION_FORM, expected);
    // As printed, one below the other: the last word counts.
    let whole = [PRESET_FORM, LIST_FORM, MIXED_FORM, FUNCTION_FORM].join("\n");
    expect_typed(&whole, expected);
}

#[test]
fn the_documented_operations_change_the_default_list() {
    let without_write = ["ran", "waits", "ran", "waits", "waits"];
    expect_typed(WITHOUT_WRITE, without_write);
    expect_typed(WITH_BASH, ["ran", "ran", "ran", "ran", "waits"]);
    let operators = ["ran", "waits", "ran", "ran", "waits"];
    expect_typed(OPERATORS, operators);
    let all = [WITHOUT_WRITE, WITH_BASH, OPERATORS].join("\n");
    expect_typed(&all, operators);
}

#[test]
fn a_function_of_a_chat_is_made_once_for_all_calls_of_a_step() {
    // Were it made for each call, each would be the first.
    let frontmatter = "local asked = 0
flemma.opt.tools.auto_approve = function()
  asked = asked + 1
  return asked == 1
end";
    let stage = Stage::typed(json!({}), frontmatter);
    let stage = stage.answers([calls([echo("t_1"), echo("t_2"), echo("t_3")])]);
    stage.press("advance");
    stage.expect_became(["t_1", "t_2", "t_3"], ["ran", "waits", "waits"]);
}

#[test]
fn a_broken_function_of_a_chat_approves_nothing() {
    for body in [
        "error('x')",
        "while true do end",
        "return 1",
        "return 'approved'",
        "return {}",
        "return input.nothing.here",
    ] {
        let frontmatter =
            format!("flemma.opt.tools.auto_approve = function(name, input) {body} end");
        let stage = Stage::typed(json!({}), &frontmatter).answers([calls([echo("t_1")])]);
        stage.press("advance");
        stage.expect_became(["t_1"], ["waits"]);
    }
}

#[test]
fn a_function_of_a_chat_cannot_change_the_arguments() {
    let frontmatter = "flemma.opt.tools.auto_approve = function(name, input)
  input.text = 'other'
  return true
end";
    let stage = Stage::typed(json!({}), frontmatter).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.expect_result("t_1", "\n\n```\nt_1 ran\n```");
}

#[test]
fn no_list_of_tools_reads_a_secret() {
    for tools in [
        json!({"auto_approve": ["read"]}),
        json!({"auto_approve": ["$readonly"]}),
        json!({"require_approval": false}),
    ] {
        let stage = Stage::beside(&[(".env", b"s3cret")], json!({"tools": tools}), QUESTION);
        let stage = stage.answers([calls([read("t_1", ".env")])]);
        stage.press("advance");
        stage.expect_became(["t_1"], ["waits"]);
    }
    let stage = Stage::typed(json!({}), "flemma.opt.tools.auto_approve = { \"read\" }");
    std::fs::write(stage.path(".env"), "s3cret").unwrap();
    let stage = stage.answers([calls([read("t_1", ".env")])]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
}
