//! Tools that the user registers in Lua: offered, approved, run, and stopped like any
//! other.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

/// Sends a question after `init` ran. Every call is approved.
#[track_caller]
pub fn ask(provider: &Provider, init: &str) -> Editor {
    let name = provider.name();
    let init = format!(
        "require('flemma').setup({{ provider = '{name}', tools = {{ require_approval = false,
           export = {{ max_size = 100 }} }} }})
         local tools = require('flemma.tools')\n{init}"
    );
    let setup = offline().provider(provider).init(&init);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    editor
}

/// Registers a tool whose function `execute(input, ctx, callback)` has this body.
pub fn tool(name: &str, body: &str) -> String {
    format!(
        "tools.register('{name}', {{
           description = 'Does it',
           input_schema = {{ type = 'object', properties = {{ word = {{ type = 'string' }} }} }},
           execute = function(input, ctx, callback) {body} end,
         }})\n"
    )
}

/// A provider that calls `name` and answers "Well." to the result.
pub fn calls(name: &str, input: &serde_json::Value) -> Provider {
    let call = Answer::new().tool_use("t_1", name, input);
    Provider::anthropic([call, Answer::says("Well.")])
}

/// Waits for the result of the call, and returns its block.
#[track_caller]
pub fn ended(editor: &Editor) -> String {
    editor.wait_for("the end of the call", |editor| {
        let block = result(editor, "t_1");
        !block.is_empty() && !block.contains("status=")
    });
    result(editor, "t_1")
}

pub fn done(text: &str) -> String {
    format!("**Tool Result:** `t_1`\n\n```\n{text}\n```")
}

pub fn failed(text: &str) -> String {
    format!("**Tool Result:** `t_1` (error)\n\n```\n{text}\n```")
}

/// The first form of the specification, word for word.
pub const MY_TOOL: &str = r#"
local tools = require("flemma.tools")
tools.register("my_tool", {
  name = "my_tool",
  description = "Does something useful",
  input_schema = {
    type = "object",
    properties = {
      query = { type = "string", description = "The input query" },
    },
    required = { "query" },
  },
  format_preview = function(input, max_length)
    return '"' .. input.query:sub(1, max_length - 2) .. '"'
  end,
  execute = function(input)
    return { success = true, output = "done: " .. input.query }
  end,
})
"#;

#[test]
fn a_registered_tool_is_offered_and_its_result_is_sent() {
    let provider = calls("my_tool", &json!({"query": "this"}));
    let editor = ask(&provider, MY_TOOL);
    wait_end(&editor, "@Assistant:\nWell.\n\n@You:\n\n");
    assert_eq!(result(&editor, "t_1"), done("done: this"));
    let requests = provider.requests();
    let offered = requests[0].body["tools"].as_array().unwrap();
    let mine = offered.iter().find(|it| it["name"] == "my_tool").unwrap();
    assert_eq!(
        mine["input_schema"].to_string(),
        r#"{"properties":{"query":{"description":"The input query","type":"string"}},"required":["query"],"type":"object"}"#
    );
    assert_eq!(
        requests[1].body["messages"][2]["content"][0]["content"],
        "done: this"
    );
}

#[test]
fn a_tool_has_one_result_whatever_it_does() {
    for (body, block) in [
        (
            "return { success = true, output = 'x' .. input.word }",
            done("xhey"),
        ),
        (
            "return { success = true, output = { b = 1, a = { 'z' } } }",
            done("{\n  \"a\": [\n    \"z\"\n  ],\n  \"b\": 1\n}"),
        ),
        ("return { success = true }", done("(no output)")),
        ("return { success = true, output = 7 }", done("7")),
        (
            "return { success = false, error = 'no such word' }",
            failed("no such word"),
        ),
        (
            "return { success = false }",
            failed("The tool failed and gave no reason."),
        ),
        (
            "error('boom', 0)",
            failed("The tool t raised an error: boom"),
        ),
        (
            "return 'text'",
            failed(
                "The tool returned a string; it must return { success = true, output = … } or { success = false, error = … }.",
            ),
        ),
        (
            "callback({ success = true, output = 'a' }) callback({ success = true, output = 'b' })",
            done("a"),
        ),
        (
            "vim.schedule(function() callback({ success = true, output = 'later' }) end)",
            done("later"),
        ),
    ] {
        let provider = calls("t", &json!({"word": "hey"}));
        let editor = ask(&provider, &tool("t", body));
        assert_eq!(ended(&editor), block, "{body}");
    }
}

