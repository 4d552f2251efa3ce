//! Tools made of steps, as in the specification of command and function tools: commands
//! that the host runs, and functions that run in Neovim.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;

/// The calculator of the specification, word for word, under `register`.
const CALCULATOR: &str = include_str!("../cases/calculator.txt");

/// Sends a question after `init` ran. Every call is approved that a rule may approve.
#[track_caller]
fn ask(provider: &Provider, init: &str) -> Editor {
    let init = format!(
        "require('flemma').setup({{ provider = 'anthropic', tools = {{ require_approval = false }} }})
         local tools = require('flemma.tools')
         order = {{}}
         local function note(word) return function() table.insert(order, word) end end
         {init}"
    );
    let setup = offline().provider(provider).init(&init);
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    editor
}

fn calls(name: &str, input: &Json) -> Provider {
    let call = Answer::new().tool_use("t_1", name, input);
    Provider::anthropic([call, Answer::says("Well.")])
}

#[track_caller]
fn ended(editor: &Editor) -> String {
    editor.wait_for("the end of the call", |editor| {
        let block = result(editor, "t_1");
        !block.is_empty() && !block.contains("status=")
    });
    result(editor, "t_1")
}

fn done(text: &str) -> String {
    format!("**Tool Result:** `t_1`\n\n```\n{text}\n```")
}

fn failed(text: &str) -> String {
    format!("**Tool Result:** `t_1` (error)\n\n```\n{text}\n```")
}

/// The notes of the tool, in order.
fn order(editor: &Editor) -> Json {
    editor.lua("return order", &json!([]))
}

fn calculate(num1: &Json, num2: &Json, operation: &str) -> Json {
    json!({"num1": num1, "num2": num2, "operation": operation})
}

#[test]
fn the_specifications_calculator_multiplies() {
    for input in [
        calculate(&json!(100), &json!(50), "multiply"),
        calculate(&json!("100"), &json!("50"), "multiply"),
    ] {
        let provider = calls("calculator", &input);
        let editor = ask(&provider, CALCULATOR);
        wait_end(&editor, "@Assistant:\nWell.\n\n@You:\n\n");
        assert_eq!(
            result(&editor, "t_1"),
            done("The output from the calculator was 5000")
        );
        let messages = editor.messages();
        assert!(messages.contains("setup function called"), "{messages}");
        assert!(messages.contains("on_exit function called"), "{messages}");
        let request = provider.requests()[0].body.clone();
        let tools = request["tools"].as_array().unwrap();
        let mine = tools.iter().find(|it| it["name"] == "calculator").unwrap();
        let description = mine["description"].as_str().unwrap();
        assert!(
            description.starts_with("Perform calculations\n\nCall this tool"),
            "{description}"
        );
        let xml = "<tool name=\"calculator\">\n  <action>\n    <num1>100</num1>\n    <num2>50</num2>\n    \
                   <operation>multiply</operation>\n  </action>\n</tool>\n```";
        assert!(description.contains(xml), "{description}");
        assert_eq!(
            mine["input_schema"]["properties"]["num1"]["type"],
            json!(["number", "string"])
        );
    }
}

#[test]
fn each_validation_error_of_the_calculator_reaches_the_model() {
    for (input, error) in [
        (
            json!({"num2": 1, "operation": "add"}),
            "First number is missing or invalid",
        ),
        (
            calculate(&json!(1), &json!("x"), "add"),
            "Second number is missing or invalid",
        ),
        (json!({"num1": 1, "num2": 2}), "Operation is missing"),
        (
            calculate(&json!(1), &json!(0), "divide"),
            "Cannot divide by zero",
        ),
        (
            calculate(&json!(1), &json!(2), "power"),
            "Invalid operation: must be add, subtract, multiply, or divide",
        ),
    ] {
        let provider = calls("calculator", &input);
        let editor = ask(&provider, CALCULATOR);
        wait_end(&editor, "@Assistant:\nWell.\n\n@You:\n\n");
        assert_eq!(result(&editor, "t_1"), failed(error));
        let messages = editor.messages();
        assert!(messages.contains("An error occurred"), "{messages}");
    }
}

