//! The examples of the tools specification, letter by letter, and what follows
//! from them.
//!
//! Also variables, expressions, and calls of the policy function.

use super::*;

#[test]
fn the_forms_of_auto_approve() {
    let text = r#"
-- Preset form: read-only access for this buffer
flemma.opt.tools.auto_approve = { "$readonly" }

-- List form: auto-approve these tools in this buffer
flemma.opt.tools.auto_approve = { "calculator", "read" }

-- Mix presets and tool names
flemma.opt.tools.auto_approve = { "$default", "bash" }

-- Function form: full control per-buffer
flemma.opt.tools.auto_approve = function(tool_name, input, ctx)
  if tool_name == "calculator" then return true end
  return nil  -- pass to next resolver
end
"#;
    let evaluated = evaluated(&lua(text));
    let handle = FunctionHandle { line: 13 };
    assert_eq!(
        evaluated.overrides.auto_approve,
        Some(AutoApprove::Function(handle))
    );
    let ask = |tool: &str| evaluated.call_policy(tool, &json!({}), &json!({"bufnr": 1}));
    assert_eq!(ask("calculator"), Ok(Value::Bool(true)));
    assert_eq!(ask("bash"), Ok(Value::Null));
    for (form, expected) in [
        (
            r#"flemma.opt.tools.auto_approve = { "$readonly" }"#,
            "$readonly",
        ),
        (
            r#"flemma.opt.tools.auto_approve = { "calculator", "read" }"#,
            "calculator read",
        ),
        (
            r#"flemma.opt.tools.auto_approve = { "$default", "bash" }"#,
            "$default bash",
        ),
        ("flemma.opt.tools.auto_approve = {}", ""),
    ] {
        assert_eq!(approval(form), expected, "{form}");
    }
}

#[test]
fn list_operations_on_auto_approve() {
    let text = r#"
-- Start from default, but remove write access
flemma.opt.tools.auto_approve = { "$default" }
flemma.opt.tools.auto_approve:remove("write")

-- Add bash to the default set
flemma.opt.tools.auto_approve = { "$default" }
flemma.opt.tools.auto_approve:append("bash")

-- Operator shorthand: + (append), - (remove)
flemma.opt.tools.auto_approve = flemma.opt.tools.auto_approve + "bash" - "write"
"#;
    assert_eq!(approval(text), "$default bash without write");
}

#[test]
fn a_tool_removed_from_a_preset_is_an_exclusion() {
    let text = r#"
flemma.opt.tools.auto_approve = { "$default" }
flemma.opt.tools.auto_approve:remove("write")
"#;
    assert_eq!(approval(text), "$default without write");
    let put_back = format!("{text}flemma.opt.tools.auto_approve:append('write')");
    assert_eq!(approval(&put_back), "$default write");
    let set_again = format!("{text}flemma.opt.tools.auto_approve:set({{'$default'}})");
    assert_eq!(approval(&set_again), "$default");
}

#[test]
fn approval_starts_from_the_users_own_list() {
    for (text, expected) in [
        (
            "flemma.opt.tools.auto_approve = flemma.opt.tools.auto_approve + \"bash\" - \"write\"",
            "$default bash without write",
        ),
        (
            "flemma.opt.tools.auto_approve:append('bash')",
            "$default bash",
        ),
        (
            "flemma.opt.tools.auto_approve:remove('write')",
            "$default without write",
        ),
        (
            "flemma.opt.tools.auto_approve:prepend({'bash', 'read'}):remove('$default')",
            "bash read",
        ),
    ] {
        assert_eq!(approval(text), expected, "{text}");
    }
}