#[test]
fn a_tools_output_never_becomes_structure() {
    let provider = calls("t", &json!({}));
    let body = "return { success = true, output = ('`'):rep(4) .. '\\n@You: x' }";
    let editor = ask(&provider, &tool("t", body));
    editor.wait_text("**Tool Result:** `t_1`\n\n`````\n````\n@You: x\n`````\n");
    wait_end(&editor, "@Assistant:\nWell.\n\n@You:\n\n");
}

#[test]
fn a_tool_without_a_result_or_a_callback_is_reported() {
    let provider = calls("t", &json!({}));
    let init = "tools.register('t', { description = 'Does it', execute = function(input) end })";
    let editor = ask(&provider, init);
    let block = ended(&editor);
    assert!(block.contains("The tool t returned nothing"), "{block}");
}

#[test]
fn the_context_is_as_documented() {
    let body = "return { success = true, output = {
        vim.inspect(input), ctx.bufnr == vim.api.nvim_get_current_buf(), ctx.cwd, ctx.timeout, ctx.__dirname,
        ctx.__filename, ctx.path.resolve('a/b.txt'), ctx.path.resolve('/a'), ctx.nothing == nil,
        ctx.truncate.format_size(12345), ctx.truncate.MAX_LINES, ctx.truncate.MAX_BYTES,
        ctx.truncate.truncate_tail('a\\nb', { max_lines = 1 }).content } }";
    let provider = calls("t", &json!({"word": null, "list": [1, 2]}));
    let init = tool("t", body).replace(
        "properties = { word = { type = 'string' } }",
        "properties = {}",
    );
    let editor = ask(&provider, &init);
    let block = ended(&editor);
    let json: serde_json::Value = serde_json::from_str(
        block
            .trim_start_matches("**Tool Result:** `t_1`\n\n```\n")
            .trim_end_matches("\n```"),
    )
    .unwrap();
    let here = editor.dir().to_string_lossy().into_owned();
    assert_eq!(
        json,
        json!([
            "{\n  list = { 1, 2 }\n}",
            true,
            here,
            120,
            here,
            format!("{here}/question.chat"),
            format!("{here}/a/b.txt"),
            "/a",
            true,
            "12.1 KB",
            2000,
            51200,
            "b"
        ])
    );
}

#[test]
fn a_tools_own_options_are_a_copy() {
    let body = "local config = ctx:get_config()
        local before = config.max_size
        config.max_size = 1
        return { success = true, output = before .. ' ' .. ctx:get_config().max_size }";
    let provider = calls("export", &json!({}));
    assert_eq!(
        ended(&ask(&provider, &tool("export", body))),
        done("100 100")
    );
    let provider = calls("other", &json!({}));
    let body = "return { success = true, output = tostring(ctx:get_config()) }";
    assert_eq!(ended(&ask(&provider, &tool("other", body))), done("nil"));
}

#[test]
fn a_cancel_reaches_the_tool_and_its_late_result_is_dropped() {
    let provider = calls("t", &json!({}));
    let body = "started = true
        return function()
          stopped = true
          callback({ success = true, output = 'too late' })
        end";
    let editor = ask(&provider, &tool("t", body));
    editor.wait_for("the tool", |editor| {
        editor.lua("return started", &json!([])) == json!(true)
    });
    editor.keys("<C-c>");
    assert_eq!(ended(&editor), failed("Cancelled by the user."));
    editor.wait_for("the cancel", |editor| {
        editor.lua("return stopped", &json!([])) == json!(true)
    });
    assert_eq!(ended(&editor), failed("Cancelled by the user."));
}

#[test]
fn a_tool_that_never_calls_back_is_stopped_at_its_deadline() {
    let provider = calls("t", &json!({}));
    let init = tool("t", "return function() stopped = true end")
        .replace("description", "timeout = 0.2, description");
    let editor = ask(&provider, &init);
    assert_eq!(
        ended(&editor),
        failed("The tool was stopped after 0.2 seconds, its time limit.")
    );
    assert_eq!(editor.lua("return stopped", &json!([])), json!(true));
}

