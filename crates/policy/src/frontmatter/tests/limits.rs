//! Frontmatters that would never end, and how they end.
//!
//! Also which values are refused, at which place, and in which words.

use std::time::Duration;

use super::*;

#[test]
fn what_never_ends_is_stopped() {
    for (text, line) in [
        ("while true do end", 2),
        (
            "\nwhile true do pcall(function() while true do end end) end",
            3,
        ),
        ("repeat local ok = pcall(error, 'x') until false", 2),
        (
            "local s = ('a'):rep(30)\n\ns:match(('a?'):rep(30) .. ('a'):rep(31))",
            4,
        ),
        ("local s = ('a'):rep(100000)\ns:find('.-.-.-.-b')", 3),
        ("for i = 1, math.huge do flemma.opt.thinking = 'low' end", 2),
        (
            "table.sort({3, 2, 1, 4}, function() while true do end end)",
            2,
        ),
        (
            "string.gsub(('x'):rep(1000), 'x', function() while true do end end)",
            2,
        ),
    ] {
        let failure = failure(&lua(text));
        assert_eq!(
            failure.message,
            format!(
                "frontmatter line {line}: still running after 100 ms, so it was stopped. Look for a loop without an end."
            ),
            "{text}"
        );
        assert_eq!(failure.line, line, "{text}");
    }
}

#[test]
fn pcall_does_not_outlive_the_limit() {
    let text =
        "pcall(function() while true do end end)\nflemma.opt.tools.auto_approve = { 'bash' }";
    assert!(failure(&lua(text)).message.contains("still running"));
}

#[test]
fn memory_has_a_limit() {
    for text in [
        "local s = 'x' while true do s = s .. s end",
        "local t = {} for i = 1, 40 do t[i] = ('x'):rep(8 * 1024 * 1024) .. i end",
        "local s = ('x'):rep(60 * 1024 * 1024) .. 'y'",
    ] {
        // A slow machine needs more than 100 ms to fill the memory.
        let error = vm::evaluate_within(Duration::from_mins(1), &lua(text), &known()).unwrap_err();
        assert_eq!(
            error.message,
            "frontmatter line 2: it needs more than 64 MB of memory, so it was stopped.",
            "{text}"
        );
    }
    let text = "local s = ('x'):rep(2^30)";
    assert!(evaluate(&lua(text), &known()).is_err(), "{text}");
}

#[test]
fn copies_that_the_engine_does_not_count_have_limits_of_their_own() {
    for (text, part) in [
        (
            "flemma.opt.sandbox = { policy = { rw_paths = { ('x'):rep(1e6) } } }",
            "sandbox cannot be a value that is too long.",
        ),
        (
            "local t = {} for i = 1, 1001 do t[i] = 'read' end flemma.opt.tools = t",
            "tools cannot be a value that is too long.",
        ),
        (
            "flemma.opt[('x'):rep(1e6)] = 1",
            "an option must have a short name",
        ),
        ("x = include(('x'):rep(1e6))", "this is too long."),
        (
            "for i = 1, 65 do flemma.opt.openai['p' .. i] = i end",
            "There is no option \"openai.p1\".",
        ),
    ] {
        let message = failure(&lua(text)).message;
        assert!(message.contains(part), "{text}\n{message}");
    }
    let message = failure(&lua("error(('x'):rep(1e6))")).message;
    assert!(message.len() < 600, "{}", message.len());
    let message = failure(&lua("flemma.opt.tools = { ('x'):rep(2e4) }")).message;
    assert!(message.len() < 600, "{}", message.len());
}

#[test]
fn work_that_cannot_be_interrupted_is_refused() {
    for (text, part) in [
        (
            "local s = ('a'):rep(2e7)\ns:find(('a'):rep(1e7) .. 'b', 1, true)",
            "texts that are too long",
        ),
        (
            "local t = {} for i = 1, 100001 do t[i] = i end\ntable.sort(t)",
            "at most 100000 elements",
        ),
        ("table.move({}, 1, 1e9, 2)", "attempt to call"),
        ("('a'):split('')", "attempt to call"),
    ] {
        let message = failure(&lua(text)).message;
        assert!(
            message.contains(part) || message.contains("still running"),
            "{text}\n{message}"
        );
    }
}

