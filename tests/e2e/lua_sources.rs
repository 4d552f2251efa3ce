//! Lua tools and the rules: how they are shown and listed, which sources are awaited, and
//! when a chat offers a tool.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::lua_tools::{ask, calls, done, ended, failed, tool};
use crate::stage::*;

/// A chat with a pending call of `t`, whose preview is made by `body`.
#[track_caller]
fn waits_with_preview(provider: &Provider, body: &str) -> Editor {
    let init = format!(
        "require('flemma').setup({{ provider = 'anthropic' }})
         require('flemma.tools').register('t', {{
           description = 'Does it',
           execute = function() return {{ success = true }} end,
           format_preview = function(input, max_length) {body} end,
         }})"
    );
    let setup = offline().provider(provider).init(&init).size(60, 30);
    let editor = setup.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    editor.wait_text("status=pending");
    editor
}

#[test]
fn a_pending_call_has_the_tools_own_preview() {
    for (body, line) in [
        (
            "return '\"' .. input.q .. '\" ' .. max_length",
            "t: \"x⤶y\" 57",
        ),
        ("return 'a\\nb' .. ('z'):rep(80)", "t: a⤶bzz"),
        ("error('boom')", "t: q=\"x⤶y\""),
        ("return 7", "t: q=\"x⤶y\""),
    ] {
        let provider = calls("t", &json!({"q": "x\ny"}));
        let editor = waits_with_preview(&provider, body);
        editor.wait_screen(&format!("the preview {line:?}"), |rows| {
            rows.iter().any(|row| row.contains(line))
        });
    }
}

#[test]
fn a_key_waits_for_sources_and_sends_once() {
    let provider = calls("found", &json!({"word": "now"}));
    let init = format!(
        "require('flemma').setup({{ provider = 'anthropic', tools = {{ auto_approve = {{ 'found' }} }} }})
         tools = require('flemma.tools')
         tools.register(function(register, done)
           finish = function()
             {}
             done()
             done()
           end
         end)",
        tool("found", "return { success = true, output = input.word }").replace("tools.register", "register")
    );
    let editor = offline()
        .provider(&provider)
        .init(&init)
        .file("question.chat", QUESTION)
        .start();
    watch(&editor);
    editor.keys("<C-]>");
    let waits = |rows: &[String]| {
        rows.iter()
            .any(|row| row.contains("Waiting for tool definitions to load..."))
    };
    editor.wait_screen("that it waits", |rows| waits(rows));
    editor.keys("<C-]>");
    assert_eq!(provider.requests().len(), 0);
    editor.lua("finish()", &json!([]));
    editor.wait_screen("that it waits no more", |rows| !waits(rows));
    wait_end(&editor, "@Assistant:\nWell.\n\n@You:\n\n");
    assert_eq!(result(&editor, "t_1"), done("now"));
    expect_requests(&editor, 2);
    assert!(
        !editor.messages().contains("no tool named"),
        "{}",
        editor.messages()
    );
}

#[test]
fn a_broken_source_is_reported_and_loses_only_its_own_tools() {
    for (source, message) in [
        ("function() error('boom', 0) end", "failed: boom"),
        (
            "function(register, done) register('kept', kept) done('no server') end",
            "failed: no server",
        ),
        (
            "{ timeout = 0.05, resolve = function(register) register('kept', kept) end }",
            "it was not done within 0.05 seconds",
        ),
    ] {
        let provider = Provider::anthropic([Answer::says("Well.")]);
        let init = format!(
            "kept = {{ description = 'Kept', execute = function() end }}
             tools.register({source})"
        );
        let editor = ask(&provider, &init);
        wait_message(&editor, message);
        editor.wait_text("@Assistant:\nWell.");
        let offered = provider.requests()[0].body["tools"].to_string();
        assert_eq!(
            offered.contains("\"kept\""),
            source.contains("kept"),
            "{offered}"
        );
    }
}

#[test]
fn rules_may_name_a_tool_that_is_not_loaded_yet() {
    // "bosh" is one letter from a built-in tool.
    let provider = calls("bosh", &json!({"word": "now"}));
    let editor = ask_with(&provider, json!({}));
    let init = format!(
        "require('flemma').setup({{ provider = 'anthropic', tools = {{ auto_approve = {{ 'bosh' }} }} }})
         local tools = require('flemma.tools')\n{}",
        tool("bosh", "return { success = true, output = input.word }")
    );
    drop(editor);
    let editor = offline()
        .provider(&provider)
        .init(&init)
        .file("question.chat", QUESTION)
        .start();
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    assert_eq!(result(&editor, "t_1"), done("now"));
    assert!(!editor.messages().contains("bosh"), "{}", editor.messages());
}

