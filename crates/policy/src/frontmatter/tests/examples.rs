//! The examples of the tools specification, letter by letter, and what follows
//! from them.

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