#[test]
fn tools_of_one_buffer() {
    for (text, expected) in [
        (
            r#"flemma.opt.tools = {"bash", "read"}             -- only these tools"#,
            "bash read",
        ),
        (
            r#"flemma.opt.tools:remove("calculator")           -- remove from defaults"#,
            "bash edit read write",
        ),
        (
            r#"flemma.opt.tools:append("calculator_async")     -- add a tool"#,
            "bash calculator edit read write calculator_async",
        ),
        (
            r#"flemma.opt.tools = flemma.opt.tools + "read"    -- operator overloads work too"#,
            "bash calculator edit write read",
        ),
        (
            r#"
flemma.opt.tools = {"bash", "read"}             -- only these tools
flemma.opt.tools:remove("calculator")           -- remove from defaults
flemma.opt.tools:append("calculator_async")     -- add a tool
flemma.opt.tools = flemma.opt.tools + "read"    -- operator overloads work too
"#,
            "bash calculator_async read",
        ),
        (
            r#"flemma.opt.tools = flemma.opt.tools ^ "calculator_async" - {"bash", "edit"}"#,
            "calculator_async calculator read write",
        ),
        (
            "flemma.opt.tools:set({}):append('bash'):prepend('read'):append({'read'})",
            "bash read",
        ),
    ] {
        assert_eq!(tools(text), expected, "{text}");
    }
}

#[test]
fn parameters_of_one_buffer() {
    let text = r#"
-- General parameters (work across all providers)
flemma.opt.thinking = "medium"          -- override the unified thinking level
flemma.opt.cache_retention = "long"     -- override prompt caching strategy
flemma.opt.max_tokens = 8000            -- override max output tokens
flemma.opt.temperature = 0.3            -- override sampling temperature

-- Provider-specific overrides (take priority over general)
flemma.opt.anthropic.thinking_budget = 20000
flemma.opt.openai.reasoning = "high"
flemma.opt.vertex.thinking_budget = 4096
"#;
    let overrides = overrides(text);
    assert_eq!(
        overrides.values,
        json!({"parameters": {
            "thinking": "medium", "cache_retention": "long", "max_tokens": 8000, "temperature": 0.3,
            "anthropic": {"thinking_budget": 20000},
            "openai": {"reasoning": "high"},
            "vertex": {"thinking_budget": 4096},
        }})
    );
    assert_eq!(overrides.lines["parameters.anthropic.thinking_budget"], 10);
    assert_eq!(overrides.lines["parameters.thinking"], 4);
}

#[test]
fn autopilot_and_sandbox() {
    let overrides = overrides(
        r#"
flemma.opt.tools.autopilot = false
flemma.opt.sandbox = false
flemma.opt.sandbox = { policy = { network = false } }
flemma.opt.sandbox.policy.rw_paths = { "/tmp" }
"#,
    );
    assert_eq!(
        overrides.values,
        json!({
            "tools": {"autopilot": {"enabled": false}},
            "sandbox": {"enabled": false, "policy": {"network": false, "rw_paths": ["/tmp"]}},
        })
    );
    let lines: Vec<_> = overrides.lines.into_iter().collect();
    let expected = [
        ("sandbox.enabled", 4),
        ("sandbox.policy.network", 5),
        ("sandbox.policy.rw_paths", 6),
        ("tools.autopilot.enabled", 3),
    ];
    assert_eq!(lines, expected.map(|(path, line)| (path.to_owned(), line)));
}

#[test]
fn nil_takes_an_option_back() {
    let text = r#"
flemma.opt.thinking = "low"
flemma.opt.thinking = nil
flemma.opt.tools = { "read" }
flemma.opt.tools = nil
flemma.opt.tools.auto_approve = {}
flemma.opt.tools.auto_approve = nil
flemma.opt.tools.autopilot = true
flemma.opt.tools.autopilot = nil
flemma.opt.sandbox = false
flemma.opt.sandbox = nil
"#;
    assert_eq!(overrides(text), Overrides::default());
}

#[test]
fn an_operator_changes_nothing_until_it_is_assigned() {
    assert_eq!(
        overrides("local with_bash = flemma.opt.tools.auto_approve + 'bash'"),
        Overrides::default()
    );
}