#[test]
fn a_registered_tool_waits_for_approval_like_any_other() {
    let provider = calls("my_tool", &json!({"query": "this"}));
    let init = format!("require('flemma').setup({{ provider = 'anthropic' }})\n{MY_TOOL}");
    let editor = offline()
        .provider(&provider)
        .init(&init)
        .file("question.chat", QUESTION)
        .start();
    editor.keys("<C-]>");
    wait_result(
        &editor,
        "t_1",
        "**Tool Result:** `t_1`\n\n```flemma:tool status=pending\n```",
    );
    alt_enter(&editor);
    wait_result(&editor, "t_1", &done("done: this"));
}

#[test]
fn registering_or_removing_a_tool_affects_open_chats() {
    let provider = calls("late", &json!({"word": "now"}));
    let editor = ask_with(&provider, json!({"tools": {"auto_approve": ["late"]}}));
    let init = "tools = require('flemma.tools')\n".to_owned()
        + &tool("late", "return { success = true, output = input.word }");
    editor.lua(&init, &json!([]));
    editor.keys("<C-]>");
    wait_result(&editor, "t_1", &done("now"));
    editor.wait_text("@Assistant:\nWell.\n\n@You:\n");
    let gone = "return { tools.unregister('late'), tools.unregister('late'), tools.count() }";
    assert_eq!(editor.lua(gone, &json!([])), json!([true, false, 0]));
    provider.then(Answer::new().tool_use("t_2", "late", &json!({})));
    editor.keys("GoAgain.<Esc><C-]>");
    editor.wait_text("There is no tool named \"late\".");
}

#[test]
fn a_tool_can_replace_a_built_in_one() {
    let provider = calls("calculator", &json!({"word": "two"}));
    let editor = ask(
        &provider,
        &tool(
            "calculator",
            "return { success = true, output = input.word .. '!' }",
        ),
    );
    assert_eq!(ended(&editor), done("two!"));
}

#[test]
fn a_tool_with_an_invalid_schema_is_left_out() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let init =
        "tools.register('bad', { description = 'Bad', input_schema = { type = 'string' } })\n"
            .to_owned()
            + &tool("good", "return { success = true }");
    let editor = ask(&provider, &init);
    wait_message(
        &editor,
        "\"bad\" is left out, because its input_schema has the type \"string\"",
    );
    editor.wait_text("@Assistant:\nWell.");
    let offered = provider.requests()[0].body["tools"].to_string();
    assert!(
        offered.contains("\"good\"") && !offered.contains("\"bad\""),
        "{offered}"
    );
}

#[test]
fn a_long_output_is_truncated_and_saved_whole() {
    let provider = calls("t", &json!({}));
    let body = "local lines = {}
        for line = 1, 3000 do lines[line] = 'line ' .. line end
        return { success = true, output = table.concat(lines, '\\n') }";
    let editor = ask(&provider, &tool("t", body));
    let block = ended(&editor);
    assert!(
        block.contains("line 2000\n\n[Showing lines 1-2000 of 3000. Full output: "),
        "{}",
        &block[block.len() - 300..]
    );
    let path = block
        .split("Full output: ")
        .nth(1)
        .unwrap()
        .split(']')
        .next()
        .unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 3000);
}

#[test]
fn every_return_value_ends_the_call_at_once() {
    for (returned, block) in [
        (
            "{ success = true, output = { 1, 2, a = { 3, b = vim.NIL } } }",
            done("{\n  \"1\": 1,\n  \"2\": 2,\n  \"a\": {\n    \"1\": 3,\n    \"b\": null\n  }\n}"),
        ),
        (
            "setmetatable({}, { __index = function() error('mine', 0) end })",
            failed("The tool returned a table that cannot be read: mine"),
        ),
        (
            "{ success = true, output = { [true] = 1 } }",
            failed(
                "The tool returned a table that JSON cannot hold: Cannot serialise boolean: table key must be a number or string",
            ),
        ),
        (
            "{ success = true, output = 2 ^ 60 }",
            done("1152921504606846976"),
        ),
        (
            "{ success = true, output = -1e15 }",
            done("-1000000000000000"),
        ),
        ("{ success = true, output = 0.5 }", done("0.5")),
        ("{ success = true, output = 1 / 0 }", done("inf")),
    ] {
        let provider = calls("t", &json!({}));
        let editor = ask(&provider, &tool("t", &format!("return {returned}")));
        assert_eq!(ended(&editor), block, "{returned}");
    }
}
