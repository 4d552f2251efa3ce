//! Tests of frontmatters as written in files.
//!
//! Also what the engine refuses, every row of the option table as a chat names it in Lua and in
//! JSON, and frontmatters in JSON.
#![allow(clippy::unwrap_used)]

mod examples;
mod limits;
mod rules;

use serde_json::json;

use super::*;
use crate::options::{OptionDef, Scope, find, leaves, nested, path_in_chat};
use limits::check;

/// What most tests may refer to: five tools, of which one is not enabled.
fn known() -> Known {
    let names = |list: &[&str]| -> Vec<String> { list.iter().map(|it| (*it).to_owned()).collect() };
    Known {
        tools: names(&[
            "bash",
            "calculator",
            "calculator_async",
            "edit",
            "read",
            "write",
        ]),
        default_tools: names(&["bash", "calculator", "edit", "read", "write"]),
        presets: names(&["$default", "$readonly"]),
        auto_approve: Some(names(&["$default"])),
        model_presets: names(&["$fast"]),
    }
}

/// A Lua frontmatter whose fence opens on line 1, so that its text starts on line 2.
fn lua(text: &str) -> Source {
    Source {
        language: "lua".to_owned(),
        text: text.to_owned(),
        first_line: 2,
        file: Some(PathBuf::from("/home/me/notes/plan.chat")),
    }
}

fn json_source(text: &str) -> Source {
    Source {
        language: "json".to_owned(),
        ..lua(text)
    }
}

#[track_caller]
fn evaluated(source: &Source) -> Evaluated {
    match evaluate(source, &known()) {
        Ok(evaluated) => evaluated,
        Err(failure) => panic!("{failure}"),
    }
}

/// What `text` asks for.
#[track_caller]
fn overrides(text: &str) -> Overrides {
    evaluated(&lua(text)).overrides
}

/// The message for `text`, which fails.
#[track_caller]
fn failure(source: &Source) -> FrontmatterError {
    match evaluate(source, &known()) {
        Ok(evaluated) => panic!("it succeeded: {:?}", evaluated.overrides),
        Err(failure) => failure,
    }
}

/// The list that decides about calls, as `names without exclusions`.
#[track_caller]
fn approval(text: &str) -> String {
    match overrides(text).auto_approve {
        Some(AutoApprove::List { names, exclusions }) if exclusions.is_empty() => names.join(" "),
        Some(AutoApprove::List { names, exclusions }) => {
            format!("{} without {}", names.join(" "), exclusions.join(" "))
        }
        other => panic!("no list: {other:?}"),
    }
}

/// The tools of the chat, with a blank between.
#[track_caller]
fn tools(text: &str) -> String {
    overrides(text).tools.unwrap().join(" ")
}

#[test]
fn an_empty_frontmatter_asks_for_nothing() {
    assert_eq!(overrides(""), Overrides::default());
}

#[test]
fn what_was_evaluated_can_go_to_another_thread() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Evaluated>();
}

#[test]
fn a_language_nobody_knows_is_an_error() {
    let source = Source {
        language: "python".to_owned(),
        ..lua("x = 1")
    };
    assert_eq!(
        failure(&source).message,
        "frontmatter line 2: Frontmatter must be Lua or JSON, not \"python\". Write \"lua\" or \"json\" after the backticks."
    );
}

#[test]
fn what_lua_binds_the_other_way_is_an_error_with_its_place() {
    // As the specification prints it: `^` is applied to both names first.
    let printed = "\nflemma.opt.tools = flemma.opt.tools + \"bash\" - \"write\" ^ \"calculator\"";
    let failure = failure(&lua(printed));
    assert_eq!(failure.line, 3);
    assert!(
        failure.message.contains("frontmatter line 3"),
        "{}",
        failure.message
    );
}

#[test]
fn lua_errors_have_the_line_of_the_file() {
    check(&[
        ("local x = 1\nlocal y = = 2", 3, 0, ""),
        (
            "\n\nlocal x = nil\nx.y = 1",
            5,
            0,
            "attempt to index nil with 'y'.",
        ),
        ("error()", 2, 0, ""),
        ("error({})", 2, 0, ""),
        ("error('not today')", 2, 0, "not today."),
        (
            "local function f()\n  error('deep')\nend\nf()",
            3,
            0,
            "deep.",
        ),
        ("x = 'a' + 1", 2, 0, "attempt to perform arithmetic"),
        ("include({})", 2, 0, ""),
    ]);
}

#[test]
fn an_error_in_pcall_is_the_users_own_affair_and_sets_nothing() {
    let text = "ok = pcall(function() flemma.opt.sandbox = { backends = {} } end)";
    let evaluated = evaluated(&lua(text));
    assert_eq!(evaluated.overrides, Overrides::default());
    assert_eq!(
        evaluated.expression("ok"),
        Ok(Expansion::Text("false".into()))
    );
}