#[test]
fn functions_can_answer_in_every_way_but_once() {
    for (body, block) in [
        ("return { status = 'success', data = 'a' }", done("a")),
        (
            "vim.schedule(function() handler({ status = 'success', data = 'b' }) end)",
            done("b"),
        ),
        (
            "handler({ status = 'success', data = 'c' }) return { status = 'error', data = 'd' }",
            done("c"),
        ),
        (
            "handler({ status = 'success', data = 'e' }) handler({ status = 'error', data = 'f' })",
            done("e"),
        ),
        (
            "vim.uv.new_timer():start(1, 0, function() handler({ status = 'success', data = 'g' }) end)",
            done("g"),
        ),
        ("error('boom', 0)", failed("Step 1 raised an error: boom")),
        ("return { status = 'error', data = 'no' }", failed("no")),
        (
            "return 7",
            failed("Step 1 must give { status = \"success\" or \"error\", data = … }, and gave 7."),
        ),
    ] {
        let provider = calls("t", &json!({}));
        let init = format!(
            "tools.register('t', {{ description = 'T', handlers = {{ on_exit = note('exit') }}, cmds = {{
               function(self, actions, input, handler) {body} end }} }})"
        );
        let editor = ask(&provider, &init);
        assert_eq!(ended(&editor), block, "{body}");
        assert_eq!(order(&editor), json!(["exit"]), "{body}");
    }
}

#[test]
fn a_function_that_never_answers_is_stopped_at_its_time_limit() {
    let provider = calls("t", &json!({}));
    let init = "tools.register('t', { description = 'T', timeout = 0.2, handlers = { on_exit = note('exit') },
        cmds = { function(self, actions, input, handler) end } })";
    let editor = ask(&provider, init);
    assert_eq!(
        ended(&editor),
        failed("The tool was stopped after 0.2 seconds, its time limit.")
    );
    assert_eq!(order(&editor), json!(["exit"]));
}

#[test]
fn each_step_gets_the_output_of_the_one_before() {
    let provider = calls("t", &json!({"word": "x"}));
    let init = "tools.register('t', {
        description = 'T',
        schema = { action = { word = 'x' } },
        handlers = { setup = note('setup'), on_exit = note('exit') },
        output = { success = function(agent, step, stdout) table.insert(order, stdout[1]) end },
        cmds = {
          function(self, actions, input) return { status = 'success', data = actions.word .. tostring(input) } end,
          function(self, actions, input) return { status = 'success', data = input .. self.request.action.word } end,
        } })";
    let editor = ask(&provider, init);
    assert_eq!(ended(&editor), done("xnil\nxnilx"));
    assert_eq!(order(&editor), json!(["setup", "xnil", "xnilx", "exit"]));
}

#[test]
fn commands_run_in_order_with_each_argument_unchanged() {
    let provider = calls("t", &json!({"word": "a b; %s '\"$HOME"}));
    let init = "tools.register('t', {
        description = 'T',
        schema = { action = { word = 'x' } },
        env = function(actions) return { word = actions.word, folder = 'made' } end,
        cmds = { { 'mkdir', '${folder}' }, { 'printf', '%s|', '${word}', '$(id)', '${none}' }, { 'ls', '-d', '${folder}' } },
      })";
    let editor = ask(&provider, init);
    assert_eq!(
        ended(&editor),
        done("a b; %s '\"$HOME|$(id)|${none}|\nmade")
    );
    assert!(editor.dir().join("made").is_dir());
}

