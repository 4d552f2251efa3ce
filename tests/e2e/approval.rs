//! Approval functions in `setup()`, and options that are set again.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

/// Calls of `read`, `bash`, and `calculator`: `t_r`, `t_b`, and `t_c`.
fn three_tools() -> Answer {
    Answer::new()
        .tool_use("t_r", "read", &file("f.txt"))
        .tool_use("t_b", "bash", &command("echo out"))
        .tool_use("t_c", "calculator", &json!({"expression": "2 + 2"}))
}

/// The states of the three calls under these options, written in Lua.
#[track_caller]
fn run_under(options: &str) -> (Editor, [&'static str; 3]) {
    let provider = Provider::anthropic([three_tools()]);
    let setup = with_lua_options(&provider, options);
    let editor = setup
        .with("f.txt", "a\n")
        .file("question.chat", QUESTION)
        .start();
    watch(&editor);
    editor.keys("<C-]>");
    let outcomes = outcomes(&editor, ["t_r", "t_b", "t_c"]);
    (editor, outcomes)
}

#[track_caller]
fn expect(options: &str, expected: [&str; 3]) -> Editor {
    let (editor, outcomes) = run_under(options);
    assert_eq!(outcomes, expected, "read, bash, calculator under {options}");
    editor
}

#[test]
fn a_function_approves_asks_denies_or_passes() {
    expect(
        "tools = { auto_approve = function(tool_name, input, ctx)
          if tool_name == 'calculator' then return true end
          if tool_name == 'bash' and input.command:match('echo') then return 'deny' end
          return false
        end }",
        ["waits", "denied", "ran"],
    );
    // If the function returns nothing, the next resolver decides, which approves everything here.
    expect(
        "tools = { require_approval = false, auto_approve = function(tool_name)
          if tool_name == 'bash' then return false end
        end }",
        ["ran", "waits", "ran"],
    );
}

#[test]
fn a_function_receives_the_buffer_and_the_call() {
    let editor = expect(
        "tools = { auto_approve = function(tool_name, input, ctx)
          calls = calls or {}
          calls[ctx.tool_id] = { ctx.bufnr, tool_name, input }
        end }",
        ["waits", "waits", "waits"],
    );
    let calls = editor.lua("return calls", &json!([]));
    assert_eq!(
        calls["t_c"],
        json!([1, "calculator", {"expression": "2 + 2"}])
    );
    assert_eq!(calls["t_b"][2]["timeout"], json!(null));
}

#[test]
fn a_function_that_fails_makes_calls_wait_and_is_logged() {
    let editor = expect(
        "tools = { require_approval = false, auto_approve = function(tool_name)
          if tool_name == 'bash' then error('my policy is broken') end
          return true
        end }",
        ["ran", "waits", "ran"],
    );
    editor.wait_for("a line in the log", |editor| {
        let code = "return table.concat(vim.fn.readfile(vim.fn.stdpath('log') .. '/flemma.log'))";
        let log = editor.lua(code, &json!([]));
        log.as_str()
            .unwrap_or_default()
            .contains("my policy is broken")
    });
}

#[test]
fn options_that_are_set_again_apply_at_once() {
    let call = |id| Answer::new().tool_use(id, "calculator", &json!({"expression": "1"}));
    let provider = Provider::anthropic([call("t_1"), Answer::says("Well."), call("t_2")]);
    let options = json!({"tools": {"auto_approve": ["calculator"]}});
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    editor.wait_text("Well.\n\n@You:\n");
    editor.lua(
        "require('flemma').setup({ provider = 'anthropic', tools = { auto_approve = {} } })",
        &json!([]),
    );
    editor.keys("GiAgain.<Esc><C-]>");
    wait_cursor(&editor, "**Tool Result:** `t_2`");
    assert!(result(&editor, "t_2").contains("status=pending"));
}

#[test]
fn the_frontmatter_cannot_overrule_a_function_of_setup() {
    for (function, expected) in [
        ("function() return 'deny' end", "denied"),
        ("function() return false end", "waits"),
        ("function() error('broken') end", "waits"),
        ("function() return nil end", "ran"),
        ("function() return true end", "ran"),
    ] {
        let call = Answer::new().tool_use("t_b", "bash", &command("echo out"));
        let provider = Provider::anthropic([call]);
        let options = format!(
            "tools = {{ auto_approve = {function} }}, trust = {{ frontmatter = 'always' }}"
        );
        let text = below("flemma.opt.tools.auto_approve = { \"$default\", \"bash\" }");
        let setup = with_lua_options(&provider, &options);
        let editor = setup.file("question.chat", &text).start();
        watch(&editor);
        editor.keys("<C-]>");
        assert_eq!(outcomes(&editor, ["t_b"]), [expected], "{function}");
    }
}
