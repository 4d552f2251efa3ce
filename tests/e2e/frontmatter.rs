//! Rules that the user types at the top of a chat: approval of calls, offered tools, and
//! request parameters. The texts in capitals are the examples of the manual and the tools
//! specification, word for word.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;
use crate::traces::wait_review;

const CONFIGURED: &str = r#"
tools = {
  -- Preset references and tool names can be mixed freely
  auto_approve = { "$readonly", "calculator" },

  -- Function form for full control
  auto_approve = function(tool_name, input, ctx)
    if tool_name == "calculator" then return true end
    if tool_name == "bash" and input.command:match("rm %-rf") then return "deny" end
    return false  -- require approval
  end,
}
"#;

const PRESETS: &str = r#"
tools = {
  presets = {
    ["$yolo"]    = { approve = { "bash", "read", "write", "edit" } },
    ["$no-bash"] = { deny = { "bash" } },
  },
  auto_approve = { "$yolo", "$no-bash" },
}
"#;

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

const SELECTION: &str = r#"flemma.opt.tools = {"bash", "read"}             -- only these tools
flemma.opt.tools:remove("calculator")           -- remove from defaults
flemma.opt.tools:append("calculator_async")     -- add a tool
flemma.opt.tools = flemma.opt.tools + "read"    -- operator overloads work too"#;

pub const PARAMETERS: &str = r#"-- General parameters (work across all providers)
flemma.opt.thinking = "medium"          -- override the unified thinking level
flemma.opt.cache_retention = "long"     -- override prompt caching strategy
flemma.opt.max_tokens = 8000            -- override max output tokens
flemma.opt.temperature = 0.3            -- override sampling temperature

-- Provider-specific overrides (take priority over general)
flemma.opt.anthropic.thinking_budget = 20000
flemma.opt.openai.reasoning = "high"
flemma.opt.vertex.thinking_budget = 4096"#;

const CALLS: [&str; 5] = ["t_r", "t_w", "t_e", "t_b", "t_c"];

/// Calls of `read`, `write`, `edit`, `bash`, and `calculator`; see [`CALLS`].
fn five_tools() -> Answer {
    let write = json!({"label": "testing", "path": "new.txt", "content": "b"});
    let edit = json!({"label": "testing", "path": "f.txt", "oldText": "a", "newText": "b"});
    Answer::new()
        .tool_use("t_r", "read", file("f.txt"))
        .tool_use("t_w", "write", write)
        .tool_use("t_e", "edit", edit)
        .tool_use("t_b", "bash", command("echo out"))
        .tool_use("t_c", "calculator", json!({"expression": "2 + 2"}))
}

/// That the five calls come to `expected` under a frontmatter that was typed.
#[track_caller]
fn expect(frontmatter: &str, expected: [&str; 5]) {
    let provider = Provider::anthropic([five_tools()]);
    let editor = type_below(&provider, frontmatter);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, CALLS), expected, "under\n{frontmatter}");
}

/// The tools that the last request offered.
fn offered(provider: &Provider) -> Vec<String> {
    let requests = provider.requests();
    let tools = requests.last().unwrap().body["tools"].as_array().cloned();
    let name = |tool: &serde_json::Value| tool["name"].as_str().unwrap().to_owned();
    tools.unwrap_or_default().iter().map(name).collect()
}

#[test]
fn the_documented_functions_and_presets_of_setup_work() {
    let waits_denied = ["waits", "waits", "waits", "denied", "ran"];
    let rows = [
        (CONFIGURED, "rm -rf ./nothing", waits_denied),
        (
            CONFIGURED,
            "echo out",
            ["waits", "waits", "waits", "waits", "ran"],
        ),
        (
            PRESETS,
            "echo out",
            ["ran", "ran", "ran", "denied", "waits"],
        ),
    ];
    for (options, line, expected) in rows {
        let calls = Answer::new()
            .tool_use("t_r", "read", file("f.txt"))
            .tool_use(
                "t_w",
                "write",
                json!({"label": "", "path": "n", "content": ""}),
            )
            .tool_use(
                "t_e",
                "edit",
                json!({"label": "", "path": "f.txt", "oldText": "a", "newText": "b"}),
            )
            .tool_use("t_b", "bash", command(line))
            .tool_use("t_c", "calculator", json!({"expression": "2 + 2"}));
        let provider = Provider::anthropic([calls]);
        let setup = with_lua_options(&provider, options).with("f.txt", "a\n");
        let editor = setup.file("question.chat", QUESTION).start();
        editor.keys("<C-]>");
        assert_eq!(outcomes(&editor, CALLS), expected, "{line} under {options}");
    }
}