#[test]
fn a_failed_command_ends_only_its_tool() {
    let first = Answer::new()
        .tool_use("t_1", "t", &json!({}))
        .tool_use("t_2", "fine", &json!({}));
    let provider = Provider::anthropic([first, Answer::says("Well.")]);
    let init = "tools.register('t', {
        description = 'T',
        handlers = { on_exit = note('exit') },
        output = { error = function(agent, step, stderr) table.insert(order, stderr[1]) end, success = note('success') },
        cmds = { { 'sh', '-c', 'echo out; echo err >&2; exit 3' }, { 'touch', 'second' } },
      })
      tools.register('fine', { description = 'F', cmds = { { 'echo', 'fine' } } })";
    let editor = ask(&provider, init);
    editor.wait_text("@Assistant:\nWell.");
    assert_eq!(
        result(&editor, "t_1"),
        failed("out\nerr\nThe command \"sh\" exited with code 3.")
    );
    assert!(result(&editor, "t_2").contains("fine"));
    assert!(!editor.dir().join("second").exists());
    assert_eq!(order(&editor), json!(["err", "exit"]));
}

#[test]
fn what_a_successful_command_prints_to_standard_error_is_kept() {
    let provider = calls("t", &json!({}));
    let init = "tools.register('t', {
        description = 'T',
        output = { success = function(agent, step, stdout) table.insert(order, agent.stderr[#agent.stderr]) end },
        cmds = {
          { 'sh', '-c', 'echo out; echo deprecated >&2' },
          function(self, actions, input) return { status = 'success', data = 'got ' .. input } end,
          { 'sh', '-c', 'printf \"1%%\\r2%%\\n\" >&2' },
        },
      })";
    let editor = ask(&provider, init);
    assert_eq!(ended(&editor), done("out\ndeprecated\ngot out\n2%"));
    assert_eq!(order(&editor), json!(["deprecated", "deprecated", "2%"]));
}

#[test]
fn a_missing_command_is_reported() {
    let provider = calls("t", &json!({}));
    let init = "tools.register('t', { description = 'T', cmds = { { 'no-such-program', 'x' } } })";
    let block = ended(&ask(&provider, init));
    assert!(
        block.contains("(error)") && block.contains("\"no-such-program\""),
        "{block}"
    );
}

#[test]
fn setup_may_create_the_commands_and_runs_for_each_call() {
    let call = |id| Answer::new().tool_use(id, "run", &json!({"word": id}));
    let provider = Provider::anthropic([call("t_1"), call("t_2"), Answer::says("Well.")]);
    let init = "tools.register('run', {
        description = 'T',
        schema = { action = { word = 'x' } },
        cmds = {},
        env = function(actions) return { word = actions.word } end,
        handlers = { setup = function(agent)
          table.insert(agent.tool.cmds, { 'echo', agent.tool.request.action.word, '${word}' })
        end },
      })";
    let editor = ask(&provider, init);
    editor.wait_text("@Assistant:\nWell.");
    assert!(
        result(&editor, "t_1").ends_with("\nt_1 t_1\n```"),
        "{}",
        editor.text()
    );
    assert!(
        result(&editor, "t_2").contains("\nt_2 t_2\n```"),
        "{}",
        editor.text()
    );
}

#[test]
fn a_cancel_ends_the_command_and_comes_to_on_exit_once() {
    let provider = calls("t", &json!({}));
    // In a sandbox, process ids differ.
    let init = "require('flemma').setup({ provider = 'anthropic', sandbox = { enabled = false },
        tools = { require_approval = false } })
        tools.register('t', { description = 'T', handlers = { on_exit = note('exit') },
        output = { error = note('error') },
        cmds = { { 'sh', '-c', 'echo $$ > pid; exec sleep 60' } } })";
    let editor = ask(&provider, init);
    editor.wait_for("the command", |editor| {
        std::fs::read_to_string(editor.dir().join("pid")).is_ok_and(|it| it.ends_with('\n'))
    });
    let pid = std::fs::read_to_string(editor.dir().join("pid")).unwrap();
    editor.keys("<C-c>");
    assert_eq!(ended(&editor), failed("Cancelled by the user."));
    assert_eq!(order(&editor), json!(["exit"]));
    editor.wait_for("the end of the command", |_| {
        !std::path::Path::new("/proc").join(pid.trim()).exists()
    });
}