#[test]
fn nothing_reaches_the_machine() {
    for text in [
        "os.execute('touch /tmp/p')",
        "io.open('/etc/passwd')",
        "require('ffi').C.system('id')",
        "vim.fn.system('id')",
        "load('return 1')()",
        "loadstring('return 1')()",
        "dofile('/etc/passwd')",
        "getfenv(1)",
        "setfenv(1, {})",
        "debug.info(1, 'f')",
        "coroutine.wrap(print)()",
        "getmetatable('').__index = {}",
        "collectgarbage()",
        "newproxy(true)",
        "string.rep = nil",
        "table.insert = nil",
        "('x').rep.y = 1",
        "flemma.opt = {}",
        "string.dump(print)",
    ] {
        assert!(evaluate(&lua(text), &known()).is_err(), "{text}");
    }
}

#[test]
fn one_frontmatter_does_not_influence_another() {
    let spoiled = evaluate(
        &lua("pcall(function() string.rep = nil end) string = nil"),
        &known(),
    );
    assert!(spoiled.is_ok());
    let other = evaluated(&lua("x = ('ab'):rep(2)"));
    assert_eq!(other.expression("x"), Ok(Expansion::Text("abab".into())));
    assert_eq!(other.overrides, Overrides::default());
}

/// Sets an option to 1 on line 3 of the file. Brackets, because `local` is a keyword.
fn assigned(path: &str) -> [Source; 2] {
    let names = path.split('.').map(|name| format!("[\"{name}\"]"));
    let names: String = names.collect();
    let options = nested(path, json!(1));
    [
        lua(&format!("\nflemma.opt{names} = 1")),
        json_source(&format!("{{\"flemma\":\n{options}}}")),
    ]
}

fn is_in_chat(option: &OptionDef) -> bool {
    option.is_in(Scope::Frontmatter)
}

/// Returns the outermost table of the path that a chat cannot set, or else the path.
fn refused(path: &str) -> &str {
    let ends = path.match_indices('.').map(|(at, _)| &path[..at]);
    let mut tables = ends.filter(|table| find(table).is_some_and(|it| !is_in_chat(it)));
    tables.next().unwrap_or(path)
}

#[test]
fn an_option_of_the_user_is_refused_with_its_path_and_its_line() {
    for (path, _) in leaves().filter(|(_, option)| !is_in_chat(option)) {
        let expected = format!(
            "frontmatter line 3: {} can only be set in setup() or the configuration file.",
            refused(path)
        );
        for source in assigned(path_in_chat(path)) {
            assert_eq!(failure(&source).message, expected, "{path}");
        }
    }
}

#[test]
fn the_budgets_of_autopilot_are_options_of_the_user_and_its_switch_is_not() {
    for name in ["max_cost", "max_turns"] {
        let text = format!("flemma.opt.tools.autopilot.{name} = 3");
        let expected = format!(
            "frontmatter line 2: tools.autopilot.{name} can only be set in setup() or the configuration file."
        );
        assert_eq!(failure(&lua(&text)).message, expected);
    }
    let switched_off = json!({"tools": {"autopilot": {"enabled": false}}});
    for text in [
        "flemma.opt.tools.autopilot = false",
        "flemma.opt.tools.autopilot.enabled = false",
        "flemma.opt.tools.autopilot = { enabled = false }",
    ] {
        assert_eq!(overrides(text).values, switched_off, "{text}");
    }
}

#[test]
fn a_misspelled_option_is_reported_with_the_right_name() {
    for (path, option) in leaves().filter(|(_, option)| is_in_chat(option)) {
        let misspelled = format!("{}x", path_in_chat(path));
        let expected = format!(
            "frontmatter line 3: There is no option \"{misspelled}\". Did you mean \"{}\"?",
            option.name
        );
        for source in assigned(&misspelled) {
            assert_eq!(failure(&source).message, expected, "{path}");
        }
    }
}

#[test]
fn a_name_like_no_other_is_reported_with_those_that_a_chat_can_set() {
    for (text, expected) in [
        (
            "flemma.opt.tools.autopilot.colour = 1",
            "There is no option \"tools.autopilot.colour\". Options: enabled.",
        ),
        (
            "flemma.opt.tools.auto_approve.colour = 1",
            "There is no option \"tools.auto_approve.colour\".",
        ),
        (
            "flemma.opt.sandbox.policy.colour = 1",
            "There is no option \"sandbox.policy.colour\". Options: rw_paths, network, allow_privileged.",
        ),
    ] {
        let message = failure(&lua(text)).message;
        assert_eq!(message, format!("frontmatter line 2: {expected}"));
    }
    let message = failure(&lua("flemma.opt.colour = 1")).message;
    for (name, is_listed) in [("provider", true), ("thinking", true), ("keymaps", false)] {
        assert_eq!(
            message.contains(&format!(" {name},")),
            is_listed,
            "{message}"
        );
    }
}

