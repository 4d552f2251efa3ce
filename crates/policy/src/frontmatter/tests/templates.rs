//! Variables, expressions, and calls of the policy function.

use super::*;

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
        let what = format!("nothing is named \"{}\" here.", code.trim());
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
