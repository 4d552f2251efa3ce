//! Tools that are not offered: a model finds them, and calls them through another tool,
//! under their own rules.

use serde_json::{Value, json};

use super::script::{calls, read, says};
use super::{QUESTION, Stage};

/// A call of a tool through `execute_tool`.
fn run<'a>(id: &'a str, name: &str, arguments: &Value) -> (&'a str, &'static str, Value) {
    let input = json!({"name": name, "arguments": arguments});
    (id, "execute_tool", input)
}

#[test]
fn a_tool_that_was_found_runs_by_its_own_rules() {
    let inner = json!({"name": "echo", "arguments": {"text": "x"}});
    let answer = calls([
        ("t_s", "tool_search", json!({"query": "calculator"})),
        run("t_r", "read", &json!({"path": "f.txt"})),
        run("t_e", "echo", &json!({"text": "it ran"})),
        run("t_c", "calculator", &json!({"expression": "7*8"})),
        run("t_n", "nothing", &json!({})),
        run("t_x", "read", &json!({"path": 7})),
        run("t_i", "execute_tool", &inner),
    ]);
    let options = json!({"tools": {
        "auto_approve": ["$default", "tool_search", "$no-calculator"],
        "presets": {"$no-calculator": {"deny": ["calculator"]}},
    }});
    let stage = Stage::beside(&[("f.txt", b"in the file\n")], options, QUESTION);
    let stage = stage.answers([answer, says("Well.")]);
    stage.press("advance");
    let ids = ["t_s", "t_r", "t_e", "t_c", "t_n", "t_x", "t_i"];
    let became = [
        "ran", "ran", "waits", "denied", "failed", "failed", "failed",
    ];
    stage.expect_became(ids, became);
    for (id, part) in [
        ("t_s", "\"inputSchema\""),
        ("t_r", "in the file"),
        ("t_n", "There is no tool named \"nothing\""),
        ("t_x", "The arguments do not fit the schema of \"read\""),
        ("t_i", "cannot run itself"),
    ] {
        assert!(stage.result(id).contains(part), "{}", stage.result(id));
    }
    stage.wait_preview("execute_tool: echo: text=\"it ran\"");
    // The user's own act lets the call inside run.
    stage.press_at("resolve", "status=pending");
    stage.expect_result("t_e", "\n\n```\nit ran\n```");
}

#[test]
fn a_protected_file_asks_through_another_tool_too() {
    let options = json!({"tools": {"auto_approve": ["$default", "execute_tool"]}});
    let write = run("t_1", "write", &json!({"path": ".envrc", "content": "x"}));
    let stage = Stage::beside(&[], options, QUESTION).answers([calls([write])]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    assert!(!stage.path(".envrc").exists());
}

#[test]
fn a_chat_without_a_tool_cannot_reach_it_through_another() {
    let frontmatter = "flemma.opt.tools = {\"read\", \"execute_tool\"}";
    let answer = calls([run("t_1", "bash", &json!({"command": "touch ran"}))]);
    let stage = Stage::typed(json!({}), frontmatter).answers([answer]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["failed"]);
    let block = stage.result("t_1");
    assert!(block.contains("There is no tool named \"bash\""), "{block}");
}

#[test]
fn searches_run_with_the_standard_preset_and_skip_secrets() {
    let options = json!({"tools": {"auto_approve": ["$standard"]}});
    let files: [(&str, &[u8]); 2] = [("f.txt", b"a\n"), (".env", b"a=s3cret\n")];
    let answer = calls([
        ("t_g", "grep", json!({"pattern": "a"})),
        ("t_l", "ls", json!({})),
        read("t_s", ".env"),
    ]);
    let stage = Stage::beside(&files, options, QUESTION).answers([answer]);
    stage.press("advance");
    stage.expect_became(["t_g", "t_l", "t_s"], ["ran", "ran", "waits"]);
    let found = stage.result("t_g");
    assert!(found.contains("f.txt:1:a"), "{found}");
    assert!(!found.contains("s3cret"), "{found}");
}