#[test]
fn deep_recursion_is_an_error() {
    let deep = "local function f(n) return 1 + f(n + 1) end\nf(1)";
    let message = failure(&lua(deep)).message;
    assert!(
        message.contains("stack overflow") || message.contains("still running"),
        "{message}"
    );
    let tail = failure(&lua("local function f() return f() end f()")).message;
    assert_eq!(tail, "frontmatter line 2: stack overflow.");
    let nested = format!("x = {}1{}", "(".repeat(50_000), ")".repeat(50_000));
    assert!(evaluate(&lua(&nested), &known()).is_err());
    let tables = format!("x = {}{}", "{".repeat(50_000), "}".repeat(50_000));
    assert!(evaluate(&lua(&tables), &known()).is_err());
}

#[test]
fn a_frontmatter_has_a_length() {
    let long = "-- x\n".repeat(40_000);
    assert_eq!(
        failure(&lua(&long)).message,
        "frontmatter line 2: it is 195 KB long; at most 128 KB are read."
    );
    for (length, is_read) in [(131_072, true), (131_073, false)] {
        let blanks = " ".repeat(length);
        assert_eq!(
            evaluate(&lua(&blanks), &known()).is_ok(),
            is_read,
            "{length}"
        );
        let expression = format!("1{}", " ".repeat(length - 1));
        let value = evaluated(&lua("")).expression(&expression);
        assert_eq!(value.is_ok(), is_read, "{length}");
    }
}

#[test]
fn a_policy_function_has_a_limit_of_its_own_each_time() {
    let text = r#"
flemma.opt.tools.auto_approve = function(name)
  if name == "loop" then
    while true do end
  end
  return true
end
"#;
    let evaluated = evaluated(&lua(text));
    let ask = |tool: &str| evaluated.call_policy(tool, &json!({}), &json!({}));
    assert_eq!(
        ask("loop").unwrap_err(),
        "frontmatter line 5: still running after 50 ms, so it was stopped. Look for a loop without an end."
    );
    assert_eq!(ask("read"), Ok(Value::Bool(true)));
}

#[test]
fn an_expression_has_a_limit_as_well() {
    let evaluated = evaluated(&lua("function forever() while true do end end"));
    assert_eq!(
        evaluated.expression("forever()").unwrap_err(),
        "frontmatter line 2: still running after 50 ms, so it was stopped. Look for a loop without an end."
    );
    assert_eq!(
        evaluated.expression("1 + 1"),
        Ok(Expansion::Text("2".into()))
    );
}

/// Prints what a typical file costs; the target is below 2 ms in a release build.
#[test]
fn a_typical_file_evaluates() {
    let text = r#"
flemma.opt.tools = { "bash", "read", "edit" }
flemma.opt.tools.auto_approve = { "$default" }
flemma.opt.tools.auto_approve:remove("write")
flemma.opt.thinking = "medium"
flemma.opt.anthropic.thinking_budget = 20000
project = "flemma"
authors = { "a", "b" }
function greet(name) return "Hello, " .. name end
"#;
    let source = lua(text);
    let started = std::time::Instant::now();
    for _ in 0..50 {
        assert_eq!(evaluated(&source).overrides.lines.len(), 4);
    }
    eprintln!("one evaluation: {:?}", started.elapsed() / 50);
}

/// Each frontmatter with the line, the column (0 for none) and a part of the message.
#[track_caller]
pub(super) fn check(rows: &[(&str, usize, usize, &str)]) {
    for (text, line, column, part) in rows {
        let failure = failure(&lua(text));
        assert!(failure.message.contains(part), "{text}\n{failure}");
        let place = (failure.line, failure.column.unwrap_or_default());
        assert_eq!(place, (*line, *column), "{text}\n{failure}");
        assert!(
            failure
                .message
                .starts_with(&format!("frontmatter line {line}: ")),
            "{failure}"
        );
    }
}

