//! Approval functions: registered in Lua, and set by options and `setup()`.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

/// The example of the manual and of the tools specification, word for word.
const SECURITY_POLICY: &str = r#"
local approval = require("flemma.tools.approval")

approval.register("my_plugin:security_policy", {
  description = "Block dangerous bash commands",
  resolve = function(tool_name, input, context)
    if tool_name == "bash" and input.command:match("rm %-rf") then
      return "deny"
    end
    return nil  -- pass to next resolver
  end,
})
"#;

const DENIED: &str = "**Tool Result:** `t_b` (error)\n\n```\nThe tool was denied by a policy.\n```";
const PENDING: &str = "**Tool Result:** `t_b`\n\n```flemma:tool status=pending\n```";
const RAN: &str = "**Tool Result:** `t_b`\n\n```\nout\n```";

/// Sends a question after `setup()` with these options and `init`. The first answer calls `bash`.
#[track_caller]
fn ask_for_command(provider: &Provider, options: &str, init: &str) -> Editor {
    let init = format!(
        "require('flemma').setup({{ provider = 'anthropic', sandbox = {{ enabled = false }}, {options} }})\n{init}"
    );
    let setup = offline().provider(provider).init(&init);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    editor
}

fn calls(line: &str) -> Provider {
    let call = Answer::new().tool_use("t_b", "bash", &command(line));
    Provider::anthropic([call, Answer::says("Well.")])
}

#[test]
fn the_documented_resolver_works() {
    for (line, block) in [("rm -rf ./nothing", DENIED), ("echo out", PENDING)] {
        let provider = calls(line);
        let editor = ask_for_command(&provider, "", SECURITY_POLICY);
        wait_result(&editor, "t_b", block);
    }
}

#[test]
fn a_resolver_decides_above_the_options_or_below_them() {
    let rows = [
        ("200", "tools = { auto_approve = { 'bash' } }", DENIED),
        ("50", "tools = { auto_approve = { 'bash' } }", RAN),
        ("50", "tools = { require_approval = false }", DENIED),
        ("-1", "tools = { require_approval = false }", RAN),
    ];
    for (priority, options, block) in rows {
        let provider = calls("echo out");
        let init = format!(
            "require('flemma.tools.approval').register('mine', {{
               priority = {priority}, resolve = function() return 'deny' end }})"
        );
        let editor = ask_for_command(&provider, options, &init);
        wait_result(&editor, "t_b", block);
    }
}

#[test]
fn a_resolver_that_fails_passes_or_denies_if_it_fails_closed() {
    for (fail, block) in [("nil", RAN), ("'closed'", DENIED)] {
        let provider = calls("echo out");
        let init = format!(
            "require('flemma.tools.approval').register('mine', {{
               fail = {fail}, resolve = function() error('boom') end }})"
        );
        let editor = ask_for_command(&provider, "tools = { require_approval = false }", &init);
        wait_result(&editor, "t_b", block);
    }
}

#[test]
fn resolvers_can_be_added_and_removed_later() {
    let call = |id| Answer::new().tool_use(id, "bash", &command("echo out"));
    let provider = Provider::anthropic([call("t_1"), call("t_2"), Answer::says("Well.")]);
    let editor = ask_with(&provider, json!({}));
    editor.lua(
        "require('flemma.tools.approval').register('mine', { resolve = function(_, _, context)
           asked = context
           return 'deny'
         end })",
        &json!([]),
    );
    editor.keys("<C-]>");
    editor.wait_text("**Tool Result:** `t_1` (error)");
    editor.wait_text("**Tool Result:** `t_2` (error)");
    let asked = editor.lua(
        "return { asked.tool_id, asked.bufnr == vim.api.nvim_get_current_buf() }",
        &json!([]),
    );
    assert_eq!(asked, json!(["t_2", true]));
    editor.wait_text("@Assistant:\nWell.\n\n@You:\n");

    let removed = "return require('flemma.tools.approval').unregister('mine')";
    assert_eq!(editor.lua(removed, &json!([])), json!(true));
    provider.then(call("t_3"));
    editor.keys("GoAgain.<Esc><C-]>");
    wait_result(
        &editor,
        "t_3",
        "**Tool Result:** `t_3`\n\n```flemma:tool status=pending\n```",
    );
}