#[test]
fn each_documented_list_approves_what_it_names() {
    expect(PRESET_FORM, ["ran", "waits", "waits", "waits", "waits"]);
    expect(LIST_FORM, ["ran", "waits", "waits", "waits", "ran"]);
    expect(MIXED_FORM, ["ran", "ran", "ran", "ran", "waits"]);
}

#[test]
fn the_documented_function_approves_one_tool() {
    let expected = ["waits", "waits", "waits", "waits", "ran"];
    expect(FUNCTION_FORM, expected);
    // As printed, one below the other: the last word counts.
    let whole = [PRESET_FORM, LIST_FORM, MIXED_FORM, FUNCTION_FORM].join("\n");
    expect(&whole, expected);
}

#[test]
fn the_documented_operations_change_the_default_list() {
    let without_write = ["ran", "waits", "ran", "waits", "waits"];
    expect(WITHOUT_WRITE, without_write);
    expect(WITH_BASH, ["ran", "ran", "ran", "ran", "waits"]);
    let operators = ["ran", "waits", "ran", "ran", "waits"];
    expect(OPERATORS, operators);
    expect(&[WITHOUT_WRITE, WITH_BASH, OPERATORS].join("\n"), operators);
}

#[test]
fn the_documented_selection_decides_which_tools_are_offered() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = type_below(&provider, SELECTION);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    assert_eq!(offered(&provider), ["bash", "calculator_async", "read"]);
}

#[test]
fn a_tool_that_the_chat_does_not_offer_cannot_run() {
    let call = Answer::new().tool_use("t_r", "read", file("f.txt"));
    let provider = Provider::anthropic([call]);
    let editor = type_below(&provider, "flemma.opt.tools = {\"calculator\"}");
    editor.keys("<C-]>");
    assert_ne!(outcomes(&editor, ["t_r"]), ["ran"]);
    assert_eq!(offered(&provider), ["calculator"]);
}

#[test]
fn the_documented_parameters_are_sent() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = type_below(&provider, PARAMETERS);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    let body = &provider.requests()[0].body;
    assert_eq!(body["max_tokens"], 8000);
    // The provider's own number, cut so that a quarter of the limit is left for the answer.
    assert_eq!(body["thinking"]["budget_tokens"], 6000);
    // The API takes no temperature beside thinking.
    assert_eq!(body.get("temperature"), None);
}

#[test]
fn a_providers_parameter_overrides_the_general_one() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let frontmatter = "flemma.opt.thinking = \"low\"\nflemma.opt.anthropic.thinking_budget = 20000";
    let editor = type_below(&provider, frontmatter);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    let thinking = &provider.requests()[0].body["thinking"];
    assert_eq!(thinking["budget_tokens"], 20000);
}

#[test]
fn a_temperature_is_sent_where_there_is_no_thinking() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = type_below(
        &provider,
        "flemma.opt.temperature = 0.3\nflemma.opt.thinking = false",
    );
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    let body = &provider.requests()[0].body;
    assert_eq!(body["temperature"], 0.3);
    assert_eq!(body.get("thinking"), None);
}

#[test]
fn a_misspelled_tool_is_reported_with_a_suggestion() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = type_below(
        &provider,
        "flemma.opt.tools = {\n  \"read\",\n  \"bsah\",\n}",
    );
    editor.keys("<C-]>");
    let what = "frontmatter line 4: no tool named \"bsah\". Did you mean \"bash\"?";
    wait_message(&editor, what);
    wait_diagnostic(&editor, what);
    expect_requests(&editor, 0);
}

#[test]
fn a_failing_frontmatter_runs_no_approved_call() {
    let call = Answer::new().tool_use("t_b", "bash", command("touch ran"));
    let provider = Provider::anthropic([call]);
    let editor = type_below(&provider, "local fine = true");
    editor.keys("<C-]>");
    wait_review(&editor);
    editor.keys(&format!("{APPROVE}ggjccflemma.opt.tols = {{}}<Esc><C-]>"));
    wait_message(
        &editor,
        "There is no option \"tols\". Did you mean \"tools\"?",
    );
    at_rest(&editor);
    assert!(!editor.dir().join("ran").exists());
}