#[test]
fn a_misspelt_tool_is_named_with_what_was_meant() {
    let failure = failure(&lua("flemma.opt.tools = { \"bsah\" }"));
    assert_eq!(
        failure.message,
        "frontmatter line 2: no tool named \"bsah\". Did you mean \"bash\"? Tools: bash, calculator, calculator_async, edit, read, write."
    );
    assert_eq!((failure.line, failure.column), (2, Some(23)));
}

#[test]
fn names_that_do_not_exist() {
    check(&[
        (
            "\nflemma.opt.tools:remove('calculater')",
            3,
            26,
            "Did you mean \"calculator\"?",
        ),
        (
            "flemma.opt.tools.auto_approve = {\n  'read',\n  '$readnly',\n}",
            4,
            4,
            "no preset named \"$readnly\". Did you mean \"$readonly\"? Presets: $default, $readonly.",
        ),
        (
            "flemma.opt.tools = flemma.opt.tools + '$default'",
            2,
            40,
            "no preset named \"$default\".",
        ),
        (
            "flemma.opt.thinkng = 'low'",
            2,
            12,
            "There is no option \"thinkng\". Did you mean \"thinking\"?",
        ),
        (
            "local x = flemma.opt.antropic.thinking_budget",
            2,
            22,
            "Did you mean \"anthropic\"?",
        ),
        (
            "flemma.opt.tools.auto_aprove = {}",
            2,
            18,
            "There is no option \"tools.auto_aprove\". Did you mean \"auto_approve\"?",
        ),
        (
            "flemma.opt.tools.require_approval = false",
            2,
            18,
            "tools.require_approval can only be set in setup() or the configuration file.",
        ),
        (
            "flemma.opt.model = 7",
            2,
            0,
            "model is 7; it must be a string.",
        ),
        (
            "flemma.opt.model = '$fsat'",
            2,
            21,
            "Did you mean \"$fast\"?",
        ),
        (
            "flemma.opt.provider = 'antropic'",
            2,
            24,
            "Did you mean \"anthropic\"?",
        ),
    ]);
}

#[test]
fn values_that_do_not_fit() {
    check(&[
        (
            "flemma.opt.thinking = 'hihg'",
            2,
            24,
            "thinking is \"hihg\"; it must be \"minimal\", \"low\", \"medium\", \"high\", \"xhigh\" or \"max\", a whole number from 0 or false. Did you mean \"high\"?",
        ),
        ("flemma.opt.thinking = 1e300", 2, 0, "thinking is 1e+300"),
        ("flemma.opt.thinking = 1.5", 2, 0, "thinking is 1.5"),
        (
            "flemma.opt.max_tokens = 2 ^ 52",
            2,
            0,
            "max_tokens is 4503599627370496",
        ),
        (
            "flemma.opt.anthropic.thinking_budget = 0 / 0",
            2,
            0,
            "thinking_budget cannot be the number NaN",
        ),
        (
            "flemma.opt.timeout = math.huge",
            2,
            0,
            "timeout cannot be the number inf",
        ),
        ("flemma.opt.thinking = true", 2, 0, "thinking is true"),
        (
            "flemma.opt.temperature = 2.1",
            2,
            0,
            "it must be a number from 0 to 2",
        ),
        (
            "flemma.opt.temperature = 0/0",
            2,
            0,
            "cannot be the number NaN",
        ),
        ("flemma.opt.max_tokens = 0", 2, 0, "\"50%\""),
        ("flemma.opt.max_tokens = 1.5", 2, 0, "max_tokens is 1.5"),
        ("flemma.opt.max_tokens = '101%'", 2, 26, "a share such as"),
        (
            "flemma.opt.timeout = -1",
            2,
            0,
            "it must be a number from 1 to 86400",
        ),
        (
            "flemma.opt.cache_retention = 'forever'",
            2,
            31,
            "\"short\" or \"long\"",
        ),
        (
            "flemma.opt.tools.autopilot = 'off'",
            2,
            31,
            "it must be true or false",
        ),
        (
            "flemma.opt.tools = 'bash'",
            2,
            21,
            "it must be a list of names",
        ),
        (
            "flemma.opt.tools = { 3 }",
            2,
            0,
            "tools is [3]; it must be a list of names",
        ),
        (
            "flemma.opt.tools = print",
            2,
            0,
            "tools cannot be a function",
        ),
        ("flemma.opt.tools:append(nil)", 2, 0, "tools takes names"),
        (
            "flemma.opt.tools.auto_approve = true",
            2,
            0,
            "tools.auto_approve is true",
        ),
        (
            "flemma.opt.anthropic = 3",
            2,
            0,
            "anthropic is 3; it must be a table",
        ),
        (
            "flemma.opt.openai.thinking = 'x'",
            2,
            31,
            "openai.thinking is \"x\"",
        ),
        (
            "flemma.opt.sandbox = 'off'",
            2,
            23,
            "sandbox.enabled is \"off\"; it must be true or false",
        ),
        (
            "flemma.opt.sandbox.enabled = 1",
            2,
            0,
            "sandbox.enabled is 1",
        ),
        (
            "local t = {}\nt.t = t\nflemma.opt.sandbox = t",
            4,
            0,
            "holds itself",
        ),
    ]);
}

