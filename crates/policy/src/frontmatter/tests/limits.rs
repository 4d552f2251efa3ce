//! Frontmatters that would never end, and how they end.

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
        assert_eq!(
            failure(&lua(text)).message,
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
            "an option has a short name",
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
