//! Frontmatters in JSON.

use super::*;

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
        (
            "{\"flemma\": 3}",
            2,
            3,
            "an object of options, and this is none.",
        ),
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