#[test]
fn values_that_fit() {
    for text in [
        "flemma.opt.thinking = false",
        "flemma.opt.thinking = 4096",
        "flemma.opt.max_tokens = '50%'",
        "flemma.opt.temperature = 0",
        "flemma.opt.temperature = 2",
        "flemma.opt.anthropic = { thinking_budget = 1024, thinking = 'max' }",
        "flemma.opt.vertex.location = 'europe-west1'",
        "flemma.opt.sandbox.backend = 'required'",
        "flemma.opt.sandbox = {}",
    ] {
        overrides(text);
    }
}

#[test]
fn programs_modules_addresses_and_secrets_never_come_from_a_document() {
    for text in [
        "flemma.opt.sandbox.backends.bwrap.path = './evil'",
        "flemma.opt.sandbox = { backends = { bwrap = { path = './evil' } } }",
        "flemma.opt.sandbox.backend = './evil'",
        "flemma.opt.tools.bash.env = {LD_PRELOAD='./x.so', PATH='.'}",
        "flemma.opt.tools.bash = { shell = './evil' }",
        "flemma.opt.tools.auto_approve = {'evil.module.path'}",
        "flemma.opt.tools:append('evil.module')",
        "flemma.opt.anthropic.base_url = 'https://evil.example'",
        "flemma.opt.anthropic = { base_url = 'https://evil.example' }",
        "flemma.opt.openai = { more = { api_key = 'x' } }",
        "flemma.opt.openai.api_key = 'x'",
        "flemma.opt.openai.ca_file = './evil.pem'",
        "flemma.opt.vertex.location = 'evil.example/x'",
        "flemma.opt.host = { path = './evil' }",
        "flemma.opt.mcp = {}",
        "flemma.opt.trust = {}",
        "flemma.opt['tools.auto_approve'] = { 'bash' }",
        "flemma.opt.tools['bash.env'] = { PATH = '.' }",
        "flemma.opt.sandbox['policy.network'] = true",
    ] {
        let message = failure(&lua(text)).message;
        let says = [
            "from a document",
            "can only be set in setup() or the configuration file",
            "it must be",
            "There is no option",
        ];
        assert!(
            says.iter().any(|it| message.contains(it)),
            "{text}\n{message}"
        );
    }
}

#[test]
fn a_function_in_setup_has_no_list_to_change() {
    let known = Known {
        auto_approve: None,
        ..known()
    };
    let failure = |text: &str| evaluate(&lua(text), &known).unwrap_err().message;
    for text in [
        "flemma.opt.tools.auto_approve:append('bash')",
        "flemma.opt.tools.auto_approve = flemma.opt.tools.auto_approve + 'bash'",
    ] {
        assert!(failure(text).contains("is a function in setup()"), "{text}");
    }
    let assigned =
        "flemma.opt.tools.auto_approve = {'read'}\nflemma.opt.tools.auto_approve:append('bash')";
    assert!(evaluate(&lua(assigned), &known).is_ok());
}