#[test]
fn strict_is_sent_only_where_set_and_supported() {
    let provider = Provider::responses([Answer::says("Well.")]);
    let schema =
        "input_schema = { type = 'object', properties = { q = { type = { 'string', 'null' } } },
        required = { 'q' }, additionalProperties = false }";
    let init = format!(
        "tools.register('exact', {{ description = 'Exact', strict = true, {schema} }})
         tools.register('loose', {{ description = 'Loose', {schema} }})"
    );
    let editor = ask(&provider, &init);
    editor.wait_text("Well.");
    let body = provider.requests()[0].body.clone();
    let named = |name: &str| {
        let tools = body["tools"].as_array().unwrap();
        tools.iter().find(|it| it["name"] == name).unwrap().clone()
    };
    assert_eq!(named("exact")["strict"], json!(true));
    assert_eq!(named("loose")["strict"], json!(false));
    assert_eq!(
        named("exact")["parameters"].to_string(),
        r#"{"additionalProperties":false,"properties":{"q":{"type":["string","null"]}},"required":["q"],"type":"object"}"#
    );
}

#[test]
fn the_manuals_first_lua_tool_works() {
    for (path, block) in [
        ("question.chat", done("2 lines")),
        ("none.txt", "none.txt is not a file.".to_owned()),
    ] {
        let provider = calls("line_count", &json!({"path": path}));
        let editor = ask(&provider, &manual_snippet("flemma-lua-tools"));
        let said = ended(&editor);
        assert!(said.contains(&block), "{said}");
    }
}

#[test]
fn the_manuals_asynchronous_tool_works() {
    let provider = calls("fetch", &json!({"url": "file:///etc/hostname/nothing"}));
    let init = format!(
        "tools.register('fetch', {{ description = 'Fetches', {} }})",
        manual_snippet("flemma-tools-execute")
    );
    let said = ended(&ask(&provider, &init));
    assert!(said.contains("(error)") && said.contains("curl"), "{said}");
}

/// The tools that the request offers.
fn offered(body: &serde_json::Value) -> Vec<String> {
    offered_names(body)
}

/// Records the highlight groups that are drawn.
const GROUPS: &str = "
    groups = {}
    local spans = require('flemma.spans')
    local show = spans.spans
    spans.spans = function(message)
      for _, line in ipairs(message.lines) do
        for _, span in ipairs(line) do groups[span[3]] = true end
      end
      return show(message)
    end";

#[test]
fn a_tool_that_is_mentioned_is_offered_from_then_on() {
    let provider = Provider::anthropic([
        Answer::says("Yes."),
        Answer::new().tool_use(
            "t_1",
            "calculator_async",
            &json!({"expression": "100*50", "delay": 1}),
        ),
        Answer::says("Well."),
        Answer::says("No."),
    ]);
    let editor = ask_with(&provider, json!({"tools": {"require_approval": false}}));
    editor.keys("<C-]>");
    editor.wait_text("Yes.\n\n@You:\n");
    editor.lua(GROUPS, &json!([]));
    // The tool is offered only if it is mentioned. An unknown name is text.
    editor.keys("Go@calculator_async what is 100*50? @nobody<Esc>");
    editor.wait_for("the name to stand out", |editor| {
        editor.lua("return groups.FlemmaToolName", &json!([])) == json!(true)
    });
    editor.keys("<C-]>");
    wait_result(&editor, "t_1", "**Tool Result:** `t_1`\n\n```\n5000\n```");
    editor.wait_text("Well.\n\n@You:\n");
    editor.command("Flemma status");
    editor.wait_text("addressed  @calculator_async");
    editor.command("close");
    editor.keys(":%s/@calculator_async//<CR>G<C-]>");
    editor.keys("GoAnd now?<Esc><C-]>");
    editor.wait_text("No.\n\n@You:\n");
    let requests = provider.requests();
    let has = |at: usize| offered(&requests[at].body).contains(&"calculator_async".to_owned());
    assert_eq!([has(0), has(1), has(2), has(3)], [false, true, true, false]);
    let asked = requests[1].body["messages"].to_string();
    assert!(
        asked.contains("@calculator_async what is 100*50? @nobody"),
        "{asked}"
    );
}