#[test]
fn options_can_be_read() {
    let text = r#"
flemma.opt.thinking = "low"
level = flemma.opt.thinking
first = flemma.opt.tools[1]
count = #flemma.opt.tools
names = table.concat(flemma.opt.tools:get(), ",")
unset = flemma.opt.anthropic.thinking_budget
"#;
    let evaluated = evaluated(&lua(text));
    assert_eq!(
        evaluated.variable_names(),
        ["count", "first", "level", "names"]
    );
    let text = |code: &str| evaluated.expression(code).unwrap();
    assert_eq!(text("level"), Expansion::Text("low".into()));
    assert_eq!(text("count .. first"), Expansion::Text("5bash".into()));
    assert_eq!(
        text("names"),
        Expansion::Text("bash,calculator,edit,read,write".into())
    );
}

fn text(evaluated: &Evaluated, code: &str) -> String {
    match evaluated.expression(code) {
        Ok(Expansion::Text(text)) => text,
        other => panic!("{code}: {other:?}"),
    }
}

#[test]
fn globals_are_variables_and_locals_are_not() {
    let evaluated = evaluated(&lua(
        "name = 'Ada'\nlocal secret = 1\nfunction greet(who) return 'Hello, ' .. who end\nreturn 3",
    ));
    assert_eq!(evaluated.variable_names(), ["greet", "name"]);
    for (code, expected) in [
        ("name", "Ada"),
        ("greet(name)", "Hello, Ada"),
        ("secret or ''", ""),
        ("", ""),
        ("nil", ""),
        ("name -- the author", "Ada"),
        ("#name * 2", "6"),
        ("1 / 2", "0.5"),
        ("name == 'Ada'", "true"),
        ("{ b = { 1, 2 }, a = name }", r#"{"a":"Ada","b":[1,2]}"#),
        ("'}}'", "}}"),
        ("__filename", "/home/me/notes/plan.chat"),
        ("__dirname", "/home/me/notes"),
        ("'é' .. utf8.char(233)", "éé"),
    ] {
        assert_eq!(text(&evaluated, code), expected, "{code}");
    }
    for code in ["secret", "nmae", " string.nothing "] {
        let what = format!("unknown name \"{}\".", code.trim());
        assert_eq!(evaluated.expression(code), Err(what));
    }
}

#[test]
fn the_spellings_of_lua_5_1_work() {
    let evaluated = evaluated(&lua(""));
    for (code, expected) in [
        ("(unpack({ 1, 2 }))", "1"),
        ("table.getn({ 1, 2, 3 })", "3"),
        ("string.format('%d %5.2f %q', 3, 1.5, 'a')", "3  1.50 \"a\""),
        ("('x'):rep(3)", "xxx"),
        ("select('#', 1, 2)", "2"),
        ("math.floor(2.7) .. math.max(1, 2)", "22"),
        ("tostring(nil) .. tonumber('0x10')", "nil16"),
        ("(('a,b'):gsub(',', ';'))", "a;b"),
        ("bit32.band(6, 3)", "2"),
        ("next({}) == nil", "true"),
        ("table.concat({ 'a', 'b' }, '-')", "a-b"),
    ] {
        assert_eq!(text(&evaluated, code), expected, "{code}");
    }
}

#[test]
fn an_unnamed_chat_has_no_filename() {
    let source = Source {
        file: None,
        ..lua("")
    };
    assert_eq!(text(&evaluated(&source), "type(__filename)"), "nil");
}

#[test]
fn what_an_expression_assigns_is_forgotten() {
    let evaluated = evaluated(&lua("x = 1"));
    let code = "(function() x = 2 y = 3 return x end)()";
    assert_eq!(text(&evaluated, code), "2");
    assert_eq!(text(&evaluated, "x"), "1");
    assert_eq!(evaluated.variable_names(), ["x"]);
}

#[test]
fn expressions_that_have_no_text_say_why() {
    let evaluated = evaluated(&lua("\nfunction broken() return nil .. 'x' end"));
    for (code, part) in [
        ("print", "it is a function, which has no text."),
        ("x.y", "attempt to index nil with 'y'."),
        ("= 1", "="),
        ("broken()", "frontmatter line 3: attempt to concatenate nil"),
        ("flemma.opt", "which has no text."),
        ("{ f = print }", "it is a function, which has no text."),
    ] {
        let message = evaluated.expression(code).unwrap_err();
        assert!(message.contains(part), "{code}\n{message}");
    }
}

#[test]
fn include_names_a_file_and_reads_nothing() {
    let evaluated = evaluated(&lua("notes = include('./missing.md')"));
    let include = |path: &str, binary, mime: Option<&str>| {
        Ok(Expansion::Include(Include {
            path: path.into(),
            binary,
            mime: mime.map(str::to_owned),
        }))
    };
    assert_eq!(
        evaluated.expression("notes"),
        include("./missing.md", false, None)
    );
    assert_eq!(
        evaluated.expression("include('a.png', { binary = true, mime = 'image/png' })"),
        include("a.png", true, Some("image/png"))
    );
}

#[test]
fn the_policy_function_sees_the_call_and_cannot_change_it() {
    let text = r#"
flemma.opt.tools.auto_approve = function(tool_name, input, ctx)
  if tool_name == "calculator" then return true end
  if tool_name == "bash" and input.command:match("rm %-rf") then return "deny" end
  input.command = "rm -rf /"
  return ctx.tool_id == "toolu_1" and false or nil
end
"#;
    let evaluated = evaluated(&lua(text));
    let input = json!({"command": "ls", "timeout": null, "list": [1, {"a": true}]});
    let ask = |tool: &str, input: &Value, id: &str| {
        evaluated.call_policy(tool, input, &json!({"bufnr": 1, "tool_id": id}))
    };
    assert_eq!(ask("calculator", &input, "x"), Ok(Value::Bool(true)));
    let bad = json!({"command": "rm -rf /"});
    assert_eq!(ask("bash", &bad, "x"), Ok(Value::from("deny")));
    assert_eq!(ask("bash", &input, "x"), Ok(Value::Null));
    assert_eq!(input["command"], "ls");
    let message = ask("bash", &json!({}), "x").unwrap_err();
    assert!(
        message.starts_with("frontmatter line 5: attempt to index nil"),
        "{message}"
    );
}

#[test]
fn odd_answers_of_a_policy_function_are_passed_on_for_judgement() {
    let text = "flemma.opt.tools.auto_approve = function(answer) if answer == 'error' then error('x') end return ({ word = 'approve', one = 1, table = {}, pass = nil, f = print })[answer] end";
    let evaluated = evaluated(&lua(text));
    let ask = |name: &str| evaluated.call_policy(name, &json!({}), &json!({}));
    assert_eq!(ask("word"), Ok(json!("approve")));
    assert_eq!(ask("one"), Ok(json!(1)));
    assert_eq!(ask("table"), Ok(json!([])));
    assert_eq!(ask("pass"), Ok(Value::Null));
    assert!(
        ask("f")
            .unwrap_err()
            .contains("auto_approve returned a function")
    );
    assert_eq!(ask("error").unwrap_err(), "frontmatter line 2: x.");
}

#[test]
fn without_a_function_there_is_none_to_ask() {
    let answer = evaluated(&lua("")).call_policy("read", &json!({}), &json!({}));
    assert_eq!(answer.unwrap_err(), "auto_approve is not a function here.");
}

#[test]
fn a_policy_function_cannot_set_options() {
    let text = "flemma.opt.tools.auto_approve = function() flemma.opt.tools.autopilot = true return true end";
    let message = evaluated(&lua(text))
        .call_policy("read", &json!({}), &json!({}))
        .unwrap_err();
    assert!(message.contains("not afterwards"), "{message}");
}