/// A tool that must be approved by name.
const CAREFUL: &str = "tools.register('careful', {
    description = 'T',
    schema = { action = { word = 'x' } },
    opts = { requires_approval = true },
    handlers = { on_exit = note('exit') },
    cmds = { function() return { status = 'success', data = 'ran' } end },
    output = {
      prompt = function(agent, self) return string.upper(self.request.action.word) .. '?' end,
      rejected = function(agent)
        agent.chat:add_buf_message({ role = require('codecompanion.config').constants.USER_ROLE,
          content = 'The user rejected ' .. agent.tool.request.action.word })
      end,
    } })";

#[test]
fn a_tool_that_requires_approval_waits_with_its_own_prompt() {
    let provider = calls("careful", &json!({"word": "delete"}));
    let editor = ask(&provider, CAREFUL);
    editor.wait_screen("the prompt", |rows| {
        rows.iter().any(|row| row.contains("careful: DELETE?"))
    });
    crate::stage::alt_enter(&editor);
    assert_eq!(ended(&editor), done("ran"));
    assert_eq!(order(&editor), json!(["exit"]));
}

#[test]
fn a_rejection_has_the_tools_text_or_the_users_reason() {
    for (keys, text) in [
        ("/pending<CR>cwrejected<Esc>", "The user rejected delete"),
        ("/pending<CR>cwrejected<Esc>oNo.<Esc>", "No."),
    ] {
        for press in ["<C-]>", "<M-CR>"] {
            let provider = calls("careful", &json!({"word": "delete"}));
            let editor = ask(&provider, CAREFUL);
            editor.wait_text("status=pending");
            editor.keys(keys);
            editor.keys(press);
            assert_eq!(ended(&editor), failed(text));
            assert_eq!(order(&editor), json!(["exit"]));
        }
    }
}

#[test]
fn setup_runs_once_before_the_approval() {
    for (keys, text) in [
        ("", done("delete it")),
        (
            "/pending<CR>cwrejected<Esc>",
            failed("Not run: echo delete it"),
        ),
    ] {
        let provider = calls("careful", &json!({"word": "delete"}));
        let init = "tools.register('careful', {
            description = 'T',
            schema = { action = { word = 'x' } },
            opts = { requires_approval = true },
            cmds = {},
            env = function(actions) return { word = actions.word } end,
            handlers = { setup = function(agent)
              note('setup')()
              table.insert(agent.tool.cmds, { 'echo', '${word}', 'it' })
            end },
            output = { rejected = function(agent, cmd)
              agent.chat:add_buf_message({ content = 'Not run: ' .. table.concat(cmd, ' ') })
            end } })";
        let editor = ask(&provider, init);
        editor.wait_text("status=pending");
        editor.wait_for("the setup of a call that waits", |editor| {
            order(editor) == json!(["setup"])
        });
        editor.keys(keys);
        crate::stage::alt_enter(&editor);
        assert_eq!(ended(&editor), text);
        assert_eq!(order(&editor), json!(["setup"]));
    }
}

#[test]
fn a_rule_that_names_the_tool_approves_it() {
    let provider = calls("careful", &json!({"word": "delete"}));
    let init = format!(
        "require('flemma').setup({{ provider = 'anthropic', tools = {{ auto_approve = {{ 'careful' }} }} }})\n{CAREFUL}"
    );
    assert_eq!(ended(&ask(&provider, &init)), done("ran"));
}

#[test]
fn a_json_schema_is_sent_unchanged() {
    let provider = calls("t", &json!({"count": 2}));
    let init = "tools.register('t', { description = 'T',
        schema = { type = 'object', properties = { count = { type = 'integer' } }, required = { 'count' } },
        cmds = { function(self, actions) return { status = 'success', data = type(actions.count) } end } })";
    assert_eq!(ended(&ask(&provider, init)), done("number"));
    let provider = calls("t", &json!({"count": "2"}));
    let block = ended(&ask(&provider, init));
    assert!(block.contains("do not fit the schema"), "{block}");
}

#[test]
fn the_manuals_command_tool_works() {
    let provider = calls("word_count", &json!({"path": "question.chat"}));
    let said = ended(&ask(&provider, &manual_snippet("flemma-cmds")));
    assert!(said.contains("\n2 question.chat\n-rw"), "{said}");
}