#[test]
fn chats_with_different_rules_do_not_affect_each_other() {
    let rules = [
        (
            "a.chat",
            FUNCTION_FORM,
            ["waits", "waits", "waits", "waits", "ran"],
        ),
        ("b.chat", OPERATORS, ["ran", "waits", "ran", "ran", "waits"]),
        ("c.chat", "flemma.opt.tools.auto_approve = {}", ["waits"; 5]),
        ("d.chat", "", ["ran", "ran", "ran", "waits", "waits"]),
    ];
    let provider = Provider::anthropic(rules.iter().map(|_| five_tools()));
    let editor = setup(&provider).with("f.txt", "aaaaaaaa\n").start();
    for (name, frontmatter, _) in &rules {
        editor.command(&format!("edit {name}"));
        // Replaces the prompt of a new chat.
        editor.keys("ggdG");
        editor.type_text(&below(frontmatter));
        editor.keys("<C-]>");
    }
    for (name, _, expected) in rules {
        editor.command(&format!("buffer {name}"));
        let came_to = outcomes(&editor, CALLS);
        // `edit` fails if another chat has already edited the file; that also shows that it ran.
        let came_to = came_to.map(|it| if it == "failed" { "ran" } else { it });
        assert_eq!(came_to, expected, "in {name}\n{}", editor.text());
    }
}

#[test]
fn a_frontmatter_is_evaluated_once_for_all_calls_of_a_step() {
    // Were it evaluated for each call, each would be the first.
    let frontmatter = "local asked = 0
flemma.opt.tools.auto_approve = function()
  asked = asked + 1
  return asked == 1
end";
    let call = |id| (id, "calculator", json!({"expression": "1"}));
    let calls = ["t_1", "t_2", "t_3"].map(call);
    let answer = calls
        .into_iter()
        .fold(Answer::new(), |answer, (id, name, input)| {
            answer.tool_use(id, name, input)
        });
    let provider = Provider::anthropic([answer]);
    let editor = type_below(&provider, frontmatter);
    editor.keys("<C-]>");
    let came_to = outcomes(&editor, ["t_1", "t_2", "t_3"]);
    assert_eq!(came_to, ["ran", "waits", "waits"]);
}

#[test]
fn opening_and_drawing_a_chat_evaluates_nothing() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = open(&provider, &below("error('evaluated')"));
    editor.keys("Ggg");
    at_rest(&editor);
    assert!(
        !editor.messages().contains("evaluated"),
        "{}",
        editor.messages()
    );
    // The key is what evaluates it.
    editor.keys("<C-]>");
    wait_message(&editor, "evaluated");
    expect_requests(&editor, 0);
}

#[test]
fn an_endless_loop_is_stopped_and_does_not_block_neovim() {
    for endless in [
        "while true do end",
        "repeat until false",
        "local s = ('x'):rep(2^30)",
        "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end",
    ] {
        let provider = Provider::anthropic([Answer::says("Well.")]);
        let editor = type_below(&provider, endless);
        editor.keys("<C-]>");
        type_meanwhile(&editor);
        wait_message(&editor, "frontmatter line 2");
        expect_requests(&editor, 0);
    }
}

/// Types until the frontmatter is reported. Neovim must handle every key.
#[track_caller]
fn type_meanwhile(editor: &Editor) {
    while !editor.messages().contains("frontmatter line") {
        editor.keys("Gox<Esc>u");
    }
}

#[test]
fn a_broken_policy_function_approves_nothing() {
    for body in [
        "error('x')",
        "while true do end",
        "return 1",
        "return 'approved'",
        "return {}",
        "return input.nothing.here",
    ] {
        let call = Answer::new().tool_use("t_b", "bash", command("touch ran"));
        let provider = Provider::anthropic([call]);
        let frontmatter =
            format!("flemma.opt.tools.auto_approve = function(name, input) {body} end");
        let editor = type_below(&provider, &frontmatter);
        editor.keys("<C-]>");
        assert_eq!(outcomes(&editor, ["t_b"]), ["waits"], "{body}");
    }
}

#[test]
fn a_policy_function_cannot_change_the_arguments() {
    let call = Answer::new().tool_use("t_b", "bash", command("echo out"));
    let provider = Provider::anthropic([call]);
    let frontmatter = "flemma.opt.tools.auto_approve = function(name, input)
  input.command = 'echo other'
  return true
end";
    let editor = type_below(&provider, frontmatter);
    editor.keys("<C-]>");
    wait_result(&editor, "t_b", "**Tool Result:** `t_b`\n\n```\nout\n```");
}