#[test]
fn a_hundred_calls_are_asked_about_in_one_message() {
    let mut answer = Answer::new();
    for number in 0..100 {
        answer = answer.tool_use(&format!("t_{number}"), "bash", &command("true"));
    }
    let provider = Provider::anthropic([answer, Answer::says("Well.")]);
    let init = "
        asked, messages = 0, 0
        local approval = require('flemma.tools.approval')
        for _, name in ipairs({ 'one', 'two' }) do
          approval.register(name, { resolve = function()
            asked = asked + 1
            return name == 'two' and 'deny' or nil
          end })
        end
        vim.api.nvim_create_autocmd('FileType', { pattern = 'chat', callback = function()
          local functions = require('flemma.functions')
          local ask = functions.ask
          functions.ask = function(message)
            messages = messages + 1
            return ask(message)
          end
        end })";
    let editor = ask_for_command(&provider, "", init);
    editor.wait_text("@Assistant:\nWell.");
    assert_eq!(
        editor.lua("return { messages, asked }", &json!([])),
        json!([1, 200])
    );
    assert_eq!(editor.text().matches("denied by a policy").count(), 100);
}

#[test]
fn a_module_in_auto_approve_is_a_resolver_of_its_own() {
    let module = "package.preload['my.rules'] = function()
          return { resolve = function(name) return name == 'bash' and 'approve' or nil end }
        end";
    for options in ["{ 'my.rules', '$readonly' }", "'my.rules'"] {
        let provider = calls("echo out");
        let options = format!("tools = {{ auto_approve = {options} }}");
        let editor = ask_for_command(&provider, &options, module);
        wait_result(&editor, "t_b", RAN);
    }
}

#[test]
fn a_missing_module_is_reported_and_makes_calls_wait() {
    for list in ["'bash', 'my.rules'", "'my.rules'"] {
        let provider = calls("echo out");
        let options =
            format!("tools = {{ auto_approve = {{ {list} }}, require_approval = false }}");
        let editor = ask_for_command(&provider, &options, "");
        wait_message(&editor, "the module \"my.rules\", which is not in");
        wait_result(&editor, "t_b", PENDING);
    }
}

#[test]
fn a_misspelled_option_is_reported_at_the_first_chat_and_approves_nothing() {
    let provider = calls("echo out");
    let options = "tools = { auto_aprove = {}, require_approval = false }";
    let editor = ask_for_command(&provider, options, "");
    let messages = wait_message(&editor, "Did you mean \"auto_approve\"?");
    assert!(messages.contains("init:1: setup()"), "{messages}");
    assert!(
        messages.contains("every call needs your approval"),
        "{messages}"
    );
    wait_result(&editor, "t_b", PENDING);
    // Only once, because another message would hide the problem.
    let messages = editor.messages();
    assert_eq!(
        messages.matches("every call needs your approval").count(),
        1,
        "{messages}"
    );
}

#[test]
fn the_verbose_status_shows_each_value_and_who_set_it() {
    let provider = calls("echo out");
    let options = "model = 'm', parameters = { anthropic = { api_key = 's3cret' } }";
    let setup = with_lua_options(&provider, options);
    let editor = setup.file("question.chat", QUESTION).start();
    editor.command("Flemma autopilot:disable");
    editor.command("Flemma status verbose");
    let row = |text: &str, name: &str| {
        let table = text.split("set by").nth(1).unwrap_or_default();
        let line = table
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")));
        line.unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    editor.wait_text("set by");
    let text = editor.text();
    for (name, line) in [
        ("model", "model \"m\" setup"),
        (
            "tools.autopilot.enabled",
            "tools.autopilot.enabled false runtime",
        ),
        ("tools.max_concurrent", "tools.max_concurrent 4 defaults"),
        (
            "parameters.anthropic.api_key",
            "parameters.anthropic.api_key (set) setup",
        ),
    ] {
        assert_eq!(row(&text, name), line, "{text}");
    }
    assert!(!text.contains("s3cret"));
}