/// An editor with the Lua tool `zebra_one`, before any key.
#[track_caller]
fn with_a_zebra(provider: &Provider) -> Editor {
    let init = format!(
        "require('flemma').setup({{ provider = 'anthropic' }}) local tools = require('flemma.tools')\n{}",
        tool("zebra_one", "return { success = true }")
    );
    offline()
        .provider(provider)
        .init(&init)
        .file("question.chat", QUESTION)
        .start()
}

#[test]
fn a_tools_name_is_completed_after_an_at() {
    let provider = calls("t", &json!({}));
    let editor = with_a_zebra(&provider);
    wait_server(&editor);
    editor.keys("GoAsk @zeb<C-x><C-o>");
    editor.wait_text("Ask @zebra_one");
}

#[test]
fn the_list_of_tools_says_where_each_comes_from() {
    let provider = calls("t", &json!({}));
    let editor = with_a_zebra(&provider);
    editor.command("Flemma tool:list");
    editor.wait_text("All tools");
    let text = editor.text();
    let row = |name: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("zebra_one"), "zebra_one offered lua Does it");
    assert!(
        row("calculator_async").starts_with("calculator_async - builtin "),
        "{text}"
    );
    assert!(text.contains("No tool is running here."), "{text}");
}

/// The complete example of the specification, word for word.
const EXPORT: &str = r#"
tools.register("export", {
  name = "export",
  description = "Save content to a file in the project",
  input_schema = {
    type = "object",
    properties = {
      path = { type = "string", description = "Output file path (relative or absolute)" },
      content = { type = "string", description = "Content to write" },
    },
    required = { "path", "content" },
    additionalProperties = false,
  },
  strict = true,
  async = false,
  execute = function(input, ctx)
    local path = ctx.path.resolve(input.path)

    if not ctx.sandbox.is_path_writable(path) then
      return { success = false, error = "Sandbox: write denied for " .. input.path }
    end

    -- Use tool-specific config (e.g. config.tools.export = { max_size = 102400 })
    local tool_config = ctx:get_config()
    local max_size = (tool_config and tool_config.max_size) or ctx.truncate.MAX_BYTES

    if #input.content > max_size then
      return {
        success = false,
        error = "Content exceeds " .. ctx.truncate.format_size(max_size) .. " limit",
      }
    end

    -- ... write logic ...

    return { success = true, output = "Saved " .. #input.content .. " bytes to " .. input.path }
  end,
})
"#;

#[test]
fn the_specifications_complete_example_uses_its_context() {
    for (size, block) in [
        (100, done("Saved 100 bytes to out.txt")),
        (101, failed("Content exceeds 100 B limit")),
    ] {
        let provider = calls(
            "export",
            &json!({"path": "out.txt", "content": "x".repeat(size)}),
        );
        let editor = ask(&provider, EXPORT);
        assert_eq!(ended(&editor), block);
    }
}

#[test]
fn a_tool_asks_the_sandbox_of_its_chat_before_it_writes() {
    let body = "local words, why = ctx.sandbox.wrap_command({ 'ls' })
        return { success = true, output = table.concat({
          tostring(ctx.sandbox.is_path_writable('new.txt')), tostring(ctx.sandbox.is_path_writable('/etc/new.txt')),
          tostring(words and words[#words] or why) }, ' ') }";
    for (enabled, said) in [("true", "true false ls"), ("false", "true true ls")] {
        let provider = calls("t", &json!({}));
        let init = format!(
            "require('flemma').setup({{ provider = 'anthropic', tools = {{ require_approval = false }},
               sandbox = {{ enabled = {enabled} }} }})\n{}",
            tool("t", body)
        );
        assert_eq!(ended(&ask(&provider, &init)), done(said));
    }
}

#[test]
fn the_default_timeout_ends_tools_and_sources_without_their_own() {
    let provider = calls("slow", &json!({}));
    let init = format!(
        "require('flemma').setup({{ provider = 'anthropic',
           tools = {{ require_approval = false, default_timeout = 0.3 }} }})
         tools = require('flemma.tools')
         tools.register(function(register, done) end)\n{}",
        tool("slow", "")
    );
    let setup = offline().provider(&provider).init(&init);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_message(&editor, "it was not done within 0.3 seconds");
    assert_eq!(
        ended(&editor),
        failed("The tool was stopped after 0.3 seconds, its time limit.")
    );
}