#[test]
fn keys_are_variables_and_flemma_holds_options() {
    let evaluated = evaluated(&json_source(
        r#"{
  "name": "Ada",
  "tags": ["a", "b"],
  "nothing": null,
  "flemma": {
    "thinking": "low",
    "tools": {"auto_approve": ["bash"], "autopilot": false},
    "anthropic": {"thinking_budget": 2000},
    "sandbox": {"policy": {"network": false}}
  }
}"#,
    ));
    assert_eq!(evaluated.variable_names(), ["name", "tags"]);
    assert_eq!(
        evaluated.expression("name .. #tags"),
        Ok(Expansion::Text("Ada2".into()))
    );
    let overrides = &evaluated.overrides;
    assert_eq!(
        overrides.auto_approve,
        Some(AutoApprove::List {
            names: vec!["bash".into()],
            exclusions: vec![]
        })
    );
    assert_eq!(overrides.tools, None);
    assert_eq!(
        overrides.values,
        json!({
            "tools": {"autopilot": {"enabled": false}},
            "parameters": {"thinking": "low", "anthropic": {"thinking_budget": 2000}},
            "sandbox": {"policy": {"network": false}},
        })
    );
    assert_eq!(overrides.lines["tools.auto_approve"], 8);
    assert_eq!(overrides.lines["parameters.thinking"], 7);
}

#[test]
fn lists_replace_and_operators_change() {
    let tools = |options: &str| {
        let text = format!("{{\"flemma\": {options}}}");
        evaluated(&json_source(&text)).overrides
    };
    let list = tools(r#"{"tools": ["read"]}"#);
    assert_eq!(list.tools.unwrap(), ["read"]);
    let changed = tools(
        r#"{"tools": {"$append": ["calculator_async"], "$remove": ["bash", "edit"], "$prepend": ["write"], "autopilot": true}}"#,
    );
    assert_eq!(
        changed.tools.unwrap(),
        ["write", "calculator", "read", "calculator_async"]
    );
    let autopilot = json!({"tools": {"autopilot": {"enabled": true}}});
    assert_eq!(changed.values, autopilot);
    let approval =
        tools(r#"{"tools": {"auto_approve": {"$append": ["bash"], "$remove": ["write"]}}}"#);
    assert_eq!(
        approval.auto_approve,
        Some(AutoApprove::List {
            names: vec!["$default".into(), "bash".into()],
            exclusions: vec!["write".into()]
        })
    );
}

#[test]
fn errors_have_line_and_column() {
    for (text, line, column, part) in [
        ("{\n  \"a\": 1,\n  b: 2\n}", 4, 3, "this is not JSON"),
        ("[1]", 2, 0, "it is not an object"),
        ("{\"a\": 1,\n\"a\": 2}", 3, 0, "\"a\" occurs twice"),
        (
            "{\n\"flemma\": {\"thinkng\": 1}}",
            3,
            13,
            "Did you mean \"thinking\"?",
        ),
        (
            "{\"flemma\": {\"tools\": {\n  \"auto_approve\": [\n    \"bsah\"]}}}",
            4,
            6,
            "Did you mean \"bash\"?",
        ),
        ("{\"flemma\": {\n \"temperature\": 3}}", 3, 3, "from 0 to 2"),
        (
            "{\"flemma\": {\"tools\": {\"$apend\": []}}}",
            2,
            24,
            "Did you mean \"$append\"?",
        ),
        ("{\"flemma\": 3}", 2, 3, "must be an object of options."),
        (
            "{\"flemma\": {\"openai\": {\"base_url\": \"x\"}}}",
            2,
            25,
            "can only be set in setup() or the configuration file",
        ),
        (
            "{\"flemma\": {\"tools\": {\"bash\": {\"shell\": \"x\"}}}}",
            2,
            24,
            "can only be set in setup() or the configuration file",
        ),
    ] {
        let failure = failure(&json_source(text));
        assert!(failure.message.contains(part), "{text}\n{failure}");
        let place = (failure.line, failure.column.unwrap_or_default());
        assert_eq!(place, (line, column), "{text}\n{failure}");
    }
}

#[test]
fn an_empty_text_is_an_empty_object() {
    assert_eq!(
        evaluated(&json_source("\n")).overrides,
        Overrides::default()
    );
}

#[test]
fn deep_nesting_is_an_error() {
    let text = format!("{{\"a\": {}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(evaluate(&json_source(&text), &known()).is_err());
}

#[test]
fn a_number_that_would_change_is_refused_with_its_line() {
    for number in [
        "12345678901234567",
        "-9007199254740993",
        "18446744073709551617",
    ] {
        let text = format!("{{\n  \"a\": 1,\n  \"id\": [{number}]\n}}");
        let failure = failure(&json_source(&text));
        let said = format!("{failure:?}");
        assert!(
            said.contains(&format!("the number {number} can't be held exactly")),
            "{said}"
        );
    }
    for number in [
        "9007199254740992",
        "1e300",
        "12345678901234567.5",
        "\"12345678901234567\"",
    ] {
        evaluated(&json_source(&format!("{{\"id\": {number}}}")));
    }
}
